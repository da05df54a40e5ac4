"""From a discovery to groups under review. What a person has decided is kept; all else is grouped anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy import Connection, delete, insert, or_, select

from opengcd.workspace._database import in_parts
from opengcd.workspace._log import Edit
from opengcd.workspace._models import in_use, learnt
from opengcd.workspace._review import NOVEL, REMOVED, group_named, make_group
from opengcd.workspace._schema import assignments, groups, lessons, predictions

if TYPE_CHECKING:
    from opengcd.discover import Discovery

DECIDED = or_(
    assignments.c.by_person,
    groups.c.confirmed,
    (groups.c.kind == NOVEL) & groups.c.name.is_not(None),
    groups.c.kind == REMOVED,
)
"""What a person had a hand in."""


def rejected(connection: Connection) -> list[int]:
    """Return the items that discovery is to group: rejected, not learnt, and not decided on by a person."""
    decided = select(assignments.c.item_id).join(groups, groups.c.id == assignments.c.group_id).where(DECIDED)
    query = (
        select(predictions.c.item_id)
        .where(
            predictions.c.model_id == in_use(connection),
            predictions.c.label.is_(None),
            predictions.c.item_id.not_in(learnt(connection).with_only_columns(lessons.c.item_id)),
            predictions.c.item_id.not_in(decided),
        )
        .order_by(predictions.c.item_id)
    )
    return list(connection.scalars(query))


def regroup(edit: Edit, ids: Sequence[int], found: Discovery) -> None:
    """Put the groups of a discovery on ``ids`` in the place of those that nobody has named."""
    connection = edit.connection
    joined = select(assignments.c.item_id).join(groups, groups.c.id == assignments.c.group_id)
    stale = connection.scalars(joined.where(~DECIDED)).all()
    edit.touch(assignments, [*stale, *ids])
    for part in in_parts(stale):
        connection.execute(delete(assignments).where(assignments.c.item_id.in_(part)))
    unnamed = connection.scalars(select(groups.c.id).where(groups.c.kind == NOVEL, groups.c.name.is_(None)))
    occupied = set(connection.scalars(select(assignments.c.group_id).distinct()))
    empty = [id for id in unnamed if id not in occupied]
    edit.touch(groups, empty)
    for part in in_parts(empty):
        connection.execute(delete(groups).where(groups.c.id.in_(part)))
    for group in found.groups:
        sure = getattr(group, "probability", None)  # not every preset estimates it
        more = {"cohesion": float(group.cohesion), "probability": None if sure is None else float(sure)}
        home = make_group(edit, NOVEL, str(group.label), named=False, **more)
        _assign(connection, [ids[row] for row in group.rows.tolist()], home)
    returned = np.flatnonzero(~found.novel)
    for label in sorted(set(found.labels[returned].tolist())):
        rows = returned[found.labels[returned] == label]
        members = _least_unknown_first(connection, [ids[row] for row in rows.tolist()])
        _assign(connection, members, group_named(edit, label))


def _assign(connection: Connection, members: Sequence[int], group: int) -> None:
    rows = [{"item_id": id, "group_id": group, "rank": i, "by_person": False} for i, id in enumerate(members)]
    for part in in_parts(rows):
        connection.execute(insert(assignments), part)


def _least_unknown_first(connection: Connection, ids: Sequence[int]) -> list[int]:
    unknown = {}
    for part in in_parts(ids):
        query = select(predictions.c.item_id, predictions.c.unknown).where(
            predictions.c.model_id == in_use(connection), predictions.c.item_id.in_(part)
        )
        unknown.update({row.item_id: row.unknown for row in connection.execute(query)})
    return sorted(ids, key=lambda id: (unknown[id], id))
