"""Unpack a zip that a stranger may have made: nothing leaves the folder, and no more is written than fits."""

from __future__ import annotations

import re
import shutil
import stat
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from opengcd._internal.images import MAX_BYTES
from opengcd.workspace import TooLargeError, WorkspaceError
from opengcd.workspace.files import VIDEO_SUFFIXES

MOST_FILES = 200_000
MOST_BYTES = 64 * 2**30
"""Of all files together, unpacked."""
LARGE = (".zip", ".npz", ".npy", ".parquet", ".arrow", *VIDEO_SUFFIXES)
"""Ends of names of files that hold many items: they may have as many bytes as a whole zip."""
SPARE = 2**30
"""Bytes of the disk that stay free."""
CHUNK = 2**20
LONGEST_PATH, DEEPEST = 1000, 32
"""Characters of a path, and folders in it."""
SKIPPED = {"__macosx", "thumbs.db", "desktop.ini"}
METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
"""Others are rare, and each is more code that a hostile file can reach."""


def safe_parts(path: str) -> tuple[str, ...]:
    """Return the folders and the name of a file that somebody else has named.

    Parameters
    ----------
    path : str
        Relative, with slashes.

    Returns
    -------
    tuple of str

    Raises
    ------
    WorkspaceError
        If it leaves its folder, or cannot be a name on some system.

    """
    parts = tuple(path.split("/"))
    bad = (
        any(part in ("", ".", "..") or len(part.encode("utf-8", "surrogatepass")) > 255 for part in parts)
        or re.search(r"[\x00-\x1f\x7f\\]", path)
        or re.match(r"[A-Za-z]:", path)
        or any("\ud800" <= character <= "\udfff" for character in path)
        or len(path) > LONGEST_PATH
        or len(parts) > DEEPEST
    )
    if bad:
        raise WorkspaceError(
            f"The file name {path[:200]!r} cannot be used: names are relative, without `..`, backslashes and control "
            f"characters, and of at most {LONGEST_PATH} characters."
        )
    return parts


def largest(path: str) -> int:
    """Return how many bytes a file may have, by its name."""
    return MOST_BYTES if path.lower().endswith(LARGE) else MAX_BYTES


def skipped(path: str) -> bool:
    """Return whether a file is hidden or left behind by a file manager."""
    return any(part.startswith(".") or part.lower() in SKIPPED for part in path.split("/"))


def unpack(archive: Path, target: Path, check: Callable[[], object] = lambda: None) -> int:
    """Unpack a zip into a new folder, all or nothing.

    Parameters
    ----------
    archive : Path
    target : Path
        It must not exist.
    check : callable
        Called from time to time; what it raises ends the work.

    Returns
    -------
    int
        The number of files.

    Raises
    ------
    WorkspaceError
        If it is not a zip, is damaged or encrypted, or has names or links that lead elsewhere.
    TooLargeError
        If it has too many files, or too much in them.

    """
    beginning = target.with_name(f".{target.name}.unpacking")
    shutil.rmtree(beginning, ignore_errors=True)
    beginning.mkdir()
    try:
        with zipfile.ZipFile(archive) as opened:
            number = _unpack(opened, list(_wanted(opened)), beginning, check)
        beginning.rename(target)
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, UnicodeError) as error:
        raise WorkspaceError(f"The zip cannot be read: {error or 'it is damaged'}. Pack it again.") from None
    finally:
        shutil.rmtree(beginning, ignore_errors=True)
    return number


def _wanted(archive: zipfile.ZipFile) -> Iterator[zipfile.ZipInfo]:
    """Check all entries before anything is written, and yield the files."""
    if len(archive.filelist) > MOST_FILES:
        raise TooLargeError(f"The zip has {len(archive.filelist):,} files; at most {MOST_FILES:,} are unpacked.")
    names: set[str] = set()
    total = 0
    for entry in archive.filelist:
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise WorkspaceError(f"The zip holds a link or a device ({entry.filename[:200]!r}); pack plain files only.")
        safe_parts(entry.filename.removesuffix("/") if entry.is_dir() else entry.filename)
        if entry.flag_bits & 1:
            raise WorkspaceError("The zip is encrypted; pack it without a password.")
        if entry.is_dir() or skipped(entry.filename):
            continue
        if entry.compress_type not in METHODS:
            raise WorkspaceError("The zip is compressed in an unusual way; pack it by the usual method (deflate).")
        if entry.filename in names:
            raise WorkspaceError(f"The zip holds {entry.filename[:200]!r} twice; pack it again.")
        names.add(entry.filename)
        total += entry.file_size
        if total > MOST_BYTES:
            raise TooLargeError(f"The zip holds more than {MOST_BYTES // 2**30} GiB; pack it in several parts.")
        yield entry


def _unpack(archive: zipfile.ZipFile, entries: list[zipfile.ZipInfo], target: Path, check: Callable[[], object]) -> int:
    room = shutil.disk_usage(target).free - SPARE
    if (size := sum(entry.file_size for entry in entries)) > room:
        raise TooLargeError(
            f"Unpacked, the zip takes {size / 2**30:.1f} GiB, and the disk has only {max(0, room) / 2**30:.1f} GiB to "
            "spare. Free some space."
        )
    for entry in entries:
        check()
        file = target.joinpath(*safe_parts(entry.filename))
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise WorkspaceError(
                f"The zip holds {entry.filename[:200]!r} in something that is also a file; pack it again."
            ) from None
        _unpack_file(archive, entry, file)
    return len(entries)


def _unpack_file(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, file: Path) -> None:
    """Write one file, and no more than the zip says and a file may have: what it says may be false."""
    if entry.file_size > (most := largest(entry.filename)):
        raise TooLargeError(
            f"{entry.filename[:200]!r} in the zip has more than {most // 2**20:,} MiB; leave it out of the zip."
        )
    left = entry.file_size
    try:
        stream = file.open("xb")
    except FileExistsError:  # some systems do not tell upper and lower case apart
        raise WorkspaceError(
            f"The zip holds {entry.filename[:200]!r} twice, or as a file and as a folder; pack it again."
        ) from None
    with stream, archive.open(entry) as source:
        while piece := source.read(CHUNK):
            left -= len(piece)
            if left < 0:
                raise WorkspaceError("The zip is damaged: a file is larger than it says. Pack it again.")
            stream.write(piece)
    if left:
        raise WorkspaceError("The zip is damaged: a file is smaller than it says. Pack it again.")
