"""Near copies in a stream, such as the images of a burst: stacks of rows that count as one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from opengcd._internal import kernels
from opengcd.discover.discovery import Discovery

NEAR = 0.1
"""Near copies have at most this share of the usual squared distance between nearest neighbours of one class."""
CHANCE = 0.005
"""Share of rows that may have another item so near by chance."""
LEAST_MEASURED, MOST_MEASURED = 20, 4000
"""Labelled rows whose nearest neighbours are searched; with fewer, only exact copies are found."""
DIRECTIONS = 32
"""Number of principal directions in which candidates are searched; a distance in some directions is never larger
than in all."""
BLOCK = 2**24
"""Distances that are computed at a time."""
PAIRS = 2**14
"""Pairs of rows that are verified at a time."""
ROUNDING = 1e-5
"""Error of squared distances in single precision, relative to the largest squared length of a row."""


class CopyLimits(NamedTuple):
    """How far near copies may be from each other, as squared distances."""

    link: float = 0.0
    """Two rows that are at most this far apart are near copies."""
    reach: float = 0.0
    """Every row of a stack is at most this far from its representative."""


class Stacks(NamedTuple):
    """Rows of a stream, arranged in stacks of near copies; a row without copies is a stack of its own."""

    of_row: np.ndarray
    """(n,) The number of each row's stack; stacks are numbered in the order of their first rows."""
    representatives: np.ndarray
    """(s,) The row that stands for each stack: the one nearest to the stack's mean."""

    @property
    def trivial(self) -> bool:
        """Whether there are no copies."""
        return len(self.representatives) == len(self.of_row)

    @property
    def copies(self) -> np.ndarray:
        """(m,) The rows that share their stack with others, in their order."""
        return np.flatnonzero(np.bincount(self.of_row)[self.of_row] > 1)

    def represented_by_least(self, scores: np.ndarray) -> Stacks:
        """Return the same stacks, each represented by its row with the smallest score.

        Parameters
        ----------
        scores : array of shape (m,)
            One for each row of :attr:`copies`. Of equal scores, the representative's counts, then the first.

        Returns
        -------
        Stacks

        """
        rows = self.copies
        is_other = self.representatives[self.of_row[rows]] != rows
        order = np.lexsort((is_other, scores, self.of_row[rows]))
        stacks, first = np.unique(self.of_row[rows[order]], return_index=True)
        representatives = self.representatives.copy()
        representatives[stacks] = rows[order[first]]
        return self._replace(representatives=representatives)


class CopyScale(NamedTuple):
    """How near different items of one class are: quartiles of the squared distance to the nearest neighbour."""

    lower: float
    median: float
    rows: int
    """Number of labelled rows among which neighbours were searched; 0 if there were too few."""

    def limits(self, n: int) -> CopyLimits:
        r"""Return how near the copies of an item are, in comparison with different items of one class.

        With :math:`m` the median and :math:`l` the lower quartile, distances to the nearest neighbour are modelled by
        :math:`P(\delta < x) = 1 - 2^{-(x/m)^s}`, which has these quartiles if
        :math:`s = \log(\log 0.75 / \log 0.5) / \log(l/m)`; :math:`2s` is about the number of dimensions that a class
        fills. Among :math:`n` rows, :math:`n / N` times as many as those with a label, the share of rows with another
        item nearer than :math:`x` is then about :math:`\frac{n}{N} \log 2\, (x/m)^s`. Near copies are rows at most

        .. math:: m \min\big(0.1, (0.005\, N / (n \log 2))^{1/s}\big)

        apart: where rows have few dimensions, many items are close to each other by chance, and only copies much closer
        than that can be distinguished from them. The rows of a stack are at most :math:`m` from its representative.

        Parameters
        ----------
        n : int
            Number of rows in which copies are searched.

        Returns
        -------
        CopyLimits
            Both are 0 if there are too few labelled rows: then only equal rows are copies.

        """
        if not 0 < self.lower < self.median:
            return CopyLimits()
        shape = np.log(np.log(0.75) / np.log(0.5)) / np.log(self.lower / self.median)
        chance = (CHANCE / np.log(2) / max(1.0, n / self.rows)) ** (1 / shape)
        return CopyLimits(float(self.median * min(NEAR, chance)), self.median)


