"""Regroup rows by the answers of a person, with new groups in place of those that turned out not to be a class."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from opengcd.discover.linked_groups import LinkedGroups, Memberships, MetricRows, memberships, regroup

NEIGHBOURS = 10
BLOCK = 1000
"""Rows whose neighbours are searched at a time, so that memory is linear in the number of rows."""


class Regrouped(NamedTuple):
    """Groups by the answers."""

    groups: LinkedGroups
    found: Memberships
    """From which every row got its group."""


def regroup_by_answers(rows: MetricRows, groups: LinkedGroups, number: int = 0) -> Regrouped:
    """Regroup the rows by the answers; then start new groups, and regroup the rows once more.

    Parameters
    ----------
    rows : MetricRows
    groups : LinkedGroups
        With the answers.
    number : int
        How many groups to start (:func:`start_groups`): as many as the person saw are not a class.

    Returns
    -------
    Regrouped

    """
    found = memberships(rows, groups)
    groups = regroup(groups, found)
    if number:
        groups = start_groups(rows, groups, memberships(rows, groups), number)
        found = memberships(rows, groups)
        groups = regroup(groups, found)
    return Regrouped(groups, found)


def start_groups(rows: MetricRows, groups: LinkedGroups, found: Memberships, number: int) -> LinkedGroups:
    r"""Start new groups, each from one row, where rows are close to each other and no class or group explains them.

    With N(i) the ten nearest rows of row i, and r the probabilities of :func:`memberships`, the rows with the largest

    .. math:: \frac{1}{10} \sum_{j \in N(i)} u_i \cdot u_j \left(1 - \max_c r_{jc}\right)

    are chosen among those in groups that no answer has settled. A row that is more like an earlier choice than rows are
    like their tenth neighbour (the median) is passed over. :func:`regroup` then gives the new groups their other rows.

    Parameters
    ----------
    rows : MetricRows
    groups : LinkedGroups
    found : Memberships
        Of the same groups.
    number : int
        How many groups to start; there are fewer if all rows are like one of them.

    Returns
    -------
    LinkedGroups

    """
    free = np.sort(np.concatenate([*groups.rows.values(), np.empty(0, dtype=np.int64)]))
    free = free[~np.isin(free, list(groups.fixed))]
    few = min(NEIGHBOURS, len(rows.U) - 1)
    if not len(free) or few < 1:
        return groups
    doubt = 1 - found.probabilities.max(1)
    scores, last = _scores(rows.U, free, doubt, few)
    near = np.median(last)
    for _ in range(number):
        best = int(scores.argmax())
        if scores[best] == -np.inf:
            break
        row = int(free[best])
        scores[rows.U[free] @ rows.U[row] > near] = -np.inf
        scores[best] = -np.inf
        groups = groups.with_group(row)
    return groups


def _scores(U: np.ndarray, free: np.ndarray, doubt: np.ndarray, few: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the score of each row, and its cosine to the last of its nearest rows."""
    scores, last = np.empty(len(free)), np.empty(len(free))
    for start in range(0, len(free), BLOCK):
        part = slice(start, start + BLOCK)
        cosines = U[free[part]] @ U.T
        cosines[np.arange(len(cosines)), free[part]] = -np.inf
        nearest = np.argpartition(-cosines, few - 1, axis=1)[:, :few]
        likeness = np.take_along_axis(cosines, nearest, axis=1)
        scores[part] = (likeness * doubt[nearest]).mean(1)
        last[part] = likeness.min(1)
    return scores, last
