"""Plain pixels as features, for very small images."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from opengcd._internal.progress import Progress, silent
from opengcd.embed.batches import gather, rgb_center

if TYPE_CHECKING:
    from PIL.Image import Image

BATCH = 100
FOR_TESTS = "for demos and tests only: it compares colours, not what an image shows"
"""What to tell a person who uses plain pixels."""


@dataclass(frozen=True)
class Pixels:
    """RGB values from 0 to 1 of an image resized to ``side`` × ``side``, row by row.

    Parameters
    ----------
    side : int
        Width and height after resizing.

    """

    side: int = 8
    name: ClassVar[str] = "pixels"

    @property
    def fingerprint(self) -> str:
        """Identifies these vectors."""
        return f"pixels{self.side}"

    def __call__(self, images: Iterable[Image], total: int | None = None, progress: Progress = silent) -> np.ndarray:
        """Return the vectors of images.

        Parameters
        ----------
        images : iterable of PIL.Image.Image
        total : int or None
            Number of images, for the progress report.
        progress : callable
            Called with a stage, the images done and their total (0: not known).

        Returns
        -------
        float32 array of shape (n, 3 side²)
            One row for each image, in order.

        """
        return gather(self.stream(images), total, progress)

    def stream(self, images: Iterable[Image]) -> Generator[np.ndarray]:
        """Yield the same rows in batches.

        Parameters
        ----------
        images : iterable of PIL.Image.Image

        Yields
        ------
        float32 array of shape (b, 3 side²)

        """
        rows = map(self._row, images)
        while batch := list(islice(rows, BATCH)):
            yield np.stack(batch)

    def _row(self, image: Image) -> np.ndarray:
        from PIL.Image import Resampling

        small = rgb_center(image).resize((self.side, self.side), Resampling.BILINEAR)
        return np.asarray(small, dtype=np.float32).ravel() / 255
