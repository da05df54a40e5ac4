"""Pictures of items to look at; small ones are made when first asked for: most images are never looked at."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from opengcd.embed import EmbedderError, read_image
from opengcd.storage import replace_file
from opengcd.workspace._errors import MissingError

if TYPE_CHECKING:
    from PIL.Image import Image

SIDE = 256
SHOWN = {"JPEG": "image/jpeg", "PNG": "image/png", "GIF": "image/gif", "WEBP": "image/webp"}
"""Formats that every browser shows."""


def thumbnail(folder: Path, content: str, sources: Iterable[str]) -> Path:
    """Return the file of a picture at most ``SIDE`` pixels wide and high; ``sources`` are the files of the item."""
    file = folder / content[:2] / f"{content}.jpg"
    if file.exists():
        return file
    for source in sources:
        try:
            image = read_image(source)
        except (OSError, EmbedderError):
            continue
        image.thumbnail((SIDE, SIDE))
        file.parent.mkdir(parents=True, exist_ok=True)
        replace_file(file, _as_jpeg(image))
        return file
    raise _gone(content)


def whole_picture(content: str, sources: Iterable[str]) -> tuple[bytes, str]:
    """Return the bytes of an item and their media type; what browsers do not know is turned into JPEG."""
    from PIL import Image

    for source in sources:
        try:
            raw = Path(source).read_bytes()
            if hashlib.sha256(raw).hexdigest() != content:
                continue  # another image has taken its place
            with Image.open(io.BytesIO(raw)) as image:
                kind = SHOWN.get(image.format or "")
            return (raw, kind) if kind else (_as_jpeg(read_image(io.BytesIO(raw))), SHOWN["JPEG"])
        except (OSError, EmbedderError):
            continue
    raise _gone(content)


def _as_jpeg(image: Image) -> bytes:
    raw = io.BytesIO()
    image.save(raw, "JPEG", quality=85)
    return raw.getvalue()


def _gone(content: str) -> MissingError:
    return MissingError(f"No file of the item {content[:12]} can be read any more; was it moved or deleted?")
