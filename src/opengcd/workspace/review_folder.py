"""The folders of an export after a person changed them: links are neither followed nor written through."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from opengcd._internal.durable_files import replace_file
from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.files import NO_IMAGES, content_hash, readable

NOTE = ".opengcd-review.json"
MARK = ".opengcd-group"
"""File in each folder with the number of its group, so that the group is found after the folder was renamed."""
LONGEST_MARK = 20
LONGEST_NOTE = 128 * 2**20
"""Bytes; that of a million images has about 75 million."""
NUMBERED = re.compile(r"[0-9]+-([0-9a-f]{12})[-.]")
"""The name of an exported file: its place in the group, then the begin of its hash."""
NOT_EXPORTED = "not part of the export; run opengcd recognize on it first"


class Note(NamedTuple):
    """Where everything was at the time of the export."""

    workspace: str
    folders: dict[str, int]
    """The group of each folder, by its name."""
    items: dict[str, int]
    """The group of each item, by its content."""


def read_note(root: Path) -> Note:
    """Return the note of an export."""
    try:
        document = json.loads(_own_content(root / NOTE, LONGEST_NOTE))
        return Note(str(document["workspace"]), _numbers(document, "folders"), _numbers(document, "items"))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}" if isinstance(error, KeyError | TypeError) else str(error)
        raise WorkspaceError(
            f"{readable(root)} is not a finished export of groups ({reason}); export them again."
        ) from None


def write_note(folder: str | os.PathLike[str], note: Note) -> None:
    """Store the present state of the folders, so that the review can continue in them."""
    root = Path(folder)
    try:
        for name, group in note.folders.items():
            write_mark(root / name, group)
        replace_file(root / NOTE, json.dumps(note._asdict()).encode())
    except OSError as error:
        raise WorkspaceError(
            f"The changes are stored, but {readable(root)} cannot be written ({error}); to continue the review, "
            "export the groups to a new folder."
        ) from None


def write_mark(folder: Path, group: int) -> None:
    """Store in a folder the number of its group."""
    replace_file(folder / MARK, str(group).encode())


def read_mark(folder: Path) -> int | None:
    """Return the group that a folder was exported as, if it has kept its mark."""
    try:
        return int(_own_content(folder / MARK, LONGEST_MARK))
    except (OSError, ValueError):  # some file managers do not copy hidden files
        return None


def find_items(root: Path, note: Note, linked: Mapping[str, str]) -> tuple[dict[str, list[str]], list[tuple[str, str]]]:
    """Return the exported items in each folder, by their content, and all other files, with reasons.

    ``linked`` has the content of each file that an exported link may lead to.
    """
    known = {content[:12]: content for content in note.items}
    present: dict[str, list[str]] = {}
    ignored = []
    for path in _files(root):
        relative = path.relative_to(root)
        numbered = NUMBERED.match(relative.name)
        content = known.get(numbered[1]) if numbered else None
        if content is None and path.is_symlink():
            content = linked.get(os.path.normpath(path.parent / os.readlink(path)))
        elif content is None and path.is_file():
            content = known.get(content_hash(path)[:12])
        if content not in note.items:
            ignored.append((str(path), NOT_EXPORTED))
        elif len(relative.parts) == 1:
            raise WorkspaceError(f"{readable(path)} is outside the folders of groups; move it into one.")
        else:
            present.setdefault(relative.parts[0], []).append(content)
    return present, ignored


def group_folders(root: Path) -> list[str]:
    """Return the names of the folders of groups."""
    return sorted(path.name for path in root.iterdir() if path.is_dir() and not path.name.startswith("."))


def _files(root: Path) -> Iterator[Path]:
    """All files under a folder, sorted; links to folders are refused, as they lead out of it."""
    waiting = [root]  # not recursive: folders may be nested deeper than Python's call stack allows
    while waiting:
        path = waiting.pop()
        if not path.is_dir():
            yield path
            continue
        if path != root and path.is_symlink():
            raise WorkspaceError(f"{readable(path)} is a link to a folder; put the folder itself there, or delete it.")
        try:
            entries = sorted(path.iterdir(), reverse=True)
        except OSError as error:  # its images must not count as deleted
            raise WorkspaceError(f"{readable(path)} cannot be read ({error.strerror}); make it readable.") from None
        waiting += [one for one in entries if not one.name.startswith(".") and one.name.lower() not in NO_IMAGES]


def _own_content(path: Path, limit: int) -> bytes:
    """The content of a file that is one itself: a link could lead anywhere, and a pipe has no end."""
    status = path.lstat()
    if not stat.S_ISREG(status.st_mode):
        raise ValueError(f"{path.name} is not a regular file")
    if status.st_size > limit:
        raise ValueError(f"{path.name} is too long")
    return path.read_bytes()


def _numbers(document: Mapping[str, Any], key: str) -> dict[str, int]:
    found = document[key]
    if not isinstance(found, dict):
        raise TypeError(f"{key!r} is not an object")
    for name, group in found.items():
        if type(group) is not int:
            raise TypeError(f"the group of {name!r} is not a number")
    return found
