"""The present label of every item, and where it comes from."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection, false, select, true

from opengcd.workspace import class_names, corrections
from opengcd.workspace.counts import Counts
from opengcd.workspace.decisions import decisions, source_in_group
from opengcd.workspace.predictions import present_top
from opengcd.workspace.schema import assignments, groups, items, paths, predictions

SOURCES = {
    "learnt": "the recogniser has learnt it",
    "reviewed": "a person decided; learn takes it",
    "returned": "discovery returned it to another known class than the recognised one",
    "grouped": "in a group that nobody has confirmed",
    "removed": "a person removed it from the review",
    "recognized": "recognised as a known class",
    "rejected": "rejected as unknown",
    "waiting": "not yet recognised by the version in use; run recognize or discover",
}
BY_PERSON = {"learnt", "reviewed"}
"""Sources of labels that a person has given or confirmed."""


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
    provisional: bool = False
    """Whether the label is the provisional name of a group, to which nobody has given another."""


def labelled_items(connection: Connection, only: int | None = None) -> list[Labelled]:
    """Return all items in the order of their arrival, or one of them."""
    files: dict[int, list[str]] = {}
    wanted = true() if only is None else paths.c.item_id == only
    for path, item in connection.execute(select(paths.c.path, paths.c.item_id).where(wanted).order_by(paths.c.path)):
        files.setdefault(item, []).append(path)
    decided = decisions(connection, only)
    group = [groups.c.name.label("group_name"), groups.c.label.label("group_label")]
    facts = [predictions.c.unknown, predictions.c.top, assignments.c.probability, *group]
    names = class_names.read(connection)
    found = []
    chosen = true() if only is None else items.c.id == only
    columns = [decided.label.label("label"), decided.source.label("source"), *facts]
    query = select(items, *columns).select_from(decided.joined).where(chosen).order_by(items.c.id)
    for row in connection.execute(query):
        top = present_top(names, row.top or ())
        place = (row.id, row.hash, files.get(row.id, []), row.width, row.height)
        provisional = row.source in ("reviewed", "grouped") and row.group_name is None and row.label == row.group_label
        found.append(Labelled(*place, row.label, row.source, row.unknown, top, row.probability, provisional))
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
    waiting, removed = corrections.pending(connection), corrections.count_unlabelled(connection)
    relabelled = sum(label is not None for label in waiting.values())
    found["learnt"] -= relabelled + removed
    found["reviewed"] += relabelled
    found["removed"] += removed
    return found
