"""Stacks of near copies, such as the images of one burst, which are reviewed together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from sqlalchemy import ColumnElement, Connection, delete, exists, func, insert, select, tuple_

from opengcd.workspace.database import in_parts
from opengcd.workspace.log import Edit
from opengcd.workspace.schema import assignments, captures, stack_members
from opengcd.workspace.versions import not_learnt

BURST_SECONDS = 5.0
"""Images of a burst follow each other within this time."""
SAME_BITS, ALIKE_BITS = 10, 16
"""Bits of the perceptual hash, of 64, in which an image of a burst may differ from the one before, and from the
first."""


class Capture(NamedTuple):
    """When an image was taken, and its perceptual hash."""

    taken: float
    """Seconds since 1970, by the camera's clock."""
    hash: int
    """64 bits."""


def stacks_of(connection: Connection, ids: Sequence[int]) -> dict[int, int]:
    """Return the stack of each item that has one.

    Parameters
    ----------
    connection : Connection
    ids : sequence of int
        Numbers of items.

    Returns
    -------
    dict of int to int
        The number of the stack, which is that of its first item.

    """
    found: dict[int, int] = {}
    for part in in_parts(ids):
        query = select(stack_members).where(stack_members.c.item_id.in_(part), stack_members.c.stack.is_not(None))
        found.update({row.item_id: row.stack for row in connection.execute(query)})
    return found


def with_copies(connection: Connection, chosen: Sequence[int]) -> list[int]:
    """Return items together with the rest of their stacks, as far as that is in the same group and not learnt.

    Parameters
    ----------
    connection : Connection
    chosen : sequence of int
        Numbers of items.

    Returns
    -------
    list of int
        Those chosen, each followed by its copies.

    """
    own = stacks_of(connection, chosen)
    copies: dict[tuple[int, int], list[int]] = {}
    home: dict[int, int] = {}
    for part in in_parts(sorted(set(own.values()))):
        query = (
            select(stack_members.c.item_id, stack_members.c.stack, assignments.c.group_id)
            .join(assignments, assignments.c.item_id == stack_members.c.item_id)
            .where(stack_members.c.stack.in_(part), not_learnt(connection, stack_members.c.item_id))
            .order_by(assignments.c.rank, stack_members.c.item_id)
        )
        for item, stack, group in connection.execute(query):
            home[item] = group
            copies.setdefault((stack, group), []).append(item)
    return list(
        dict.fromkeys(
            one for item in chosen for one in (item, *(copies[own[item], home[item]] if item in home else ()))
        )
    )


