"""Files to write out: links or copies, under names that every file system allows.

An item is identified by its content: a file that has been replaced by another image is not used for it.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from opengcd._internal.images import EmbedderError
from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.files import read_file

FORBIDDEN = re.compile(r'[%/\\:*?"<>|\x00-\x1f\x7f]|^[._ ]|[. ]$')
LONGEST = 200
"""Bytes of a name; file systems allow 255, and a number comes before it."""
GONE, OTHER = "the file is missing", "the file contains another image now"


class Source(NamedTuple):
    """A file of an item with its content, or the reason why it cannot be used."""

    path: str
    raw: bytes
    reason: str = ""


def find_source(content: str, files: Iterable[str]) -> Source:
    """Return a file that still has the content of an item, by its hash; if none has, the first one with a reason."""
    first = None
    for path in files:
        source = _read(content, path)
        if not source.reason:
            return source
        first = first or source
    return first or Source(content, b"", GONE)


def _read(content: str, path: str) -> Source:
    if not os.path.exists(path):
        return Source(path, b"", GONE)
    try:
        raw = read_file(path)
    except EmbedderError as error:
        return Source(path, b"", str(error))
    if hashlib.sha256(raw).hexdigest() != content:
        return Source(path, b"", OTHER)
    return Source(path, raw)


def folder_name(label: str) -> str:
    """Return a class as the name of a folder; what a name cannot hold is written as %XX."""
    return shortened(FORBIDDEN.sub(lambda found: f"%{ord(found[0]):02X}", label), LONGEST)


def class_name(folder: str) -> str:
    """Return the class of a folder that :func:`folder_name` or a person named."""
    return re.sub(r"%([0-7][0-9A-F])", lambda found: chr(int(found[1], 16)), folder)


def distinct(name: str, taken: set[str]) -> str:
    """Return a name that is not taken yet, even where case does not count, and take it."""
    number, free = 1, name
    while free.casefold() in taken:
        number += 1
        free = f"{name} ({number})"
    taken.add(free.casefold())
    return free


def empty_folder(path: str | os.PathLike[str]) -> Path:
    """Return a folder to write to, made if need be; raise an error if it is not empty."""
    folder = Path(path)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise WorkspaceError(f"{folder} is not empty; choose a new folder.")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def shortened(name: str, limit: int) -> str:
    """Return a name of at most that many bytes, its suffix kept."""
    stem, suffix = os.path.splitext(name)
    raw = os.fsencode(stem)[: max(limit - len(os.fsencode(suffix)), 0)]
    return raw.decode("utf-8", "ignore") + suffix


def link_or_copy(source: Source, target: Path, copy: bool) -> None:
    """Put an image into a folder, as a link if that is wanted and possible."""
    if not copy:
        try:
            target.symlink_to(source.path)
            return
        except (OSError, NotImplementedError):  # some file systems, and Windows by default, have no links
            pass
    target.write_bytes(source.raw)  # what was compared with the hash, whatever happened to the file since
