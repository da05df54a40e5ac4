"""Files to take in: finding them, reading them, and the hash of their content."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from opengcd._internal.images import MAX_BYTES, TOO_LARGE, EmbedderError
from opengcd._internal.limited_reading import read_limited
from opengcd.workspace.settings import FILE

NO_IMAGES = {"thumbs.db", "desktop.ini", "metadata.csv", "metadata.jsonl"}
"""Files that file managers and datasets have beside images; hidden files are skipped, too."""


class Found(NamedTuple):
    """A file, or the reason why it cannot be read."""

    path: str
    size: int
    mtime: int
    reason: str = ""


def find_files(starts: Iterable[str | os.PathLike[str]]) -> Iterator[Found]:
    """Find all files under some paths.

    Hidden files, what file managers leave behind, and workspaces are skipped; a loop of links is entered once.

    Parameters
    ----------
    starts : iterable of path
        Files, and folders that are searched with all folders in them.

    Yields
    ------
    Found
        Each file once, sorted within each start; one that cannot be read has a reason.

    """
    seen: set[str] = set()
    folders: set[tuple[int, int]] = set()
    for start in starts:
        path = os.path.abspath(start)
        walk = _walk(path, folders) if os.path.isdir(path) else [look_at(path)]
        for found in walk:
            if found.path not in seen:
                seen.add(found.path)
                yield found


def look_at(path: str) -> Found:
    """Return the size and time of a file."""
    try:
        status = os.stat(path)
    except OSError as error:
        return Found(path, 0, 0, _reason(error))
    if not stat.S_ISREG(status.st_mode):
        return Found(path, 0, 0, "not a regular file")
    return Found(path, status.st_size, status.st_mtime_ns)


def content_hash(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file's content."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def read_file(path: str) -> bytes:
    """Return the content of an image file; an EmbedderError says why it cannot be read."""
    found = look_at(path)  # opening a pipe, for example, could block for ever
    if found.reason:
        raise EmbedderError(found.reason)
    try:
        raw = read_limited(path, MAX_BYTES)
    except OSError as error:
        raise EmbedderError(_reason(error)) from None
    if raw is None:
        raise EmbedderError(TOO_LARGE)
    return raw


def readable(path: str | os.PathLike[str]) -> str:
    """Return a path as text that can be printed anywhere.

    Parameters
    ----------
    path : path

    Returns
    -------
    str
        Bytes that are not text are escaped.

    """
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _walk(start: str, folders: set[tuple[int, int]]) -> Iterator[Found]:
    waiting = [start]  # not recursive: folders may be nested deeper than Python's call stack allows
    while waiting:
        path = waiting.pop()
        if not os.path.isdir(path):
            yield look_at(path)
            continue
        try:
            status = os.stat(path)
            if (status.st_dev, status.st_ino) in folders:
                continue
            folders.add((status.st_dev, status.st_ino))
            names = sorted(os.listdir(path), reverse=True)
        except OSError as error:
            yield Found(path, 0, 0, _reason(error))
            continue
        if FILE in names:  # a workspace among the images holds none itself
            continue
        waiting += [os.path.join(path, n) for n in names if not n.startswith(".") and n.lower() not in NO_IMAGES]


def _reason(error: OSError) -> str:
    return f"it cannot be read: {error.strerror or error}"