def copies_in_groups(connection: Connection, ids: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Return the stack of each item that has one, and how many of its images are in the item's group.

    Parameters
    ----------
    connection : Connection
    ids : sequence of int
        Numbers of items in groups.

    Returns
    -------
    dict of int to (int, int)
        The number of the stack, and the number of its images; items without a copy in their group are left out.

    """
    found: dict[int, tuple[int, int]] = {}
    other, there = stack_members.alias(), assignments.alias()
    for part in in_parts(ids):
        query = (
            select(stack_members.c.item_id, stack_members.c.stack, func.count().label("n"))
            .join(assignments, assignments.c.item_id == stack_members.c.item_id)
            .join(other, other.c.stack == stack_members.c.stack)
            .join(there, (there.c.item_id == other.c.item_id) & (there.c.group_id == assignments.c.group_id))
            .where(stack_members.c.item_id.in_(part))
            .group_by(stack_members.c.item_id, stack_members.c.stack)
        )
        found.update({row.item_id: (row.stack, row.n) for row in connection.execute(query) if row.n > 1})
    return found


def follows_a_copy() -> ColumnElement[bool]:
    """Return the condition that an assigned item has a more typical copy in its group: all of a stack but the first."""
    own, other, there = stack_members.alias(), stack_members.alias(), assignments.alias()
    before = tuple_(there.c.rank, there.c.item_id) < tuple_(assignments.c.rank, assignments.c.item_id)
    return exists(
        select(other.c.item_id)
        .join(own, own.c.stack == other.c.stack)
        .join(there, there.c.item_id == other.c.item_id)
        .where(own.c.item_id == assignments.c.item_id, there.c.group_id == assignments.c.group_id, before)
        .correlate(assignments)
    )


def find(connection: Connection, ids: Sequence[int], by_vector: np.ndarray) -> np.ndarray:
    """Return the stacks of items: near copies by their vectors, or images of a burst by time and perceptual hash.

    Parameters
    ----------
    connection : Connection
    ids : sequence of int
        Numbers of items.
    by_vector : int array of shape (n,)
        Items with the same number are near copies by their vectors.

    Returns
    -------
    int array of shape (n,)
        Items with the same number are a stack. An item whose stack a person has opened is one of its own.

    """
    from scipy.sparse import coo_matrix  # most commands do without scipy, which takes long to import
    from scipy.sparse.csgraph import connected_components

    opened, seen = set[int](), dict[int, Capture]()
    for part in in_parts(ids):
        query = select(stack_members.c.item_id).where(
            stack_members.c.item_id.in_(part), stack_members.c.stack.is_(None)
        )
        opened.update(connection.scalars(query))
        timed = select(captures).where(captures.c.item_id.in_(part), captures.c.taken.is_not(None))
        seen.update({row.item_id: Capture(row.taken, int(row.hash, 16)) for row in connection.execute(timed)})
    place_of = {item: place for place, item in enumerate(ids)}
    links = [(place_of[a], place_of[b]) for a, b in burst_links(seen) if not {a, b} & opened]
    first: dict[int, int] = {}
    for place, (item, number) in enumerate(zip(ids, by_vector.tolist(), strict=True)):
        if item not in opened:
            links.append((first.setdefault(number, place), place))
    a, b = np.array(links, dtype=np.int64).reshape(-1, 2).T
    graph = coo_matrix((np.ones(len(a), dtype=bool), (a, b)), shape=(len(ids), len(ids)))
    numbers: np.ndarray = connected_components(graph, directed=False)[1]
    return numbers


def burst_links(seen: Mapping[int, Capture]) -> list[tuple[int, int]]:
    """Return pairs of items that follow each other in a burst.

    Parameters
    ----------
    seen : mapping of int to Capture
        By the number of the item.

    Returns
    -------
    list of (int, int)
        An image and the next one, if that was taken within :data:`BURST_SECONDS` and looks like it, and like the first
        image of the burst.

    """
    links = []
    order = sorted(seen, key=lambda item: (seen[item].taken, item))
    start = 0
    for place in range(1, len(order)):
        first, before, now = (seen[order[i]] for i in (start, place - 1, place))
        if (
            now.taken - before.taken <= BURST_SECONDS
            and (now.hash ^ before.hash).bit_count() <= SAME_BITS
            and (now.hash ^ first.hash).bit_count() <= ALIKE_BITS
        ):
            links.append((order[place - 1], order[place]))
        else:
            start = place
    return links


def store(edit: Edit, ids: Sequence[int], numbers: np.ndarray) -> int:
    """Store the stacks of items in place of those they had; return how many stacks there are.

    Parameters
    ----------
    edit : Edit
    ids : sequence of int
        Numbers of items.
    numbers : int array of shape (n,)
        Items with the same number are a stack; an item whose stack was opened has a number of its own.

    Returns
    -------
    int

    """
    members: dict[int, list[int]] = {}
    for item, number in zip(ids, numbers.tolist(), strict=True):
        members.setdefault(number, []).append(item)
    stacks = [sorted(items) for items in members.values() if len(items) > 1]
    new = {item: items[0] for items in stacks for item in items}
    old = stacks_of(edit.connection, ids)
    changed = [item for item in ids if new.get(item) != old.get(item)]
    _write(edit, changed, {item: new[item] for item in changed if item in new})
    return len(stacks)


def open_stacks(edit: Edit, chosen: Iterable[int]) -> int:
    """Open the stacks of items: from now on their images are reviewed one by one; return how many there are.

    Parameters
    ----------
    edit : Edit
    chosen : iterable of int
        Numbers of items.

    Returns
    -------
    int

    """
    stacks = sorted(set(stacks_of(edit.connection, list(chosen)).values()))
    members: list[int] = []
    for part in in_parts(stacks):
        members += edit.connection.scalars(select(stack_members.c.item_id).where(stack_members.c.stack.in_(part)))
    _write(edit, members, dict.fromkeys(members))
    return len(members)


def _write(edit: Edit, changed: Sequence[int], rows: Mapping[int, int | None]) -> None:
    edit.touch(stack_members, changed)
    for part in in_parts(changed):
        edit.connection.execute(delete(stack_members).where(stack_members.c.item_id.in_(part)))
    for part in in_parts([{"item_id": item, "stack": stack} for item, stack in rows.items()]):
        edit.connection.execute(insert(stack_members), part)
