"""From a discovery to groups under review. What a person has decided is kept; all else is grouped anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sqlalchemy import Connection, delete, insert, or_, select, true

from opengcd.workspace._database import in_parts
from opengcd.workspace._features import WITH_VECTOR
from opengcd.workspace._log import Edit
from opengcd.workspace._models import in_use, learnt
from opengcd.workspace._recognition import predicted
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
            predictions.c.item_id.not_in(learnt(connection).with_only_columns(lessons.c.item_id)),
            predictions.c.item_id.not_in(decided),
            predictions.c.item_id.in_(WITH_VECTOR),
        )
        .order_by(predictions.c.item_id)
    )
    return list(connection.scalars(query))


def regroup(edit: Edit, ids: Sequence[int], told: Mapping[int, str], found: Discovery) -> tuple[int, int]:
    """Put the groups of a discovery in the place of those that nobody has named.

    Its rows are those of ``ids`` and then of ``told``, which have their place already. Return the number of groups and
    of items put back into known classes.
    """
    connection = edit.connection
    joined = select(assignments.c.item_id).join(groups, groups.c.id == assignments.c.group_id)
    stale = connection.scalars(joined.where(~DECIDED)).all()
    edit.touch(assignments, stale)
    for part in in_parts(stale):
        connection.execute(delete(assignments).where(assignments.c.item_id.in_(part)))
    unnamed = connection.scalars(select(groups.c.id).where(groups.c.kind == NOVEL, groups.c.name.is_(None)))
    occupied = set(connection.scalars(select(assignments.c.group_id).distinct()))
    empty = [id for id in unnamed if id not in occupied]
    edit.touch(groups, empty)
    for part in in_parts(empty):
        connection.execute(delete(groups).where(groups.c.id.in_(part)))
    sure = [None] * len(ids) if found.probabilities is None else found.probabilities[: len(ids)].tolist()
    probabilities = dict(zip(ids, sure, strict=True))
    confirmed = set(told.values())
    made = 0
    for group in found.groups:
        members = [ids[row] for row in group.rows.tolist() if row < len(ids)]
        if not members:
            continue
        # What joins a confirmed class is for a person to confirm, too: learn takes all of a confirmed group.
        label = f"more of {group.label}" if group.label in confirmed else str(group.label)
        home = make_group(edit, NOVEL, label, False, cohesion=group.cohesion, probability=group.probability)
        _assign(edit, members, home, probabilities)
        made += 1
    said = predicted(connection, ids)
    returned: dict[str, list[int]] = {}
    for id, label, novel in zip(ids, found.labels.tolist(), found.novel, strict=False):
        if not novel and said[id].label != label:
            returned.setdefault(label, []).append(id)
    for label, members in sorted(returned.items()):
        members.sort(key=lambda id: (said[id].unknown, id))
        _assign(edit, members, group_named(edit, label), probabilities)
    return made, sum(map(len, returned.values()))


def _assign(edit: Edit, members: Sequence[int], group: int, probabilities: Mapping[int, float | None]) -> None:
    edit.touch(assignments, members)
    rows = [
        {"item_id": id, "group_id": group, "rank": i, "by_person": False, "probability": probabilities[id]}
        for i, id in enumerate(members)
    ]
    for part in in_parts(rows):
        edit.connection.execute(insert(assignments), part)
