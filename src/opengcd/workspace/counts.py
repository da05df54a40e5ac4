"""Counts of the items of each group and of their predictions, made again only where an edit changed something.

What was counted is kept in memory with the state of the database that it was counted in: the version in use, the
revision of items and predictions, and the last edit. All three are read in the transaction that asks, so a count is
never out of date, no matter which process changed the database. An edit names the groups that items have left or
entered; only these are counted again after it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping
from typing import NamedTuple, TypeVar

from sqlalchemy import Connection, func, select, true

from opengcd.workspace.database import in_parts
from opengcd.workspace.log import groups_changed, last_edit
from opengcd.workspace.revision import revision
from opengcd.workspace.schema import assignments, items, predictions
from opengcd.workspace.stacks import follows_a_copy
from opengcd.workspace.versions import in_use, learnt, not_learnt

TYPICAL = 8
"""Number of items shown on the card of a group."""
KEPT = 16
"""Number of states whose counts are kept: a request that began earlier sees an earlier state."""


class GroupCount(NamedTuple):
    """Counts of a group, or of the whole workspace, without learnt items."""

    size: int
    by_person: int
    """Items that a person put there."""
    predicted: dict[str | None, int]
    """Number of its items by the class that they were recognised as; None: rejected."""
    typical: list[int]
    """The first :data:`TYPICAL` items, the most typical first; of a stack of near copies only one."""

    @property
    def rejected(self) -> int:
        """Items that recognition rejected."""
        return self.predicted.get(None, 0)

    @property
    def waiting(self) -> int:
        """Items that the version in use has not recognised yet."""
        return self.size - sum(self.predicted.values())


class State(NamedTuple):
    """What a count depends on."""

    version: int | None
    revision: int
    edit: int


Key = TypeVar("Key")
Value = TypeVar("Value")


class Counts:
    """The counts of the latest states; threads may share them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._groups: OrderedDict[State, Mapping[int, GroupCount]] = OrderedDict()
        self._all: OrderedDict[tuple[int | None, int], tuple[int, GroupCount]] = OrderedDict()

    def of_groups(self, connection: Connection) -> Mapping[int, GroupCount]:
        """Return the count of each group that holds something not learnt yet."""
        now = State(in_use(connection), revision(connection), last_edit(connection))
        with self._lock:
            if now not in self._groups:
                known = self._before(now)
                changed = None if known is None else groups_changed(connection, known.edit)
                if known is None or changed is None:
                    found = _count(connection)
                else:
                    found = {id: count for id, count in self._groups[known].items() if id not in changed}
                    found |= _count(connection, changed)
                _keep(self._groups, now, found)
            return self._groups[now]

    def of_all(self, connection: Connection) -> tuple[int, GroupCount]:
        """Return how many items are learnt, and the count of all others, whatever group they are in."""
        now = in_use(connection), revision(connection)
        with self._lock:
            if now not in self._all:
                _keep(self._all, now, _count_all(connection))
            return self._all[now]

    def _before(self, now: State) -> State | None:
        """The latest earlier state that differs by edits alone."""
        earlier = [known for known in self._groups if known[:2] == now[:2] and known.edit < now.edit]
        return max(earlier, key=lambda known: known.edit, default=None)


def _keep(kept: OrderedDict[Key, Value], key: Key, value: Value) -> None:
    kept[key] = value
    while len(kept) > KEPT:
        kept.popitem(last=False)


def _count(connection: Connection, only: Collection[int] | None = None) -> dict[int, GroupCount]:
    """Count all groups, or some of them."""
    found: dict[int, GroupCount] = {}
    for part in [None] if only is None else in_parts(sorted(only)):
        wanted = true() if part is None else assignments.c.group_id.in_(part)
        here = (predictions.c.item_id == assignments.c.item_id) & (predictions.c.model_id == in_use(connection))
        columns = assignments.c.group_id, predictions.c.label, predictions.c.item_id.is_(None).label("unasked")
        query = (
            select(*columns, func.count().label("n"), func.count().filter(assignments.c.by_person).label("by_person"))
            .select_from(assignments.outerjoin(predictions, here))
            .where(wanted, not_learnt(connection, assignments.c.item_id))
            .group_by(*columns)
        )
        for row in connection.execute(query):
            count = found.get(row.group_id, GroupCount(0, 0, {}, []))
            predicted = count.predicted if row.unasked else count.predicted | {row.label: row.n}
            found[row.group_id] = GroupCount(count.size + row.n, count.by_person + row.by_person, predicted, [])
    return {id: count._replace(typical=_typical(connection, id)) for id, count in found.items()}


def _typical(connection: Connection, group: int) -> list[int]:
    query = select(assignments.c.item_id).where(
        assignments.c.group_id == group, not_learnt(connection, assignments.c.item_id), ~follows_a_copy()
    )
    return list(connection.scalars(query.order_by(assignments.c.rank, assignments.c.item_id).limit(TYPICAL)))


def _count_all(connection: Connection) -> tuple[int, GroupCount]:
    total = connection.scalar(select(func.count()).select_from(items)) or 0
    learnt_items = connection.scalar(select(func.count()).select_from(learnt(connection).subquery())) or 0
    query = (
        select(predictions.c.label, func.count().label("n"))
        .where(predictions.c.model_id == in_use(connection), not_learnt(connection, predictions.c.item_id))
        .group_by(predictions.c.label)
    )
    return learnt_items, GroupCount(
        total - learnt_items, 0, {row.label: row.n for row in connection.execute(query)}, []
    )
