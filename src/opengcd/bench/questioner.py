"""The simulated annotator who answers questions about groups before reviewing them, one action for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from opengcd.discover import (
    LinkedGroups,
    MetricRows,
    SameQuestion,
    SplitQuestion,
    WhichQuestion,
    calibrate,
    memberships,
    rank_questions,
    regroup,
)


class Questioned(NamedTuple):
    """The groups after all questions that were worth asking."""

    groups: list[np.ndarray]
    asked: Counter[str]
    """Questions by kind; each takes one action."""


def answer_questions(groups: Iterable[np.ndarray], rows: MetricRows, truth: np.ndarray) -> Questioned:
    """Answer questions about groups by the truth until none is worth an action, then regroup by the answers.

    The annotator sees what a person would see: the most typical items of a group, or of a part of it. They are of the
    class that more than half of them have, and of no class if there is none.

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
    asked: Counter[str] = Counter()
    while questions := rank_questions(rows, linked, calibration):
        for question in questions:
            linked = question.answered(linked, _answer(question, truth))
            asked[question.kind] += 1
    if asked:
        linked = regroup(linked, memberships(rows, linked))
    return Questioned([members for members in linked.rows.values() if len(members)], asked)


def _answer(question: SplitQuestion | SameQuestion | WhichQuestion, truth: np.ndarray) -> Any:
    assert not isinstance(question, WhichQuestion)  # none was asked for
    first, second = (_class_of(shown, truth) for shown in question.shown)
    if isinstance(question, SameQuestion):
        return "yes" if first is not None and first == second else "no"
    if first is None or second is None:
        return "none" if first is second else "second" if first is None else "first"
    return "one" if first == second else "two"


def _class_of(shown: np.ndarray, truth: np.ndarray) -> Any:
    """Return the class of more than half of the rows; None if there is none."""
    present, counts = np.unique(truth[shown], return_counts=True)
    return present[counts.argmax()].item() if 2 * counts.max() > len(shown) else None
