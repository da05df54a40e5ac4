"""Images on their way into an embedder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

if TYPE_CHECKING:
    from PIL.Image import Image


MAX_PIXELS = 80_000_000
"""Largest image that is read: a small file can claim to be huge. Below Pillow's own limit, where it warns."""


class EmbedderError(ValueError):
    """An embedder cannot be loaded, or cannot use an image."""


def as_rgb(image: Image) -> Image:
    """Decode an image, whatever its mode, to red, green and blue."""
    try:
        if image.mode == "P":
            image = image.convert("RGBA")  # Pillow warns where transparent palettes are converted in one step
        elif image.mode.startswith("I"):
            image = _eight_bits(image)
        return image.convert("RGB")
    except Exception as error:  # Pillow raises all kinds on damaged data
        where = getattr(image, "filename", "") or f"{image.mode} of {image.width} × {image.height}"
        raise EmbedderError(f"The image {where} cannot be read: {str(error) or type(error).__name__}.") from error


def read_image(source: str | os.PathLike[str] | BinaryIO, max_pixels: int = MAX_PIXELS) -> Image:
    """Read a file as a person would see it: the first picture of an animation, turned as its EXIF data say, in RGB."""
    from PIL import Image, ImageOps, UnidentifiedImageError

    if isinstance(source, str | os.PathLike):
        with open(source, "rb") as stream:
            return read_image(stream, max_pixels)
    if not source.read(1):
        raise EmbedderError("the file is empty")
    source.seek(0)
    try:
        with Image.open(source) as image:
            if image.width * image.height > max_pixels:
                raise EmbedderError(
                    f"the image of {image.width} × {image.height} has more than {max_pixels:,} pixels; make it smaller"
                )
            return as_rgb(ImageOps.exif_transpose(image))
    except EmbedderError:
        raise
    except UnidentifiedImageError:
        raise EmbedderError("the file is no image that can be read") from None
    except Exception as error:  # Pillow raises all kinds on damaged data
        raise EmbedderError(f"the image is damaged: {str(error) or type(error).__name__}") from error


def _eight_bits(image: Image) -> Image:
    """Scale shades of 16 bits; Pillow would turn all but the darkest into white."""
    from PIL import Image

    shades = np.asarray(image)
    if shades.size and (image.mode != "I" or shades.max() > 255):
        shades = shades >> 8
    return Image.fromarray(shades.clip(0, 255).astype(np.uint8))
