"""A score for "unknown" that asks three witnesses: the classifier's doubt, the class it names, and known neighbours."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from opengcd._internal.randomness import Seed, derive, generator, seed_sequence
from opengcd._internal.whitening import WithinClassWhitening
from opengcd.classify import fit_classifier, infer
from opengcd.metrics import harmonic_means
from opengcd.osr.outlier import LocalOutlierFactor
from opengcd.osr.rule import critical_alpha
from opengcd.osr.threshold import MOST_REJECTED, UnknownProfile

FOLDS, FOLDS_OF_FEW = 3, 8
FEW_ROWS = 100
"""With fewer rows in a typical class, a fold must leave out less, or held-out rows look stranger than those to come."""
REPEATS = 5
SEARCH_ROWS = 5000
WEIGHTS = np.array([1.0, 1.0, 0.5])
"""Of the three witnesses. Neighbours say least alone, but what the others overlook."""
DEFAULT_REJECTED = 0.05
SHARES = np.linspace(0, 1, 101)
"""Shares of known rows accepted, in the open-set search."""


class Witnesses(NamedTuple):
    """What some labelled rows tell of others: the metric, in it the directions of their class means, and neighbours."""

    metric: WithinClassWhitening
    means: np.ndarray
    outlier: LocalOutlierFactor | None
    """None where neighbours are not asked."""

    def __call__(self, X: np.ndarray, p: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
        """Return (n, 3) what they say of rows with these probabilities; ``Z``: the rows in the metric, if at hand."""
        Z = self.metric.transform(X) if Z is None else Z
        doubt, distance = 1 / (1 + critical_alpha(p)), -(Z * self.means[p.argmax(1)]).sum(1)
        alone = self.outlier(X) if self.outlier else np.zeros(len(X))
        return np.stack([doubt, distance, alone], axis=1)


class NoveltyScore:
    r"""How unknown a row looks, in deviations of known rows.

    .. math:: s(x) = \frac{u(x) - \bar u}{\sigma_u} + \frac{d(x) - \bar d}{\sigma_d}
              + \frac{1}{2} \frac{f(x) - \bar f}{\sigma_f}, \qquad
              u = 1 - p_{\hat c}(x), \quad d = -\mu_{\hat c} \cdot z(x), \quad \hat c = \arg\max_c p_c(x)

    with :math:`p` the classifier's probabilities, :math:`z` the whitened row
    (:class:`~opengcd._internal.whitening.WithinClassWhitening`), :math:`\mu_c` the directions of the class means
    and :math:`f` the :class:`LocalOutlierFactor`.
    Means and deviations are those of *held-out* labelled rows: on rows that a model was
    fitted on, it is sure of itself.

    Parameters
    ----------
    folds : int or None
        In how many folds rows are held out; None takes 3, or 8 where classes have fewer than 100 rows, and then
        corrects the scores for what was left out.
    whiten : bool
        Without it, features are only centred and scaled to unit length.
    neighbours : bool
        Whether the third witness is asked.

    Attributes
    ----------
    known_scores_, known_right_ : array
        Score of every held-out labelled row, and whether its class was found. They say how many known items a
        threshold rejects. Rows that are alone in their class cannot be held out and are not among them.
    known_rejected_ : float
        The share of known rows to reject that gave the best HNA when known classes played the unknown.
    unknown_ : UnknownProfile
        How often rows of these classes were accepted, at every share of known rows accepted.

    """

    def __init__(
        self,
        folds: int | None = None,
        shrinkage: float = 0.1,
        whiten: bool = True,
        neighbours: bool = True,
        random_state: Seed = None,
        device: str = "auto",
    ) -> None:
        self.folds = folds
        self.shrinkage = shrinkage
        self.whiten = whiten
        self.neighbours = neighbours
        self.random_state = random_state
        self.device = device

    def fit(self, X: np.ndarray, codes: np.ndarray, classifier: Any, kept: float = 1.0) -> NoveltyScore:
        """Learn the metric and the spread of the witnesses from labelled rows; ``classifier`` is fitted anew.

        ``kept``: the share of all rows of these classes that ``X`` is, if it was chosen so as to keep their means.
        """
        seed = seed_sequence(self.random_state)
        few = np.median(np.bincount(codes)) < FEW_ROWS
        fold = _folds(codes, self.folds or (FOLDS_OF_FEW if few else FOLDS), generator(derive(seed, 0)))
        held_out = fold >= 0
        if not held_out.any():
            raise ValueError("Every class has a single row, so none can be held out; add rows.")
        said, right = self._hold_out(X, codes, classifier, fold, derive(seed, 1))
        self.witnesses_, _ = self.fit_witnesses(X, codes)
        self.center_ = said[held_out].mean(0)
        deviation = said[held_out].std(0)
        self.scale_ = np.where(deviation > 0, deviation, 1.0)
        self.known_scores_, self.known_right_ = self._combine(said[held_out]), right[held_out]
        shift = np.zeros(len(SHARES))
        if few and self.folds is None:
            halves = np.where(held_out, fold % 2, -1)
            by_halves = self._combine(self._hold_out(X, codes, classifier, halves, derive(seed, 2))[0][held_out])
            unchosen = _extrapolate(self.known_scores_, by_halves)
            self.known_scores_ = _extrapolate(self.known_scores_, by_halves, kept)
            shift = np.quantile(self.known_scores_, SHARES) - np.quantile(unchosen, SHARES)
        self.known_rejected_, self.unknown_ = self._search(X, codes, classifier, fold, shift, derive(seed, 3))
        return self

    def __call__(self, X: np.ndarray, p: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
        """Return the score of each row, given the closed-set probabilities of the classifier fitted on all rows.

        ``Z`` are the rows in the metric, if they are at hand.
        """
        return self._combine(self.witnesses_(X, p, Z))

    def fit_witnesses(self, X: np.ndarray, codes: np.ndarray) -> tuple[Witnesses, np.ndarray]:
        """Return what some labelled rows tell of others, and these rows in the metric."""
        metric = WithinClassWhitening(self.shrinkage if self.whiten else None, self.device).fit(X, codes)
        Z = metric.transform(X)
        return Witnesses(metric, metric.class_directions(Z, codes), self.outlier(X)), Z

    def outlier(self, X: np.ndarray) -> LocalOutlierFactor | None:
        """Return the witness that looks at neighbours, if it is asked."""
        return LocalOutlierFactor(self.device).fit(X) if self.neighbours else None

    def among(
        self, classes: np.ndarray, witnesses: Witnesses, X: np.ndarray, p: np.ndarray, Z: np.ndarray
    ) -> np.ndarray:
        """Return the score that rows would get if only ``classes`` were known.

        They are the ones that ``witnesses`` know, in whose metric the rows are ``Z``, and the columns of ``p`` that
        count. What is left of the probabilities is scaled to a sum of 1.
        """
        some = p[:, classes] + 1e-12  # a row that is sure to be of a hidden class says nothing of the others
        return self._combine(witnesses(X, some / some.sum(1, keepdims=True), Z))

    def _hold_out(
        self, X: np.ndarray, codes: np.ndarray, classifier: Any, fold: np.ndarray, seed: Seed
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return what witnesses say of rows that none had seen, and whether their class was found."""
        said, right = np.zeros((len(X), len(WEIGHTS))), np.zeros(len(X), dtype=bool)
        for f in np.unique(fold[fold >= 0]):
            train, test = fold != f, fold == f
            model = fit_classifier(classifier, X[train], codes[train], derive(seed, int(f)), self.device)
            labels, p = infer(model, X[test])
            witnesses, _ = self.fit_witnesses(X[train], codes[train])
            said[test] = witnesses(X[test], p)
            right[test] = labels == codes[test]
        return said, right

    def _search(
        self, X: np.ndarray, codes: np.ndarray, classifier: Any, fold: np.ndarray, shift: np.ndarray, seed: Seed
    ) -> tuple[float, UnknownProfile]:
        """Open-set search: let a quarter of the classes play the unknown, and note what each threshold does.

        Thresholds are told by the share of known rows that they accept: scores depend on the number of classes, and
        a threshold found among fewer would not fit. ``shift`` is by how much they are to be moved at each of these
        shares, because rows to come were not chosen as the known ones here were.
        """
        number, folds = int(codes.max()) + 1, np.unique(fold[fold >= 0])
        hna, accepted = [], []
        for r in range(REPEATS):
            rng = generator(derive(seed, r))
            hidden = np.isin(codes, rng.permutation(number)[: max(1, number // 4)])
            test = fold == folds[r % len(folds)]
            train = rng.permutation(np.flatnonzero(~test & ~hidden))[:SEARCH_ROWS]
            present, renumbered = np.unique(codes[train], return_inverse=True)
            known, unknown = np.flatnonzero(test & np.isin(codes, present)), np.flatnonzero(hidden)
            if len(present) < 2 or not len(known):
                continue
            model = fit_classifier(classifier, X[train], renumbered, derive(seed, r, 0), self.device)
            judged = np.concatenate([known, rng.permutation(unknown)[:SEARCH_ROWS]])
            labels, p = infer(model, X[judged])
            witnesses, _ = self.fit_witnesses(X[train], renumbered)
            score = self._combine(witnesses(X[judged], p))
            is_known = np.arange(len(judged)) < len(known)
            cut = np.quantile(score[is_known], SHARES)[:, None]
            aks = ((score <= cut) & (present[labels] == codes[judged]))[:, is_known].mean(1)
            accepted.append((score <= cut + shift[:, None])[:, ~is_known].mean(1))
            hna.append(harmonic_means(aks, 1 - accepted[-1]))
        if not hna:  # with two classes none can be spared
            return DEFAULT_REJECTED, UnknownProfile(SHARES, SHARES**2, np.full(len(SHARES), 0.3))
        mean = np.mean(hna, axis=0) * (SHARES >= 1 - MOST_REJECTED)
        spread = np.std(accepted, axis=0, ddof=1) if len(accepted) > 1 else np.full(len(SHARES), 0.3)
        best = len(mean) - 1 - mean[::-1].argmax()  # on a tie, reject least
        rejected = float(1 - SHARES[best]) if mean.max() > 0 else DEFAULT_REJECTED
        return rejected, UnknownProfile(SHARES, np.mean(accepted, axis=0), spread)

    def _combine(self, said: np.ndarray) -> np.ndarray:
        total: np.ndarray = (said - self.center_) / self.scale_ @ WEIGHTS
        return total


def _extrapolate(scores: np.ndarray, by_halves: np.ndarray, kept: float = 1.0) -> np.ndarray:
    """Correct held-out scores for what the held-out rows would have taught.

    Scores fall with the number of rows n that were fitted as a + b / n. Both kinds of scores are known at every
    quantile, from 1/8 and from 1/2 of the rows held out, which gives them for all rows. Rows that were chosen so as to
    keep the mean of more of them, n / ``kept``, teach as much as all those, and what is left after some are held out
    has a mean away from them: scores are then those for n / ``kept``.
    """
    weight = (1 / (1 - 1 / FOLDS_OF_FEW) - kept) / (2 - 1 / (1 - 1 / FOLDS_OF_FEW))
    order = np.argsort(scores, kind="stable")
    corrected = np.empty_like(scores)
    corrected[order] = np.maximum.accumulate(scores[order] + weight * (scores[order] - np.sort(by_halves)))
    return corrected


def _folds(codes: np.ndarray, folds: int, rng: np.random.Generator) -> np.ndarray:
    """Deal the rows of each class to the folds; -1 for a row that is alone in its class and must always be fitted."""
    fold = np.full(len(codes), -1)
    for c in np.unique(codes):
        rows = rng.permutation(np.flatnonzero(codes == c))
        if len(rows) > 1:
            fold[rows] = (np.arange(len(rows)) + c) % min(folds, len(rows))
    return fold
