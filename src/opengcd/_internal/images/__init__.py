"""Decode image files: in this process, or in child processes, which a hostile file can crash without harm."""

from opengcd._internal.images.camera import CameraNotes
from opengcd._internal.images.captures import CAPTURE, Capture, exif_at
from opengcd._internal.images.pool import MAX_BYTES, TOO_LARGE, Decoders, Header, decoders
from opengcd._internal.images.reading import FORMATS, MAX_PIXELS, RAW, EmbedderError, as_rgb, open_image, read_image
from opengcd._internal.images.squares import Prepared, Square, centered

__all__ = [
    "CAPTURE",
    "FORMATS",
    "MAX_BYTES",
    "MAX_PIXELS",
    "RAW",
    "TOO_LARGE",
    "CameraNotes",
    "Capture",
    "Decoders",
    "EmbedderError",
    "Header",
    "Prepared",
    "Square",
    "as_rgb",
    "centered",
    "decoders",
    "exif_at",
    "open_image",
    "read_image",
]
