"""Open-set grid search (Mendes Júnior et al. 2022): alpha from labelled data alone."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from opengcd._internal.progress import Progress, silent
from opengcd._internal.randomness import Seed, derive, seed_sequence
from opengcd._internal.splits import split_open_world
from opengcd._internal.validation import check_features, check_integer, check_labels
from opengcd.classify import fit_classifier, infer
from opengcd.metrics import harmonic_means
from opengcd.osr.rule import critical_alpha

DECADES = tuple(10.0**e for e in range(-10, 11))
"""The paper's grid."""
KNOWN_KEPT = 0.95
"""If no class can be treated as unknown, keep this share of the known rows that are correct without rejection."""


class AlphaSearch(NamedTuple):
    """The alpha found, and the mean HNA (or AKS, see ``criterion``) of every alpha of the grid."""

    alpha: float
    grid: np.ndarray
    scores: np.ndarray
    criterion: str


def search_alpha(
    X: Any,
    y: Any,
    classifier: Any = "svm",
    *,
    grid: Sequence[float] = DECADES,
    repeats: int = 5,
    random_state: Seed = None,
    device: str = "auto",
    progress: Progress = silent,
) -> AlphaSearch:
    r"""Find the alpha of :class:`UncertaintyRule` by simulating an open world with the known classes.

    Each repeat takes a random half of the classes as known and the rest as unknown, fits the classifier on half of the
    rows of the former, and measures HNA on their other half and all rows of the latter. The alpha with the best mean
    HNA is returned; on a tie the smallest, which rejects least. A row is rejected by exactly the alphas above
    :math:`\max p / u`, so one fit serves the whole grid.

    With two classes none can be treated as unknown, because a classifier needs two. The result is then the largest
    alpha that keeps 95 % of the held-out rows that are correct without rejection.

    The halves have fewer classes and rows than the model that will use alpha, and confidence depends on both, so the
    alpha found is biased.

    Parameters
    ----------
    X, y : array
        Labelled rows of at least two classes.
    classifier : str or estimator
        Fitted from scratch in every repeat.
    grid : sequence of float
        The alphas to try.
    repeats : int
        Random splits of the classes.
    random_state, device, progress
        Seed, torch device and progress callback.

    Returns
    -------
    AlphaSearch

    """
    X = check_features(X)
    classes, codes = np.unique(check_labels(y, len(X)), return_inverse=True)
    if len(classes) < 2:
        raise ValueError("The search for alpha needs rows of at least two classes.")
    alphas = np.sort(np.asarray(grid, dtype=np.float64))
    if not len(alphas) or not np.isfinite(alphas).all() or (alphas < 0).any():
        raise ValueError("grid must hold finite numbers from 0.")
    seed, open_world = seed_sequence(random_state), len(classes) > 2
    if np.bincount(codes).max() < 2:
        warnings.warn(
            "No class has two rows to search alpha with, so nothing will be rejected; add rows or set alpha.",
            stacklevel=2,
        )
    scores, unrejected = np.zeros((check_integer(repeats, "repeats"), len(alphas))), np.zeros(repeats)
    for r in range(repeats):
        progress("searching alpha", r, repeats)
        fitting, held_out, unknown, number = split_open_world(codes, derive(seed, r))
        model = fit_classifier(classifier, X[fitting], number[codes[fitting]], derive(seed, r, 0), device)
        labels, accepted = _accepted(model, X[held_out], alphas)
        right = (labels == number[codes[held_out]])[:, None]
        unrejected[r] = _share(right)[0]
        aks = scores[r] = _share(accepted & right)
        if open_world:
            aus = 1 - _share(_accepted(model, X[unknown], alphas)[1])
            scores[r] = harmonic_means(aks, aus)
    progress("searching alpha", repeats, repeats)
    mean = scores.mean(0)
    if open_world and mean.max() == 0 and np.bincount(codes).max() > 1:
        warnings.warn(
            "No alpha of the grid separates known and unknown rows, so nothing will be rejected; try another "
            "alpha_grid.",
            stacklevel=2,
        )
    if open_world:
        return AlphaSearch(float(alphas[mean.argmax()]), alphas, mean, "HNA")
    kept = (mean >= KNOWN_KEPT * unrejected.mean()) & (mean > 0)
    return AlphaSearch(float(alphas[kept.nonzero()[0].max(initial=0)]), alphas, mean, "AKS")


def _accepted(model: Any, X: np.ndarray, alphas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the closed-set labels, and which rows each alpha accepts."""
    if not len(X):
        return np.empty(0, dtype=np.int64), np.empty((0, len(alphas)), dtype=bool)
    labels, p = infer(model, X)
    return labels, critical_alpha(p)[:, None] >= alphas


def _share(mask: np.ndarray) -> np.ndarray:
    return mask.sum(0) / max(1, len(mask))
