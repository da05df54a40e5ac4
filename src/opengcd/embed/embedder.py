"""The interface of an embedder, and loading one by name."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING, Protocol

import numpy as np

from opengcd._internal.images import EmbedderError
from opengcd._internal.progress import Progress, silent
from opengcd.embed.given import GivenVectors
from opengcd.embed.pixels import Pixels

if TYPE_CHECKING:
    from PIL.Image import Image

POOLINGS = {
    "cls": "the class token of the last layer",
    "mean": "the mean over the image's patches in the last layer",
    "pooled": "the output of the network for a whole image (for SigLIP, or a convolutional network)",
}


PRECISIONS = {
    "auto": "16 bits on a GPU, 32 bits on a CPU",
    "half": "16 bits everywhere: nearly twice as fast on a CPU that computes in bfloat16, slower on others",
    "full": "32 bits everywhere",
}


class Embedder(Protocol):
    """Maps each image to a feature vector, its embedding."""

    @property
    def name(self) -> str:
        """The name by which :func:`load_embedder` loads it."""

    @property
    def fingerprint(self) -> str:
        """Hash of everything that determines the vector of an image; only vectors with the same one can be compared."""

    def __call__(self, images: Iterable[Image], total: int | None = None, progress: Progress = silent) -> np.ndarray:
        """Return the vectors of images.

        Parameters
        ----------
        images : iterable of PIL.Image.Image
            They are read one after the other.
        total : int or None
            Number of images, for the progress report.
        progress : callable
            Called with a stage, the images done and their total (0: not known).

        Returns
        -------
        float32 array of shape (n, d)
            One row for each image, in order.

        Raises
        ------
        EmbedderError
            If there is no image, or one cannot be embedded.

        """

    def stream(self, images: Iterable[Image]) -> Generator[np.ndarray]:
        """Yield the same rows in batches; the next images are read meanwhile.

        Parameters
        ----------
        images : iterable of PIL.Image.Image

        Yields
        ------
        float32 array of shape (b, d)

        """


def load_embedder(
    name: str,
    *,
    device: str = "auto",
    pooling: str = "cls",
    precision: str = "auto",
    batch_size: int | None = None,
) -> Embedder:
    """Load an embedder by its name; code in the files of a network is never executed.

    An embedder turns each image into a vector, its embedding.

    Parameters
    ----------
    name : str
        ``"pixels"``, a folder with a network in the Hugging Face format, the id of a network on the Hugging Face
        hub, such as ``facebook/dino-vitb16``, or an ``.onnx`` file; with ``"vectors"`` there is none: vectors
        are given instead of images. The other parameters concern networks only.
    device : str
        ``"auto"``, ``"cpu"`` or ``"cuda"``.
    pooling : str
        How the output for an image becomes one vector, see :data:`POOLINGS`.
    precision : str
        Precision of the computation, see :data:`PRECISIONS`; an ONNX file has its own. Vectors in 16 and in 32 bits are
        nearly equal (their cosine is above 0.999), so the precision is not part of the fingerprint.
    batch_size : int or None
        Images per batch; None chooses by the device.

    Returns
    -------
    Embedder

    """
    for kind, value, known in (("pooling", pooling, POOLINGS), ("precision", precision, PRECISIONS)):
        if value not in known:
            raise EmbedderError(f"Unknown {kind} {value!r}; choose from {', '.join(known)}.")
    if name == Pixels.name:
        return Pixels()
    if name == GivenVectors.name:
        return GivenVectors()
    if name.endswith(".onnx"):
        from opengcd.embed.onnx_file import OnnxNetwork

        return OnnxNetwork(name, device, pooling, batch_size)
    from opengcd.embed.backbone import load_backbone  # torch takes seconds

    return load_backbone(name, device, pooling, precision, batch_size)
