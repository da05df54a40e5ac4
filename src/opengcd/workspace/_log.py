"""The edit log: who did what when, with the rows as they were before, so that the last edit can be undone.

Entries are only ever added; an undo is an entry too.
"""

from __future__ import annotations

import getpass
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, Table, bindparam, delete, func, insert, select, update

from opengcd.workspace._database import in_parts
from opengcd.workspace._errors import WorkspaceError
from opengcd.workspace._schema import assignments, edits, groups, meta

RESTORABLE = (meta, groups, assignments)
"""What an undo can restore; a row refers to tables before its own only."""
UNDONE = select(edits.c.undoes).where(edits.c.undoes.is_not(None))
"""Entries that were taken back."""


class Entry(NamedTuple):
    """One line of the history."""

    id: int
    at: str
    who: str
    verb: str
    details: dict[str, Any]
    undone: bool


class Edit:
    """An entry in the making: it keeps rows as they were before they change."""

    def __init__(self, connection: Connection, verb: str) -> None:
        self.connection = connection
        self.verb = verb
        self.details: dict[str, Any] = {}
        self.undoes: int | None = None
        self.before: dict[str, dict[Any, Any]] = {}

    def touch(self, table: Table, keys: Iterable[Any]) -> None:
        """Remember rows, also that they do not exist; call it before they change."""
        seen = self.before.setdefault(table.name, {})
        (key,) = table.primary_key
        new = [k for k in dict.fromkeys(keys) if k not in seen]
        seen.update(dict.fromkeys(new))
        for part in in_parts(new):
            rows = self.connection.execute(select(table).where(key.in_(part))).mappings()
            seen.update({row[key.name]: dict(row) for row in rows})


@contextmanager
def editing(connection: Connection, who: str, verb: str) -> Iterator[Edit]:
    """Write an entry when the block is done; what touches no row and has nothing to tell leaves none."""
    edit = Edit(connection, verb)
    yield edit
    if not edit.before and not edit.details:
        return
    # As lists: a JSON object would turn the numbers of rows into text.
    before = {name: list(rows.items()) for name, rows in edit.before.items()}
    connection.execute(
        insert(edits).values(
            at=now(), who=who, verb=verb, details=edit.details, before=before or None, undoes=edit.undoes
        )
    )


def last_edit(connection: Connection) -> int:
    """Return the number of the last entry that changed a row; 0 if there is none."""
    return connection.scalar(select(func.max(edits.c.id)).where(edits.c.before.is_not(None))) or 0


def undo_last(connection: Connection, who: str) -> Entry:
    """Take back the last edit that still stands."""
    standing = edits.c.before.is_not(None) & edits.c.undoes.is_(None) & edits.c.id.not_in(UNDONE)
    row = connection.execute(select(edits).where(standing).order_by(edits.c.id.desc()).limit(1)).one_or_none()
    if row is None:
        raise WorkspaceError("There is nothing to undo.")
    with editing(connection, who, "undo") as edit:
        edit.undoes = row.id
        edit.details = {"edit": row.id, "verb": row.verb}
        for table in RESTORABLE:
            edit.touch(table, (key for key, _ in row.before.get(table.name, ())))
        _restore(connection, row.before)
    return Entry(row.id, row.at, row.who, row.verb, row.details, True)


def last_discovery(connection: Connection, model: int) -> dict[str, Any]:
    """Return the details of the last discovery by a model that still stands; empty if there is none."""
    standing = select(edits.c.details).where(edits.c.verb == "discover", edits.c.id.not_in(UNDONE))
    found = connection.scalars(standing.order_by(edits.c.id.desc()))
    return next((details for details in found if details.get("version") == model), {})


def history(connection: Connection) -> list[Entry]:
    """Return all entries, the latest first."""
    rows = connection.execute(
        select(edits.c.id, edits.c.at, edits.c.who, edits.c.verb, edits.c.details, edits.c.undoes).order_by(
            edits.c.id.desc()
        )
    ).all()
    undone = {row.undoes for row in rows}
    return [Entry(row.id, row.at, row.who, row.verb, row.details, row.id in undone) for row in rows]


def now() -> str:
    """Return the time in UTC as text that sorts."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def user() -> str:
    """Return who works here."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user need not have a name
        return "unnamed"


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
