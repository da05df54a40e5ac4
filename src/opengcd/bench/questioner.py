"""A simulated reviewer who answers questions about groups before reviewing them, one action for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from opengcd.discover import (
    Calibration,
    LinkedGroups,
    MetricRows,
    SameQuestion,
    SplitQuestion,
    WhichQuestion,
    calibrate,
    rank_questions,
    regroup_by_answers,
)


class Questioned(NamedTuple):
    """The groups after all questions that were worth asking."""

    linked: LinkedGroups
    asked: Counter[str]
    """Questions by kind; each takes one action."""

    @property
    def groups(self) -> list[np.ndarray]:
        """The rows of each group that has any."""
        return [members for members in self.linked.rows.values() if len(members)]


def answer_questions(groups: Iterable[np.ndarray], rows: MetricRows, truth: np.ndarray) -> Questioned:
    """Answer questions about groups truthfully until none is worth an action, and regroup by the answers.

    In place of groups that are not a class, new ones are started once (:func:`~opengcd.discover.start_groups`), and
    questions about these are answered, too.

    The reviewer sees what a person would see: the most typical items of a group, or of a part of it. Their class is
    the one that more than half of them have; if there is none, they are not a class.

    Parameters
    ----------
    groups : iterable of int arrays
        The rows of each group.
    rows : MetricRows
        In the metric of the recogniser.
    truth : array of shape (n,)
        The class of every row.

    Returns
    -------
    Questioned

    """
    linked = LinkedGroups.of(groups, rows.known)
    calibration = calibrate(rows.hidden)
    linked, asked, dissolved = _ask(linked, rows, truth, calibration)
    if asked:
        linked = regroup_by_answers(rows, linked, dissolved).groups
    if dissolved:
        linked, more, _ = _ask(linked, rows, truth, calibration)
        linked, asked = regroup_by_answers(rows, linked).groups, asked + more
    return Questioned(linked, asked)


def _ask(
    linked: LinkedGroups, rows: MetricRows, truth: np.ndarray, calibration: Calibration
) -> tuple[LinkedGroups, Counter[str], int]:
    """Return the groups after all answers, the questions by kind, and how many groups were dissolved."""
    asked: Counter[str] = Counter()
    dissolved = 0
    while questions := rank_questions(rows, linked, calibration):
        for question in questions:
            answer = _answer(question, truth)
            linked = question.answered(linked, answer)
            asked[question.kind] += 1
            dissolved += answer == "none"
    return linked, asked, dissolved


def _answer(question: SplitQuestion | SameQuestion | WhichQuestion, truth: np.ndarray) -> Any:
    assert not isinstance(question, WhichQuestion)  # none was asked for
    first, second = (class_of_most(shown, truth) for shown in question.shown)
    if isinstance(question, SameQuestion):
        return "yes" if first is not None and first == second else "no"
    if first is None or second is None:
        return "none" if first is second else "second" if first is None else "first"
    return "one" if first == second else "two"


def class_of_most(shown: np.ndarray, truth: np.ndarray) -> Any:
    """Return the class of more than half of the rows; None if there is none.

    Parameters
    ----------
    shown : int array
        Rows that the reviewer sees.
    truth : array of shape (n,)
        The class of every row.

    Returns
    -------
    class or None

    """
    present, counts = np.unique(truth[shown], return_counts=True)
    return present[counts.argmax()].item() if 2 * counts.max() > len(shown) else None
