"""Conflicts between people: an edit is refused if another edit has changed the same items or groups meanwhile."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import Connection, select

from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.groups import homes_of
from opengcd.workspace.log import SHOWN, Entry, last_edit, read_entry, rows_before
from opengcd.workspace.schema import assignments, class_names, corrections, edits, groups, meta
from opengcd.workspace.versions import IN_USE

MOST_SINCE = 1000
"""Edits since the one that was seen; after more of them an edit is refused, since comparing them takes too long."""


class ConflictError(WorkspaceError):
    """Another person has meanwhile changed the items or groups of an edit.

    Parameters
    ----------
    entry : Entry
        The edit that changed it: by whom, and with which verb.

    """

    def __init__(self, entry: Entry) -> None:
        super().__init__(
            f"{entry.who} has changed this meanwhile ({entry.verb}), so nothing was done. Check the present state and "
            "try again."
        )
        self.entry = entry


class Concerns(NamedTuple):
    """The items, groups and settings that nobody else may have changed since the author of an edit looked at them."""

    items: Iterable[int] = ()
    """Items that may not have been moved."""
    groups: Iterable[int] = ()
    """Groups whose name and items may not have changed."""
    targets: Iterable[int] = ()
    """Groups whose name may not have changed, and that may not have been emptied."""
    settings: Iterable[str] = ()
    """Keys of ``meta`` that may not have changed; a change of the version in use is always a conflict."""
    classes: Iterable[str] = ()
    """Known classes: if there are any, no class may have been renamed, and no label of a learnt item corrected."""


def refuse_conflict(connection: Connection, on: int | None, concerns: Concerns) -> None:
    """Refuse an edit if someone has changed what it concerns since the edit ``on``, the last that its author saw.

    None asks for no check.
    """
    if on is None or last_edit(connection) <= on:
        return
    moved, known, targets = set(concerns.items), set(concerns.groups), set(concerns.targets)
    keys_of_meta, classes = {IN_USE, *concerns.settings}, set(concerns.classes)
    homes = homes_of(connection, sorted(moved))
    since = edits.c.id > on, edits.c.before.is_not(None)
    tables = (groups, meta, class_names, corrections)
    query = select(*SHOWN, edits.c.members, *map(rows_before, tables)).where(*since)
    for number, row in enumerate(connection.execute(query.order_by(edits.c.id.desc()).limit(MOST_SINCE))):
        changed, members = {key for key, _ in row.groups or ()}, set(row.members or ())
        # The last edit that moved an item names the group where the item is now.
        perhaps_moved = len(homes) < len(moved) or row.members is None or members & set(homes.values())
        if (
            known & (changed | members)
            or targets & changed
            or _emptied(connection, targets & members)
            or keys_of_meta & {key for key, _ in row.meta or ()}
            or moved & {key for key, _ in row.corrections or ()}
            or (classes and (row.class_names or row.corrections))
            or number == MOST_SINCE - 1
            or (perhaps_moved and moved & _moved_by(connection, row.id))
        ):
            raise ConflictError(read_entry(row))


def refuse_other_edit(connection: Connection, on: int | None) -> None:
    """Refuse an undo or redo if the last edit is not the one that was seen."""
    if on is None or (last := last_edit(connection)) == on:
        return
    row = connection.execute(select(*SHOWN).where(edits.c.id == last)).one_or_none()
    if row is None:
        raise WorkspaceError(f"There is no edit {on}.")
    raise ConflictError(read_entry(row))


def _moved_by(connection: Connection, edit: int) -> set[int]:
    rows = connection.scalar(select(rows_before(assignments)).where(edits.c.id == edit))
    return {item for item, _ in rows or ()}


def _emptied(connection: Connection, found: set[int]) -> bool:
    left = set(connection.scalars(select(assignments.c.group_id).where(assignments.c.group_id.in_(found)).distinct()))
    return bool(found - left)
