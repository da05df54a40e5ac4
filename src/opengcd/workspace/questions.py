"""The questions about the groups under review that save a person the most work, and the edits that answer them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from opengcd._internal.unit_length import unit_rows
from opengcd.workspace import log
from opengcd.workspace.answers import link, standing_answers, unnamed_groups
from opengcd.workspace.groups import members as members_of
from opengcd.workspace.recognizers import Recognizers
from opengcd.workspace.store import Store
from opengcd.workspace.vectors import Vectors

if TYPE_CHECKING:
    from opengcd.discover import Calibration, MetricRows, SameQuestion, SplitQuestion

FEWEST = 4
"""Images of the smallest group that may be called mixed."""
SHOWN = 8
SECONDS = 1.0
"""Time that a person needs for an answer."""


class Answer(NamedTuple):
    """One of the answers to a question: a key, its meaning, and the edit to make."""

    key: str
    text: str
    edit: dict[str, Any]
    """``act`` is the verb; the rest are its parameters."""


class AskedQuestion(NamedTuple):
    """A question about groups under review."""

    kind: str
    """``split``: is this group one class, or does it split here? ``same``: are these two groups the same class?"""
    text: str
    gain: float
    """Actions that the answer is expected to save, less the one that it takes."""
    groups: list[int]
    """The group, or the two groups."""
    shown: list[list[int]]
    """The most typical items of either part, or of either group."""
    answers: list[Answer]


class Asked(NamedTuple):
    """Questions, the best first, as of an edit."""

    edit: int
    seconds: float
    """About how long it takes to answer them."""
    questions: list[AskedQuestion]
    answered: bool
    """Whether a question was answered since the images were last grouped; ``regroup`` then has something to do."""


class Parts(NamedTuple):
    """The two parts that a group falls into, and whether they look like different classes."""

    edit: int
    """The last edit that this shows."""
    mixed: float
    """Probability that the group contains two classes; at most one half where it cannot be estimated."""
    sizes: list[int]
    """Images of either part, the larger one first; of a stack of near copies each counts."""
    shown: list[list[int]]
    """The most typical items of either part."""


class _Kept(NamedTuple):
    """What questions need of a version of the recogniser."""

    version: int
    rows: MetricRows
    calibration: Calibration


class Questions:
    """Asks about the groups that nobody has named."""

    def __init__(self, store: Store, vectors: Vectors, recognizers: Recognizers) -> None:
        self._database = store.database
        self._vectors = vectors
        self._recognizers = recognizers
        self._kept: _Kept | None = None

    def ask(self, limit: int = 25) -> Asked:
        """Return the questions whose answers are expected to save more work than they take.

        A question that was answered is not asked again, unless the answer is undone. Each answer comes with an edit, of
        the verb ``keep``, ``compare`` or ``divide``. After these, ``regroup`` gives the images to the groups again.

        Parameters
        ----------
        limit : int
            Largest number of questions.

        Returns
        -------
        Asked

        """
        from opengcd.discover import rank_questions

        version, recognizer = self._recognizers.in_use()
        with self._database.reading() as connection:
            edit = log.last_edit(connection)
            homes, said = unnamed_groups(connection), standing_answers(connection)
            answered = not said.since.isdisjoint(homes)
            homes = {group: members for group, members in homes.items() if group not in said.none}
            store = self._vectors.shards(connection, version)
            there = store.having(connection, [item for members in homes.values() for item in members])
            homes = {group: [item for item in members if item in there] for group, members in homes.items()}
            items = [item for members in homes.values() for item in members]
            X = self._vectors.scaled(store.of_items(connection, items)) if items else None
        if X is None:
            return Asked(edit, 0.0, [], answered)
        kept = self._prepare(version, recognizer, X)
        rows = kept.rows._replace(U=unit_rows(recognizer.in_metric(X)))
        spans = pairwise(np.cumsum([0, *map(len, homes.values())]))
        linked = link({group: np.arange(*span) for group, span in zip(homes, spans, strict=True)}, said, rows.known)
        ranked = rank_questions(rows, linked, kept.calibration, most=limit)
        found = [_as_asked(question, items, rows.known) for question in ranked if question.kind != "which"]  # type: ignore[arg-type]
        return Asked(edit, SECONDS * len(found), found, answered)

    def parts(self, group: int) -> Parts:
        """Return the two parts that a group falls into, and how likely they are different classes.

        The probability is that of the questions whether a group is one class (:func:`opengcd.discover.calibrate`). A
        group that a person has said to be one class is not mixed.

        Parameters
        ----------
        group : int
            The number of the group.

        Returns
        -------
        Parts

        Raises
        ------
        MissingError
            If there is no such group.

        """
        from opengcd.discover import bisect, likeness, typical

        version, recognizer = self._recognizers.in_use()
        with self._database.reading() as connection:
            edit, members = log.last_edit(connection), members_of(connection, group)
            whole = group in standing_answers(connection).whole
            store = self._vectors.shards(connection, version)
            there = store.having(connection, members)
            items = sorted(there)
            X = self._vectors.scaled(store.of_items(connection, items)) if items else None
        if X is None or len(items) < FEWEST:
            return Parts(edit, 0.0, [len(members), 0], [members[:SHOWN], []])
        U = unit_rows(recognizer.in_metric(X))
        second = bisect(U)
        if not second.any():
            return Parts(edit, 0.0, [len(members), 0], [members[:SHOWN], []])
        line = self._prepare(version, recognizer, X).calibration.mixed
        mixed = 0.0 if whole else float(line(likeness(U[~second], U[second])))
        parts = [np.flatnonzero(~second), np.flatnonzero(second)]
        shown = [[items[row] for row in typical(U, part).tolist()[:SHOWN]] for part in parts]
        return Parts(edit, mixed, [len(part) for part in parts], shown)

    def _prepare(self, version: int, recognizer: Any, X: np.ndarray) -> _Kept:
        """Return the exemplars in the metric, and the calibration; they are kept for the version in use."""
        from opengcd.discover import calibrate

        kept = self._kept
        if kept is None or kept.version != version:
            rows = recognizer.metric_rows(X[:1])
            kept = self._kept = _Kept(version, rows, calibrate(rows.hidden))
        return kept


def _as_asked(question: SplitQuestion | SameQuestion, items: Sequence[int], known: int) -> AskedQuestion:
    shown = [[items[row] for row in part.tolist()] for part in question.shown]
    if question.kind == "same":
        into, group = (number - known for number in question.groups)  # type: ignore[union-attr]
        answers = [
            Answer("y", "the same class", {"act": "compare", "group": group, "into": into, "same": True}),
            Answer("n", "different classes", {"act": "compare", "group": group, "into": into, "same": False}),
        ]
        return AskedQuestion(
            "same", "Are these two groups the same class?", question.gain, [into, group], shown, answers
        )
    group = question.group - known  # type: ignore[union-attr]
    part = [items[row] for row in question.parts[1].tolist()]  # type: ignore[union-attr]

    def divide(one: bool, other: bool) -> dict[str, Any]:
        seen = shown[0] * one + shown[1] * other
        return {"act": "divide", "group": group, "items": part, "one": one, "other": other, "seen": seen}

    answers = [
        Answer("y", "one class", {"act": "keep", "group": group, "seen": shown[0] + shown[1]}),
        Answer("n", "two classes, split here", divide(True, True)),
        Answer("a", "only the first part is a class", divide(True, False)),
        Answer("b", "only the second part is a class", divide(False, True)),
        Answer("0", "no part is a class", divide(False, False)),
    ]
    text = "Is this group one class, or does it split here?"
    return AskedQuestion("split", text, question.gain, [group], shown, answers)
