"""Rejection by a novelty score, with a threshold that can adapt to the stream; an extension of the paper."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from opengcd._internal.model_folder import ModelFileError
from opengcd._internal.part import State
from opengcd._internal.run import NOVELTY, Run
from opengcd._internal.validation import check_share
from opengcd.classify import Labelled
from opengcd.osr.novelty import NoveltyScore
from opengcd.osr.rejection import HeldOutScores, Judgement, ScoredRejection, ScoresAmong, StoredHeader
from opengcd.osr.threshold import Threshold, bounded_threshold, stream_threshold

MOST_SEEN = 100_000
"""Number of the latest scores of the stream that are kept."""
LEAST_SEEN = 100
"""With fewer scores of the stream, the threshold is set from labelled rows."""
PREFIX = "novelty."


class NoveltyRejection(ScoredRejection):
    r"""Reject rows whose :class:`NoveltyScore` lies above a threshold.

    .. math:: p_0 = \frac{1}{1 + e^{-(s - t)/\sigma}}, \qquad p'_c = (1 - p_0)\, p_c

    with :math:`\sigma` the standard deviation of the scores of known rows: the probability of "unknown" is one half at
    the threshold :math:`t`, and a row is rejected above it. Before any stream has been seen, t rejects the share of
    known rows that gave the best HNA when some known classes were treated as unknown; from then on it is the t with the
    best expected HNA (:func:`stream_threshold`), unless hardly any row of the stream is unknown: then few rows are
    rejected.

    Parameters
    ----------
    whiten, neighbours : bool
        See :class:`NoveltyScore`.
    adapt : bool
        Whether the threshold adapts to the stream.
    max_known_rejected : float or None
        Upper limit on the share of known rows rejected; the threshold then does not adapt to the stream.

    """

    name = "novelty"
    threshold_: Threshold

    def __init__(
        self,
        whiten: bool = True,
        neighbours: bool = True,
        adapt: bool = True,
        max_known_rejected: float | None = None,
    ) -> None:
        self.whiten = whiten
        self.neighbours = neighbours
        self.adapt = adapt
        self.max_known_rejected = max_known_rejected

    def check(self) -> None:
        """Raise an error if the limit is not a share."""
        if self.max_known_rejected is not None:
            check_share(self.max_known_rejected, "max_known_rejected")

    def fit(self, labelled: Labelled, classifier: Any, run: Run) -> Self:
        """Return a copy with the score and the first threshold, both fitted on labelled rows."""
        run.progress("learning to reject", 0, 1)
        score = self._score(run.at(NOVELTY)).fit(
            labelled.X,
            labelled.codes,
            classifier,
            kept=labelled.kept,
            trained=labelled.trained,
            found=labelled.found,
            statistics=labelled.statistics,
        )
        run.progress("learning to reject", 1, 1)
        return self._with_score(score)

    def judge(self, X: np.ndarray, p: np.ndarray) -> Judgement:
        """Reject rows with a score above the threshold."""
        score = self.score_(X, p)
        threshold = self.threshold_.value  # read once: another thread may call observe meanwhile
        distance = np.clip((score - threshold) / max(float(self.score_.known_scores_.std()), 1e-9), -500, 500)
        unknown = 1 / (1 + np.exp(-distance))[:, None]
        return Judgement(score > threshold, score, np.concatenate([unknown, (1 - unknown) * p], axis=1))

    def observe(self, X: np.ndarray, p: np.ndarray) -> None:
        """Add rows of the stream to those that the threshold adapts to."""
        if self.adapts:
            self.recall(np.concatenate([self.seen_, self.score_(X, p)]))

    def recall(self, scores: np.ndarray) -> None:
        """Adapt the threshold to the scores of the stream."""
        if not self.adapts:
            return
        self.seen_ = scores[-MOST_SEEN:]
        if len(self.seen_) >= LEAST_SEEN:
            score = self.score_
            self.threshold_ = stream_threshold(score.known_scores_, score.known_right_, self.seen_, score.unknown_)

    @property
    def adapts(self) -> bool:
        """Whether the threshold adapts to the stream."""
        return self.adapt and self.max_known_rejected is None

    @property
    def threshold(self) -> Threshold | None:
        """The threshold in use; None before fit."""
        return self.threshold_ if hasattr(self, "threshold_") else None

    def limit(self, max_known_rejected: float | None, scores: np.ndarray | None = None) -> Self:
        """Return a copy with this limit; a fitted copy keeps the score, and with a limit drops the observed stream."""
        limited = clone(self).set_params(max_known_rejected=max_known_rejected)
        limited.check()
        if not hasattr(self, "score_"):
            return limited
        limited = limited._with_score(self.score_)
        limited.recall(self.seen_ if scores is None else scores)
        return limited

    @property
    def held_out(self) -> HeldOutScores:
        """Scores of held-out labelled rows."""
        return HeldOutScores(self.score_.known_scores_, self.score_.unknown_)

    def among(self, classes: np.ndarray, L: np.ndarray, codes: np.ndarray, X: np.ndarray, p: np.ndarray) -> ScoresAmong:
        """Fit metric, class means and neighbours on ``L``; standardise as with all classes."""
        features, whitened = self.score_.fit_features(L, codes)
        U = features.metric.transform(X)
        return ScoresAmong(whitened, U, self.score_.among(classes, features, X, p, U))

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Whiten features and scale them to unit length, as the score does."""
        return self.score_.features_.metric.transform(X)

    def state(self) -> State:
        """Return the score, the threshold, and the scores of the stream observed so far."""
        arrays = self.score_.arrays() | {"seen": self.seen_}
        header = StoredHeader(threshold=self.threshold_._asdict())
        return State(header._asdict(), {f"{PREFIX}{name}": value for name, value in arrays.items()})

    def restore(self, state: State, labelled: Labelled, device: str) -> Self:
        """Return a copy with the stored score and threshold."""
        stored = {name.removeprefix(PREFIX): a for name, a in state.arrays.items() if name.startswith(PREFIX)}
        seen = stored.pop("seen")
        if seen.ndim != 1 or not np.isfinite(seen).all():
            raise ModelFileError("The model is damaged: the scores of the stream are not a list of numbers.")
        score = self._score(Run(device=device))
        score.restore(stored, labelled.X, len(labelled.classes))
        restored = self._with_score(score)
        restored.seen_, restored.threshold_ = seen, _restore_threshold(StoredHeader.read(state.header).threshold)
        return restored

    def _score(self, run: Run) -> NoveltyScore:
        return NoveltyScore(whiten=self.whiten, neighbours=self.neighbours, random_state=run.seed, device=run.device)

    def _with_score(self, score: NoveltyScore) -> Self:
        fitted = copy.copy(self)
        fitted.score_, fitted.seen_ = score, np.empty(0)
        limit = self.max_known_rejected
        fitted.threshold_ = (
            bounded_threshold(score.known_scores_, score.known_rejected_, "labelled")
            if limit is None
            else bounded_threshold(score.known_scores_, float(limit))
        )
        return fitted


def _restore_threshold(stored: Any) -> Threshold:
    threshold = Threshold(**stored)
    shares = (threshold.known_share, threshold.hna)
    numbers = (threshold.value, threshold.known_rejected, *(share for share in shares if share is not None))
    if not all(type(number) in (int, float) and number == number for number in numbers):
        raise ModelFileError("The model is damaged: the threshold for unknown holds something other than numbers.")
    return threshold
