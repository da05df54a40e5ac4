"""Images to feature vectors: backbones in the Hugging Face format, ONNX files, or plain pixels for tiny images."""

from opengcd._internal.images import MAX_PIXELS, EmbedderError, read_image
from opengcd.embed.embedder import POOLINGS, PRECISIONS, Embedder, load_embedder
from opengcd.embed.from_files import Decoded, TakesPrepared, embed_files
from opengcd.embed.given import GivenVectors
from opengcd.embed.pixels import Pixels

__all__ = [
    "MAX_PIXELS",
    "POOLINGS",
    "PRECISIONS",
    "Decoded",
    "Embedder",
    "EmbedderError",
    "GivenVectors",
    "Pixels",
    "TakesPrepared",
    "embed_files",
    "load_embedder",
    "read_image",
]
