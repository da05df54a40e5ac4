"""The recogniser as a method of the benchmark."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from opengcd._internal.progress import Progress, silent
from opengcd.bench.open_world_method import FittedParameters, OpenWorldMethod, Predictions
from opengcd.discover import Discovery, MetricRows
from opengcd.presets import resolve_preset
from opengcd.recognizer import OpenWorldRecognizer


class RecognizerMethod(OpenWorldMethod):
    """Any :class:`~opengcd.OpenWorldRecognizer` in the benchmark.

    Parameters
    ----------
    recognizer : OpenWorldRecognizer
    learns_from : {"all", "nothing"} or None
        See :class:`OpenWorldMethod`.
    reviews_one_by_one : bool
        See :class:`OpenWorldMethod`.

    """

    def __init__(
        self,
        recognizer: OpenWorldRecognizer,
        *,
        learns_from: Literal["all", "nothing"] | None = None,
        reviews_one_by_one: bool = False,
    ) -> None:
        self.recognizer = recognizer
        self.learns_from = learns_from
        self.reviews_one_by_one = reviews_one_by_one

    def fit(self, X: np.ndarray, y: np.ndarray, *, progress: Progress = silent) -> Any:
        """Start from labelled rows of the first known classes."""
        self.recognizer.fit(X, y, progress=progress)
        self.unknown_label_ = self.recognizer.unknown_label_

    def learn(self, X: np.ndarray, y: np.ndarray, *, progress: Progress = silent) -> Any:
        """Learn from newly labelled rows."""
        self.recognizer.learn(X, y, progress=progress)

    def recognize(self, X: np.ndarray) -> Predictions:
        """Return labels with rejection, labels without, and the unknown score; near copies are recognised as one."""
        stacks = self.recognizer.stacks(X) if resolve_preset(self.recognizer.preset).stack_copies else None
        found = self.recognizer.recognize(X, stacks=stacks)
        return Predictions(found.labels, found.closed, found.unknown_score)

    def predict_closed(self, X: np.ndarray) -> np.ndarray:
        """Return the known class of each row, rejecting nothing."""
        return self.recognizer.predict_closed(X)

    def discover(self, X: np.ndarray, *, progress: Progress = silent) -> Discovery:
        """Group rejected rows."""
        return self.recognizer.discover(X, progress=progress)

    def discover_in_stream(
        self, X: np.ndarray, rejected: np.ndarray, *, progress: Progress = silent
    ) -> tuple[np.ndarray, Discovery]:
        """Group the rows that suit the recogniser's discovery: the whole stream, or rejected rows."""
        if self.recognizer.discovers_from == "stream":
            return np.arange(len(X)), self.recognizer.discover(X, rejected=rejected, progress=progress)
        return super().discover_in_stream(X, rejected, progress=progress)

    def discover_again(
        self, X: np.ndarray, rejected: np.ndarray, confirmed: np.ndarray, *, progress: Progress = silent
    ) -> tuple[np.ndarray, Discovery]:
        """Group the same rows as :meth:`discover_in_stream`, and those with a confirmed label, which keep it."""
        if self.recognizer.discovers_from == "stream":
            found = self.recognizer.discover(X, rejected=rejected, confirmed=confirmed, progress=progress)
            return np.arange(len(X)), found
        rows = np.flatnonzero(rejected | (confirmed != self.unknown_label_))
        return rows, self.recognizer.discover(X[rows], confirmed=confirmed[rows], progress=progress)

    @property
    def adapts(self) -> bool:
        """Whether the threshold for "unknown" follows the stream."""
        return self.recognizer.adapts

    def observe(self, X: np.ndarray) -> Any:
        """Adapt the threshold for "unknown" to rows of the stream."""
        self.recognizer.observe(X)

    def in_metric(self, X: np.ndarray) -> np.ndarray:
        """Return rows in the metric of the recogniser."""
        return self.recognizer.in_metric(X)

    def question_rows(self, X: np.ndarray) -> MetricRows | None:
        """Return the labelled rows and those that were grouped, where discovery takes the whole stream."""
        return self.recognizer.metric_rows(X) if self.recognizer.discovers_from == "stream" else None

    def fitted_parameters(self) -> FittedParameters:
        """Return alpha and the search for it, where the recogniser rejects by the paper's rule."""
        return FittedParameters({}, self.recognizer.alpha_, self.recognizer.alpha_search_)
