"""Linear discriminant analysis from the statistics of classes, scaled by its leave-one-out likelihood."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from opengcd._internal.class_statistics import ClassStatistics
from opengcd.classify.classifier import softmax_inference

SHRINKAGE = 0.1
"""Of the covariance within classes."""
STEPS = 100
LEAST = 1e-6
"""Scales below this count as 0."""


class Discriminant(NamedTuple):
    r"""Logits :math:`a (w_c \cdot x + b_c)` with :math:`w_c = \Sigma^{-1} \mu_c`, :math:`b_c = -w_c \cdot \mu_c / 2`.

    With :math:`a = 1` they give the posterior of normal distributions with one covariance :math:`\Sigma` and equal
    shares. Features are not normal, and means and covariance are estimates, so that this is overconfident: see
    :func:`fit_discriminant`.
    """

    weight: np.ndarray
    """(C, d) :math:`a w_c`."""
    bias: np.ndarray
    """(C,) :math:`a b_c`."""


def fit_discriminant(statistics: ClassStatistics, X: np.ndarray, codes: np.ndarray) -> Discriminant:
    r"""Return the discriminant of the statistics, scaled by the :math:`a` in [0, 1] of best leave-one-out likelihood.

    Each row is judged by the discriminant of all rows but itself. With :math:`r` its difference from the mean of its
    class of :math:`n` rows, leaving it out changes that difference to :math:`\frac{n}{n-1} r`, and :math:`\Sigma` by
    :math:`-\beta r r^\top`, where :math:`\beta = \frac{(1-\gamma) n}{(n-1)(N-C)}`. By the formula of Sherman and
    Morrison, with :math:`\delta_c` the difference from the mean of class c, the squared distance to it becomes

    .. math:: \delta_c^\top \Sigma^{-1} \delta_c
              + \frac{\beta (r^\top \Sigma^{-1} \delta_c)^2}{1 - \beta r^\top \Sigma^{-1} r}

    The change of the level that the covariance is shrunk towards is neglected.

    Parameters
    ----------
    statistics : ClassStatistics
        Statistics of at least two classes, each with at least one row.
    X, codes : array
        Some of the rows of the statistics, and their class numbers.

    Returns
    -------
    Discriminant

    """
    weight = np.linalg.solve(statistics.covariance(SHRINKAGE), statistics.means.T).T
    bias = -0.5 * (statistics.means * weight).sum(1)
    # The only row of a class cannot be left out.
    several = statistics.counts[codes] > 1
    scale = (
        best_scale(left_out_logits(statistics, X[several], codes[several]), codes[several]) if several.any() else 0.0
    )
    return Discriminant(scale * weight, scale * bias)


def left_out_logits(statistics: ClassStatistics, X: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the logits of each row by the discriminant of all rows but itself; see :func:`fit_discriminant`.

    Parameters
    ----------
    statistics, X, codes
        As for :func:`fit_discriminant`; the class of each row has another row.

    Returns
    -------
    array of shape (n, C)
        Half the negative squared distance to the mean of each class: not scaled.

    """
    X, means = X.astype(np.float64), statistics.means
    inverse = np.linalg.inv(statistics.covariance(SHRINKAGE))
    counts = statistics.counts[codes].astype(np.float64)
    grown = counts / (counts - 1)
    rest = X - means[codes]
    turned, own = rest @ inverse, (np.arange(len(X)), codes)
    squares = ((X @ inverse) * X).sum(1)[:, None] - 2 * X @ (inverse @ means.T) + ((means @ inverse) * means).sum(1)
    products = (turned * X).sum(1)[:, None] - turned @ means.T
    squares[own] *= grown**2
    products[own] *= grown
    beta = (1 - SHRINKAGE) * grown / statistics.freedom
    squares += (beta / np.maximum(1 - beta * (turned * rest).sum(1), SHRINKAGE))[:, None] * products**2
    return -0.5 * squares


def best_scale(logits: np.ndarray, codes: np.ndarray) -> float:
    r"""Return the :math:`a` in [0, 1] that minimises :math:`-\sum_i \log \mathrm{softmax}(a\, g_i)_{y_i}`.

    By Newton's method: the function is convex.

    Parameters
    ----------
    logits : array of shape (n, C)
        The :math:`g_i`.
    codes : int array of shape (n,)
        The :math:`y_i`.

    Returns
    -------
    float

    """
    logits = logits - logits.max(1, keepdims=True)
    right = logits[np.arange(len(logits)), codes]
    scale = 0.1
    for _ in range(STEPS):
        p = softmax_inference(scale * logits).probabilities
        expected = (p * logits).sum(1)
        curvature = float(((p * logits**2).sum(1) - expected**2).mean())
        slope = float((expected - right).mean())
        # Far from the minimum the curvature says little: no step changes the scale by more than a factor of four.
        new = float(np.clip(scale - slope / max(curvature, 1e-12), scale / 4, min(1.0, 4 * scale)))
        if new < LEAST:
            return 0.0
        if abs(new - scale) <= 1e-12 * scale:
            break
        scale = new
    return scale
