"""Several people edit at once: an edit says what it was made on, and is refused if someone changed just that."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, select

from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.groups import homes_of
from opengcd.workspace.log import SHOWN, Entry, last_edit, rows_before
from opengcd.workspace.schema import assignments, edits, groups, meta
from opengcd.workspace.versions import IN_USE

MOST_SINCE = 1000
"""Edits that an edit may have missed; who has missed more should look again, and not keep others waiting."""


class ConflictError(WorkspaceError):
    """Someone has changed what an edit is about; ``entry`` says who and how."""

    def __init__(self, entry: Entry) -> None:
        super().__init__(f"{entry.who} has changed this meanwhile ({entry.verb}); nothing was done. Look again.")
        self.entry = entry


def refuse_conflict(
    connection: Connection,
    on: int | None,
    items: Iterable[int] = (),
    whole: Iterable[int] = (),
    into: Iterable[int] = (),
    settings: Iterable[str] = (),
) -> None:
    """Refuse an edit that was made on another state than the present one, as far as it matters to this edit.

    ``on`` is the last edit that its maker saw; None asks for no check. It matters when since then any of ``items`` was
    moved, any group of ``whole`` got another name or other items, or any group of ``into`` got another name or was
    emptied; when any of ``settings`` (keys of ``meta``) was set; or when another version of the recogniser was put to
    use.
    """
    if on is None or last_edit(connection) <= on:
        return
    moved, known, targets, keys_of_meta = set(items), set(whole), set(into), {IN_USE, *settings}
    homes = homes_of(connection, sorted(moved))
    since = edits.c.id > on, edits.c.before.is_not(None)
    query = select(*SHOWN, edits.c.members, rows_before(groups), rows_before(meta)).where(*since)
    for number, row in enumerate(connection.execute(query.order_by(edits.c.id.desc()).limit(MOST_SINCE))):
        changed, members = {key for key, _ in row.groups or ()}, set(row.members or ())
        # The last edit that moved an item names the group where the item is now.
        perhaps_moved = len(homes) < len(moved) or row.members is None or members & set(homes.values())
        if (
            known & (changed | members)
            or targets & changed
            or _emptied(connection, targets & members)
            or keys_of_meta & {key for key, _ in row.meta or ()}
            or number == MOST_SINCE - 1
            or (perhaps_moved and moved & _moved_by(connection, row.id))
        ):
            raise ConflictError(Entry(*row[:5], False))


def refuse_other_edit(connection: Connection, on: int | None) -> None:
    """Refuse what is about the last edit, if that is not the one that was seen."""
    if on is None or (last := last_edit(connection)) == on:
        return
    row = connection.execute(select(*SHOWN).where(edits.c.id == last)).one_or_none()
    if row is None:
        raise WorkspaceError(f"There is no edit {on}.")
    raise ConflictError(Entry(*row, False))


def _moved_by(connection: Connection, edit: int) -> set[int]:
    rows = connection.scalar(select(rows_before(assignments)).where(edits.c.id == edit))
    return {item for item, _ in rows or ()}


def _emptied(connection: Connection, found: set[int]) -> bool:
    left = set(connection.scalars(select(assignments.c.group_id).where(assignments.c.group_id.in_(found)).distinct()))
    return bool(found - left)
