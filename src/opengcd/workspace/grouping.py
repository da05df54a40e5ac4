"""Turn a discovery into groups under review. The decisions of people are kept; everything else is regrouped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sqlalchemy import Connection, delete, insert, or_, select, true

from opengcd.workspace import heirs, stacks
from opengcd.workspace.database import in_parts
from opengcd.workspace.embedders import with_vector
from opengcd.workspace.groups import NOVEL, REMOVED, group_named, make_group
from opengcd.workspace.log import Edit
from opengcd.workspace.predictions import predicted
from opengcd.workspace.schema import assignments, edits, groups, predictions, stack_members, training_labels
from opengcd.workspace.versions import in_use, learnt

if TYPE_CHECKING:
    from opengcd.discover import Discovery

DECIDED = or_(
    assignments.c.by_person,
    groups.c.confirmed,
    (groups.c.kind == NOVEL) & groups.c.name.is_not(None),
    groups.c.kind == REMOVED,
)
"""Return the condition that a person has decided on an item or its group."""


def to_group(connection: Connection, accepted: bool) -> list[int]:
    """Return the items that discovery is to group: rejected, not learnt, and not decided on by a person.

    With ``accepted``, also those that were not rejected.
    """
    decided = select(assignments.c.item_id).join(groups, groups.c.id == assignments.c.group_id).where(DECIDED)
    query = (
        select(predictions.c.item_id)
        .where(
            predictions.c.model_id == in_use(connection),
            true() if accepted else predictions.c.label.is_(None),
            predictions.c.item_id.not_in(learnt(connection).with_only_columns(training_labels.c.item_id)),
            predictions.c.item_id.not_in(decided),
            predictions.c.item_id.in_(with_vector(connection)),
        )
        .order_by(predictions.c.item_id)
    )
    return list(connection.scalars(query))


class Regrouped(NamedTuple):
    """The numbers of items that a discovery changed."""

    groups: int
    returned: int
    """Items that were returned to known classes."""
    left_alone: int
    """Items that a person has changed since the discovery looked at them."""
    stacks: int
    """Stacks of near copies."""


class Proposal(NamedTuple):
    """The groups that a discovery proposes, and the state of the workspace that it started from."""

    since: int
    """The last edit that it has seen."""
    ids: Sequence[int]
    """The items to group: what :func:`to_group` returned."""
    examples: Mapping[int, str]
    """Items with their classes that served as examples; they have their place already."""
    found: Discovery
    """Its rows are those of ``ids`` and then of ``examples``."""
    stacks: np.ndarray
    """The number of each row's stack."""


def regroup(edit: Edit, proposal: Proposal) -> Regrouped:
    """Replace the groups that nobody has named by those of a discovery.

    Edits made since the discovery began have precedence: the items and groups that they changed are left unchanged.
    """
    connection, ids, found = edit.connection, proposal.ids, proposal.found
    changed = _changed_since(connection, proposal.since)
    replaced = heirs.estates(edit)
    _clear(edit, keep=changed)
    free = set(ids) - changed
    sure = [None] * len(ids) if found.probabilities is None else found.probabilities[: len(ids)].tolist()
    probabilities = dict(zip(ids, sure, strict=True))
    confirmed = set(proposal.examples.values())
    made = 0
    for group in found.groups:
        members = [ids[row] for row in group.rows.tolist() if row < len(ids) and ids[row] in free]
        if not members:
            continue
        # Items that join a confirmed class must be confirmed, too: learn takes all of a confirmed group.
        label = f"more of {group.label}" if group.label in confirmed else str(group.label)
        home = make_group(edit, NOVEL, label, False, cohesion=group.spread, probability=group.probability)
        _assign(edit, members, home, probabilities)
        made += 1
    predictions_of = predicted(connection, ids)
    returned: dict[str, list[int]] = {}
    for id, label, novel in zip(ids, found.labels.tolist(), found.novel, strict=False):
        if id in free and not novel and predictions_of[id].label != label:
            returned.setdefault(label, []).append(id)
    for label, members in sorted(returned.items()):
        members.sort(key=lambda id: (predictions_of[id].unknown, id))
        _assign(edit, members, group_named(edit, label), probabilities)
    heirs.pass_on(edit, replaced)
    return Regrouped(made, sum(map(len, returned.values())), len(ids) - len(free), _store_stacks(edit, proposal, free))


def _store_stacks(edit: Edit, proposal: Proposal, free: set[int]) -> int:
    """Store the stacks of the items that nobody has changed meanwhile; return how many there are."""
    rows = [row for row, item in enumerate(proposal.ids) if item in free]
    return stacks.store(edit, [proposal.ids[row] for row in rows], proposal.stacks[rows])


def _changed_since(connection: Connection, since: int) -> set[int]:
    """The items that edits after one have moved, and those in groups that they have changed.

    A group of a new class is changed by what enters or leaves it, too; a known class is not.
    """
    moved, touched, entered = set[int](), set[int](), set[int]()
    query = select(edits.c.before, edits.c.members).where(edits.c.id > since, edits.c.before.is_not(None))
    for before, members in connection.execute(query):
        moved.update(key for key, _ in before.get(assignments.name, ()))
        touched.update(key for key, _ in before.get(groups.name, ()))
        moved.update(key for key, _ in before.get(stack_members.name, ()))
        entered.update(members or ())
    for part in in_parts(list(touched | entered)):
        query = select(assignments.c.item_id, groups.c.id, groups.c.kind).join(groups).where(groups.c.id.in_(part))
        moved.update(row.item_id for row in connection.execute(query) if row.id in touched or row.kind == NOVEL)
    return moved


def _clear(edit: Edit, keep: set[int]) -> None:
    """Remove what an earlier discovery has decided, unless a person has decided since, except for some items."""
    connection = edit.connection
    joined = select(assignments.c.item_id).join(groups, groups.c.id == assignments.c.group_id)
    stale = [item for item in connection.scalars(joined.where(~DECIDED)) if item not in keep]
    edit.touch(assignments, stale)
    for part in in_parts(stale):
        connection.execute(delete(assignments).where(assignments.c.item_id.in_(part)))
    unnamed = connection.scalars(select(groups.c.id).where(groups.c.kind == NOVEL, groups.c.name.is_(None)))
    occupied = set(connection.scalars(select(assignments.c.group_id).distinct()))
    empty = [id for id in unnamed if id not in occupied]
    edit.touch(groups, empty)
    for part in in_parts(empty):
        connection.execute(delete(groups).where(groups.c.id.in_(part)))


def _assign(edit: Edit, members: Sequence[int], group: int, probabilities: Mapping[int, float | None]) -> None:
    edit.touch(assignments, members)
    rows = [
        {"item_id": id, "group_id": group, "rank": i, "by_person": False, "probability": probabilities[id]}
        for i, id in enumerate(members)
    ]
    for part in in_parts(rows):
        edit.connection.execute(insert(assignments), part)