def copy_scale(X: np.ndarray, codes: np.ndarray) -> CopyScale:
    """Measure how near different items of one class are.

    Parameters
    ----------
    X : array of shape (N, d)
        Labelled rows.
    codes : int array of shape (N,)
        Their classes.

    Returns
    -------
    CopyScale

    """
    step = -(-len(X) // MOST_MEASURED) or 1
    found = [_nearest(np.unique(X[codes == c], axis=0), step) for c in np.unique(codes)]
    nearest = np.concatenate(found) if found else np.empty(0)
    if len(nearest) < LEAST_MEASURED:
        return CopyScale(0.0, 0.0, 0)
    lower, median = np.quantile(nearest, [0.25, 0.5])
    return CopyScale(float(lower), float(median), len(X))


def find_stacks(X: np.ndarray, limits: CopyLimits) -> Stacks:
    """Arrange rows in stacks of near copies.

    Rows are linked if they are near copies. A burst in which every image is near the next one is thus one stack, unless
    its ends are farther from the middle than ``limits.reach``: then it is divided.

    Parameters
    ----------
    X : array of shape (n, d)
        Feature vectors.
    limits : CopyLimits
        As :meth:`CopyScale.limits` returns them for labelled rows in the same space.

    Returns
    -------
    Stacks

    """
    return _arrange(X, _linked(X, limits.link), limits.reach)


def given_stacks(X: np.ndarray, numbers: np.ndarray) -> Stacks:
    """Return stacks that are known already.

    Parameters
    ----------
    X : array of shape (n, d)
        Feature vectors.
    numbers : int array of shape (n,)
        Rows with the same number are a stack.

    Returns
    -------
    Stacks

    """
    return _arrange(X, np.unique(numbers, return_inverse=True)[1].reshape(-1), np.inf)


def share_labels(X: np.ndarray, stacks: Stacks, labels: np.ndarray, unlabelled: int | str) -> tuple[Stacks, np.ndarray]:
    """Give all rows of a stack the label that some of them have; divide stacks whose rows have different labels.

    Parameters
    ----------
    X : array of shape (n, d)
        Feature vectors.
    stacks : Stacks
    labels : array of shape (n,)
        One label per row.
    unlabelled : int or str
        The value in ``labels`` of rows without a label.

    Returns
    -------
    Stacks
        A stack with different labels becomes one stack per label, and one of the rows without a label.
    array of shape (n,)
        The labels.

    """
    if stacks.trivial:
        return stacks, labels
    names, codes = np.unique(labels, return_inverse=True)
    given = labels != unlabelled
    stack, code = np.unique(np.stack([stacks.of_row[given], codes.reshape(-1)[given]]), axis=1)
    alone = np.bincount(stack, minlength=len(stacks.representatives))[stack] == 1
    label_of = np.full(len(stacks.representatives), -1)
    label_of[stack[alone]] = code[alone]
    shared = label_of[stacks.of_row]
    codes = np.where(shared >= 0, shared, codes.reshape(-1))
    return given_stacks(X, stacks.of_row * len(names) + codes), names[codes]


def expand(found: Discovery, stacks: Stacks) -> Discovery:
    """Return what was discovered among representatives as a discovery of all rows.

    Parameters
    ----------
    found : Discovery
        Of one row per stack.
    stacks : Stacks

    Returns
    -------
    Discovery
        Every row has the label and the probability of its representative. In a group, the rows of a stack follow each
        other, the representative first.

    """
    if stacks.trivial:
        return found
    # Within a stack, the representative comes first, then the others in their order.
    is_copy = np.ones(len(stacks.of_row), dtype=bool)
    is_copy[stacks.representatives] = False
    members = np.split(
        np.lexsort((np.arange(len(is_copy)), is_copy, stacks.of_row)), np.cumsum(np.bincount(stacks.of_row))[:-1]
    )
    groups = [replace(group, rows=np.concatenate([members[stack] for stack in group.rows])) for group in found.groups]
    return replace(
        found,
        labels=found.labels[stacks.of_row],
        novel=found.novel[stacks.of_row],
        probabilities=None if found.probabilities is None else found.probabilities[stacks.of_row],
        groups=sorted(groups, key=len, reverse=True),
    )


def _nearest(X: np.ndarray, step: int) -> np.ndarray:
    """Return the squared distance of every ``step``-th row to its nearest neighbour; nothing for a single row."""
    if len(X) < 2:
        return np.empty(0)
    Z = kernels.to_tensor(np.asarray(X - X.mean(0), dtype=np.float64), "cpu")
    some = np.arange(0, len(Z), step)
    found = []
    for rows in kernels.row_blocks(Z[some], len(Z)):
        D = kernels.squared_distances(Z[some[rows]], Z)
        D[np.arange(len(D)), some[rows]] = np.inf
        found.append(D.amin(1).numpy())
    return np.concatenate(found)


def _linked(X: np.ndarray, limit: float) -> np.ndarray:
    """Return the number of each row's component, where rows at most a squared distance apart are linked."""
    n = len(X)
    component = np.arange(n)
    if n < 2:
        return component
    Z = np.asarray(X, dtype=np.float64) - X.mean(0, dtype=np.float64)
    for i, j in _candidates(Z, limit):
        for part in range(0, len(i), PAIRS):
            a, b = i[part : part + PAIRS], j[part : part + PAIRS]
            apart = component[a] != component[b]
            a, b = a[apart], b[apart]
            near = ((X[a].astype(np.float64) - X[b]) ** 2).sum(1) <= limit
            a, b = component[a[near]], component[b[near]]
            if len(a):
                links = coo_matrix((np.ones(len(a), dtype=bool), (a, b)), shape=(n, n))
                component = connected_components(links, directed=False)[1][component]
    return component


def _candidates(Z: np.ndarray, limit: float) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield pairs of rows, first and second, that include all those at most a squared distance apart."""
    directions = np.linalg.eigh(Z.T @ Z)[1][:, -DIRECTIONS:]
    P = kernels.to_tensor((Z @ directions).astype(np.float32), "cpu")
    norms = kernels.squared_norms(P)
    loose, size = limit + ROUNDING * float(norms.max()), max(1, BLOCK // len(P))
    for start in range(0, len(P), size):
        D = kernels.squared_distances(P[start : start + size], P[start:], norms[start:], norms[start : start + size])
        i, j = D.le(loose).triu_(1).nonzero(as_tuple=True)
        yield start + i.numpy(), start + j.numpy()


def _arrange(X: np.ndarray, component: np.ndarray, reach: float) -> Stacks:
    """Return each component as a stack, or as several where it reaches too far."""
    of_row = np.arange(len(X))  # here the representative of each row
    order, sizes = np.argsort(component, kind="stable"), np.bincount(component)
    for rows in np.split(order, np.cumsum(sizes)[:-1]):
        rest = rows if len(rows) > 1 else rows[:0]
        while len(rest):
            members = X[rest].astype(np.float64)
            center = _center(members)
            near = ((members - members[center]) ** 2).sum(1) <= reach
            of_row[rest[near]], rest = rest[center], rest[~near]
    representatives, first, numbers = np.unique(of_row, return_index=True, return_inverse=True)
    place = np.argsort(np.argsort(first))
    return Stacks(place[numbers.reshape(-1)], representatives[np.argsort(first)])


def _center(rows: np.ndarray) -> int:
    """Return the row nearest to the mean; of equally near ones the first by value, whatever the order of the rows."""
    distances = ((rows - rows.mean(0)) ** 2).sum(1)
    nearest = np.flatnonzero(distances <= distances.min() * (1 + 1e-9))
    return int(nearest[np.lexsort(rows[nearest].T[::-1])[0]])
