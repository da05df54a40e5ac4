"""Images to feature vectors: a backbone in the Hugging Face format or an ONNX file, or plain pixels for tiny images."""

from opengcd.embed._embedder import POOLINGS, PRECISIONS, Embedder, load_embedder
from opengcd.embed._pixels import Pixels
from opengcd.images import MAX_PIXELS, EmbedderError, read_image

__all__ = ["MAX_PIXELS", "POOLINGS", "PRECISIONS", "Embedder", "EmbedderError", "Pixels", "load_embedder", "read_image"]
