"""Near copies of images, like the next pictures of a camera: slightly cropped, shifted, and lighter or darker."""

from __future__ import annotations

import numpy as np
from PIL import Image

STEPS = np.array([0.01, 0.01, 0.01, 0.03])
"""Standard deviations of the steps from one image of a burst to the next: of its middle across and down, and of the
share cut off, in sides of the image; and of the logarithm of its brightness."""
MOST_CUT = 0.2
"""Largest share of a side that is cut off."""


class NearCopies:
    """Near copies of images, computed when they are read.

    Parameters
    ----------
    crops : uint8 array of shape (n, s, s, 3)
        The images.
    original : int array of shape (m,)
        The image that each copy is of.
    views : array of shape (m, 4)
        How it differs, see :func:`near_copy`.

    """

    def __init__(self, crops: np.ndarray, original: np.ndarray, views: np.ndarray) -> None:
        self.crops = crops
        self.original = original
        self.views = views

    def __len__(self) -> int:
        return len(self.original)

    def __getitem__(self, rows: np.ndarray) -> np.ndarray:
        copies = [near_copy(np.asarray(self.crops[self.original[i]]), self.views[i]) for i in rows]
        return np.stack(copies) if copies else np.empty((0, *self.crops.shape[1:]), dtype=np.uint8)


def near_copy(image: np.ndarray, view: np.ndarray) -> np.ndarray:
    """Cut out most of a square image, scale it to the old size, and change its brightness.

    Parameters
    ----------
    image : uint8 array of shape (s, s, 3)
    view : array of shape (4,)
        Displacement of the middle to the right and down, and share cut off, in sides of the image, limited to what the
        image has; and the logarithm of the factor of its brightness.

    Returns
    -------
    uint8 array of shape (s, s, 3)

    """
    side = len(image)
    cut = float(np.clip(abs(view[2]), 0, MOST_CUT))
    left, top = (side * np.clip(cut / 2 + view[:2], 0, cut)).tolist()
    box = (left, top, min(side, left + side * (1 - cut)), min(side, top + side * (1 - cut)))
    pixels = np.asarray(Image.fromarray(image).resize((side, side), Image.Resampling.BILINEAR, box=box))
    return np.clip(np.round(pixels * np.exp(view[3])), 0, 255).astype(np.uint8)
