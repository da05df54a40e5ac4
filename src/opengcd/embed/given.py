"""Vectors that are given, of whatever they were computed from: there is no network."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NoReturn

import numpy as np

from opengcd._internal.images import EmbedderError
from opengcd._internal.progress import Progress, silent

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True)
class GivenVectors:
    """Stands for the network of a workspace whose items are vectors; images are refused."""

    name: ClassVar[str] = "vectors"
    fingerprint: ClassVar[str] = "vectors"

    def __call__(self, images: Iterable[Image], total: int | None = None, progress: Progress = silent) -> np.ndarray:
        """Refuse images.

        Parameters
        ----------
        images : iterable of PIL.Image.Image
        total : int or None
        progress : callable

        """
        self.refuse()

    def stream(self, images: Iterable[Image]) -> Generator[np.ndarray]:
        """Refuse images.

        Parameters
        ----------
        images : iterable of PIL.Image.Image

        """
        self.refuse()

    def refuse(self) -> NoReturn:
        """Raise the error that says what to do instead."""
        raise EmbedderError("This workspace takes vectors, not images: give a file of vectors, such as an .npz file.")
