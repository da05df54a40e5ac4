"""Review without a browser: a folder for each group, which a person renames, fills and empties in any file manager.

The export keeps a note of where everything was. The import compares the folders with that note, so it changes only what
the person changed, and nothing the second time.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import select

from opengcd.progress import Progress
from opengcd.storage import replace_file
from opengcd.workspace import _review as review
from opengcd.workspace._errors import WorkspaceError
from opengcd.workspace._files import content_hash, find_files, readable
from opengcd.workspace._log import Edit
from opengcd.workspace._outgoing import class_name, distinct, empty_folder, folder_name, link_or_copy, shortened
from opengcd.workspace._review import KNOWN, NOVEL, REMOVED, Group
from opengcd.workspace._schema import groups, meta

NOTE = ".opengcd-review.json"
MARK = ".opengcd-group"
"""In each folder, the number of its group: it goes with the folder when that is renamed."""
PUT_BACK = "_known_"
NUMBERED = re.compile(r"[0-9]+-([0-9a-f]{12})[-.]")
"""The name of an exported file: its place in the group, then the begin of its hash."""


class Changes(NamedTuple):
    """What an import has done."""

    named: int
    moved: int
    removed: int
    ignored: list[tuple[str, str]]
    """Files that were passed over, with reasons."""


def export_groups(
    workspace: str,
    found: Sequence[Group],
    paths: Mapping[int, Sequence[str]],
    out: str | os.PathLike[str],
    copy: bool,
    progress: Progress,
) -> list[tuple[str, str]]:
    """Write the groups to a new folder; return the files that are gone, with reasons. The note comes last."""
    root = empty_folder(out)
    taken: set[str] = set()
    note: dict[str, Any] = {"workspace": workspace, "folders": {}, "items": {}}
    missing = []
    shown = [group for group in found if group.kind != REMOVED]
    total = sum(map(len, shown))
    done = 0
    for group in shown:
        name = folder_name(f"{group.label} (doubtful)" if group.doubtful else group.label)
        folder = root / distinct(PUT_BACK + name if group.kind == KNOWN else name, taken)
        folder.mkdir()
        note["folders"][folder.name] = group.id
        (folder / MARK).write_text(str(group.id))
        for place, (item, content) in enumerate(zip(group.items, group.hashes, strict=True), 1):
            progress("writing images", done, total)
            done += 1
            source = next((path for path in paths.get(item, ()) if os.path.exists(path)), None)
            if source is None:
                missing.append((next(iter(paths.get(item, ())), content), "the file is gone"))
                continue
            note["items"][content] = group.id
            target = f"{place:05d}-{content[:12]}-{shortened(os.path.basename(source), 200)}"
            link_or_copy(source, folder / target, copy)
    replace_file(root / NOTE, json.dumps(note).encode())
    progress("writing images", total, total)
    return missing


def import_groups(edit: Edit, folder: str | os.PathLike[str]) -> tuple[Changes, dict[str, Any]]:
    """Read what a person changed back as edits; return also the note that is true from now on."""
    root = Path(folder)
    note = _read_note(root, edit)
    present, ignored = _look(root, note)
    items = {content: item for group in review.open_groups(edit.connection)
             for item, content in zip(group.items, group.hashes, strict=True)}  # fmt: skip
    named, homes, before = 0, {}, {}
    for name in sorted(p.name for p in root.iterdir() if p.is_dir() and not p.name.startswith(".")):
        if not present.get(name) and name not in note["folders"]:
            continue  # a new folder without anything in it says nothing
        before[name] = _group_of(root / name, note)
        homes[name], renamed = _settle(edit, name, before[name], note)
        named += renamed
    places = _places(present, note, before)
    moved: dict[int, list[int]] = {}
    for content, name in places.items():
        if note["items"][content] == before[name] and homes[name] == before[name]:
            continue
        if content in items:
            moved.setdefault(homes[name], []).append(items[content])
        else:
            ignored.append((str(root / name), f"the item {content[:12]} is learnt or no longer under review"))
    moves = sum(review.move(edit, chosen, home) for home, chosen in moved.items())
    gone = [items[content] for content in note["items"] if content not in places and content in items]
    removed = review.remove(edit, gone) if gone else 0
    after = {"workspace": note["workspace"], "folders": homes}
    after["items"] = {content: homes[name] for content, name in places.items()}
    return Changes(named, moves, removed, ignored), after


def write_note(folder: str | os.PathLike[str], note: dict[str, Any]) -> None:
    """Note that the folders and the workspace agree now, so that a person can go on from there."""
    root = Path(folder)
    for name, group in note["folders"].items():
        (root / name / MARK).write_text(str(group))
    replace_file(root / NOTE, json.dumps(note).encode())


def _read_note(root: Path, edit: Edit) -> dict[str, Any]:
    try:
        note = json.loads((root / NOTE).read_bytes())
        note = {"workspace": str(note["workspace"]), "folders": dict(note["folders"]), "items": dict(note["items"])}
        if not all(type(group) is int for part in ("folders", "items") for group in note[part].values()):
            raise TypeError("a group has no number")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise WorkspaceError(f"{root} is no finished export of groups ({error}); export them again.") from None
    connection = edit.connection
    if note["workspace"] != connection.scalar(select(meta.c.value).where(meta.c.key == "id")):
        raise WorkspaceError(f"{root} was exported from another workspace.")
    there = set(connection.scalars(select(groups.c.id)))
    if lost := [name for name, group in note["folders"].items() if group not in there]:
        raise WorkspaceError(
            f"The group of {root / lost[0]} no longer exists: groups were made anew since the export. Export them "
            "again, or undo what was done since."
        )
    return note


def _look(root: Path, note: dict[str, Any]) -> tuple[dict[str, list[str]], list[tuple[str, str]]]:
    """Return the exported items in each folder, by their hash, and files that are none."""
    known = {content[:12]: content for content in note["items"]}
    present: dict[str, list[str]] = {}
    ignored = []
    for found in find_files([root]):
        relative = Path(found.path).relative_to(os.path.abspath(root))
        numbered = NUMBERED.match(relative.name)
        content = known.get(numbered[1]) if numbered else None
        if content is None and not found.reason:
            content = known.get(content_hash(found.path)[:12])
        if content is None:
            ignored.append((found.path, "it was not part of the export; let recognize see it first"))
        elif len(relative.parts) == 1:
            raise WorkspaceError(f"{readable(found.path)} lies outside of the groups; move it into a folder.")
        else:
            present.setdefault(relative.parts[0], []).append(content)
    return present, ignored


def _group_of(folder: Path, note: dict[str, Any]) -> int | None:
    """The group that a folder was exported as; None for one that a person made."""
    try:
        mark = int((folder / MARK).read_text())
    except (OSError, ValueError):  # hidden files get lost on some ways
        return note["folders"].get(folder.name)
    return mark if mark in note["folders"].values() else None


def _settle(edit: Edit, name: str, group: int | None, note: dict[str, Any]) -> tuple[int, bool]:
    """Return the group that a folder stands for now, and whether its name is news."""
    if group is not None and note["folders"].get(name) == group:
        return group, False
    put_back = name.startswith(PUT_BACK)
    label = class_name(name.removeprefix(PUT_BACK))
    if put_back and label not in review.classes(edit.connection):
        raise WorkspaceError(
            f"{name!r} says {label!r} is known, but it is not; for a new class leave {PUT_BACK!r} out."
        )
    kind = edit.connection.scalar(select(groups.c.kind).where(groups.c.id == group))
    home = review.name(edit, group, label) if group and kind == NOVEL else review.group_named(edit, label)
    if edit.connection.scalar(select(groups.c.kind).where(groups.c.id == home)) == NOVEL:
        review.confirm(edit, home)  # who gives a folder the name of a class has looked at it
    return home, True


def _places(present: dict[str, list[str]], note: dict[str, Any], before: dict[str, int | None]) -> dict[str, str]:
    """The folder of each item. One that was copied instead of moved counts where it is new."""
    places: dict[str, str] = {}
    for name, contents in present.items():
        for content in contents:
            other = places.get(content, name)
            stays = [n for n in (other, name) if before[n] == note["items"][content]]
            if other != name and len(stays) != 1:
                raise WorkspaceError(f"The image {content[:12]} is in {other!r} and in {name!r}; delete one of them.")
            places[content] = name if other == name or other in stays else other
    return places
