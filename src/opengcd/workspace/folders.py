"""Review without a browser: a folder for each group, which a person renames, fills and empties in any file manager.

The export stores a note of where everything was. The import compares the folders with that note, so it changes only
what the person changed, and a second import changes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, select

from opengcd._internal.progress import Progress
from opengcd.workspace import groups as review
from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.groups import KNOWN, NOVEL, REMOVED, Group
from opengcd.workspace.log import Edit
from opengcd.workspace.names import existing
from opengcd.workspace.outgoing import (
    class_name,
    distinct,
    empty_folder,
    find_source,
    folder_name,
    link_or_copy,
    shortened,
)
from opengcd.workspace.review_folder import (
    Note,
    find_items,
    group_folders,
    read_mark,
    read_note,
    write_mark,
    write_note,
)
from opengcd.workspace.schema import groups, items, meta, paths

RETURNED = "_known_"


class Changes(NamedTuple):
    """The changes that an import made."""

    named: int
    moved: int
    removed: int
    ignored: list[tuple[str, str]]
    """Files that were skipped, with reasons."""


def export_groups(
    workspace: str,
    found: Sequence[Group],
    files: Mapping[int, Sequence[str]],
    out: str | os.PathLike[str],
    copy: bool,
    progress: Progress,
) -> list[tuple[str, str]]:
    """Write the groups to a new folder; return the files that cannot be used, with reasons. The note comes last."""
    root = empty_folder(out)
    taken: set[str] = set()
    note = Note(workspace, {}, {})
    missing = []
    shown = [group for group in found if group.kind != REMOVED]
    total = sum(map(len, shown))
    done = 0
    for group in shown:
        name = folder_name(f"{group.label} (doubtful)" if group.doubtful else group.label)
        folder = root / distinct(RETURNED + name if group.kind == KNOWN else name, taken)
        folder.mkdir()
        note.folders[folder.name] = group.id
        write_mark(folder, group.id)
        for place, (item, content) in enumerate(zip(group.items, group.hashes, strict=True), 1):
            progress("writing images", done, total)
            done += 1
            source = find_source(content, files.get(item, ()))
            if source.reason:
                missing.append((source.path, source.reason))
                continue
            note.items[content] = group.id
            target = f"{place:05d}-{content[:12]}-{shortened(os.path.basename(source.path), 200)}"
            link_or_copy(source, folder / target, copy)
    write_note(root, note)
    progress("writing images", total, total)
    return missing


def import_groups(edit: Edit, folder: str | os.PathLike[str]) -> tuple[Changes, Note]:
    """Turn what a person changed into edits; return also the new note."""
    root = Path(folder).absolute()
    note = read_note(root)
    _check_note(root, note, edit.connection)
    present, ignored = find_items(root, note, _linked(edit.connection))
    under_review = {content: item for group in review.open_groups(edit.connection)
                    for item, content in zip(group.items, group.hashes, strict=True)}  # fmt: skip
    named, homes, before = 0, {}, {}
    for name in group_folders(root):
        if not present.get(name) and name not in note.folders:
            continue  # a new, empty folder is ignored
        before[name] = _group_of(root / name, note)
        homes[name], renamed = _settle(edit, name, before[name], note)
        named += renamed
    places = _places(present, note, before)
    moved: dict[int, list[int]] = {}
    for content, name in places.items():
        if note.items[content] == before[name] and homes[name] == before[name]:
            continue
        if content in under_review:
            moved.setdefault(homes[name], []).append(under_review[content])
        else:
            ignored.append((str(root / name), f"the item {content[:12]} is learnt or no longer under review"))
    moves = sum(review.move(edit, chosen, home) for home, chosen in moved.items())
    gone = [under_review[content] for content in note.items if content not in places and content in under_review]
    removed = review.remove(edit, gone) if gone else 0
    after = Note(note.workspace, homes, {content: homes[name] for content, name in places.items()})
    return Changes(named, moves, removed, ignored), after


def _check_note(root: Path, note: Note, connection: Connection) -> None:
    """Refuse an export of another workspace, or of groups that no longer exist."""
    if note.workspace != connection.scalar(select(meta.c.value).where(meta.c.key == "id")):
        raise WorkspaceError(f"{root} was exported from another workspace.")
    there = set(connection.scalars(select(groups.c.id)))
    if lost := [name for name, group in note.folders.items() if group not in there]:
        raise WorkspaceError(
            f"The group of {root / lost[0]} no longer exists: discover has run since the export. Export the groups "
            "again, or undo what was done since."
        )


def _linked(connection: Connection) -> dict[str, str]:
    """Return the content hash of each file that the workspace knows: links of an export lead to these."""
    query = select(paths.c.path, items.c.hash).join(items, items.c.id == paths.c.item_id)
    return {row.path: row.hash for row in connection.execute(query)}


def _group_of(folder: Path, note: Note) -> int | None:
    """Return the group that a folder was exported as; None for one that a person made."""
    mark = read_mark(folder)
    if mark is None:
        return note.folders.get(folder.name)
    return mark if mark in note.folders.values() else None


def _settle(edit: Edit, name: str, group: int | None, note: Note) -> tuple[int, bool]:
    """Return the group that a folder now means, and whether its name has changed."""
    if group is not None and note.folders.get(name) == group:
        return group, False
    returned = name.startswith(RETURNED)
    label = class_name(name.removeprefix(RETURNED))
    if returned and existing(label, review.classes(edit.connection)) is None:
        raise WorkspaceError(
            f"The folder {name!r} names the known class {label!r}, but there is no such class; for a new class, leave "
            f"out {RETURNED!r}."
        )
    kind = edit.connection.scalar(select(groups.c.kind).where(groups.c.id == group))
    home = review.name(edit, group, label) if group and kind == NOVEL else review.group_named(edit, label)
    if edit.connection.scalar(select(groups.c.kind).where(groups.c.id == home)) == NOVEL:
        review.confirm(edit, home)  # a person who renames a folder has looked at it
    return home, True


def _places(present: dict[str, list[str]], note: Note, before: dict[str, int | None]) -> dict[str, str]:
    """Return the folder of each item; of one that was copied instead of moved, the new folder."""
    places: dict[str, str] = {}
    for name, contents in present.items():
        for content in contents:
            other = places.get(content, name)
            stays = [n for n in (other, name) if before[n] == note.items[content]]
            if other != name and len(stays) != 1:
                raise WorkspaceError(
                    f"The image {content[:12]} is in both {other!r} and {name!r}; delete one of the two."
                )
            places[content] = name if other == name or other in stays else other
    return places
