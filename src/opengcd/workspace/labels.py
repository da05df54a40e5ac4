"""The present label of every item, and where it comes from."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection, false, select, true

from opengcd.workspace.counts import Counts
from opengcd.workspace.decisions import decisions, source_in_group
from opengcd.workspace.schema import assignments, groups, items, paths, predictions

SOURCES = {
    "learnt": "the recogniser has learnt it",
    "reviewed": "a person decided; learn takes it",
    "put back": "discovery returned it to another known class than the recognised one",
    "grouped": "in a group that nobody has confirmed",
    "removed": "a person removed it from the review",
    "recognized": "recognised as a known class",
    "rejected": "rejected as unknown",
    "waiting": "not yet recognised by the version in use; run recognize or discover",
}


class Labelled(NamedTuple):
    """An item, its files and its label."""

    item: int
    hash: str
    paths: list[str]
    width: int
    height: int
    label: str
    source: str
    """One of :data:`SOURCES`."""
    unknown: float | None
    top: list[tuple[str, float]]
    probability: float | None
    """Probability of being in the right group, by discovery; None if it is in no group, or a person put it there."""


def labelled_items(connection: Connection, only: int | None = None) -> list[Labelled]:
    """Return all items in the order of their arrival, or one of them."""
    files: dict[int, list[str]] = {}
    wanted = true() if only is None else paths.c.item_id == only
    for path, item in connection.execute(select(paths.c.path, paths.c.item_id).where(wanted).order_by(paths.c.path)):
        files.setdefault(item, []).append(path)
    decided = decisions(connection, only)
    facts = [predictions.c.unknown, predictions.c.top, assignments.c.probability]
    found = []
    chosen = true() if only is None else items.c.id == only
    columns = [decided.label.label("label"), decided.source.label("source"), *facts]
    query = select(items, *columns).select_from(decided.joined).where(chosen).order_by(items.c.id)
    for row in connection.execute(query):
        top = [(name, p) for name, p in row.top or ()]
        place = (row.id, row.hash, files.get(row.id, []), row.width, row.height)
        found.append(Labelled(*place, row.label, row.source, row.unknown, top, row.probability))
    return found


def count_by_source(connection: Connection, counts: Counts) -> dict[str, int]:
    """Return how many items there are of each of :data:`SOURCES`."""
    found = dict.fromkeys(SOURCES, 0)
    found["learnt"], others = counts.of_all(connection)
    of_groups = counts.of_groups(connection)
    by_person, not_by_person = source_in_group(true()), source_in_group(false())
    query = select(groups.c.id, by_person.label("by_person"), not_by_person.label("not_by_person"))
    rows = {row.id: row for row in connection.execute(query)}
    for id, count in of_groups.items():
        found[rows[id].by_person] += count.by_person
        found[rows[id].not_by_person] += count.size - count.by_person
    found["rejected"] = others.rejected - sum(count.rejected for count in of_groups.values())
    found["waiting"] = others.waiting - sum(count.waiting for count in of_groups.values())
    found["recognized"] = found["learnt"] + others.size - sum(found.values())
    return found
