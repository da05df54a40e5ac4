"""Discovery repeated while a stream goes on; a reviewer confirms groups in between, and what stays is measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import adjusted_rand_score

from opengcd._internal.progress import Progress
from opengcd.bench.open_world_method import OpenWorldMethod
from opengcd.bench.records import DripPoint
from opengcd.bench.reviewer import confirm_groups
from opengcd.discover import Discovery


class Recognised(NamedTuple):
    """A stream after recognition."""

    X: np.ndarray
    """What the method is given."""
    y: np.ndarray
    """(n,) The true classes."""
    rejected: np.ndarray
    """(n,) Whether an item was rejected."""

    def first(self, number: int) -> Recognised:
        """Return the first items.

        Parameters
        ----------
        number : int
            How many.

        Returns
        -------
        Recognised

        """
        return Recognised(self.X[:number], self.y[:number], self.rejected[:number])


class Discovered(NamedTuple):
    """One of several discoveries in a stream."""

    confirmed: np.ndarray
    """(seen,) The labels that the reviewer had given to the items so far; ``unknown_label_`` for the others."""
    examined: np.ndarray
    """Items that were examined."""
    found: Discovery
    """What was discovered among them."""


def discover_early(
    method: OpenWorldMethod, stream: Recognised, known: np.ndarray, drips: int, progress: Progress
) -> tuple[list[Discovered], np.ndarray]:
    """Discover in the first parts of a stream, each time in everything seen so far, but not yet in the whole stream.

    After each discovery the reviewer confirms some groups, which the next one is told.

    Parameters
    ----------
    method : OpenWorldMethod
    stream : Recognised
    known : array
        The known classes.
    drips : int
        How often discovery is called in all; the last call, in the whole stream, is left to the caller.
    progress : callable
        Called with a stage, the steps done and their total.

    Returns
    -------
    list of Discovered
        ``drips`` - 1 of them.
    array of shape (n,)
        The labels that the reviewer has given by now; ``unknown_label_`` for the other items.

    """
    unknown = method.unknown_label_
    confirmed = np.full(len(stream.y), unknown, dtype=np.result_type(stream.y, np.asarray(unknown)))
    discovered = []
    for drip in range(1, drips):
        seen = round(len(stream.y) * drip / drips)
        latest = discover_once(method, stream.first(seen), confirmed[:seen].copy(), progress)
        discovered.append(latest)
        groups = [latest.examined[group.rows] for group in latest.found.groups]
        rows = confirm_groups(groups, stream.y, known, latest.confirmed != unknown)
        confirmed[rows] = stream.y[rows]
    return discovered, confirmed


def discover_once(method: OpenWorldMethod, stream: Recognised, confirmed: np.ndarray, progress: Progress) -> Discovered:
    """Discover in a stream, with the labels that a reviewer has given to some items.

    Parameters
    ----------
    method : OpenWorldMethod
    stream : Recognised
    confirmed : array of shape (n,)
        These labels; ``unknown_label_`` for the other items.
    progress : callable
        Called with a stage, the steps done and their total.

    Returns
    -------
    Discovered

    """
    if (confirmed == method.unknown_label_).all():
        found = method.discover_in_stream(stream.X, stream.rejected, progress=progress)
    else:
        found = method.discover_again(stream.X, stream.rejected, confirmed, progress=progress)
    return Discovered(confirmed, *found)


def drip_points(discovered: Sequence[Discovered], y: np.ndarray, known: np.ndarray, unknown: Any) -> list[DripPoint]:
    """Return what each of several discoveries found, and how well its groups agree with those found before.

    Parameters
    ----------
    discovered : sequence of Discovered
    y : array of shape (n,)
        The true classes of the stream.
    known : array
        The known classes.
    unknown : int or str
        The label of items without one.

    Returns
    -------
    list of DripPoint
        Empty if there was only one discovery.

    """
    if len(discovered) == 1:
        return []
    points = []
    before: np.ndarray | None = None
    for confirmed, examined, found in discovered:
        labels = np.full(len(y), -1)
        labels[examined[found.novel]] = np.unique(found.labels[found.novel], return_inverse=True)[1]
        steady = None
        if before is not None:
            both = (before >= 0) & (labels >= 0)
            steady = float(adjusted_rand_score(before[both], labels[both])) if both.any() else None
        before, seen = labels, len(confirmed)
        true = len(np.setdiff1d(y[:seen], known))
        given = np.flatnonzero(confirmed != unknown)
        whole = whole_groups(confirmed[given], labels[given])
        points.append(DripPoint(seen, true, found.k - len(known), steady, len(np.unique(confirmed[given])), whole))
    return points


def whole_groups(confirmed: np.ndarray, labels: np.ndarray) -> int:
    """Count the confirmed classes whose items are all in one group without items of another confirmed class.

    Parameters
    ----------
    confirmed : array of shape (n,)
        The class of each confirmed item.
    labels : int array of shape (n,)
        Its group in a later discovery; negative if it is in none.

    Returns
    -------
    int

    """
    groups_of = [set(labels[confirmed == c].tolist()) for c in np.unique(confirmed)]
    holders = Counter(group for groups in groups_of for group in groups)
    return sum(len(groups) == 1 and min(groups) >= 0 and holders[min(groups)] == 1 for groups in groups_of)
