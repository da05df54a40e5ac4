"""The edit log: who did what when, with the rows as they were before, so that the last edit can be undone.

Entries are only ever added; an undo is an entry too, and a redo is an undo of that.
"""

from __future__ import annotations

import getpass
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, Select, Table, bindparam, delete, func, insert, select, update

from opengcd.workspace.database import in_parts
from opengcd.workspace.details import UndoDetails, renamed
from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.schema import assignments, class_names, comments, corrections, edits, groups, meta, stack_members

SHOWN = (edits.c.id, edits.c.at, edits.c.who, edits.c.verb, edits.c.details)
"""The columns of an :class:`Entry`; the others may hold as many rows as there are items."""
RESTORABLE = (meta, groups, assignments, stack_members, class_names, corrections, comments)
"""What an undo can restore; a row refers to tables before its own only."""
_undoing = edits.alias()
UNDONE = select(_undoing.c.undoes).where(
    _undoing.c.undoes.is_not(None),
    _undoing.c.id.not_in(select(edits.c.undoes).where(edits.c.undoes.is_not(None)).correlate(None)),
)
"""Entries that were undone by an entry that was not undone itself."""


class Entry(NamedTuple):
    """One line of the history."""

    id: int
    at: str
    who: str
    verb: str
    details: dict[str, Any]
    undone: bool


class Edited(NamedTuple):
    """What an edit has changed."""

    id: int
    """Its number in the history; if nothing changed, the number of the last edit."""
    groups: list[int]
    """Groups that look different now."""
    group: int | None = None
    """Where what was edited is now, if that is one group."""
    entry: Entry | None = None
    """The edit that was undone or redone."""
    images: int | None = None
    """Images that were moved, where the verb counts them."""


class Edit:
    """An edit in progress: it keeps rows as they were before they change."""

    def __init__(self, connection: Connection, who: str, verb: str) -> None:
        self.connection = connection
        self.who = who
        self.verb = verb
        self.details: dict[str, Any] = {}
        self.undoes: int | None = None
        self.before: dict[str, dict[Any, Any]] = {}
        self.done = Edited(0, [])

    def touch(self, table: Table, keys: Iterable[Any]) -> None:
        """Remember rows, also that they do not exist; call it before they change."""
        new = [k for k in dict.fromkeys(keys) if k not in self.before.get(table.name, ())]
        if not new:
            return
        seen = self.before.setdefault(table.name, {})
        (key,) = table.primary_key
        seen.update(dict.fromkeys(new))
        for part in in_parts(new):
            rows = self.connection.execute(select(table).where(key.in_(part))).mappings()
            seen.update({row[key.name]: dict(row) for row in rows})


@contextmanager
def editing(connection: Connection, who: str, verb: str) -> Iterator[Edit]:
    """Write an entry at the end of the block, unless it touched no row and has no details."""
    edit = Edit(connection, who, verb)
    yield edit
    if not edit.before and not edit.details:
        edit.done = Edited(last_edit(connection), [])
        return
    # As lists: a JSON object would turn the numbers of rows into text.
    before = {name: list(rows.items()) for name, rows in edit.before.items()}
    members = _changed_members(edit)
    row = {"at": now(), "who": who, "verb": verb, "details": edit.details, "undoes": edit.undoes}
    (id,) = connection.execute(
        insert(edits).values(row | {"before": before or None, "members": members})
    ).inserted_primary_key or (0,)
    commented = _commented(connection, edit.before.get(comments.name, {}).items())
    looking_different = sorted({*members, *edit.before.get(groups.name, ()), *commented})
    edit.done = Edited(id, looking_different, images=edit.details.get("images"))


def last_edit(connection: Connection) -> int:
    """Return the number of the last entry that changed a row; 0 if there is none."""
    return connection.scalar(select(func.max(edits.c.id)).where(edits.c.before.is_not(None))) or 0


def to_undo(connection: Connection) -> Entry | None:
    """Return the last edit that is not undone."""
    standing = edits.c.before.is_not(None) & edits.c.undoes.is_(None) & edits.c.id.not_in(UNDONE)
    return _entry(connection, select(func.max(edits.c.id)).where(standing), False)


