"""Regrouping: images are assigned to the unnamed groups again, by the answers of a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sqlalchemy import Connection, delete, insert, select, update

from opengcd.workspace import class_names, groups, heirs, log
from opengcd.workspace.answers import ANSWERING, REGROUP, Answers, link, standing_answers, unnamed_groups
from opengcd.workspace.conflicts import Concerns, refuse_conflict
from opengcd.workspace.database import in_parts
from opengcd.workspace.grouping import to_group
from opengcd.workspace.groups import KNOWN, NOVEL, Part
from opengcd.workspace.log import Edit
from opengcd.workspace.predictions import predicted
from opengcd.workspace.schema import assignments
from opengcd.workspace.schema import groups as groups_table
from opengcd.workspace.stacks import stacks_of
from opengcd.workspace.subclusters import Subclusters

if TYPE_CHECKING:
    from opengcd.recognizer import OpenWorldRecognizer

NOT_BY_HAND = (*ANSWERING, REGROUP, "discover", "undo", "redo")
"""Edits that move items without a decision of a person about each of them."""


class Regrouping(NamedTuple):
    """Where items go: to one of the present groups, to a new one, or out of the review."""

    parts: dict[int, Part]
    """The items of each present group that has any."""
    started: list[Part]
    """New groups in place of those that are not a class."""
    released: dict[int, str]
    """Items that are no longer under review, and the known class that each is most likely of."""
    decided: set[int]
    """Items that the next discovery leaves where they are: by an answer about their group, or by hand."""
    probabilities: dict[int, float | None]
    """Probability of each item to be of its group; None for items that a person put there."""
    moved: int
    """Items whose group has changed."""

    @property
    def items(self) -> list[int]:
        """All items, in groups or released."""
        return [*chain.from_iterable(part.items for part in (*self.parts.values(), *self.started)), *self.released]


class _Rows(NamedTuple):
    """The rows that are regrouped: near copies in one group are one row, with the vector of the first one."""

    items: list[list[int]]
    home: np.ndarray
    """The unnamed group that each row is in; 0 if it is in none."""
    by_hand: np.ndarray
    """Whether a person put it there."""
    by_answer: np.ndarray
    """Whether an answer has decided that it stays there."""
    seen: np.ndarray
    """Whether a person saw it to be of the class of its group."""
    under_review: np.ndarray
    """Whether discovery left it in a group."""


def plan_regrouping(tools: Subclusters, on: int | None) -> tuple[int, Regrouping | None]:
    """Return the last edit that a regrouping is based on, and where items go; None if no question was answered.

    It includes all items that discovery could group, and those that only answers have decided on.

    Parameters
    ----------
    tools : Subclusters
    on : int or None
        The last edit that the person has seen.

    Returns
    -------
    (int, Regrouping or None)

    """
    version, recognizer = tools.recognizers.in_use()
    with tools.store.database.reading() as connection:
        edit, homes, said = log.last_edit(connection), unnamed_groups(connection), standing_answers(connection)
        refuse_conflict(connection, on, Concerns(groups=homes))
        if not said.since & homes.keys():
            return edit, None
        store = tools.vectors.shards(connection, version)
        ids = {*to_group(connection, recognizer.discovers_from == "stream"), *chain.from_iterable(homes.values())}
        rows = _read_rows(connection, homes, said, sorted(store.having(connection, sorted(ids))))
        X = tools.vectors.scaled(store.of_items(connection, [items[0] for items in rows.items]))
        names = class_names.read(connection)
    plan = _plan(recognizer, X, rows, said, list(homes))
    return edit, plan._replace(released={item: names.get(label, label) for item, label in plan.released.items()})


def _read_rows(connection: Connection, homes: dict[int, list[int]], said: Answers, ids: list[int]) -> _Rows:
    home = {item: group for group, members in homes.items() for item in members}
    decided = home.keys() & set(connection.scalars(select(assignments.c.item_id).where(assignments.c.by_person)))
    by_hand = decided & log.items_moved(connection, NOT_BY_HAND)
    reviewed = _left_by_discovery(connection, set(home)) | by_hand
    copies, rows = stacks_of(connection, ids), dict[tuple[int, int, bool], list[int]]()
    for item in ids:
        if not (item in by_hand and home[item] in said.none):  # such an item stays in a group that is no class
            rows.setdefault((copies.get(item, item), home.get(item, 0), item in by_hand), []).append(item)

    def having(chosen: set[int]) -> np.ndarray:
        return np.array([not chosen.isdisjoint(items) for items in rows.values()], dtype=bool)

    at = np.array([group for _, group, _ in rows], dtype=np.int64)
    marks = map(having, (by_hand, decided - by_hand, said.seen, reviewed))
    return _Rows(list(rows.values()), at, *marks)


def _left_by_discovery(connection: Connection, items: set[int]) -> set[int]:
    """Return the items that were in unnamed groups before the first regrouping; ``items`` are those now."""
    novel = set(connection.scalars(select(groups_table.c.id).where(groups_table.c.kind == NOVEL)))
    discovered = log.last_discovery_id(connection)
    for entry in reversed(log.standing(connection, [REGROUP])):
        if entry.id > discovered:
            found = log.rows_found(connection, entry.id, assignments)
            before = {item for item, row in found.items() if row is not None and row["group_id"] in novel}
            items = items - found.keys() | before
    return items


def _plan(recognizer: OpenWorldRecognizer, X: np.ndarray, rows: _Rows, said: Answers, homes: list[int]) -> Regrouping:
    from opengcd.discover import around_mean, regroup_by_answers

    metric, Z = recognizer.metric_rows(X, hidden=False), recognizer.in_metric(X)
    known = metric.known
    linked = link({group: np.flatnonzero(rows.home == group) for group in homes}, said, known)
    linked = replace(
        linked,
        under_review=np.flatnonzero(rows.under_review),
        placed={row: known + int(rows.home[row]) for row in np.flatnonzero(rows.by_hand).tolist()},
        together={
            number: frozenset(members[(rows.seen & ~rows.by_hand)[members]].tolist())
            for number, members in linked.rows.items()
        },
    )
    done, found = regroup_by_answers(metric, linked, said.dissolved)

    parts, started, decided = dict[int, Part](), list[Part](), set[int]()
    probabilities: dict[int, float | None] = {}
    moved, at, left = 0, rows.home.tolist(), rows.home > 0
    # Of these groups, the next discovery keeps the images together.
    answered = done.whole | {known + group for group in rows.home[rows.by_answer].tolist()}
    for number, members in done.rows.items():
        if not len(members):
            continue
        order, spread = around_mean(Z, members)
        part = Part([item for row in order.tolist() for item in rows.items[row]], spread)
        sure = found.probabilities[:, np.searchsorted(found.numbers, number)]
        if number in linked.rows:
            parts[number - known] = part
        else:
            started.append(part)
        left[members] = False
        for row in order.tolist():
            items, by_hand = rows.items[row], bool(rows.by_hand[row])
            probabilities.update(dict.fromkeys(items, None if by_hand else float(sure[row])))
            decided.update(items if by_hand or number in answered else ())
            moved += len(items) if number not in linked.rows or at[row] != number - known else 0
    labels = recognizer.classes_[found.probabilities[:, :known].argmax(1)]
    released = {item: str(labels[row]) for row in np.flatnonzero(left).tolist() for item in rows.items[row]}
    return Regrouping(parts, started, released, decided, probabilities, moved + len(released))


def regroup(edit: Edit, plan: Regrouping) -> None:
    """Apply a regrouping.

    Parameters
    ----------
    edit : Edit
    plan : Regrouping

    """
    connection, table = edit.connection, groups_table
    edit.touch(assignments, plan.items)
    edit.touch(table, plan.parts)
    replaced = heirs.estates(edit)
    for part in in_parts(plan.items):
        connection.execute(delete(assignments).where(assignments.c.item_id.in_(part)))
    for group, (_, spread) in plan.parts.items():
        connection.execute(update(table).where(table.c.id == group).values(cohesion=spread))
    homes = dict(plan.parts)
    for part in plan.started:
        homes[groups.make_group(edit, NOVEL, groups.provisional_label(connection), False, cohesion=part.spread)] = part
    for group, (items, _) in homes.items():
        _assign(edit, group, items, plan)
    predictions_of, returned = predicted(connection, list(plan.released)), dict[str, list[int]]()
    # Of a confirmed class, learn takes all images: nobody has confirmed these.
    confirmed = set(connection.scalars(select(table.c.name).where(table.c.kind == KNOWN, table.c.confirmed)))
    for item, label in plan.released.items():
        if label not in confirmed and (item not in predictions_of or predictions_of[item].label != label):
            returned.setdefault(label, []).append(item)
    for label, items in sorted(returned.items()):
        _assign(edit, groups.group_named(edit, label), items, plan)
    heirs.pass_on(edit, replaced)


def _assign(edit: Edit, group: int, items: Sequence[int], plan: Regrouping) -> None:
    rows = [
        {
            "item_id": item,
            "group_id": group,
            "rank": rank,
            "by_person": item in plan.decided,
            "probability": plan.probabilities.get(item),
        }
        for rank, item in enumerate(items)
    ]
    for part in in_parts(rows):
        edit.connection.execute(insert(assignments), part)
