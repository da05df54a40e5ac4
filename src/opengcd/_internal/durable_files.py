"""Write files and folders such that a crash or a power failure leaves either the old or the new state."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def replace_file(file: Path, raw: bytes, *, mode: int = 0o666) -> None:
    """Replace a file atomically and durably: readers see the old or the new content, even after a power failure.

    ``mode`` holds the permissions of a new file, before the umask is applied.
    """
    with replacement(file) as temporary:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        with open(os.open(temporary, flags, mode), "wb") as stream:
            stream.write(raw)
            stream.flush()
            os.fsync(stream.fileno())


@contextmanager
def replacement(file: Path) -> Iterator[Path]:
    """Yield the path of a temporary file that replaces ``file`` if the block succeeds, and is deleted if it fails.

    The block writes the file and syncs it to disk; for content that is too large to be held in memory.
    """
    temporary = file.with_name(f".{file.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    try:
        yield temporary
        os.replace(temporary, file)
        sync_folder(file.parent)
    except OSError as error:
        if error.filename == str(temporary):
            error.filename, error.filename2 = str(file), None  # what the caller knows
        raise
    finally:
        temporary.unlink(missing_ok=True)


def store_file(file: Path, raw: bytes) -> None:
    """Ensure that a content-addressed file is on disk; a damaged one is replaced."""
    try:
        there = file.stat().st_size == len(raw) and file.read_bytes() == raw
    except FileNotFoundError:
        there = False
    if not there:
        replace_file(file, raw)
        return
    # Its writer may have been killed before it was synced.
    with open(file, "rb+") as stream:
        os.fsync(stream.fileno())
    sync_folder(file.parent)


def make_folder(folder: Path, mode: int = 0o777) -> None:
    """Create a folder and its parents durably."""
    if not folder.parent.exists():
        make_folder(folder.parent, mode)
    folder.mkdir(mode, exist_ok=True)
    # Also if they exist: their creator may have been killed before they were synced.
    sync_folder(folder.parent)
    with suppress(PermissionError):  # a folder without read permission was not created here
        sync_folder(folder.parent.parent)


def sync_folder(folder: Path) -> None:
    """Sync the entries of a folder to disk; on POSIX systems they are stored separately from the files."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def sync_tree(folder: Path) -> None:
    """Sync a folder, with all that is in it, to disk."""
    for place, _, names in os.walk(folder):
        for name in names:
            with open(Path(place, name), "rb+") as stream:
                os.fsync(stream.fileno())
        sync_folder(Path(place))
