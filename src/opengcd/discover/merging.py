"""Merge small groups while they are alike, and count the remaining ones; an extension of the paper."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch

from opengcd._internal import kernels
from opengcd._internal.randomness import Seed, derive, generator
from opengcd._internal.splits import hold_out_half
from opengcd.discover.mixture import MixtureSettings, StreamTensors, assign_rows, labelled_classes, mixtures

GROUPS = 250
"""Groups to start from: several for each new class, in which few rows are of another class."""
START_ROWS = 3
"""Groups start from this many rows each; if fewer were rejected, from those with the largest scores."""
LEAST_ROWS = 6
"""Rows of the stream for each group at the start, in both halves together."""
THRESHOLDS = np.linspace(0.3, 0.9, 13)
"""Degrees of likeness at which groups are counted."""
LEAST_COHESION = 1e-3
SETTINGS = MixtureSettings(label_weight=0.1, steps=12, tries=1, start_steps=15)


class MergingRows(NamedTuple):
    """Labelled rows and a stream, in the metric of the rejection, and the stream's scores for "unknown"."""

    L: np.ndarray
    """(m, d) Labelled rows, unit vectors."""
    codes: np.ndarray
    """(m,) Their class numbers."""
    trained: np.ndarray
    """(m,) Whether the network that computed a row was trained on its label."""
    U: np.ndarray
    """(n, d) Rows of the stream, unit vectors."""
    scores: np.ndarray
    """(n,) Their scores for "unknown"."""
    threshold: float
    """Rows with a larger score are rejected."""


class Halves(NamedTuple):
    """The rows of every known class and then of every group, divided at random into two halves."""

    sums: np.ndarray
    """(2, k, d) Sum of the rows."""
    counts: np.ndarray
    """(2, k) Their number."""


class MergedGroups(NamedTuple):
    """The groups that remain after merging."""

    left: np.ndarray
    """(13,) How many new groups remain at each of :data:`THRESHOLDS`."""
    of_known: np.ndarray
    """(n,) Which rows of the stream were assigned to a known class before groups were merged."""


def merge_groups(rows: MergingRows, seed: Seed, device: str = "auto") -> MergedGroups:
    r"""Return how many new groups remain at each of :data:`THRESHOLDS` if groups are merged while they are alike.

    A :func:`joint_mixture <opengcd.discover.joint_mixture>` of one half of the stream makes far more groups than there
    are new classes, and the other half is assigned to them. The likeness of two groups a and b is the cosine of their
    mean directions, without the bias that few rows cause, because only rows of different halves are compared:

    .. math:: \ell_{ab} = \frac{w_{ab}}{\sqrt{w_{aa}\, w_{bb}}}, \qquad
              w_{ab} = \text{mean cosine of rows of a in one half and rows of b in the other}

    The two that are most alike are merged, again and again. A group that merges with a known class is of that class,
    and is not counted. No assumption is made about the sizes of classes.

    Parameters
    ----------
    rows : MergingRows
    seed : int or SeedSequence
    device : str

    Returns
    -------
    MergedGroups

    """
    known = int(rows.codes.max()) + 1
    halves, of_known = divide(rows, seed, device)
    likeness = np.minimum.accumulate(merge(halves, known))
    left = int((halves.counts.sum(0)[known:] > 0).sum()) - (likeness[:, None] >= THRESHOLDS).sum(0)
    return MergedGroups(left, of_known)


