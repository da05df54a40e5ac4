"""Where to draw the line on a score for "unknown": from labelled data, from a bound, or from the stream."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

POINTS = 400
"""Candidate thresholds: as many quantiles of all scores."""
LEAST_ACCEPTED = 0.05
"""The known share is not read off where a smaller share of known rows than this is accepted."""
MOST_KNOWN = 0.999
"""Even a stream that looks known through and through may hold an unknown row."""


class Threshold(NamedTuple):
    """Rows with a score above ``value`` are rejected."""

    value: float
    source: str
    """What it was found from: ``"bound"``, ``"labelled"`` or ``"stream"``."""
    known_rejected: float
    """The share of known rows that it rejects, measured on held-out labelled rows."""
    known_share: float | None = None
    """Estimated share of the stream that is of known classes."""
    hna: float | None = None
    """HNA to be expected on the stream."""


def bounded_threshold(known_scores: np.ndarray, share: float) -> Threshold:
    """Reject at most that share of known rows, as measured on held-out ones."""
    if not 0 <= share <= 1:
        raise ValueError(f"The share of known rows to reject must lie between 0 and 1, not {share!r}.")
    scores = np.sort(known_scores)
    # The smallest score above which no more than the share lies.
    value = float(scores[len(scores) - 1 - int(np.floor(share * len(scores) + 1e-9))]) if share < 1 else -np.inf
    return Threshold(value, "bound", float((scores > value).mean()))


def stream_threshold(known_scores: np.ndarray, known_right: np.ndarray, stream_scores: np.ndarray) -> Threshold:
    r"""Find the threshold with the best HNA on a stream whose labels nobody knows (positive-unlabelled estimation).

    With :math:`A_k(t)` and :math:`A_s(t)` the shares of held-out known rows and of stream rows accepted at threshold
    :math:`t`, the stream is a mixture with a share :math:`\pi` of known rows, and :math:`\pi \le A_s(t) / A_k(t)` for
    every :math:`t`. The ratio is read off where it and two standard errors are least. Then

    .. math:: \mathrm{AKS}(t) = P(\text{accepted and right} \mid \text{known}), \qquad
              \mathrm{AUS}(t) = 1 - \frac{A_s(t) - \pi A_k(t)}{1 - \pi}

    and the :math:`t` with the largest harmonic mean is taken. It assumes that known rows of the stream look like the
    labelled ones, and that known and unknown rows do not overlap everywhere.
    """
    if not len(stream_scores):
        raise ValueError("There is no stream to find a threshold from.")
    every = np.concatenate([known_scores, stream_scores])
    candidates = np.unique(np.quantile(every, np.linspace(0.001, 0.999, POINTS)))
    known_accepted, stream_accepted = (_share_below(s, candidates) for s in (known_scores, stream_scores))
    right = _share_below(known_scores[known_right], candidates) * known_right.mean()
    share = _known_share(known_accepted, stream_accepted, len(known_scores), len(stream_scores))
    unknown_rejected = np.clip(1 - (stream_accepted - share * known_accepted) / (1 - share), 0, 1)
    total = right + unknown_rejected
    hna = np.where(total > 0, 2 * right * unknown_rejected / np.where(total > 0, total, 1), 0)
    best = int(hna.argmax())
    value = float(candidates[best])
    return Threshold(value, "stream", float(1 - known_accepted[best]), share, float(hna[best]))


def _known_share(known_accepted: np.ndarray, stream_accepted: np.ndarray, n_known: int, n_stream: int) -> float:
    """Smallest ratio of the two, but for noise: the least of many noisy ratios would be too small."""
    reliable = known_accepted > LEAST_ACCEPTED
    k, s = known_accepted[reliable], stream_accepted[reliable]
    if not len(k) or not s.all():
        return 0.0
    ratio = s / k
    error = ratio * np.sqrt((1 - s) / (n_stream * s) + (1 - k) / (n_known * k))
    return float(min(ratio[(ratio + 2 * error).argmin()], MOST_KNOWN))


def _share_below(scores: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Share of the scores that each threshold accepts."""
    return np.searchsorted(np.sort(scores), thresholds, side="right") / max(1, len(scores))
