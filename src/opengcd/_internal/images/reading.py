"""Decode image files in this process. This is the only module in which Pillow opens a file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFile import ImageFile


MAX_PIXELS = 80_000_000
"""Largest image that is read: a small file can declare a huge one. Below the limit at which Pillow warns."""
FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "TIFF", "BMP", "PPM")
"""Allowed formats, by Pillow's names; JPEG includes MPO, which many cameras write.

Pillow chooses a decoder by the content of a file, not by its name. Some decoders run other programs (EPS starts
Ghostscript, which executes code in the file) or pass the file to a system library (WMF). Formats that are rarely used
for photographs are left out too: each adds code that a hostile file can reach. HEIC and AVIF are added for files that
are of this kind, and only in a process that may crash.
"""

HEIC_BRANDS = {b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"hevm", b"hevs", b"mif1", b"msf1"}
AVIF_BRANDS = {b"avif", b"avis"}
"""The kind of a file in the ISO base media format, in its bytes 8 to 12."""
RAW_STARTS = {0: (b"FUJIFILMCCD-RAW", b"IIRO", b"IIRS", b"IIU\0", b"MMOR"), 4: (b"ftypcrx ",), 8: (b"CR\2",)}
"""What raw files of cameras have at a place; those of some are TIFF files, and look like their small preview."""
QUARTER_TURNS = (5, 6, 7, 8)
"""Orientations in EXIF data that exchange width and height."""
NOT_AN_IMAGE = "not a readable image; if it is one in another format, convert it to JPEG or PNG"
HEIC = 'a HEIC image; to read it, run `pip install "opengcd[heic]"`, or convert it to JPEG or PNG'
AVIF = "an AVIF image; to read it, update Pillow to 11.3 or later, or convert it to JPEG or PNG"
RAW = "a raw image of a camera; convert it to JPEG or PNG, or let the camera write JPEG, too"


class EmbedderError(ValueError):
    """An embedder cannot be loaded, or cannot use an image."""


@contextmanager
def open_image(
    source: str | os.PathLike[str] | BinaryIO, max_pixels: int = MAX_PIXELS, *, confined: bool = False
) -> Iterator[ImageFile]:
    """Open an image of an allowed format without decoding its pixels; all errors are raised as EmbedderError.

    HEIC and AVIF are read by large libraries, so only if this process is ``confined``: one that may crash.
    """
    # Imported here: for a format that it has not loaded yet, Pillow would load all of its decoders.
    from PIL import (  # noqa: F401
        BmpImagePlugin,
        GifImagePlugin,
        Image,
        JpegImagePlugin,
        MpoImagePlugin,
        PngImagePlugin,
        PpmImagePlugin,
        TiffImagePlugin,
        UnidentifiedImageError,
        WebPImagePlugin,
    )

    if isinstance(source, str | os.PathLike):
        with open(source, "rb") as stream, open_image(stream, max_pixels, confined=confined) as image:
            yield image
        return
    start = source.read(64)
    if not start:
        raise EmbedderError("the file is empty")
    source.seek(0)
    formats = [*FORMATS, *_large_formats(start, confined)]
    try:
        with Image.open(source, formats=formats) as image:
            if image.width * image.height > max_pixels:
                raise EmbedderError(
                    f"the image of {image.width} × {image.height} has more than {max_pixels:,} pixels; make it smaller"
                )
            yield image
    except EmbedderError:
        raise
    except UnidentifiedImageError:
        raise EmbedderError(NOT_AN_IMAGE if formats == [*FORMATS] else "the image is damaged") from None
    except Image.DecompressionBombError:
        raise EmbedderError(f"the image has more than {max_pixels:,} pixels; make it smaller") from None
    except MemoryError:
        raise EmbedderError("decoding the image needs more memory than is available; make it smaller") from None
    except Exception as error:  # Pillow raises many kinds of errors for damaged data
        raise EmbedderError(f"the image is damaged: {str(error) or type(error).__name__}") from error


def _large_formats(start: bytes, confined: bool) -> Sequence[str]:
    """Return the format of a file if a large library reads it; an EmbedderError says what to do if none may.

    Those that are only registered with Pillow here are allowed for this one file.
    """
    if any(start.startswith(magic, place) for place, kinds in RAW_STARTS.items() for magic in kinds):
        raise EmbedderError(RAW)
    if start[4:8] != b"ftyp":
        return ()
    brands = {start[place : place + 4] for place in range(8, len(start), 4)}
    if brands & AVIF_BRANDS:
        if confined:
            with suppress(ImportError):
                from PIL import AvifImagePlugin

                if AvifImagePlugin.SUPPORTED:
                    AvifImagePlugin.DEFAULT_MAX_THREADS = 1  # there is one process per core
                    return ("AVIF",)
        raise EmbedderError(AVIF)
    if start[8:12] in HEIC_BRANDS:
        if confined:
            with suppress(ImportError):
                import pillow_heif

                pillow_heif.register_heif_opener(thumbnails=False, decode_threads=1)
                return ("HEIF",)
        raise EmbedderError(HEIC)
    return ()


def read_image(source: str | os.PathLike[str] | BinaryIO, max_pixels: int = MAX_PIXELS) -> Image:
    """Read an image in RGB: the first frame of an animation, rotated as its EXIF data say.

    Parameters
    ----------
    source : path or binary stream
        A file in one of :data:`FORMATS`.
    max_pixels : int
        Largest image that is read.

    Returns
    -------
    PIL.Image.Image

    """
    with open_image(source, max_pixels) as image:
        return decoded(image)


def decoded(opened: ImageFile, upright: bool = True) -> Image:
    """Decode an opened image to RGB; ``upright`` rotates it as its EXIF data say."""
    from PIL import ImageOps

    if upright:
        ImageOps.exif_transpose(opened, in_place=True)
    return as_rgb(opened)


def is_turned(opened: ImageFile) -> bool:
    """Return whether the EXIF data of a JPEG file say that its width and height are exchanged."""
    from PIL import ExifTags

    return opened.getexif().get(ExifTags.Base.Orientation) in QUARTER_TURNS


def as_rgb(image: Image) -> Image:
    """Convert an image of any mode to RGB."""
    try:
        if image.mode == "P":
            image = image.convert("RGBA")  # Pillow warns if a palette with transparency is converted directly
        elif image.mode.startswith("I"):
            image = _eight_bits(image)
        return image.convert("RGB")
    except MemoryError:
        raise
    except Exception as error:  # Pillow raises many kinds of errors for damaged data
        where = getattr(image, "filename", "") or f"{image.mode} of {image.width} × {image.height}"
        raise EmbedderError(f"The image {where} cannot be read: {str(error) or type(error).__name__}.") from error


def _eight_bits(image: Image) -> Image:
    """Scale 16-bit grey values to 8 bits; Pillow would clip nearly all of them to white."""
    import numpy as np
    from PIL import Image

    shades = np.asarray(image)
    if shades.size and (image.mode != "I" or shades.max() > 255):
        shades = shades >> 8
    return Image.fromarray(shades.clip(0, 255).astype(np.uint8))
