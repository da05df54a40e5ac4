"""Small squares of images, as networks take them; made where an image is decoded, so that no large one is sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from PIL.Image import Image

    from opengcd._internal.images.captures import Capture

LONGEST = 100
"""Largest aspect ratio; longer images are cropped to the centre."""


class Prepared(NamedTuple):
    """An image that is ready for a network except for the scaling of its pixel values."""

    pixels: np.ndarray
    """8-bit RGB values, an array of shape (side, side, 3)."""
    size: tuple[int, int]
    """Width and height of the image that it was made from."""
    capture: Capture | None = None
    """When that image was taken, and its perceptual hash."""


@dataclass(frozen=True)
class Square:
    """How a square is made of an image: it is resized, and the centre is cropped.

    Sizes are rounded as by the image processors of transformers that use Pillow, so the result is the same to the bit.

    Parameters
    ----------
    resize : int
        Length of the shorter side after resizing, in pixels.
    crop : int
        Side of the square, at most ``resize``.
    resample : int
        Pillow's number of the resampling filter, of ``PIL.Image.Resampling``.
    whole : bool
        Whether both sides are resized to ``resize``, which changes the proportions of an image that is not square.
    fast : bool
        Whether a JPEG file may be decoded at a fraction of its size, at least twice that needed. Pixels then differ a
        little, so this is for training, not for embedding.
    upright : bool
        Whether an image is rotated first, as its EXIF data say.

    """

    resize: int
    crop: int
    resample: int
    whole: bool = False
    fast: bool = False
    upright: bool = True

    def __post_init__(self) -> None:
        if not 1 <= self.crop <= self.resize:
            raise ValueError(f"crop must be from 1 to resize, {self.resize}, but is {self.crop}.")

    @property
    def bytes(self) -> int:
        """Size of the pixels of the square."""
        return 3 * self.crop**2

    def resized(self, width: int, height: int) -> tuple[int, int]:
        """Return the width and height that an image is resized to.

        Parameters
        ----------
        width, height : int
            Of the image.

        Returns
        -------
        tuple of int

        """
        if self.whole:
            return self.resize, self.resize
        if width <= height:
            return self.resize, int(self.resize * height / width)
        return int(self.resize * width / height), self.resize

    def of(self, image: Image) -> Image:
        """Return the square of an image.

        Parameters
        ----------
        image : PIL.Image.Image
            In RGB.

        Returns
        -------
        PIL.Image.Image
            Of ``crop`` × ``crop`` pixels.

        """
        image = centered(image)
        width, height = self.resized(*image.size)
        left, top = (width - self.crop) // 2, (height - self.crop) // 2
        return image.resize((width, height), self.resample).crop((left, top, left + self.crop, top + self.crop))


def centered(image: Image) -> Image:
    """Crop a very long image to its centre.

    Most networks resize the shorter side to a few hundred pixels and then crop the centre. A file of 2 KB with 1 ×
    600,000 pixels would take gigabytes of memory, of which all but a square would be discarded.
    """
    width, height = image.size
    # The same amount from both ends, so that the centre does not move.
    left, top = max(0, width - LONGEST * height) // 2, max(0, height - LONGEST * width) // 2
    return image.crop((left, top, width - left, height - top)) if left or top else image
