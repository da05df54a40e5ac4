"""The present label of every item, and where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, FromClause, select, true

from opengcd._internal.validation import UNKNOWN_STR
from opengcd.workspace import class_names, corrections
from opengcd.workspace.counts import Counts
from opengcd.workspace.groups import KNOWN, REMOVED
from opengcd.workspace.predictions import present_top
from opengcd.workspace.schema import assignments, groups, items, paths, predictions, training_labels
from opengcd.workspace.schema import corrections as corrections_table
from opengcd.workspace.versions import FORGOTTEN, in_use, learnt

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
    source, learnt_labels, columns = _decisions(connection, only)
    facts = [
        learnt_labels.c.label.label("learnt_label"),
        corrections_table.c.label.label("corrected_label"),
        groups.c.label.label("provisional"),
        groups.c.name,
        predictions.c.label.label("predicted"),
        predictions.c.unknown,
        predictions.c.top,
        assignments.c.probability,
    ]
    names = class_names.read(connection)
    found = []
    chosen = true() if only is None else items.c.id == only
    query = select(items, *columns, *facts).select_from(source).where(chosen).order_by(items.c.id)
    for row in connection.execute(query):
        origin = _source(row)
        top = present_top(names, row.top or ())
        place = (row.id, row.hash, files.get(row.id, []), row.width, row.height)
        found.append(Labelled(*place, _label(row, origin, names), origin, row.unknown, top, row.probability))
    return found


def count_by_source(connection: Connection, counts: Counts) -> dict[str, int]:
    """Return how many items there are of each of :data:`SOURCES`."""
    found = dict.fromkeys(SOURCES, 0)
    found["learnt"], others = counts.of_all(connection)
    of_groups = counts.of_groups(connection)
    rows = {row.id: row for row in connection.execute(select(groups.c.id, groups.c.kind, groups.c.confirmed))}
    for id, count in of_groups.items():
        for by_person, n in ((True, count.by_person), (False, count.size - count.by_person)):
            found[_source_in_group(rows[id].kind, rows[id].confirmed, by_person)] += n
    found["rejected"] = others.rejected - sum(count.rejected for count in of_groups.values())
    found["waiting"] = others.waiting - sum(count.waiting for count in of_groups.values())
    found["recognized"] = found["learnt"] + others.size - sum(found.values())
    waiting, removed = corrections.pending(connection), corrections.count_unlabelled(connection)
    relabelled = sum(label is not None for label in waiting.values())
    found["learnt"] -= relabelled + removed
    found["reviewed"] += relabelled
    found["removed"] += removed
    return found


def _decisions(connection: Connection, only: int | None) -> tuple[FromClause, FromClause, list[ColumnElement[Any]]]:
    """Return items joined with all that decides on them; what is learnt; the columns that :func:`_source` reads."""
    learnt_labels = learnt(connection).where(true() if only is None else training_labels.c.item_id == only).subquery()
    source = (
        items.outerjoin(learnt_labels, learnt_labels.c.item_id == items.c.id)
        .outerjoin(corrections_table, corrections_table.c.item_id == items.c.id)
        .outerjoin(assignments, assignments.c.item_id == items.c.id)
        .outerjoin(groups, groups.c.id == assignments.c.group_id)
        .outerjoin(predictions, (predictions.c.item_id == items.c.id) & (predictions.c.model_id == in_use(connection)))
    )
    columns: list[ColumnElement[Any]] = [
        groups.c.kind,
        groups.c.confirmed,
        assignments.c.by_person,
        learnt_labels.c.item_id.is_not(None).label("learnt"),
        corrections_table.c.item_id.is_not(None).label("corrected"),
        predictions.c.label.is_(None).label("rejected"),
        predictions.c.unknown.is_(None).label("unasked"),
    ]
    return source, learnt_labels, columns


def _source(row: Any) -> str:
    if row.learnt:
        label = row.corrected_label if row.corrected else row.learnt_label
        if label is None or label == FORGOTTEN:
            return "removed"
        return "learnt" if label == row.learnt_label else "reviewed"
    if row.kind is not None:
        return _source_in_group(row.kind, row.confirmed, row.by_person)
    if row.unasked:
        return "waiting"
    return "rejected" if row.rejected else "recognized"


def _source_in_group(kind: str, confirmed: bool, by_person: bool) -> str:
    if kind == REMOVED:
        return "removed"
    if confirmed or (kind == KNOWN and by_person):
        return "reviewed"
    return "put back" if kind == KNOWN else "grouped"


def _label(row: Any, source: str, names: Mapping[str, str]) -> str:
    if source in ("removed", "rejected", "waiting"):
        return UNKNOWN_STR
    if row.learnt:
        return row.corrected_label if row.corrected else row.learnt_label
    if source == "recognized":
        return names.get(row.predicted, row.predicted)
    return row.name or row.provisional
