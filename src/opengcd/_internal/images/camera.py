"""What a camera wrote down about an image: its EXIF data, as far as a person wants to see them."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from PIL.ImageFile import ImageFile

LONGEST = 200
"""Characters of a text in EXIF data that are shown."""


class CameraNotes(NamedTuple):
    """EXIF data of an image; None where the image does not say."""

    taken: str | None = None
    """By the camera's clock, as ``2024-05-01 06:30:12``."""
    camera: str | None = None
    lens: str | None = None
    exposure: float | None = None
    """Seconds."""
    aperture: float | None = None
    """The f-number."""
    iso: float | None = None
    focal_length: float | None = None
    """Millimetres."""
    latitude: float | None = None
    """Degrees north."""
    longitude: float | None = None
    """Degrees east."""


def camera_notes(opened: ImageFile) -> dict[str, str | float | None]:
    """Return the fields of :class:`CameraNotes` that an image has.

    Parameters
    ----------
    opened : PIL.ImageFile.ImageFile
        Its pixels need not be decoded.

    Returns
    -------
    dict of str to str, float or None

    """
    from PIL.ExifTags import GPS, IFD, Base

    try:
        exif = opened.getexif()
        shot, place = exif.get_ifd(IFD.Exif), exif.get_ifd(IFD.GPSInfo)
    except Exception:  # damaged EXIF data fail in many ways, and the image may still be good
        return {}
    make, model = _text(exif.get(Base.Make)), _text(exif.get(Base.Model))
    camera = (
        model if make is None or (model or "").lower().startswith(make.lower()) else f"{make} {model or ''}".strip()
    )
    stamp = _text(shot.get(Base.DateTimeOriginal) or exif.get(Base.DateTime))
    iso = shot.get(Base.ISOSpeedRatings)
    return {
        "taken": stamp and stamp.replace(":", "-", 2),
        "camera": camera,
        "lens": _text(shot.get(Base.LensModel)),
        "exposure": _number(shot.get(Base.ExposureTime)),
        "aperture": _number(shot.get(Base.FNumber)),
        "iso": _number(iso[0] if isinstance(iso, tuple) and iso else iso),
        "focal_length": _number(shot.get(Base.FocalLength)),
        "latitude": _degrees(place.get(GPS.GPSLatitude), place.get(GPS.GPSLatitudeRef), "S", 90),
        "longitude": _degrees(place.get(GPS.GPSLongitude), place.get(GPS.GPSLongitudeRef), "W", 180),
    }


def read_notes(raw: bytes) -> CameraNotes:
    """Return the notes of a reply, whatever the process that sent it has become.

    Parameters
    ----------
    raw : bytes
        JSON of what :func:`camera_notes` returns.

    Returns
    -------
    CameraNotes

    """
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        return CameraNotes()
    if not isinstance(found, dict):
        return CameraNotes()
    taken, camera, lens = (_text(found.get(name)) for name in CameraNotes._fields[:3])
    return CameraNotes(taken, camera, lens, *(_number(found.get(name)) for name in CameraNotes._fields[3:]))


def _text(value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    shown = "".join(one for one in value if one.isprintable()).strip()[:LONGEST]
    return shown or None


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _degrees(parts: Any, sign: Any, negative: str, most: int) -> float | None:
    """Return degrees from degrees, minutes and seconds."""
    if not isinstance(parts, tuple) or len(parts) != 3:
        return None
    numbers = [_number(part) for part in parts]
    if None in numbers or not isinstance(sign, str):
        return None
    degrees = sum((number or 0.0) / 60**i for i, number in enumerate(numbers))
    return None if not 0 <= degrees <= most else round(-degrees if sign.strip("\0 ") == negative else degrees, 6)
