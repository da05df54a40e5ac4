"""When a camera took an image, and a perceptual hash of it, by which images of one burst are found."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from itertools import pairwise
from math import nan
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from PIL.Image import Exif, Image
    from PIL.ImageFile import ImageFile

CAPTURE = "capture"
"""Key of a decoded image's ``info`` that holds its :class:`Capture`."""
SIDE = 8
STAMP = re.compile(r"\d{4}:\d\d:\d\d \d\d:\d\d:\d\d")


class Capture(NamedTuple):
    """When an image was taken, and its perceptual hash."""

    hash: int
    """64 bits; the fewer differ, the more two images look alike."""
    taken: float | None
    """Seconds since 1970 by the camera's clock, whatever its time zone; None if the image does not say."""


def difference_hash(image: Image) -> int:
    """Return 64 bits: whether each of 8 × 8 parts of an image is brighter than the part on its right.

    Parameters
    ----------
    image : PIL.Image.Image

    Returns
    -------
    int

    """
    from PIL.Image import Resampling

    small = image.resize((SIDE + 1, SIDE), Resampling.BOX, reducing_gap=2.0).convert("L").tobytes()
    rows = (small[start : start + SIDE + 1] for start in range(0, len(small), SIDE + 1))
    bits = "".join("1" if left > right else "0" for row in rows for left, right in pairwise(row))
    return int(bits, 2)


def taken_at(opened: ImageFile) -> float:
    """Return when an image was taken, by ``DateTimeOriginal`` of its EXIF data.

    Parameters
    ----------
    opened : PIL.ImageFile.ImageFile
        Its pixels need not be decoded.

    Returns
    -------
    float
        Seconds since 1970, as if the camera's clock showed UTC; not a number if the image does not say.

    """
    from PIL import ExifTags

    try:
        data = opened.getexif().get_ifd(ExifTags.IFD.Exif)
        stamp = str(data.get(ExifTags.Base.DateTimeOriginal, ""))[:19]
        if not STAMP.fullmatch(stamp):
            return nan
        second = datetime.strptime(stamp, "%Y:%m:%d %H:%M:%S").replace(tzinfo=UTC).timestamp()
        part = str(data.get(ExifTags.Base.SubsecTimeOriginal, "")).strip("\0 ")
        return second + (float(f"0.{part}") if part.isascii() and part.isdigit() else 0.0)
    except Exception:  # damaged EXIF data fail in many ways, and the image may still be good
        return nan


def exif_at(taken: float | None) -> Exif:
    """Return EXIF data that say when an image was taken, as :func:`taken_at` reads them.

    Parameters
    ----------
    taken : float or None
        Seconds since 1970, as if the camera's clock showed UTC; None if it is not known.

    Returns
    -------
    PIL.Image.Exif

    """
    from PIL import ExifTags, Image

    exif = Image.Exif()
    if taken is not None:
        time = datetime.fromtimestamp(taken, UTC)
        times = exif.get_ifd(ExifTags.IFD.Exif)
        times[ExifTags.Base.DateTimeOriginal] = time.strftime("%Y:%m:%d %H:%M:%S")
        times[ExifTags.Base.SubsecTimeOriginal] = f"{time.microsecond:06d}"
    return exif
