"""Pictures of items; small ones are made when they are first needed, since most images are never shown.

An item is identified by its content: a file that has been replaced by another image is not shown.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from opengcd._internal.durable_files import make_folder, replace_file
from opengcd._internal.images import CameraNotes, EmbedderError, decoders
from opengcd.workspace import cards
from opengcd.workspace.errors import MissingError
from opengcd.workspace.files import read_file

SIDE = 256
SHOWN = {"JPEG": "image/jpeg", "PNG": "image/png", "GIF": "image/gif", "WEBP": "image/webp"}
"""Formats that every browser shows."""


def thumbnail(folder: Path, content: str, sources: Iterable[str]) -> bytes:
    """Return a JPEG picture at most ``SIDE`` pixels wide and high; ``sources`` are the files of the item.

    It is kept in the folder, unless that cannot be written to.
    """
    file = thumbnail_file(folder, content)
    with suppress(OSError):
        return file.read_bytes()
    for raw in _contents(content, sources):
        with suppress(EmbedderError):
            small = decoders().jpeg(raw, SIDE)
            with suppress(OSError):
                make_folder(file.parent)
                replace_file(file, small)
            return small
    raise _gone(content)


def thumbnail_file(folder: Path, content: str) -> Path:
    """Return the file of a small picture."""
    # The side is in the name: pictures that older versions kept, without it, may be of another image.
    return folder / content[:2] / f"{content}-{SIDE}.jpg"


def media_type(small: bytes) -> str:
    """Return the media type of a small picture: a JPEG, or a card."""
    return cards.MEDIA_TYPE if small.startswith(b"<svg") else SHOWN["JPEG"]


def whole_picture(content: str, sources: Iterable[str]) -> tuple[bytes, str]:
    """Return the bytes of an item and their media type; what browsers do not know is turned into JPEG."""
    for raw in _contents(content, sources):
        with suppress(EmbedderError):
            kind = SHOWN.get(decoders().header(raw).format)
            return (raw, kind) if kind else (decoders().jpeg(raw), SHOWN["JPEG"])
    raise _gone(content)


def camera_notes(content: str, sources: Iterable[str]) -> CameraNotes:
    """Return what the camera wrote down about an image; ``sources`` are the files of the item."""
    for raw in _contents(content, sources):
        with suppress(EmbedderError):
            return decoders().notes(raw)
    raise _gone(content)


def _contents(content: str, sources: Iterable[str]) -> Iterator[bytes]:
    """Yield the content of the files that still have the content of the item."""
    for source in sources:
        with suppress(EmbedderError):
            raw = read_file(source)
            if hashlib.sha256(raw).hexdigest() == content:
                yield raw


def _gone(content: str) -> MissingError:
    return MissingError(
        f"No file of the item {content[:12]} can be read any more; if it was moved or deleted, restore it."
    )
