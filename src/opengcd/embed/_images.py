"""Images on their way into an embedder."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image


class EmbedderError(ValueError):
    """An embedder cannot be loaded, or cannot use an image."""


def as_rgb(image: Image) -> Image:
    """Decode an image, whatever its mode, to red, green and blue."""
    try:
        if image.mode == "P":
            image = image.convert("RGBA")  # Pillow warns where transparent palettes are converted in one step
        return image.convert("RGB")
    except Exception as error:  # Pillow raises all kinds on damaged data
        where = getattr(image, "filename", "") or f"{image.mode} of {image.width} × {image.height}"
        raise EmbedderError(f"The image {where} cannot be read: {str(error) or type(error).__name__}.") from error
