"""Labelled rows judged by classifiers that were not fitted on them, and the labels that this makes doubtful."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from opengcd._internal.class_statistics import ClassStatistics
from opengcd._internal.progress import Progress, silent
from opengcd._internal.randomness import Seed, derive, generator
from opengcd._internal.splits import assign_folds
from opengcd.classify.inference import fit_classifier, infer

FOLDS = 5
"""Default number of parts of which each is held out once."""
STRENGTH = 0.5
"""Of the doubt about a suspect label, relative to the median agreement with labels."""
LEAST = 1e-12
"""Added to probabilities before they are divided."""


class Refitting(NamedTuple):
    """Labelled rows, and the classifier to fit again on a part of them."""

    X: np.ndarray
    """(n, d) Feature vectors."""
    codes: np.ndarray
    """(n,) Their class numbers."""
    classifier: Any
    """A name or an unfitted estimator."""
    statistics: ClassStatistics | None
    """Of the classes, from these rows and perhaps more."""
    device: str
    """Torch device."""

    def fit(self, rows: np.ndarray, held_out: np.ndarray, seed: Seed) -> Any:
        """Return the classifier fitted on some of the rows alone.

        Parameters
        ----------
        rows : array
            Mask or numbers of the rows to fit on; their classes are renumbered without gaps.
        held_out : bool array of shape (n,)
            Rows that are taken out of the statistics.
        seed : int, SeedSequence or None

        Returns
        -------
        estimator

        """
        present, renumbered = np.unique(self.codes[rows], return_inverse=True)
        statistics = self.statistics
        if statistics is not None:
            out = ClassStatistics.of(self.X[held_out], self.codes[held_out], len(statistics.counts))
            statistics = statistics.without(out).of_classes(present)
        return fit_classifier(self.classifier, self.X[rows], renumbered, seed, self.device, statistics)


def held_out_probabilities(
    rows: Refitting,
    *,
    folds: int = FOLDS,
    together: np.ndarray | None = None,
    random_state: Seed = None,
    progress: Progress = silent,
) -> np.ndarray:
    """Return the class probabilities of labelled rows, each by a classifier that was fitted without it.

    The rows of each class are divided into folds at random, and the rows of each fold are judged by a classifier that
    is fitted on the others (cross-validation).

    Parameters
    ----------
    rows : Refitting
        The labelled rows, and the classifier to fit; classes are numbered from 0 without gaps.
    folds : int
        Number of folds, at least 2.
    together : int array of shape (n,) or None
        Rows of one class with the same number are in the same fold, as near copies must be: a classifier that was
        fitted on a copy knows the answer. None keeps no rows together.
    random_state : int, SeedSequence, Generator or None
        Seed.
    progress : callable
        Called with a stage, the folds done and their number.

    Returns
    -------
    array of shape (n, C)
        NaN for rows of a class that would have no row left to fit on.

    """
    codes, n_classes = rows.codes, int(rows.codes.max()) + 1
    numbers = np.arange(len(codes)) if together is None else np.unique(together, return_inverse=True)[1]
    _, first, unit = np.unique(numbers * n_classes + codes, return_index=True, return_inverse=True)
    fold = assign_folds(
        codes[first], lambda n: min(folds, n) if n > 1 else 0, generator(derive(random_state, 0))
    )[unit]  # fmt: skip
    return _judged(rows, fold, random_state, progress)


def hidden_class_probabilities(
    rows: Refitting, *, folds: int = FOLDS, random_state: Seed = None, progress: Progress = silent
) -> np.ndarray:
    """Return the class probabilities of labelled rows, each by a classifier that was fitted without its class.

    The rows are thus judged as those of a new class would be. The classes are divided into folds at random.

    Parameters
    ----------
    rows : Refitting
        As for :func:`held_out_probabilities`.
    folds : int
        Number of folds; fewer if fewer than twice as many classes are known, since two must stay known.
    random_state : int, SeedSequence, Generator or None
        Seed.
    progress : callable
        Called with a stage, the folds done and their number.

    Returns
    -------
    array of shape (n, C)
        0 for the classes that were hidden; NaN if fewer than four classes are known.

    """
    n_classes = int(rows.codes.max()) + 1
    fold_of_class = np.full(n_classes, -1)
    if n_classes >= 4:
        number = min(folds, n_classes // 2)
        fold_of_class[generator(derive(random_state, 0)).permutation(n_classes)] = np.arange(n_classes) % number
    return _judged(rows, fold_of_class[rows.codes], random_state, progress)


def _judged(rows: Refitting, fold: np.ndarray, random_state: Seed, progress: Progress) -> np.ndarray:
    """Return the probabilities of the rows of each fold by a classifier fitted on all others; NaN in fold -1."""
    n_classes = int(rows.codes.max()) + 1
    p = np.full((len(rows.codes), n_classes), np.nan)
    parts = np.unique(fold[fold >= 0]).tolist()
    for done, f in enumerate(parts):
        progress("judging held-out images", done, len(parts))
        test = fold == f
        present = np.unique(rows.codes[~test])
        p[test] = 0.0
        p[np.ix_(test, present)] = infer(rows.fit(~test, test, derive(random_state, 1, f)), rows.X[test]).probabilities
    progress("judging held-out images", len(parts), len(parts))
    return p


class SuspectLabels(NamedTuple):
    """How doubtful the labels of n rows are by their held-out probabilities."""

    other: np.ndarray
    """(n,) The number of the most likely other class."""
    doubt: np.ndarray
    """(n,) The logarithm of its probability divided by that of the label: the larger, the more doubtful the label."""
    suspect: np.ndarray
    """(n,) Whether the label is probably wrong."""


def suspect_labels(p: np.ndarray, codes: np.ndarray) -> SuspectLabels:
    r"""Return the rows whose label is probably wrong, by their held-out probabilities.

    In the spirit of confident learning (Northcutt et al., 2021), labels are compared with what a classifier says that
    was not fitted on them. The doubt of a row :math:`x` with label :math:`y` is

    .. math:: d(x) = \log \frac{\max_{j \ne y} \hat p_j(x)}{\hat p_y(x)},

    negative where the classifier agrees with the label. A label is suspect if the doubt is at least half as strong as
    the median agreement. So the limit follows how sure the classifier is:

    .. math:: d(x) \ge \tfrac12 \, \mathrm{median} \{ -d(x') : d(x') < 0 \}

    Parameters
    ----------
    p : array of shape (n, C)
        Held-out class probabilities, as of :func:`held_out_probabilities`; rows of NaN are never suspect.
    codes : int array of shape (n,)
        The labels, numbered from 0.

    Returns
    -------
    SuspectLabels

    References
    ----------
    C. Northcutt, L. Jiang and I. Chuang, "Confident learning: Estimating uncertainty in dataset labels", JAIR 70, 2021,
    https://arxiv.org/abs/1911.00068

    Examples
    --------
    >>> import numpy as np
    >>> p = np.array([[0.8, 0.2], [0.4, 0.6], [0.1, 0.9], [0.2, 0.8], [0.2, 0.8]])
    >>> found = suspect_labels(p, np.array([0, 0, 0, 1, 1]))
    >>> found.suspect.tolist(), np.exp(found.doubt).round(1).tolist()
    ([False, False, True, False, False], [0.3, 1.5, 9.0, 0.3, 0.3])

    """
    rows, judged = np.arange(len(codes)), np.isfinite(p).all(1)
    known = np.where(judged[:, None], p, 0.0)
    own, rivals = known[rows, codes], known.copy()
    rivals[rows, codes] = -1.0
    other = rivals.argmax(1)
    doubt = np.log((known[rows, other] + LEAST) / (own + LEAST))
    agreed = judged & (doubt < 0)
    limit = STRENGTH * np.median(-doubt[agreed]) if agreed.any() else np.inf
    return SuspectLabels(other, doubt, judged & (doubt >= limit))
