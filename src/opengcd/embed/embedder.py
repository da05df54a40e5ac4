"""What an embedder is, and how one is had by name."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING, Protocol

import numpy as np

from opengcd._internal.images import EmbedderError
from opengcd._internal.progress import Progress, silent
from opengcd.embed.pixels import Pixels

if TYPE_CHECKING:
    from PIL.Image import Image

POOLINGS = {
    "cls": "the class token of the last layer",
    "mean": "the mean over the image's patches in the last layer",
    "pooled": "what the network itself returns for a whole image (for SigLIP, or a network of convolutions)",
}


PRECISIONS = {
    "auto": "16 bits on a GPU, 32 on a processor",
    "half": "16 bits everywhere: nearly twice as fast on a processor that computes in bfloat16, slower on others",
    "full": "32 bits everywhere",
}


class Embedder(Protocol):
    """Turns images into feature vectors."""

    @property
    def name(self) -> str:
        """What :func:`load_embedder` makes it from."""

    @property
    def fingerprint(self) -> str:
        """A hash of all that decides how an image becomes a vector: vectors of different ones never mix."""

    def __call__(self, images: Iterable[Image], total: int | None = None, progress: Progress = silent) -> np.ndarray:
        """Return one row of float32 for each image, in order; ``total`` is their number, for the progress report."""

    def stream(self, images: Iterable[Image]) -> Generator[np.ndarray]:
        """Yield the same rows, some at a time, while coming images are read."""


def load_embedder(
    name: str,
    *,
    device: str = "auto",
    pooling: str = "cls",
    precision: str = "auto",
    batch_size: int | None = None,
) -> Embedder:
    """Return the embedder of that name; nothing in the files of a network is executed.

    ``name`` is ``"pixels"``, a folder that holds a network in the Hugging Face format, a network's id on the Hugging
    Face hub, as ``facebook/dino-vitb16``, or an ``.onnx`` file. The rest concerns networks only: ``device`` is
    ``"auto"``, ``"cpu"`` or ``"cuda"``, ``pooling`` says how an image becomes one vector (see :data:`POOLINGS`),
    ``precision`` in how many bits a network computes (:data:`PRECISIONS`; an ONNX file has its own), and ``batch_size``
    is how many images are computed at a time, by default what suits the device. Vectors of 16 and of 32 bits are alike
    (their cosine is above 0.999), so the precision is no part of the fingerprint.
    """
    for kind, value, known in (("pooling", pooling, POOLINGS), ("precision", precision, PRECISIONS)):
        if value not in known:
            raise EmbedderError(f"Unknown {kind} {value!r}; choose from {', '.join(known)}.")
    if name == Pixels.name:
        return Pixels()
    if name.endswith(".onnx"):
        from opengcd.embed.onnx_file import OnnxNetwork

        return OnnxNetwork(name, device, pooling, batch_size)
    from opengcd.embed.backbone import load_backbone  # torch takes seconds

    return load_backbone(name, device, pooling, precision, batch_size)
