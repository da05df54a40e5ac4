"""Names and media types of pictures, by their content where their name does not tell."""

from __future__ import annotations

import os

from opengcd._internal.images import EmbedderError, decoders
from opengcd.workspace.outgoing import Source, shortened

SUFFIXES = {
    "JPEG": (".jpg", ".jpeg"),
    "PNG": (".png",),
    "GIF": (".gif",),
    "WEBP": (".webp",),
    "BMP": (".bmp",),
    "TIFF": (".tif", ".tiff"),
    "PPM": (".ppm", ".pgm", ".pbm"),
}
"""Formats of images, with the suffixes of their names; the first one is added where a name has none of these."""
MEDIA_TYPES = {"PPM": "image/x-portable-anymap"}
KNOWN = {suffix: format for format, suffixes in SUFFIXES.items() for suffix in suffixes}


def picture_name(source: Source) -> str:
    """Return the name of a picture as text that every file system takes, with a suffix that tools know."""
    name = os.fsencode(os.path.basename(source.path)).decode("utf-8", "replace")
    stem, suffix = os.path.splitext(shortened(name, 200))
    if suffix.lower() in KNOWN:
        return f"{stem}{suffix}"
    return f"{stem}{suffix}{SUFFIXES[_format(source)][0]}"


def media_type(source: Source) -> str:
    """Return the media type of a picture."""
    format = KNOWN.get(os.path.splitext(source.path)[1].lower()) or _format(source)
    return MEDIA_TYPES.get(format, f"image/{format.lower()}")


def _format(source: Source) -> str:
    try:
        format = decoders().header(source.raw).format
    except EmbedderError:
        format = ""
    return format if format in SUFFIXES else "JPEG"
