"""Plain pixels, for images so small that they are features already."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from opengcd.embed._images import EmbedderError, as_rgb
from opengcd.progress import Progress, silent

if TYPE_CHECKING:
    from PIL.Image import Image

REPORT_EVERY = 100


@dataclass(frozen=True)
class Pixels:
    """Red, green and blue from 0 to 1 of an image resized to ``side`` × ``side``, row by row."""

    side: int = 8
    name: ClassVar[str] = "pixels"

    def __call__(self, images: Iterable[Image], total: int | None = None, progress: Progress = silent) -> np.ndarray:
        """Return one row of ``3 * side**2`` numbers for each image."""
        from PIL.Image import Resampling

        rows: list[np.ndarray] = []
        for image in images:
            if len(rows) % REPORT_EVERY == 0:
                progress("embedding images", len(rows), total or 0)
            small = as_rgb(image).resize((self.side, self.side), Resampling.BILINEAR)
            rows.append(np.asarray(small, dtype=np.float32).ravel() / 255)
        if not rows:
            raise EmbedderError("There are no images to embed.")
        progress("embedding images", len(rows), total or 0)
        return np.stack(rows)
