"""The simulated reviewer of demo and benchmark, whose actions are counted (Sec. 3.5.2).

These are the actions of a person who corrects groups, and their costs:

- name a group (1 action), which may be the name of a known class;
- merge a group into one that is already named (1 action);
- move or remove a set of selected items (1 action, and 1 for each item selected);
- confirm a named group (1 action);
- split a group that holds several classes into a number of clusters (1 action), if the reviewer splits groups.

Labelling one by one costs 1 action for each rejected item.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

MANY = 10
"""A reviewer splits a group if it holds this many items of a second class, and selects fewer one by one."""
Split = Callable[[np.ndarray, int], Sequence[np.ndarray]]
"""Divides rows into at most a given number of clusters."""


class Review(NamedTuple):
    """The items of novel classes with their labels, and the actions it took."""

    rows: np.ndarray
    labels: np.ndarray
    actions: int
    by_kind: dict[str, int]


def simulate_review(
    groups: Sequence[np.ndarray], truth: Any, known: Iterable[Any], split: Split | None = None
) -> Review:
    """Correct and name groups of rows, as a person who knows the truth would do.

    The reviewer takes the groups from the largest to the smallest. In each, items that are not of its most frequent
    class are selected and moved, one set for each novel class; all items of known classes form one set, which is
    removed. The remaining items are named, or merged into the group that already has this name; if they are of a known
    class, they get its name and leave the review. A set moved to a class without a group forms a new group, which is
    named, too.

    Parameters
    ----------
    groups : sequence of int arrays
        The rows of each group.
    truth : array of shape (n,)
        The true class of every row.
    known : iterable
        The known classes.
    split : callable or None
        How the review page clusters a group again. With it, the reviewer first splits groups that hold :data:`MANY`
        items of several classes, into as many clusters as there are such classes, see :func:`split_mixed`.

    Returns
    -------
    Review

    """
    truth, known = np.asarray(truth), set(known)
    counts: Counter[str] = Counter()
    if split is not None:
        groups, counts["split"] = split_mixed(groups, truth, split)
    named: set[Any] = set()
    kept: list[np.ndarray] = []

    def name_or_merge(label: Any) -> None:
        counts["name" if label not in named else "merge"] += 1
        if label not in known:
            named.add(label)

    for rows in sorted(groups, key=len, reverse=True):
        classes, sizes = np.unique(truth[rows], return_counts=True)
        majority = classes[sizes.argmax()].item()
        sizes_of = dict(zip(classes.tolist(), sizes.tolist(), strict=True))
        others = {c: n for c, n in sizes_of.items() if c != majority}
        removed = sum(n for c, n in others.items() if c in known)
        moved = {c: n for c, n in others.items() if c not in known}
        counts["select"] += removed + sum(moved.values())
        counts["remove"] += removed > 0
        counts["move"] += len(moved)
        name_or_merge(majority)
        for label in sorted(set(moved) - named):
            name_or_merge(label)
        kept.append(rows[[label not in known for label in truth[rows].tolist()]])
    counts["confirm"] = len(named)
    rows = np.concatenate(kept) if kept else np.empty(0, dtype=np.int64)
    return Review(rows, truth[rows], counts.total(), dict(counts))


def split_mixed(groups: Sequence[np.ndarray], truth: np.ndarray, split: Split) -> tuple[list[np.ndarray], int]:
    """Split groups while they hold many items of several classes.

    The reviewer sees how many classes are frequent in a group, but not how well it will split; the parts are reviewed
    as they are, and split again if they still hold many items of several classes.

    Parameters
    ----------
    groups : sequence of int arrays
        The rows of each group.
    truth : array of shape (n,)
        The true class of every row.
    split : callable
        How a group is clustered again.

    Returns
    -------
    list of int arrays
        The groups after it.
    int
        Number of splits.

    """
    done: list[np.ndarray] = []
    splits, waiting = 0, list(groups)
    while waiting:
        rows = waiting.pop()
        frequent = int((np.unique(truth[rows], return_counts=True)[1] >= MANY).sum())
        if frequent < 2:
            done.append(rows)
            continue
        parts = split(rows, frequent)
        splits += 1
        if len(parts) > 1:
            waiting.extend(parts)
        else:  # a group that cannot be divided would be split for ever
            done.append(rows)
    return done, splits


def confirm_groups(
    groups: Sequence[np.ndarray], truth: np.ndarray, known: np.ndarray, confirmed: np.ndarray
) -> np.ndarray:
    """Return the items confirmed by a person who looks at every second group, starting with the largest.

    In each, the items of its most frequent class are confirmed if that class is new. Groups of which more than half of
    the items were confirmed before are skipped.

    Parameters
    ----------
    groups : sequence of int arrays
        The rows of each group.
    truth : array of shape (n,)
        The true class of every row.
    known : array
        The known classes.
    confirmed : bool array
        Which rows were confirmed before.

    Returns
    -------
    int array
        Rows, ascending; those confirmed before are left out.

    """
    fresh = [rows for rows in sorted(groups, key=len, reverse=True) if 2 * confirmed[rows].sum() <= len(rows)]
    chosen = [np.empty(0, dtype=np.int64)]
    for rows in fresh[::2]:
        classes, sizes = np.unique(truth[rows], return_counts=True)
        majority = classes[sizes.argmax()]
        if majority not in known:
            chosen.append(rows[(truth[rows] == majority) & ~confirmed[rows]])
    return np.sort(np.concatenate(chosen))
