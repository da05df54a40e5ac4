"""Files and folders that a crash or a power failure leaves whole: either as they were, or as they were written."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path


def replace_file(file: Path, raw: bytes, *, mode: int = 0o666) -> None:
    """Write a file so that a reader sees the old one or the new one, whole, and a power failure does not lose it.

    ``mode`` is what a new file is made with, less the bits of the umask.
    """
    temporary = file.with_name(f".{file.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        with open(os.open(temporary, flags, mode), "wb") as stream:
            stream.write(raw)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, file)
        sync_folder(file.parent)
    finally:
        temporary.unlink(missing_ok=True)


def store_file(file: Path, raw: bytes) -> None:
    """Make sure that a file whose name says its content is on disk; a damaged one is replaced."""
    try:
        there = file.stat().st_size == len(raw) and file.read_bytes() == raw
    except FileNotFoundError:
        there = False
    if not there:
        replace_file(file, raw)
        return
    # Whoever wrote it may have been killed before it was safe.
    with open(file, "rb+") as stream:
        os.fsync(stream.fileno())
    sync_folder(file.parent)


def make_folder(folder: Path, mode: int = 0o777) -> None:
    """Make a folder and those above it, such that a power failure does not lose them."""
    if not folder.parent.exists():
        make_folder(folder.parent, mode)
    folder.mkdir(mode, exist_ok=True)
    # Also if they exist: whoever made them may have been killed before they were safe.
    sync_folder(folder.parent)
    with suppress(PermissionError):  # a folder that we may not read is not one that we made
        sync_folder(folder.parent.parent)


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on disk; on POSIX systems they are stored apart from the files."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
