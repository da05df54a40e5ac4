"""A score for "unknown" that asks two witnesses: the classifier's doubt, and the distance to every known class."""

from __future__ import annotations

from typing import Any

import numpy as np

from opengcd.classify import fit_classifier, infer
from opengcd.osr._rule import critical_alpha
from opengcd.randomness import Seed, derive, generator, seed_sequence
from opengcd.whitening import WithinClassWhitening


class NoveltyScore:
    r"""How unknown a row looks, in deviations of known rows.

    .. math:: s(x) = \frac{u(x) - \bar u}{\sigma_u} + \frac{d(x) - \bar d}{\sigma_d}, \qquad
              u = 1 - \max_c p_c(x), \quad d = -\max_c \mu_c \cdot z(x)

    with :math:`p` the classifier's probabilities, :math:`z` the whitened row
    (:class:`opengcd.whitening.WithinClassWhitening`) and :math:`\mu_c` the directions of the class means. Means and
    deviations are those of *held-out* labelled rows, in as many folds as asked for: on rows that a model was fitted on,
    it is sure of itself.

    Attributes
    ----------
    known_scores_, known_right_ : array
        Score of every held-out labelled row, and whether its class was found. They say how many known items a
        threshold rejects. Rows that are alone in their class cannot be held out and are not among them.

    """

    def __init__(self, folds: int = 3, shrinkage: float = 0.1, random_state: Seed = None, device: str = "auto") -> None:
        self.folds = folds
        self.shrinkage = shrinkage
        self.random_state = random_state
        self.device = device

    def fit(self, X: np.ndarray, codes: np.ndarray, classifier: Any) -> NoveltyScore:
        """Learn the metric and the spread of both witnesses from labelled rows; ``classifier`` is fitted anew."""
        seed = seed_sequence(self.random_state)
        fold = _folds(codes, self.folds, generator(derive(seed, 0)))
        held_out = np.flatnonzero(fold >= 0)
        witnesses, right = np.zeros((len(X), 2)), np.zeros(len(X), dtype=bool)
        for f in np.unique(fold[held_out]):
            train, test = fold != f, fold == f
            model = fit_classifier(classifier, X[train], codes[train], derive(seed, 1, int(f)), self.device)
            labels, p = infer(model, X[test])
            metric, means = self._metric(X[train], codes[train])
            witnesses[test] = _witnesses(metric, means, X[test], p)
            right[test] = labels == codes[test]
        if not len(held_out):
            raise ValueError("Every class has a single row, so none can be held out; add rows.")
        self.metric_, self.means_ = self._metric(X, codes)
        self.center_ = witnesses[held_out].mean(0)
        deviation = witnesses[held_out].std(0)
        self.scale_ = np.where(deviation > 0, deviation, 1.0)
        self.known_scores_ = self._combine(witnesses[held_out])
        self.known_right_ = right[held_out]
        return self

    def __call__(self, X: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return the score of each row, given the closed-set probabilities of the classifier fitted on all rows."""
        return self._combine(_witnesses(self.metric_, self.means_, X, p))

    def _combine(self, witnesses: np.ndarray) -> np.ndarray:
        total: np.ndarray = ((witnesses - self.center_) / self.scale_).sum(1)
        return total

    def _metric(self, X: np.ndarray, codes: np.ndarray) -> tuple[WithinClassWhitening, np.ndarray]:
        metric = WithinClassWhitening(self.shrinkage, self.device).fit(X, codes)
        return metric, metric.class_directions(X, codes)


def _witnesses(metric: WithinClassWhitening, means: np.ndarray, X: np.ndarray, p: np.ndarray) -> np.ndarray:
    doubt = 1 / (1 + critical_alpha(p))
    return np.stack([doubt, -(metric.transform(X) @ means.T).max(1)], axis=1)


def _folds(codes: np.ndarray, folds: int, rng: np.random.Generator) -> np.ndarray:
    """Deal the rows of each class to the folds; -1 for a row that is alone in its class and must always be fitted."""
    fold = np.full(len(codes), -1)
    for c in np.unique(codes):
        rows = rng.permutation(np.flatnonzero(codes == c))
        if len(rows) > 1:
            fold[rows] = (np.arange(len(rows)) + c) % min(folds, len(rows))
    return fold
