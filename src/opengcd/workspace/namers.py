"""Who gave groups and items their labels, by the edit log; read again only after another edit."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy import Connection, select

from opengcd.workspace.log import SHOWN, UNDONE, last_edit, rows_before
from opengcd.workspace.schema import assignments, corrections, edits, groups

NOT_BY_HAND = ("init", "recognize", "discover", "learn", "adapt", "rollback", "rejection", "undo", "redo")
"""Verbs by which no person gives a label."""


class Namers(NamedTuple):
    """Who gave a label last; what nobody labelled is left out."""

    of_groups: Mapping[int, str]
    """Who named a group."""
    of_items: Mapping[int, str]
    """Who moved an item to its group, or said that it belongs there."""
    of_learnt: Mapping[int, str]
    """Who corrected the label of an item that was learnt, or said that it is right."""

    def of(self, item: int, group: int | None, by_person: bool | None, learnt: bool) -> str | None:
        """Return who gave an item its label."""
        if learnt and item in self.of_learnt:
            return self.of_learnt[item]
        if by_person and item in self.of_items:
            return self.of_items[item]
        return None if group is None else self.of_groups.get(group)

    @property
    def people(self) -> list[str]:
        """All of them, sorted."""
        return sorted({*self.of_groups.values(), *self.of_items.values(), *self.of_learnt.values()})


class NamersOf:
    """The namers at the last edit, kept until there is another one; threads may share them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: tuple[int, Namers] | None = None

    def at(self, connection: Connection) -> Namers:
        """Return who gave the labels that a connection sees."""
        edit = last_edit(connection)
        with self._lock:
            if self._kept is None or self._kept[0] != edit:
                self._kept = edit, _read(connection)
            return self._kept[1]


def _read(connection: Connection) -> Namers:
    of_groups: dict[int, str] = {}
    of_items: dict[int, str] = {}
    of_learnt: dict[int, str] = {}
    query = select(*SHOWN, *map(rows_before, (groups, assignments, corrections))).where(
        edits.c.before.is_not(None), edits.c.verb.not_in(NOT_BY_HAND), edits.c.id.not_in(UNDONE)
    )
    for row in connection.execute(query.order_by(edits.c.id)):
        for group, before in row.groups or ():
            if before is None or row.verb in ("name", "review"):
                of_groups[group] = row.who
        for item, _ in row.assignments or ():
            of_items[item] = row.who
        for item, _ in row.corrections or ():
            of_learnt[item] = row.who
    return Namers(of_groups, of_items, of_learnt)
