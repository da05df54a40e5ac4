"""Exports on disk and as zip files. On disk, a target is complete or absent, and replaced only if that is asked for."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from opengcd._internal.durable_files import replace_file
from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.exports.labels import ExportLabels
from opengcd.workspace.exports.registry import Format
from opengcd.workspace.outgoing import Source, link_or_copy

MARK = ".opengcd-export"
"""A file in the folder of an export: only such a folder is ever replaced."""
LEFT_OUT = "left-out.txt"
"""A file in a zip that lists what could not be exported."""


def write(format: Format, labels: ExportLabels, out: str | os.PathLike[str], *, copy: bool, overwrite: bool) -> None:
    """Write an export to a file or a folder.

    Parameters
    ----------
    format : Format
    labels : ExportLabels
        Afterwards ``left_out`` says what could not be exported.
    out : path
        The new file, or the new or empty folder.
    copy : bool
        Whether a folder holds copies of the images instead of links.
    overwrite : bool
        Whether to replace a file, or a folder that an export wrote.

    Raises
    ------
    WorkspaceError
        If there is something that may not be replaced.

    """
    target = Path(os.path.realpath(out))
    _refuse(format, target, overwrite)
    if not format.is_folder:
        raw = as_bytes(format, labels)
        target.parent.mkdir(parents=True, exist_ok=True)
        _refuse(format, target, overwrite)  # making it may have taken long
        replace_file(target, raw)
        return
    with _new_folder(target) as folder:
        for name, content in format.parts(labels):
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, Source):
                link_or_copy(content, file, copy)
            else:
                file.write_bytes(content)
        (folder / MARK).write_text(f"{format.name}\n")
        _refuse(format, target, overwrite)


def as_bytes(format: Format, labels: ExportLabels) -> bytes:
    """Return the file of a format that is one.

    Parameters
    ----------
    format : Format
    labels : ExportLabels

    Returns
    -------
    bytes

    """
    ((_, content),) = format.parts(labels)
    assert isinstance(content, bytes)
    return content


def as_zip(format: Format, labels: ExportLabels) -> Iterator[bytes]:
    """Yield the folder of a format as a zip file, piece by piece: one image at a time is in memory.

    Parameters
    ----------
    format : Format
    labels : ExportLabels

    Yields
    ------
    bytes

    """
    out = _Pipe()
    with ZipFile(out, "w", ZIP_STORED) as archive:  # images are compressed already
        for name, content in format.parts(labels):
            raw, packing = (content.raw, ZIP_STORED) if isinstance(content, Source) else (content, ZIP_DEFLATED)
            archive.writestr(_entry(name), raw, packing)
            yield out.take()
        if labels.left_out:
            lines = [f"{path}: {reason}\n" for path, reason in dict.fromkeys(labels.left_out)]
            archive.writestr(_entry(LEFT_OUT), "".join(lines).encode("utf-8", "backslashreplace"), ZIP_DEFLATED)
    yield out.take()


def _entry(name: str) -> ZipInfo:
    entry = ZipInfo(name)
    entry.external_attr = 0o644 << 16
    return entry


class _Pipe:
    """A file that is only written to; what was written is taken away."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, b: bytes, /) -> int:
        self._pieces.append(bytes(b))
        return len(b)

    def flush(self) -> None:
        """Do nothing: nothing is held back."""

    def close(self) -> None:
        """Do nothing: what was written can still be taken."""

    def take(self) -> bytes:
        raw = b"".join(self._pieces)
        self._pieces.clear()
        return raw


def _refuse(format: Format, target: Path, overwrite: bool) -> None:
    """Raise an error if an export must not be written there."""
    if not format.is_folder:
        if target.is_dir():
            raise WorkspaceError(f"{target} is a folder; name a file for this format.")
        if target.exists() and not overwrite:
            raise WorkspaceError(f"{target} exists; choose another name, or replace it with --overwrite.")
        return
    if not target.exists():
        return
    if not target.is_dir():
        raise WorkspaceError(f"{target} is a file; name a folder for this format.")
    if not any(target.iterdir()):
        return
    if not (target / MARK).is_file():
        raise WorkspaceError(f"{target} is not empty, and no export wrote it; choose a new folder.")
    if not overwrite:
        raise WorkspaceError(f"{target} is not empty; choose a new folder, or replace this export with --overwrite.")


@contextmanager
def _new_folder(target: Path) -> Iterator[Path]:
    """Yield a folder that takes the place of ``target`` if the block succeeds, and is deleted if it fails."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    temporary.mkdir()
    try:
        yield temporary
        _exchange(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _exchange(new: Path, target: Path) -> None:
    old = target.with_name(f"{new.name}.old")
    try:
        if target.exists():
            os.rename(target, old)
        try:
            os.rename(new, target)
        except OSError:
            with suppress(OSError):
                os.rename(old, target)
            raise
    except OSError as error:
        raise WorkspaceError(
            f"{target} cannot be replaced ({error.strerror}); choose a folder that does not exist yet."
        ) from None
    shutil.rmtree(old, ignore_errors=True)
