"""Read a whole file, but never more of it than expected: a damaged or hostile file must not fill the memory."""

from __future__ import annotations

import os
from pathlib import Path

MISSING = FileNotFoundError, NotADirectoryError, IsADirectoryError
"""Errors that mean that a file does not exist; others, such as too many open files, may be temporary."""


def read_limited(path: str | os.PathLike[str], most: int) -> bytes | None:
    """Return the content of a file, or None if it is larger than ``most`` bytes."""
    with Path(path).open("rb") as stream:
        raw = stream.read(most + 1)
    return raw if len(raw) <= most else None