def to_redo(connection: Connection) -> Entry | None:
    """Return the last edit that was undone, unless another edit followed."""
    undo = _undo_to_redo(connection)
    return None if undo is None else _entry(connection, select(edits.c.undoes).where(edits.c.id == undo), True)


def undo_last(connection: Connection, who: str) -> Edited:
    """Undo the last edit that is not undone."""
    entry = to_undo(connection)
    if entry is None:
        raise WorkspaceError("There is nothing to undo.")
    return _restore_before(connection, who, "undo", entry.id, entry._replace(undone=True))


def redo_last(connection: Connection, who: str) -> Edited:
    """Redo the edit that was undone last."""
    entry, undo = to_redo(connection), _undo_to_redo(connection)
    if entry is None or undo is None:
        raise WorkspaceError("There is nothing to redo.")
    return _restore_before(connection, who, "redo", undo, entry._replace(undone=False))


def last_discovery(connection: Connection, model: int) -> dict[str, Any]:
    """Return the details of the last discovery by a model that is not undone; empty if there is none."""
    standing = select(edits.c.details).where(edits.c.verb == "discover", edits.c.id.not_in(UNDONE))
    found = connection.scalars(standing.order_by(edits.c.id.desc()))
    return next((renamed(details) for details in found if details.get("version") == model), {})


def last_discovery_id(connection: Connection) -> int:
    """Return the number of the last discovery that is not undone; 0 if there is none."""
    query = select(func.max(edits.c.id)).where(edits.c.verb == "discover", edits.c.id.not_in(UNDONE))
    return connection.scalar(query) or 0


def standing(connection: Connection, verbs: Iterable[str]) -> list[Entry]:
    """Return the entries of some verbs that are not undone, the oldest first."""
    query = select(*SHOWN).where(edits.c.verb.in_(list(verbs)), edits.c.id.not_in(UNDONE)).order_by(edits.c.id)
    return [read_entry(row) for row in connection.execute(query)]


def last_entry(connection: Connection, verb: str) -> Entry | None:
    """Return the last entry of a verb; None if there is none."""
    query = select(*SHOWN, edits.c.id.in_(UNDONE).label("undone")).where(edits.c.verb == verb)
    row = connection.execute(query.order_by(edits.c.id.desc()).limit(1)).one_or_none()
    return None if row is None else read_entry(row, bool(row.undone))


def history(connection: Connection, limit: int | None = None, before: int | None = None) -> list[Entry]:
    """Return the entries, the latest first: all, or some of those before one."""
    query = select(*SHOWN, edits.c.id.in_(UNDONE).label("undone")).order_by(edits.c.id.desc()).limit(limit)
    if before is not None:
        query = query.where(edits.c.id < before)
    return [read_entry(row, bool(row.undone)) for row in connection.execute(query)]


def edits_since(connection: Connection, id: int, limit: int) -> list[tuple[Entry, list[int]]]:
    """Return edits after one, the oldest first, with the groups that look different since."""
    rows = edits.c.members, rows_before(groups), rows_before(comments)
    query = select(*SHOWN, *rows).where(edits.c.id > id, edits.c.before.is_not(None))
    return [
        (
            read_entry(row),
            sorted(
                {
                    *(row.members or ()),
                    *(key for key, _ in row.groups or ()),
                    *_commented(connection, row.comments or ()),
                }
            ),
        )
        for row in connection.execute(query.order_by(edits.c.id).limit(limit)).all()
    ]


def groups_changed(connection: Connection, id: int) -> set[int] | None:
    """Return the groups that items have left or entered since an edit; None if that is not known."""
    query = select(edits.c.members).where(edits.c.id > id, edits.c.before.is_not(None))
    members = connection.scalars(query).all()
    if None in members:  # an entry that an older version of OpenGCD wrote
        return None
    return {group for changed in members for group in changed}


def read_entry(row: Row[*tuple[Any, ...]], undone: bool = False) -> Entry:
    """Return the entry of a row that has the columns :data:`SHOWN`."""
    return Entry(row.id, row.at, row.who, row.verb, renamed(row.details), undone)


