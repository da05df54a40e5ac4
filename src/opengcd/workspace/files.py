"""Files to take in: finding them, reading them, and the hash of their content."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Container, Iterable, Iterator
from typing import NamedTuple

from opengcd._internal.images import MAX_BYTES, RAW, TOO_LARGE, EmbedderError
from opengcd._internal.limited_reading import read_limited
from opengcd.workspace.settings import FILE

NO_IMAGES = {"thumbs.db", "desktop.ini"}
"""Files that file managers leave behind; hidden files are skipped, too."""
NO_IMAGE_SUFFIXES = frozenset({
    ".txt", ".md", ".csv", ".tsv", ".json", ".jsonl", ".xml", ".xmp", ".yaml", ".yml", ".toml", ".ini", ".cfg",
    ".log", ".html", ".htm", ".pdf", ".doc", ".docx", ".xls", ".xlsx", ".ppt", ".pptx", ".odt", ".ods", ".rtf",
    ".zip", ".gz", ".tar", ".7z", ".rar", ".db", ".sqlite", ".lnk", ".url", ".exe", ".dll", ".sh", ".bat", ".py",
    ".ipynb", ".js", ".css", ".npy", ".npz", ".h5", ".hdf5", ".parquet", ".pt", ".pth", ".onnx", ".safetensors",
    ".mp3", ".wav", ".thm", ".pp3", ".dop", ".on1", ".cos", ".aae", ".md5", ".sha256", ".gpx", ".kml",
})  # fmt: skip
"""Ends of names of files that lie beside images: notes, tables, sidecars of cameras and of programs for photographs."""
RAW_SUFFIXES = frozenset({
    ".cr2", ".cr3", ".crw", ".nef", ".nrw", ".arw", ".srf", ".sr2", ".raf", ".orf", ".rw2", ".rwl", ".pef",
    ".dng", ".3fr", ".iiq", ".x3f", ".erf", ".kdc", ".mrw",
})  # fmt: skip
"""Raw files of cameras. Many are TIFF files, of which only a small preview could be read."""

VIDEO_SUFFIXES = frozenset(
    {".mp4", ".m4v", ".mov", ".avi", ".mkv", ".webm", ".mts", ".m2ts", ".mpg", ".mpeg", ".wmv", ".3gp"}
)
"""Files of which frames are taken; see :mod:`opengcd.workspace.videos`."""


class Found(NamedTuple):
    """A file, or the reason why it cannot be read."""

    path: str
    size: int
    mtime: int
    reason: str = ""

    @property
    def is_video(self) -> bool:
        """Whether it is a video, by its name."""
        return os.path.splitext(self.path)[1].lower() in VIDEO_SUFFIXES


def ignore_file(path: str) -> None:
    """Do nothing with a file that is skipped."""


def find_files(
    starts: Iterable[str | os.PathLike[str]], on_skipped: Callable[[str], object] = ignore_file
) -> Iterator[Found]:
    """Find all files under some paths.

    In folders, files that are neither images nor videos by their name, hidden files, what file managers leave behind,
    raw files beside a JPEG file of the same name, and workspaces are skipped; a loop of links is entered once.

    Parameters
    ----------
    starts : iterable of path
        Files, and folders that are searched with all folders in them.
    on_skipped : callable
        Called with the path of each file in a folder that is skipped.

    Yields
    ------
    Found
        Each file once, sorted within each start; one that cannot be read has a reason.

    """
    seen: set[str] = set()
    folders: set[tuple[int, int]] = set()
    for start in starts:
        path = os.path.abspath(start)
        walk = _walk(path, folders, on_skipped) if os.path.isdir(path) else [look_at(path)]
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
    if os.path.splitext(path)[1].lower() in RAW_SUFFIXES:
        return Found(path, 0, 0, RAW)
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


def is_stray(name: str, beside: Container[str] = ()) -> bool:
    """Return whether a file is neither image nor video, by its name and the names in lower case that are beside it.

    Parameters
    ----------
    name : str
        The name of the file without its folder.
    beside : container of str
        Names of files in the folder, in lower case.

    Returns
    -------
    bool

    """
    lower = name.lower()
    stem, suffix = os.path.splitext(lower)
    doubled = suffix in RAW_SUFFIXES and any(f"{stem}{end}" in beside for end in (".jpg", ".jpeg"))
    return name.startswith(".") or lower in NO_IMAGES or suffix in NO_IMAGE_SUFFIXES or doubled


def _walk(start: str, folders: set[tuple[int, int]], on_skipped: Callable[[str], object]) -> Iterator[Found]:
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
        beside = {name.lower() for name in names}
        for name in names:
            whole = os.path.join(path, name)
            if not is_stray(name, beside) or (not name.startswith(".") and os.path.isdir(whole)):
                waiting.append(whole)
            elif os.path.isfile(whole):
                on_skipped(whole)


def _reason(error: OSError) -> str:
    return f"it cannot be read: {error.strerror or error}"
