"""Ways to say "unknown": each is fitted on labelled rows and judges rows by their features and probabilities."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from opengcd.osr.novelty import NoveltyScore
from opengcd.osr.rule import UncertaintyRule, critical_alpha
from opengcd.osr.threshold import Threshold, bounded_threshold, stream_threshold

MOST_SEEN = 100_000
"""Scores of the stream that are remembered; older ones are forgotten."""
LEAST_SEEN = 100
"""With fewer scores of the stream than this, labelled data say more about the threshold."""


class Judgement(NamedTuple):
    """What a way of rejecting says of n rows."""

    rejected: np.ndarray
    score: np.ndarray
    """Grows with how unknown a row looks."""
    probabilities: np.ndarray
    """(n, C + 1) Column 0 is "unknown"."""


class Rejection(Protocol):
    """What the recogniser asks of a way to reject."""

    def judge(self, X: np.ndarray, p: np.ndarray) -> Judgement:
        """Judge rows by their features and closed-set probabilities."""

    def observe(self, X: np.ndarray, p: np.ndarray) -> None:
        """Take notice of rows of the stream."""

    def recall(self, seen: np.ndarray) -> None:
        """Take notice of all scores of the stream so far."""


class UncertaintyRejection:
    """The paper's rule, Eqs. 1 to 3; the stream teaches it nothing."""

    def __init__(self, alpha: float) -> None:
        self.rule = UncertaintyRule(alpha)

    def judge(self, X: np.ndarray, p: np.ndarray) -> Judgement:
        """Reject by uncertainty alone."""
        return Judgement(self.rule.rejects(p), 1 / (1 + critical_alpha(p)), self.rule.probabilities(p))

    def observe(self, X: np.ndarray, p: np.ndarray) -> None:
        """Do nothing."""

    def recall(self, seen: np.ndarray) -> None:
        """Do nothing."""


class NoveltyRejection:
    r"""Reject rows whose :class:`NoveltyScore` lies above a threshold.

    .. math:: p_0 = \frac{1}{1 + e^{-(s - t)/\sigma}}, \qquad p'_c = (1 - p_0)\, p_c

    with :math:`\sigma` the deviation of known rows: the probability of "unknown" is one half at the threshold
    :math:`t`, and a row is rejected above it. Before any stream has been seen, t rejects the share of known rows that
    was best when known classes played the unknown; from then on it is the t with the best HNA to be expected
    (:func:`stream_threshold`). ``bound`` fixes the share of known rows that may be rejected instead.
    """

    def __init__(self, score: NoveltyScore, bound: float | None = None, adapt: bool = True) -> None:
        self.score = score
        self.bound = bound
        self.adapt = adapt and bound is None
        self.seen = np.empty(0)
        known = score.known_scores_
        self.threshold: Threshold = (
            bounded_threshold(known, score.known_rejected_, "labelled")
            if bound is None
            else bounded_threshold(known, bound)
        )

    def judge(self, X: np.ndarray, p: np.ndarray) -> Judgement:
        """Reject by score."""
        score = self.score(X, p)
        threshold = self.threshold.value  # read once: another thread may show the stream meanwhile
        distance = np.clip((score - threshold) / max(float(self.score.known_scores_.std()), 1e-9), -500, 500)
        unknown = 1 / (1 + np.exp(-distance))[:, None]
        return Judgement(score > threshold, score, np.concatenate([unknown, (1 - unknown) * p], axis=1))

    def observe(self, X: np.ndarray, p: np.ndarray) -> None:
        """Remember the scores of rows of the stream, and let the threshold follow."""
        if self.adapt:
            self.recall(np.concatenate([self.seen, self.score(X, p)]))

    def recall(self, seen: np.ndarray) -> None:
        """Set the threshold by scores of the stream, if it may follow."""
        if not self.adapt:
            return
        self.seen = seen[-MOST_SEEN:]
        if len(self.seen) >= LEAST_SEEN:
            score = self.score
            self.threshold = stream_threshold(score.known_scores_, score.known_right_, self.seen, score.unknown_)