def rows_found(connection: Connection, id: int, table: Table) -> dict[Any, dict[str, Any] | None]:
    """Return the rows of a table as an edit found them, by their keys; None for those that did not exist."""
    return dict(connection.scalar(select(rows_before(table)).where(edits.c.id == id)) or ())


def items_moved(connection: Connection, but: Iterable[str]) -> set[int]:
    """Return the items that edits which are not undone have moved, except by some verbs."""
    query = select(rows_before(assignments)).where(edits.c.verb.not_in(list(but)), edits.c.id.not_in(UNDONE))
    return {item for rows in connection.scalars(query.where(edits.c.before.is_not(None))) for item, _ in rows or ()}


def rows_before(table: Table) -> ColumnElement[Any]:
    """Return the column of the rows of one table as an edit found them, extracted by the database."""
    return edits.c.before[table.name].label(table.name)


def now() -> str:
    """Return the time in UTC as text that sorts."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def user() -> str:
    """Return the name of the user."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user need not have a name
        return "unnamed"


def _entry(connection: Connection, number: Select[tuple[int]], undone: bool) -> Entry | None:
    row = connection.execute(select(*SHOWN).where(edits.c.id == number.scalar_subquery())).one_or_none()
    return None if row is None else read_entry(row, undone)


def _undo_to_redo(connection: Connection) -> int | None:
    fresh = select(func.max(edits.c.id)).where(edits.c.before.is_not(None), edits.c.undoes.is_(None))
    undos = select(func.max(edits.c.id)).where(edits.c.verb == "undo", edits.c.id.not_in(UNDONE))
    return connection.scalar(undos.where(edits.c.id > (connection.scalar(fresh) or 0)))


def _restore_before(connection: Connection, who: str, verb: str, id: int, entry: Entry) -> Edited:
    """Restore the rows that an edit, or the undo of it, found."""
    before = connection.scalar(select(edits.c.before).where(edits.c.id == id)) or {}
    with editing(connection, who, verb) as edit:
        edit.undoes = id
        edit.details = UndoDetails(entry.id, entry.verb).as_dict()
        for table in RESTORABLE:
            edit.touch(table, (key for key, _ in before.get(table.name, ())))
        _restore(connection, before)
    return edit.done._replace(entry=entry)


def _commented(connection: Connection, before: Iterable[tuple[int, dict[str, Any] | None]]) -> set[int]:
    """Return the groups that comments were on, and are on now; ``before`` has their rows as an edit found them."""
    rows = dict(before)
    found = {row["group_id"] for row in rows.values() if row is not None}
    for part in in_parts(list(rows)):
        found.update(connection.scalars(select(comments.c.group_id).where(comments.c.id.in_(part))))
    return found


def _changed_members(edit: Edit) -> list[int]:
    """Return the groups that items have left or entered."""
    rows = edit.before.get(assignments.name, {})
    found = {row["group_id"] for row in rows.values() if row is not None}
    for part in in_parts([*rows, *(item for item in edit.before.get(stack_members.name, ()) if item not in rows)]):
        found.update(
            edit.connection.scalars(select(assignments.c.group_id).where(assignments.c.item_id.in_(part)).distinct())
        )
    return sorted(found)


def _restore(connection: Connection, before: dict[str, list[tuple[Any, Any]]]) -> None:
    for table in reversed(RESTORABLE):  # rows before those that they refer to
        gone = [key for key, row in before.get(table.name, ()) if row is None]
        for part in in_parts(gone):
            connection.execute(delete(table).where(*(key.in_(part) for key in table.primary_key)))
    for table in RESTORABLE:
        empty = {c.name: None for c in table.columns}  # an entry may be older than a column
        rows = [empty | row for _, row in before.get(table.name, ()) if row is not None]
        (key,) = table.primary_key
        present: set[Any] = set()
        for part in in_parts([row[key.name] for row in rows]):
            present.update(connection.scalars(select(key).where(key.in_(part))))
        if lost := [row for row in rows if row[key.name] not in present]:
            connection.execute(insert(table), lost)
        if changed := [{**row, "_key": row[key.name]} for row in rows if row[key.name] in present]:
            values: dict[str, Any] = {c.name: bindparam(c.name) for c in table.columns if c is not key}
            connection.execute(update(table).where(key == bindparam("_key")).values(values), changed)