def merge(halves: Halves, known: int, least: float = float(THRESHOLDS[0])) -> np.ndarray:
    """Merge the two groups that are most alike while their likeness is at least ``least``; return it for each merge.

    Parameters
    ----------
    halves : Halves
        Known classes first; two of them are never merged.
    known : int
        Their number.
    least : float

    Returns
    -------
    array
        The likeness of the two that were merged, in order.

    """
    (first, second), (m, n) = halves.sums.astype(np.float64), halves.counts.astype(np.float64)
    total, pairs = (first * second).sum(1), m * n
    # Few pairs say little about one group: each counts as one pair more, which is as alike as those of all groups.
    pooled = total[known:].sum() / max(1.0, pairs[known:].sum())
    within = _cohesion(total, pairs, pooled)
    alive = m + n > 0

    def likeness_of(a: int) -> np.ndarray:
        total, pairs = second @ first[a] + first @ second[a], m[a] * n + n[a] * m
        likeness = np.where(alive & (pairs > 0), total / np.maximum(pairs, 1), -np.inf) / np.sqrt(within[a] * within)
        likeness[a] = -np.inf
        return np.asarray(likeness)

    likeness = np.array([likeness_of(a) for a in range(known, len(m))]).reshape(-1, len(m))
    likeness[~alive[known:]] = -np.inf
    merged = []
    while likeness.size:
        group, into = divmod(int(likeness.argmax()), len(m))
        best = float(likeness[group, into])
        if not best >= least:
            break
        merged.append(best)
        for part in (first, second, m, n):
            part[into] += part[known + group]
        alive[known + group] = False
        within[into] = _cohesion(first[into] @ second[into], m[into] * n[into], pooled)
        likeness[group], likeness[:, known + group] = -np.inf, -np.inf
        changed = likeness_of(into)
        likeness[:, into] = changed[known:]
        if into >= known:
            likeness[into - known] = changed
    return np.array(merged)


def _cohesion(total: Any, pairs: Any, pooled: float) -> Any:
    """Return the mean cosine of rows of a group in different halves."""
    return np.maximum((total + pooled) / (pairs + 1), LEAST_COHESION)


def divide(rows: MergingRows, seed: Seed, device: str = "auto") -> tuple[Halves, np.ndarray]:
    """Group one half of the stream, assign the other half to the same groups, and halve the labelled rows too.

    Parameters
    ----------
    rows : MergingRows
    seed : int or SeedSequence
    device : str

    Returns
    -------
    Halves
    bool array of shape (n,)
        Which rows of the stream are assigned to a known class.

    """
    rng = generator(derive(seed, 0))
    n, known = len(rows.U), int(rows.codes.max()) + 1
    halves = np.split(rng.permutation(n), [n // 2])
    groups = max(1, min(GROUPS, n // LEAST_ROWS))
    scores = rows.scores[halves[0]]
    starts = scores > rows.threshold
    starts[np.argsort(-scores, kind="stable")[: START_ROWS * groups]] = True
    U = kernels.to_tensor(rows.U.astype(np.float32), device)
    stream = StreamTensors(U[kernels.to_tensor(halves[0], device)], kernels.to_tensor(starts, device))
    classes = labelled_classes(rows.L.astype(np.float32), rows.codes, device)
    (centers,), (penalties,) = mixtures(classes, stream, groups, [derive(seed, 1)], SETTINGS)
    labels = assign_rows(U, centers, penalties, SETTINGS.concentration).labels
    # Rows that the network was trained on are closer to their class than others, which serve if there are any.
    untrained = np.bincount(rows.codes[~rows.trained], minlength=known)
    used = np.flatnonzero(~rows.trained | (untrained < 2)[rows.codes])
    labelled = hold_out_half(rows.codes[used], range(known), rng)
    sums, counts = [], []
    for half, of_labelled in zip(halves, labelled, strict=True):
        chosen, new = used[of_labelled], half[labels[half] >= known]
        members = np.concatenate([rows.codes[chosen], labels[new]])
        vectors = np.concatenate([rows.L[chosen], rows.U[new]]).astype(np.float64)
        sums.append(kernels.class_sums(torch.from_numpy(vectors), torch.from_numpy(members), len(centers)).numpy())
        counts.append(np.bincount(members, minlength=len(centers)))
    return Halves(np.stack(sums), np.stack(counts)), labels < known
