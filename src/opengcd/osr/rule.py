"""Uncertainty-based open-set recognition: the paper's rule (Sec. 3.4)."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

ROUNDING = 1e-3
"""Largest deviation of a sum of probabilities from 1 that counts as rounding."""


class UncertaintyRule:
    r"""Turn closed-set probabilities into ones over "unknown" and the known classes.

    .. math::
        u_i &= 1 - \max_j p_{ij} && (1) \\
        p_{i0} &= \alpha u_i && (2) \\
        p'_{ij} &= e^{p_{ij}} / \textstyle\sum_{l=0}^{C} e^{p_{il}} && (3)

    Row i is rejected if :math:`p_{i0} > \max_j p_{ij}`, that is :math:`\max_j p_{ij} < \alpha / (1 + \alpha)`; a tie
    is accepted. For large :math:`\alpha` the :math:`p'` are close to 0 or 1: they give a ranking, not calibrated
    probabilities.

    Time O(nC). :math:`u` is computed as the sum of the other probabilities in float64, so that it stays precise where
    :math:`\max p` is within 1e-10 of 1.

    Parameters
    ----------
    alpha : float
        Weight of uncertainty, :math:`\alpha \ge 0`.

    Examples
    --------
    >>> UncertaintyRule(alpha=2.0).rejects([[0.6, 0.3, 0.1], [0.9, 0.1, 0.0]]).tolist()
    [True, False]

    """

    def __init__(self, alpha: float) -> None:
        self.alpha = check_alpha(alpha)

    def __repr__(self) -> str:
        return f"UncertaintyRule(alpha={self.alpha:g})"

    def probabilities(self, p: Any) -> np.ndarray:
        """Return the probabilities of Eq. 3.

        Parameters
        ----------
        p : array-like of shape (n, C)
            Closed-set probabilities.

        Returns
        -------
        array of shape (n, C + 1)
            Column 0 is "unknown", then the known classes.

        """
        p, u = _uncertainty(p)
        logits = np.concatenate([self.alpha * u[:, None], p], axis=1)
        logits -= logits.max(axis=1, keepdims=True)
        np.exp(logits, out=logits)
        logits /= logits.sum(axis=1, keepdims=True)
        return logits

    def rejects(self, p: Any) -> np.ndarray:
        """Return which rows are unknown.

        Parameters
        ----------
        p : array-like of shape (n, C)
            Closed-set probabilities.

        Returns
        -------
        array of bool, of shape (n,)

        """
        p, u = _uncertainty(p)
        return self.alpha * u > p.max(axis=1)


def check_alpha(alpha: Any) -> float:
    """Return alpha if it is a finite number from 0; raise ``ValueError`` otherwise.

    Parameters
    ----------
    alpha : float
        Weight of uncertainty.

    Returns
    -------
    float

    """
    value = float(alpha) if isinstance(alpha, numbers.Real) else -1.0
    if not 0 <= value < np.inf:
        raise ValueError(f"alpha must be a finite number from 0, or 'search' to have it found, not {alpha!r}.")
    return value


def critical_alpha(p: Any) -> np.ndarray:
    r"""Return :math:`\max p / u` of each row: the row is rejected for every alpha above this value, and no other.

    Parameters
    ----------
    p : array-like of shape (n, C)
        Closed-set probabilities.

    Returns
    -------
    array of shape (n,)
        Infinite where :math:`u = 0`, or so small that the ratio is beyond the largest number.

    """
    p, u = _uncertainty(p)
    with np.errstate(divide="ignore", over="ignore"):
        return p.max(axis=1) / u


def _uncertainty(p: Any) -> tuple[np.ndarray, np.ndarray]:
    """Check ``p`` and return it in float64 with u (Eq. 1).

    Rows that sum to 1 up to rounding are normalised. A larger deficit is probability outside the listed classes, and
    counts as uncertainty, as in Eq. 1.
    """
    p = np.atleast_2d(np.asarray(p, dtype=np.float64))
    if p.ndim != 2 or p.shape[1] == 0:
        raise ValueError(f"p must have one row per item and one column per known class, but has shape {p.shape}.")
    total = p.sum(axis=1, keepdims=True)
    if not np.isfinite(p).all() or (p < 0).any() or (total > 1 + ROUNDING).any():
        raise ValueError("p must hold probabilities: finite, not negative, each row with a sum of at most 1.")
    whole = total > 1 - ROUNDING
    p = np.where(whole, p / np.where(whole, total, 1), p)
    others = p.copy()
    np.put_along_axis(others, p.argmax(axis=1)[:, None], 0, axis=1)
    return p, others.sum(axis=1) + np.where(whole, 0, 1 - total)[:, 0]
