"""Images to feature vectors: a backbone in the Hugging Face format, or plain pixels for tiny images."""

from opengcd.embed._embedder import POOLINGS, Embedder, load_embedder
from opengcd.embed._images import EmbedderError
from opengcd.embed._pixels import Pixels

__all__ = ["POOLINGS", "Embedder", "EmbedderError", "Pixels", "load_embedder"]
