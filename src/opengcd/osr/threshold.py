"""Threshold of the unknown score: from labelled rows, from a limit on rejected known rows, or from the stream."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from opengcd.metrics import harmonic_means

POINTS = 400
"""Number of candidate thresholds, quantiles of all scores."""
LEAST_ACCEPTED, MOST_ACCEPTED = 0.05, 0.98
"""Thresholds that accept a smaller or larger share of known rows are not used to estimate the known share."""
LEAST_CONTRAST = 0.02
"""Nor are thresholds at which the accepted shares of known and unknown rows differ by less than this."""
KNOWN_ERROR = 0.03
"""Relative error of the share of known rows accepted: rows of a stream differ from held-out rows."""
PROFILE_DEVIATION = 0.05
"""Standard deviation between truly unknown and hidden known classes, in addition to that among hidden ones."""
MOST_REJECTED = 0.6
"""No threshold rejects a larger share of known rows."""
MOST_KNOWN = 0.999
"""Upper limit of the known share: any stream may contain an unknown row."""
ALWAYS_REJECTED, KNOWN_PER_UNKNOWN = 0.05, 10.0
"""Share of known rows that may be rejected whatever the stream holds, and the number of known rows that may be rejected
beyond that for each unknown row that is. They were chosen on other seeds than those reported: streams with a fifth or
more of unknown rows keep their threshold."""
RECENT = 1000
"""Latest rows of the stream that are also judged by themselves: new classes may appear late."""


class Share(NamedTuple):
    """An estimated share, and its standard deviation."""

    value: float
    deviation: float


class UnknownProfile(NamedTuple):
    """Share of unknown rows accepted as a function of the share of known rows accepted, measured on hidden classes."""

    known_accepted: np.ndarray
    """Shares from 0 to 1, ascending."""
    accepted: np.ndarray
    spread: np.ndarray
    """Standard deviation of ``accepted`` over choices of hidden classes."""


class Threshold(NamedTuple):
    """Rows with a score above ``value`` are rejected."""

    value: float
    source: str
    """What determined it: a ``"bound"`` on rejected known rows, ``"labelled"`` rows, or the ``"stream"``."""
    known_rejected: float
    """The share of known rows that it rejects, measured on held-out labelled rows."""
    known_share: float | None = None
    """Estimated share of the stream that is of known classes."""
    hna: float | None = None
    """Expected HNA on the stream."""


def bounded_threshold(known_scores: np.ndarray, share: float, source: str = "bound") -> Threshold:
    """Return the lowest threshold that rejects at most a given share of held-out known rows.

    Parameters
    ----------
    known_scores : array
        Scores of held-out labelled rows.
    share : float
        Largest share of them to reject.
    source : str
        Stored in the result.

    Returns
    -------
    Threshold

    """
    if not 0 <= share <= 1:
        raise ValueError(f"The share of known rows to reject must lie between 0 and 1, not {share!r}.")
    scores = np.sort(known_scores)
    # The smallest score that at most this share of the scores exceeds.
    kept = len(scores) - int(np.floor(share * len(scores) + 1e-9))
    value = float(scores[kept - 1]) if kept > 0 else float(np.nextafter(scores[0], -np.inf))
    return Threshold(value, source, float((scores > value).mean()))


def stream_threshold(
    known_scores: np.ndarray, known_right: np.ndarray, stream_scores: np.ndarray, unknown: UnknownProfile
) -> Threshold:
    r"""Find the threshold with the best expected HNA on an unlabelled stream (positive-unlabelled estimation).

    With :math:`A_k(t)` and :math:`A_s(t)` the shares of held-out known rows and of stream rows accepted at threshold
    :math:`t`, and :math:`\pi` the :func:`known_share`,

    .. math:: \mathrm{AKS}(t) = P(\text{accepted and correct} \mid \text{known}), \qquad
              \mathrm{AUS}(t) = 1 - \frac{A_s(t) - \pi A_k(t)}{1 - \pi}

    and the :math:`t` with the largest harmonic mean of the two is returned. Where few rows are unknown, this AUS is
    noisy. It is therefore averaged with the AUS of hidden known classes (``unknown``), each weighted by its inverse
    variance. The estimate assumes that known rows of the stream are distributed like the labelled ones.

    HNA gives known and unknown rows the same weight, even if hardly any row is unknown. Most rejected rows would then
    be known ones, so the share :math:`1 - A_k(t)` of known rows rejected is limited:

    .. math:: (1 - \nu)\,(1 - A_k(t) - 0.05) \le 10\,\nu\,\mathrm{AUS}(t)

    with :math:`\nu` the :func:`evident_share` of unknown rows in the stream, or in its latest rows (:data:`RECENT`) if
    that is larger. In words: at most 5 % of the known rows, and ten more for each unknown row that is rejected.

    Parameters
    ----------
    known_scores, known_right : array
        Scores of held-out labelled rows, and whether they were classified correctly.
    stream_scores : array
        Scores of the stream.
    unknown : UnknownProfile
        Measured on hidden known classes.

    Returns
    -------
    Threshold

    """
    if not len(stream_scores):
        raise ValueError("The stream is empty, so no threshold can be estimated; give scores of at least one row.")
    candidates = _candidates(known_scores, stream_scores)
    known_accepted, stream_accepted = (_share_below(s, candidates) for s in (known_scores, stream_scores))
    right = _share_below(known_scores[known_right], candidates) * known_right.mean()
    estimate = known_share(known_scores, stream_scores, unknown)
    latest = known_share(known_scores, stream_scores[-RECENT:], unknown)
    share, evident = estimate.value, max(evident_share(estimate), evident_share(latest))
    expected, spread = _interpolate(unknown, known_accepted)
    noise = _noise(known_accepted, len(known_scores), stream_accepted, len(stream_scores)) / (1 - share) ** 2
    prior = spread**2 + PROFILE_DEVIATION**2
    accepted = (stream_accepted - share * known_accepted) / (1 - share)
    unknown_rejected = np.clip(1 - (accepted * prior + expected * noise) / (prior + noise), 0, 1)
    beyond = (1 - evident) * (1 - known_accepted - ALWAYS_REJECTED)
    allowed = (known_accepted >= 1 - MOST_REJECTED) & (beyond <= KNOWN_PER_UNKNOWN * evident * unknown_rejected)
    allowed[-1] = True
    hna = np.where(allowed, harmonic_means(right, unknown_rejected), -1.0)
    best = int(hna.argmax())
    value = float(candidates[best])
    return Threshold(value, "stream", float(1 - known_accepted[best]), share, float(hna[best]))


def known_share(known_scores: np.ndarray, stream_scores: np.ndarray, unknown: UnknownProfile) -> Share:
    r"""Return the share :math:`\pi` of known rows in a stream.

    The stream is a mixture, :math:`A_s(t) = \pi A_k(t) + (1 - \pi) A_u(t)`, with :math:`A_u` the share of unknown rows
    accepted, for which that of hidden known classes (``unknown``) is taken. Every threshold then gives an estimate,

    .. math:: \pi(t) = \frac{A_s(t) - A_u(t)}{A_k(t) - A_u(t)}

    and the result is their mean, weighted by inverse variance. The variance is small where few unknown rows are
    accepted, or where all choices of hidden classes agree on their share.

    Parameters
    ----------
    known_scores, stream_scores : array
        Scores of held-out labelled rows, and of the stream.
    unknown : UnknownProfile
        Measured on hidden known classes.

    Returns
    -------
    Share

    """
    candidates = _candidates(known_scores, stream_scores)
    known, stream = (_share_below(s, candidates) for s in (known_scores, stream_scores))
    accepted, spread = _interpolate(unknown, known)
    contrast = known - accepted
    # A threshold that accepts all known rows accepts almost all unknown rows too.
    useful = (known > LEAST_ACCEPTED) & (known < MOST_ACCEPTED) & (contrast > LEAST_CONTRAST)
    if not useful.any():
        return Share(MOST_KNOWN, 0.5)
    k, s, u, c = known[useful], stream[useful], accepted[useful], contrast[useful]
    estimate = np.clip((s - u) / c, 0, MOST_KNOWN)
    noise = _noise(k, len(known_scores), s, len(stream_scores))
    variance = (noise + ((1 - estimate) * spread[useful]) ** 2) / c**2
    # Errors at neighbouring thresholds are correlated, so the mean is hardly more precise than a single estimate.
    return Share(float(np.average(estimate, weights=1 / variance)), float(np.mean(1 / variance) ** -0.5))


def evident_share(known: Share) -> float:
    r"""Return the share of unknown rows as far as the stream gives evidence of any.

    .. math:: \nu = (1 - \pi)\,\frac{(1 - \pi)^2}{(1 - \pi)^2 + \sigma^2}

    The estimated share, multiplied by that part of its second moment which is not error: nearly 0 where the estimate is
    within its standard deviation :math:`\sigma` of 0, and nearly the estimate where it is several times as large.

    Parameters
    ----------
    known : Share
        Of known rows, see :func:`known_share`.

    Returns
    -------
    float

    """
    share = 1 - known.value
    return share**3 / (share**2 + known.deviation**2) if share > 0 else 0.0


def _interpolate(unknown: UnknownProfile, known_accepted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Interpolate the share of unknown rows accepted, and its spread, at given shares of known rows accepted."""
    at, accepted, spread = unknown
    return np.interp(known_accepted, at, accepted), np.interp(known_accepted, at, spread)


def _noise(known: np.ndarray, n_known: int, stream: np.ndarray, n_stream: int) -> np.ndarray:
    """Return the variance of the difference of two shares."""
    sampling = stream * (1 - stream) / max(1, n_stream) + known * (1 - known) / max(1, n_known)
    return np.asarray(sampling + (KNOWN_ERROR * known) ** 2)


def _candidates(known_scores: np.ndarray, stream_scores: np.ndarray) -> np.ndarray:
    every = np.concatenate([known_scores, stream_scores])
    return np.unique(np.quantile(every, np.linspace(0.001, 0.999, POINTS)))


def _share_below(scores: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Return the share of the scores that each threshold accepts."""
    return np.searchsorted(np.sort(scores), thresholds, side="right") / max(1, len(scores))
