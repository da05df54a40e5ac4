"""The questions about groups whose answers save a person the most work; each is answered with one key.

All functions take vectors in the metric of the recogniser. The unit of gain is one action of the review, taken as a
second of work; answering a question is one action too, and is already subtracted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from opengcd._internal.unit_length import unit_rows
from opengcd.discover.linked_groups import (
    HiddenClasses,
    LinkedGroups,
    Memberships,
    MetricRows,
    memberships,
    typical,
)

COST = 1.0
"""Actions that an answer takes."""
NAMING = 2.0
"""Actions that a second group of the same class takes: it has to be named and confirmed, too."""
CHOICES = 5
"""Groups and known classes that a person is offered for a row."""
STEPS = 20
PAIRED_ROWS, DOUBTFUL_ROWS = 2000, 3000
"""Rows of which all pairs are compared: labelled ones to calibrate, and the most doubtful ones of the stream."""


@dataclass(frozen=True, eq=False)
class Question:
    """A question about groups."""

    kind: ClassVar[str]
    gain: float
    """Actions that the answer is expected to save, less the one that it takes."""


@dataclass(frozen=True, eq=False)
class SplitQuestion(Question):
    """Is this group one class, or does it split here?"""

    kind = "split"
    group: int
    parts: tuple[np.ndarray, np.ndarray]
    """The rows of two parts, the larger one first."""
    shown: tuple[np.ndarray, np.ndarray]
    """The most typical rows of either part."""

    def answered(self, groups: LinkedGroups, answer: str) -> LinkedGroups:
        """Return the groups after an answer.

        Parameters
        ----------
        groups : LinkedGroups
        answer : {"one", "two", "first", "second", "none"}
            One class; two classes that split here; only the first or the second part is a class; no part is.

        Returns
        -------
        LinkedGroups

        """
        _check(answer, ("one", "two", "first", "second", "none"))
        if answer == "one":
            return groups.kept_whole(self.group, np.concatenate(self.shown))
        if answer == "two":
            return groups.divided(self.group, self.parts, self.shown)
        if answer == "none":
            return groups.dissolved(self.group)
        part = ("first", "second").index(answer)
        return groups.narrowed(self.group, self.parts[part], self.shown[part])


@dataclass(frozen=True, eq=False)
class SameQuestion(Question):
    """Are these two groups the same class?"""

    kind = "same"
    groups: tuple[int, int]
    shown: tuple[np.ndarray, np.ndarray]
    """The most typical rows of either group."""

    def answered(self, groups: LinkedGroups, answer: str) -> LinkedGroups:
        """Return the groups after an answer.

        Parameters
        ----------
        groups : LinkedGroups
        answer : {"yes", "no"}

        Returns
        -------
        LinkedGroups

        """
        _check(answer, ("yes", "no"))
        return groups.joined(*self.groups) if answer == "yes" else groups.kept_apart(*self.groups)


@dataclass(frozen=True, eq=False)
class WhichQuestion(Question):
    """Which of these groups does this item belong to? With a single choice: is this the odd one out?"""

    kind = "which"
    row: int
    choices: tuple[int, ...]
    """Known classes and groups, the most likely first."""

    def answered(self, groups: LinkedGroups, answer: int | None) -> LinkedGroups:
        """Return the groups after an answer.

        Parameters
        ----------
        groups : LinkedGroups
        answer : int or None
            One of the choices, or None if the item belongs to none of them.

        Returns
        -------
        LinkedGroups

        """
        _check(answer, (*self.choices, None))
        return groups.with_excluded(self.row, self.choices) if answer is None else groups.with_placed(self.row, answer)


def _check(answer: Any, possible: tuple[Any, ...]) -> None:
    if answer not in possible:
        raise ValueError(f"{answer!r} is not an answer to this question; give one of {', '.join(map(repr, possible))}.")


class Line(NamedTuple):
    """Logistic regression on one number."""

    slope: float
    intercept: float

    def __call__(self, value: Any) -> Any:
        """Return the probability.

        Parameters
        ----------
        value : number or array

        Returns
        -------
        number or array

        """
        return expit(self.slope * np.asarray(value) + self.intercept)


class Calibration(NamedTuple):
    """Probabilities from likeness, measured on labelled known classes."""

    mixed: Line
    """Probability that a group contains two classes, given the likeness of the parts from :func:`bisect`."""
    same: Line
    """Probability that two groups are the same class, given their likeness."""
    pair: Line
    """Probability that two rows are of the same class, given their cosine."""


def likeness(a: np.ndarray, b: np.ndarray) -> float:
    r"""Return the cosine of the mean directions of two sets of unit vectors, without the bias that few rows cause.

    .. math:: \ell = \frac{w_{ab}}{\sqrt{w_{aa}\, w_{bb}}}, \qquad w = \text{mean cosine of different rows}

    Parameters
    ----------
    a, b : array of shape (m, d) and (n, d)

    Returns
    -------
    float
        At most 1.

    """
    (s, m), (t, n) = (a.sum(0, dtype=np.float64), len(a)), (b.sum(0, dtype=np.float64), len(b))
    within = [(v @ v - k) / (k * (k - 1)) if k > 1 else 1.0 for v, k in ((s, m), (t, n))]
    return float(min(s @ t / (m * n) / np.sqrt(max(within[0], 1e-3) * max(within[1], 1e-3)), 1.0))


def bisect(Z: np.ndarray) -> np.ndarray:
    """Divide unit vectors in two: 2-means, started from the sign of the first principal component.

    The result does not depend on the order of the rows.

    Parameters
    ----------
    Z : array of shape (n, d)

    Returns
    -------
    bool array of shape (n,)
        Which rows are in the smaller part; it may be empty if all rows are equal.

    """
    rest = (Z - Z.mean(0)).astype(np.float64)
    wide = Z.shape[1] > len(Z)
    axis = np.linalg.eigh(rest @ rest.T if wide else rest.T @ rest)[1][:, -1]
    second = (axis if wide else rest @ axis) > 0
    for _ in range(STEPS):
        if not 0 < second.sum() < len(Z):
            break
        means = unit_rows(np.stack([Z[~second].mean(0), Z[second].mean(0)]))
        nearer = Z @ means[1] > Z @ means[0]
        if (nearer == second).all():
            break
        second = nearer
    return second if 2 * second.sum() <= len(Z) else ~second


def calibrate(hidden: Sequence[HiddenClasses]) -> Calibration:
    """Learn from labelled classes how alike two parts of the same class are, and two parts of different classes.

    A group of one class is represented by a class, a group of two classes by a class and the class nearest to it;
    each is bisected. Two groups of one class are represented by every other row of a class and the rest, two of
    different classes by a class and its nearest. There are as many examples of either kind.

    Parameters
    ----------
    hidden : sequence of HiddenClasses
        Labelled unit vectors and their classes, in metrics that were fitted without these classes: in a metric that
        was fitted on them, they look tighter than new classes do.

    Returns
    -------
    Calibration

    """
    if not hidden:
        return Calibration(*[Line(0.0, 0.0)] * 3)
    parts = [_compare(Z, codes) for Z, codes in hidden]
    mixed, same, cosines, of_one = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Calibration(_line(*mixed.T), _line(*same.T), _line(cosines, of_one))


def _compare(L: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return likeness and outcome of groups and of pairs of groups, and cosine and outcome of pairs of rows."""
    classes = [L[codes == code] for code in np.unique(codes)]
    means = np.stack([rows.mean(0) for rows in classes])
    alike = means @ means.T
    np.fill_diagonal(alike, -np.inf)
    mixed, same = [], []
    for rows, near in zip(classes, alike.argmax(1), strict=True):
        if len(rows) < 4 or len(classes[near]) < 2:
            continue
        other = classes[near]
        for two, Z in ((False, rows), (True, np.concatenate([rows, other]))):
            part = bisect(Z)
            if 0 < part.sum() < len(Z):
                mixed.append((likeness(Z[part], Z[~part]), two))
        same += [(likeness(rows[::2], rows[1::2]), True), (likeness(rows, other), False)]
    few = max(2, PAIRED_ROWS // len(classes))
    R = np.concatenate([rows[:few] for rows in classes])
    of = np.concatenate([np.full(min(len(rows), few), code) for code, rows in enumerate(classes)])
    first, second = np.triu_indices(len(R), 1)
    groups = (np.array(pairs, dtype=np.float64).reshape(-1, 2) for pairs in (mixed, same))
    return *groups, (R @ R.T)[first, second], of[first] == of[second]


def _line(values: np.ndarray, outcomes: np.ndarray) -> Line:
    if not 0 < outcomes.sum() < len(outcomes):
        return Line(0.0, 0.0)  # nothing to learn from: one half
    model = LogisticRegression(C=1e3).fit(values[:, None], outcomes)
    return Line(float(model.coef_[0, 0]), float(model.intercept_[0]))


def rank_questions(
    rows: MetricRows,
    groups: LinkedGroups,
    calibration: Calibration,
    *,
    most: int = 25,
    about_items: bool = False,
) -> list[SplitQuestion | SameQuestion | WhichQuestion]:
    r"""Return the questions that are worth asking now, by decreasing expected gain.

    *Split*: with parts of a and b rows, and m the probability that the group holds two classes, from the likeness of
    the parts; the smaller part would be selected row by row:

    .. math:: m \min(a, b) - 1

    *Same*: with s the probability that the groups are one class, from their likeness; the second group would be named
    and confirmed, too. Each group is compared with the one most similar to it:

    .. math:: 2 s - 1

    *Which*: with :math:`p_i` the probability of the group or class that row i is most likely of, and :math:`s_{ij}`
    that of rows i and j to be of one class (:math:`s_{ii} = 1`). If i is in the wrong place, i and the rows
    that are more likely of its class than of the place they are in would be selected one by one:

    .. math:: (1 - p_i) \sum_j \max(s_{ij} - p_j, 0) - 1

    A group is in one question at most. Rows are asked about when no question about groups is left; of rows that are
    likely of one class, only one, since its answer may answer the others.

    Parameters
    ----------
    rows : MetricRows
    groups : LinkedGroups
        The groups with the answers so far; questions that these settle are not asked again.
    calibration : Calibration
    most : int
        Largest number of questions.
    about_items : bool
        Whether to ask about single rows, too. Their gain is overestimated where new classes are harder to distinguish
        than known ones, because then fewer of the similar rows are of the same class.

    Returns
    -------
    list of SplitQuestion, SameQuestion or WhichQuestion
        Those whose gain is positive.

    """
    about_groups: list[SplitQuestion | SameQuestion] = [
        *_splits(rows, groups, calibration),
        *_pairs(rows, groups, calibration),
    ]
    about_groups.sort(key=lambda one: -one.gain)
    asked: list[SplitQuestion | SameQuestion | WhichQuestion] = []
    busy: set[int] = set()
    for question in about_groups:
        concerned = {question.group} if isinstance(question, SplitQuestion) else set(question.groups)
        if not concerned & busy:
            asked.append(question)
            busy |= concerned
    if asked or not about_items:
        return asked[:most]
    return [*_whiches(rows, groups, calibration, memberships(rows, groups), most)]


def _splits(rows: MetricRows, groups: LinkedGroups, calibration: Calibration) -> list[SplitQuestion]:
    questions = []
    for group, members in groups.rows.items():
        if group in groups.whole or len(members) < 2:
            continue
        members = np.sort(members)
        smaller = bisect(rows.U[members])
        first, second = members[~smaller], members[smaller]
        if not len(second):
            continue
        gain = float(calibration.mixed(likeness(rows.U[first], rows.U[second]))) * len(second) - COST
        if gain > 0:
            shown = typical(rows.U, first), typical(rows.U, second)
            questions.append(SplitQuestion(gain, group, (first, second), shown))
    return questions


def _pairs(rows: MetricRows, groups: LinkedGroups, calibration: Calibration) -> list[SameQuestion]:
    numbers = [number for number, members in sorted(groups.rows.items()) if len(members)]
    questions: dict[tuple[int, int], SameQuestion] = {}
    if len(numbers) < 2:
        return []
    means = unit_rows(np.stack([rows.U[groups.rows[number]].mean(0) for number in numbers]))
    cosines = means @ means.T
    np.fill_diagonal(cosines, -np.inf)
    for number, place in zip(numbers, cosines.argmax(1), strict=True):
        first, second = sorted((number, numbers[place]))
        if frozenset((first, second)) in groups.apart or (first, second) in questions:
            continue
        a, b = (rows.U[groups.rows[one]] for one in (first, second))
        gain = NAMING * float(calibration.same(likeness(a, b))) - COST
        if gain > 0:
            shown = typical(rows.U, groups.rows[first]), typical(rows.U, groups.rows[second])
            questions[first, second] = SameQuestion(gain, (first, second), shown)
    return list(questions.values())


def _whiches(
    rows: MetricRows,
    groups: LinkedGroups,
    calibration: Calibration,
    found: Memberships,
    most: int,
) -> list[WhichQuestion]:
    fixed = groups.fixed
    members = np.concatenate([*groups.rows.values(), np.empty(0, dtype=np.int64)])
    chosen = np.array(
        [row for row in members.tolist() if row not in fixed and row not in groups.excluded], dtype=np.int64
    )
    if not len(chosen):
        return []
    p = found.probabilities[chosen]
    doubt = 1 - p.max(1)
    order = np.lexsort((rows.U[chosen, 0], -doubt))[:DOUBTFUL_ROWS]
    chosen, doubt, p = chosen[order], doubt[order], p[order]
    same = calibration.pair(rows.U[chosen] @ rows.U[chosen].T)
    np.fill_diagonal(same, 1.0)
    gains = doubt * np.maximum(same - (1 - doubt), 0).sum(1) - COST
    questions: list[WhichQuestion] = []
    taken: list[int] = []
    for i in np.lexsort((rows.U[chosen, 0], -gains)).tolist():
        if gains[i] <= 0 or len(questions) == most:
            break
        if taken and same[i, taken].max() > 0.5:
            continue
        choices = tuple(found.numbers[np.argsort(-p[i], kind="stable")[:CHOICES]].tolist())
        questions.append(WhichQuestion(float(gains[i]), int(chosen[i]), choices))
        taken.append(i)
    return questions
