"""Groups with a person's answers about them (must-links, cannot-links, labels), and regrouping that respects these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy.special import expit, softmax

from opengcd._internal.unit_length import unit_rows
from opengcd.classify import Labelled
from opengcd.discover.mixture import CONCENTRATION
from opengcd.osr import ScoredRejection

SHOWN = 8
"""Pictures of a group, or of a part of one, that a person is shown: the most typical ones."""
LABEL_WEIGHT = 0.1
"""Weight of a labelled row in the size of its class: classes have fewer rows in the stream than labelled ones."""
TEMPER = 0.4
r""":math:`\tau` of :func:`memberships`; 1 in discovery. Groups that a person has seen are a better start than k-means,
and nearby rows should change them less."""
STEPS = 3
"""Steps of :func:`memberships`: with more, the groups drift away from what a person has seen."""
ROUNDING = 1e-6
CAUTION = 0.2
r""":math:`\alpha` of :func:`regroup`: probabilities that are estimated from the same rows are too far from one half."""


class HiddenClasses(NamedTuple):
    """Labelled rows in a metric that was fitted without their classes, as is the case for new classes."""

    Z: np.ndarray
    """(m, d) Unit vectors."""
    codes: np.ndarray
    """(m,) Their classes."""


class MetricRows(NamedTuple):
    """Labelled rows and the rows that were grouped, all in the metric of the recogniser, as unit vectors."""

    L: np.ndarray
    """(m, d) Labelled rows."""
    codes: np.ndarray
    """(m,) Their classes, numbered from 0 without gaps."""
    U: np.ndarray
    """(n, d) The rows that discovery was given."""
    hidden: Sequence[HiddenClasses] = ()
    """The labelled rows again, each class in a metric that was fitted without it."""

    @property
    def known(self) -> int:
        """Number of known classes."""
        return int(self.codes.max()) + 1


@dataclass(frozen=True)
class LinkedGroups:
    """Groups, numbered after the known classes, and the answers of a person."""

    known: int
    """Number of known classes: these are 0 to ``known`` - 1, and groups have larger numbers."""
    rows: Mapping[int, np.ndarray]
    """Rows of each group."""
    under_review: np.ndarray
    """The rows in groups as discovery left them."""
    together: Mapping[int, frozenset[int]] = field(default_factory=dict)
    """Must-links: rows of a group that are of one class, as a person saw."""
    apart: frozenset[frozenset[int]] = frozenset()
    """Cannot-links: pairs of groups that are different classes, as a person saw."""
    placed: Mapping[int, int] = field(default_factory=dict)
    """Labels: rows that a person put into a group or a known class."""
    excluded: Mapping[int, frozenset[int]] = field(default_factory=dict)
    """Rows, and the groups and known classes that they do not belong to, as a person saw."""
    whole: frozenset[int] = frozenset()
    """Groups that are one class, as a person saw."""

    @classmethod
    def of(cls, groups: Iterable[np.ndarray], known: int) -> LinkedGroups:
        """Return groups without any answers.

        Parameters
        ----------
        groups : iterable of int arrays
            The rows of each group.
        known : int
            Number of known classes.

        Returns
        -------
        LinkedGroups

        """
        rows = {known + i: np.asarray(group) for i, group in enumerate(groups)}
        return cls(known, rows, np.concatenate([*rows.values(), np.empty(0, dtype=np.int64)]))

    @property
    def fixed(self) -> dict[int, int]:
        """The rows whose group or known class is settled by an answer, and that group or class."""
        return {row: group for group, seen in self.together.items() for row in seen} | dict(self.placed)

    def kept_whole(self, group: int, seen: Iterable[int]) -> LinkedGroups:
        """Return the groups after a person saw that one is a single class.

        Parameters
        ----------
        group : int
            Its number.
        seen : iterable of int
            The rows that the person saw.

        Returns
        -------
        LinkedGroups

        """
        return replace(self._linked(group, seen), whole=self.whole | {group})

    def divided(self, group: int, parts: Sequence[np.ndarray], seen: Sequence[Iterable[int]]) -> LinkedGroups:
        """Return the groups after a person saw that two parts of a group are different classes.

        Parameters
        ----------
        group : int
            Its number.
        parts : pair of int arrays
            The rows of both parts; the first keeps the number of the group.
        seen : pair of iterables of int
            The rows of either part that the person saw.

        Returns
        -------
        LinkedGroups

        """
        new = self._next()
        rows = dict(self.rows) | {group: parts[0], new: parts[1]}
        together = {group: frozenset[int](), new: frozenset[int]()}
        for row in self.together.get(group, frozenset()):
            together[new if row in parts[1] else group] |= {row}
        placed = {row: new if home == group and row in parts[1] else home for row, home in self.placed.items()}
        apart = self.apart | {frozenset({group, new})}
        apart |= {frozenset({new, *(pair - {group})}) for pair in self.apart if group in pair}
        cut = replace(self, rows=rows, together=dict(self.together) | together, placed=placed, apart=apart)
        return cut._linked(group, seen[0])._linked(new, seen[1])

    def narrowed(self, group: int, rows: np.ndarray, seen: Iterable[int]) -> LinkedGroups:
        """Return the groups after a person saw that only a part of a group is a class; the other rows may leave.

        Parameters
        ----------
        group : int
            Its number.
        rows : int array
            The part that is a class.
        seen : iterable of int
            The rows that the person saw.

        Returns
        -------
        LinkedGroups

        """
        kept = self.together.get(group, frozenset()) & frozenset(rows.tolist())
        cut = replace(self, rows=dict(self.rows) | {group: rows}, together=dict(self.together) | {group: kept})
        return cut._linked(group, seen)

    def dissolved(self, group: int) -> LinkedGroups:
        """Return the groups after a person saw that one of them is not a class; its rows may join other groups.

        Parameters
        ----------
        group : int
            Its number.

        Returns
        -------
        LinkedGroups

        """
        return replace(
            self,
            rows={number: rows for number, rows in self.rows.items() if number != group},
            together={number: seen for number, seen in self.together.items() if number != group},
            placed={row: home for row, home in self.placed.items() if home != group},
            apart=frozenset(pair for pair in self.apart if group not in pair),
            whole=self.whole - {group},
        )

    def with_group(self, row: int) -> LinkedGroups:
        """Return the groups with a row moved to a new group of its own.

        Parameters
        ----------
        row : int
            The row.

        Returns
        -------
        LinkedGroups

        """
        rows = {number: group[group != row] for number, group in self.rows.items()}
        return replace(self, rows=rows | {self._next(): np.array([row])})

    def joined(self, group: int, other: int) -> LinkedGroups:
        """Return the groups after a person saw that two are one class.

        Parameters
        ----------
        group : int
            The number that they keep.
        other : int
            The number of the group that joins it.

        Returns
        -------
        LinkedGroups

        """
        rows = dict(self.rows)
        rows[group] = np.concatenate([rows[group], rows.pop(other)])
        together = dict(self.together)
        together[group] = together.get(group, frozenset()) | together.pop(other, frozenset())
        apart = frozenset(frozenset(group if one == other else one for one in pair) for pair in self.apart)
        whole = self.whole - {other} if other in self.whole else self.whole - {group}
        placed = {row: group if home == other else home for row, home in self.placed.items()}
        return replace(self, rows=rows, together=together, apart=apart, whole=whole, placed=placed)

    def kept_apart(self, group: int, other: int) -> LinkedGroups:
        """Return the groups after a person saw that two are different classes.

        Parameters
        ----------
        group, other : int
            Their numbers.

        Returns
        -------
        LinkedGroups

        """
        return replace(self, apart=self.apart | {frozenset({group, other})})

    def with_placed(self, row: int, home: int) -> LinkedGroups:
        """Return the groups after a person put a row into a group or a known class.

        Parameters
        ----------
        row : int
            The row.
        home : int
            The group or known class.

        Returns
        -------
        LinkedGroups

        """
        rows = {number: group[group != row] for number, group in self.rows.items()}
        if home in rows:
            rows[home] = np.append(rows[home], row)
        together = {number: seen - {row} for number, seen in self.together.items()}
        return replace(self, rows=rows, together=together, placed=dict(self.placed) | {row: home})

    def with_excluded(self, row: int, homes: Iterable[int]) -> LinkedGroups:
        """Return the groups after a person saw that a row is in none of some groups and known classes.

        Parameters
        ----------
        row : int
            The row.
        homes : iterable of int
            These groups and known classes.

        Returns
        -------
        LinkedGroups

        """
        excluded = self.excluded.get(row, frozenset()) | set(homes)
        rows = {number: group[group != row] if number in excluded else group for number, group in self.rows.items()}
        return replace(self, rows=rows, excluded=dict(self.excluded) | {row: excluded})

    def _linked(self, group: int, seen: Iterable[int]) -> LinkedGroups:
        linked = self.together.get(group, frozenset()) | {int(row) for row in seen}
        return replace(self, together=dict(self.together) | {group: linked - self.placed.keys()})

    def _next(self) -> int:
        return max([self.known - 1, *self.rows, *(one for pair in self.apart for one in pair)]) + 1


class Memberships(NamedTuple):
    """The probability that each row is of each known class and of each group."""

    numbers: np.ndarray
    """(k,) The known classes, then the groups."""
    probabilities: np.ndarray
    """(n, k)"""


def hidden_classes(labelled: Labelled, rejection: ScoredRejection) -> list[HiddenClasses]:
    """Return the known classes, each in a metric that was fitted without it.

    Every other class is left out of one metric, and the rest of a second one.

    Parameters
    ----------
    labelled : Labelled
        Labelled rows with their classifier.
    rejection : ScoredRejection
        As it was fitted on the labelled rows.

    Returns
    -------
    list of HiddenClasses
        Two; none if fewer than four classes are known.

    """
    classes = np.arange(len(labelled.classes))
    found = []
    for kept in (classes[::2], classes[1::2]) if len(classes) >= 4 else ():
        fitting = np.isin(labelled.codes, kept)
        codes = np.searchsorted(kept, labelled.codes[fitting])
        X, p = labelled.X[~fitting], labelled.probabilities[~fitting]
        seen = rejection.among(kept, labelled.X[fitting], codes, X, p)
        found.append(HiddenClasses(seen.U, labelled.codes[~fitting]))
    return found


def typical(U: np.ndarray, rows: np.ndarray, number: int = SHOWN) -> np.ndarray:
    """Return the rows that are most like the mean of all of them, the most typical first.

    Parameters
    ----------
    U : array of shape (n, d)
        All rows.
    rows : int array
        The rows to choose from.
    number : int
        How many to return.

    Returns
    -------
    int array

    """
    likeness = U[rows] @ U[rows].mean(0)
    return rows[np.lexsort((rows, -likeness.round(6)))[:number]]


def memberships(rows: MetricRows, groups: LinkedGroups) -> Memberships:
    r"""Return the probability that each row is of each known class and group, given the answers.

    A few steps of the mixture of :func:`joint_mixture`, with softer assignments, from the means of the groups as they
    are now:

    .. math:: r_{ij} \propto \exp\tau\left(\kappa\, c_j \cdot u_i - \log \tfrac{n_j}{\sum n}\right), \qquad
              c_j \propto \sum_{l: y_l = j} l + \sum_i r_{ij} u_i

    Rows that an answer has settled (``groups.fixed``) keep their group or class, with :math:`r = 1`, and have
    :math:`r = 0` where an answer has excluded them.

    Parameters
    ----------
    rows : MetricRows
    groups : LinkedGroups

    Returns
    -------
    Memberships

    """
    known, numbers = rows.known, np.array([*range(rows.known), *sorted(groups.rows)])
    U = rows.U
    sums = np.zeros((len(numbers), U.shape[1]), dtype=U.dtype)
    np.add.at(sums, rows.codes, rows.L.astype(U.dtype))
    labelled = sums[:known].copy()
    for place, number in enumerate(sorted(groups.rows), known):
        sums[place] = U[groups.rows[number]].sum(0)
    fixed = groups.fixed
    at = np.array(list(fixed), dtype=np.int64)
    homes = np.searchsorted(numbers, np.array(list(fixed.values()), dtype=np.int64))
    counts = LABEL_WEIGHT * np.bincount(rows.codes, minlength=len(numbers))
    place_of = {number: place for place, number in enumerate(numbers.tolist())}
    pairs = [(row, place_of[home]) for row, homes in groups.excluded.items() for home in homes if home in place_of]
    barred = tuple(np.array(pairs, dtype=np.int64).reshape(-1, 2).T)
    penalties = np.zeros(len(numbers), dtype=U.dtype)
    for step in range(STEPS + 1):
        logits = TEMPER * (CONCENTRATION * (U @ unit_rows(sums).T) - penalties)
        logits[barred] = -np.inf
        r = softmax(logits, axis=1)
        r[at] = 0
        r[at, homes] = 1
        if step < STEPS:
            sums = r.T @ U
            sums[:known] += labelled
            sizes = counts + r.sum(0)
            penalties = np.log(np.maximum(sizes, 1e-6) / sizes.sum()).astype(U.dtype)
    return Memberships(numbers, r)


def regroup(groups: LinkedGroups, found: Memberships) -> LinkedGroups:
    r"""Put every row into its most likely group, keeping as many new items under review as discovery left there.

    The rows under review are those with the largest ratio of their best probability of a group to that of a known
    class. With

    .. math:: q_i = \sigma\!\left(\alpha \log \frac{\max_{j \text{ group}} p_{ij}}{\max_{j \text{ known}} p_{ij}}\right)

    as the probability that row i is new (1 or 0 where an answer says so), as few of them are taken as reach the sum of
    q over the rows that discovery left under review. Answers make groups purer, and then fewer rows hold as many new
    items. Groups that a person has seen are complete from then on.

    Parameters
    ----------
    groups : LinkedGroups
    found : Memberships
        Of the same groups.

    Returns
    -------
    LinkedGroups

    """
    known, p = groups.known, found.probabilities
    if p.shape[1] == known:
        return groups
    margin = np.log(p[:, known:].max(1) + 1e-30) - np.log(p[:, :known].max(1, initial=0.0) + 1e-30)
    for row, home in groups.fixed.items():
        margin[row] = np.inf if home >= known else -np.inf
    new = expit(CAUTION * margin)
    order = np.lexsort((p[:, :known].max(1, initial=0.0), -margin))
    before = np.cumsum(new[order]) - new[order]
    settled = np.isposinf(margin[order])
    chosen = order[settled | (before < new[groups.under_review].sum() - ROUNDING)]
    homes = found.numbers[known + p[chosen, known:].argmax(1)]
    seen = {number for number, rows in groups.together.items() if rows}
    rows = {number: np.sort(chosen[homes == number]) for number in groups.rows}
    return replace(groups, rows=rows, whole=groups.whole | seen)
