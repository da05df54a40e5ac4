"""The novelty score: the classifier's uncertainty, the distance to the predicted class, and to labelled neighbours."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from opengcd._internal.class_statistics import ClassStatistics
from opengcd._internal.model_folder import ModelFileError
from opengcd._internal.randomness import Seed, derive, generator, seed_sequence
from opengcd._internal.splits import assign_folds, hide_classes
from opengcd._internal.whitening import WithinClassWhitening
from opengcd.classify import Refitting, infer
from opengcd.metrics import harmonic_means
from opengcd.osr.neighbours import NeighbourDistanceRatio
from opengcd.osr.rule import critical_alpha
from opengcd.osr.threshold import MOST_REJECTED, UnknownProfile

FOLDS, FOLDS_OF_FEW = 3, 8
FEW_ROWS = 100
"""If the median class has fewer rows, smaller folds are used: models fitted on too few rows give held-out rows larger
scores than future rows will get."""
REPEATS = 5
SEARCH_ROWS = 5000
WEIGHTS = np.array([1.0, 1.0, 0.5])
"""Weights of the three features. The neighbour distance is the weakest alone, but finds rows that the others miss."""
DEFAULT_REJECTED = 0.05
TRAINED_FACTOR, TRAINED_DEVIATION = 1.5, 0.75
"""Share of truly new rows accepted, relative to that of hidden classes that the network was trained on: mean, and
standard deviation. Measured on other seeds of two datasets than those reported."""
TRAINED_ACCEPTED = 0.7
"""Where more known rows than this are accepted, hidden classes that were trained on tell nothing about new ones."""
NOTHING = 0.5
"""Standard deviation of a share about which nothing is known."""
LEAST_SCORED = 30
"""With fewer rows that the network was not trained on, all labelled rows are scored."""
SHARES = np.linspace(0, 1, 101)
"""Shares of known rows accepted, in the open-set search."""


class NoveltyFeatures(NamedTuple):
    """The three features of the novelty score, as fitted on labelled rows."""

    metric: WithinClassWhitening
    means: np.ndarray
    """(C, d) Directions of the class means in the metric."""
    neighbours: NeighbourDistanceRatio | None
    """None if the distance to labelled neighbours is not used; the feature is then 0."""

    def __call__(self, X: np.ndarray, p: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
        """Return the features of rows.

        Parameters
        ----------
        X : array of shape (n, d)
            Feature vectors.
        p : array of shape (n, C)
            Their closed-set probabilities.
        Z : array of shape (n, d) or None
            The whitened rows; None computes them.

        Returns
        -------
        array of shape (n, 3)
            Uncertainty, distance to the predicted class, and neighbour distance ratio.

        """
        Z = self.metric.transform(X) if Z is None else Z
        uncertainty, distance = 1 / (1 + critical_alpha(p)), -(Z * self.means[p.argmax(1)]).sum(1)
        ratio = self.neighbours(X) if self.neighbours else np.zeros(len(X))
        return np.stack([uncertainty, distance, ratio], axis=1)


class NoveltyScore:
    r"""Unknown score of a row: a weighted sum of three features, each standardised by held-out known rows.

    .. math:: s(x) = \frac{u(x) - \bar u}{\sigma_u} + \frac{d(x) - \bar d}{\sigma_d}
              + \frac{1}{2} \frac{f(x) - \bar f}{\sigma_f}, \qquad
              u = 1 - p_{\hat c}(x), \quad d = -\mu_{\hat c} \cdot z(x), \quad \hat c = \arg\max_c p_c(x)

    with :math:`p` the classifier's probabilities, :math:`z` the whitened row
    (:class:`~opengcd._internal.whitening.WithinClassWhitening`), :math:`\mu_c` the directions of the class means
    and :math:`f` the :class:`NeighbourDistanceRatio`. Means and standard deviations are those of *held-out* labelled
    rows: a model is overconfident on rows that it was fitted on.

    Parameters
    ----------
    folds : int or None
        Number of folds in which rows are held out. None takes 3; where the median class has fewer than 100 rows it
        takes 8, and then extrapolates the scores to models fitted on all rows.
    shrinkage : float
        Of the covariance that is used for whitening.
    whiten : bool
        If False, features are only centred and scaled to unit length.
    neighbours : bool
        Whether the distance to labelled neighbours is used.
    random_state, device
        Seed and torch device.

    Attributes
    ----------
    features_ : NoveltyFeatures
        Fitted on all labelled rows.
    known_scores_, known_right_ : array
        Score of every held-out labelled row, and whether it was classified correctly. They give the share of known
        items that a threshold rejects. A class with a single row has none: it cannot be held out.
    known_rejected_ : float
        The share of known rows to reject that gave the best HNA when some known classes were treated as unknown.
    unknown_ : UnknownProfile
        The share of rows of these classes that was accepted, at every share of known rows accepted.

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

    def fit(
        self,
        X: np.ndarray,
        codes: np.ndarray,
        classifier: Any,
        kept: float = 1.0,
        trained: np.ndarray | None = None,
        found: np.ndarray | None = None,
        statistics: ClassStatistics | None = None,
    ) -> NoveltyScore:
        """Fit features, their standardisation, and the open-set search on labelled rows.

        Parameters
        ----------
        X, codes : array
            Labelled rows and their class numbers from 0.
        classifier : str or estimator
            Fitted from scratch on parts of the rows.
        kept : float
            Share of all labelled rows so far that ``X`` holds, if they were selected to preserve the class means.
        trained : bool array of shape (n,) or None
            Rows that the network was trained on. They lie closer to their class than rows of the stream will, so they
            help to fit the features but are not scored, unless too few others are left.
        found : bool array of shape (n,) or None
            Rows that discovery found. Rows of their class that it missed are less typical; with a network that was
            trained on some rows, found ones are therefore not scored either.
        statistics : ClassStatistics or None
            Of the classes, from these rows and perhaps more, if the classifier is to be fitted with them. Rows that are
            held out are taken out of them.

        Returns
        -------
        NoveltyScore
            The object itself.

        """
        seed = seed_sequence(self.random_state)
        rows = Refitting(X, codes, classifier, statistics, self.device)
        few = np.median(np.bincount(codes)) < FEW_ROWS
        folds = self.folds or (FOLDS_OF_FEW if few else FOLDS)
        # The only row of a class must always be in the training set, so it is in no fold.
        fold = assign_folds(codes, lambda n: min(folds, n) if n > 1 else 0, generator(derive(seed, 0)))
        held_out = fold >= 0
        if not held_out.any():
            raise ValueError("Every class has a single row, so none can be held out; add rows to the classes.")
        trained, found = (np.zeros(len(X), dtype=bool) if mask is None else mask for mask in (trained, found))
        held_out = typical(held_out, trained, found)
        values, right = self._hold_out(rows, fold, derive(seed, 1))
        self.features_, _ = self.fit_features(X, codes)
        self.center_ = values[held_out].mean(0)
        deviation = values[held_out].std(0)
        self.scale_ = np.where(deviation > 0, deviation, 1.0)
        self.known_scores_, self.known_right_ = self._combine(values[held_out]), right[held_out]
        shift = np.zeros(len(SHARES))
        if few and self.folds is None:
            halves = np.where(fold >= 0, fold % 2, -1)
            by_halves = self._combine(self._hold_out(rows, halves, derive(seed, 2))[0][held_out])
            without_choice = extrapolate(self.known_scores_, by_halves)
            self.known_scores_ = extrapolate(self.known_scores_, by_halves, kept)
            shift = np.quantile(self.known_scores_, SHARES) - np.quantile(without_choice, SHARES)
        self.known_rejected_, self.unknown_ = self._search(rows, fold, held_out, trained, shift, derive(seed, 3))
        return self

    def __call__(self, X: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return the score of each row.

        Parameters
        ----------
        X : array of shape (n, d)
            Feature vectors.
        p : array of shape (n, C)
            Their closed-set probabilities, by the classifier fitted on all labelled rows.

        Returns
        -------
        array of shape (n,)

        """
        return self._combine(self.features_(X, p))

    def fit_features(self, X: np.ndarray, codes: np.ndarray) -> tuple[NoveltyFeatures, np.ndarray]:
        """Return the features fitted on labelled rows, and these rows whitened.

        Parameters
        ----------
        X : array of shape (n, d)
            Labelled rows.
        codes : array of shape (n,)
            Their class numbers from 0.

        Returns
        -------
        features : NoveltyFeatures
        Z : array of shape (n, d)
            The whitened rows.

        """
        metric = WithinClassWhitening(self.shrinkage if self.whiten else None, self.device).fit(X, codes)
        Z = metric.transform(X)
        return NoveltyFeatures(metric, metric.class_directions(Z, codes), self._fit_neighbours(X)), Z

    def among(
        self, classes: np.ndarray, features: NoveltyFeatures, X: np.ndarray, p: np.ndarray, Z: np.ndarray
    ) -> np.ndarray:
        """Return the score that rows would get if only some classes were known.

        Parameters
        ----------
        classes : array of shape (K,)
            Numbers of the classes that count as known.
        features : NoveltyFeatures
            Fitted on rows of these classes.
        X : array of shape (n, d)
            Feature vectors.
        p : array of shape (n, C)
            Their closed-set probabilities over all classes; the columns of ``classes`` are scaled to a sum of 1.
        Z : array of shape (n, d)
            The rows, whitened by ``features``.

        Returns
        -------
        array of shape (n,)

        """
        some = p[:, classes] + 1e-12  # they can all be 0 for a row of a hidden class
        return self._combine(features(X, some / some.sum(1, keepdims=True), Z))

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the fitted state."""
        return {
            "origin": self.features_.metric.origin_,
            "map": self.features_.metric.map_,
            "means": self.features_.means,
            "center": self.center_,
            "scale": self.scale_,
            "known_scores": self.known_scores_,
            "known_right": self.known_right_,
            "known_rejected": np.array(self.known_rejected_),
            "unknown": np.stack(self.unknown_),
        }

    def restore(self, stored: dict[str, np.ndarray], X: np.ndarray, n_classes: int) -> None:
        """Set the fitted state; raise :class:`~opengcd.ModelFileError` if its shapes do not fit together.

        Parameters
        ----------
        stored : dict of str to array
            What :meth:`arrays` returned.
        X : array of shape (n, d)
            The labelled rows, among which neighbours are found.
        n_classes : int
            Number of known classes.

        """
        known, width = len(stored["known_scores"]), X.shape[1]
        shapes = {
            "origin": (width,),
            "map": (width, width),
            "means": (n_classes, width),
            "center": (3,),
            "scale": (3,),
            "known_scores": (known,),
            "known_right": (known,),
            "known_rejected": (),
            "unknown": (3, stored["unknown"].shape[-1]),
        }
        if (
            any(stored[name].shape != shape for name, shape in shapes.items())
            or not known
            or not all(np.isfinite(array).all() for array in stored.values())
        ):
            raise ModelFileError("The model is damaged: the score for unknown and the classes do not fit together.")
        metric = WithinClassWhitening(self.shrinkage if self.whiten else None, self.device)
        metric.origin_, metric.map_ = stored["origin"], stored["map"]
        self.features_ = NoveltyFeatures(metric, stored["means"], self._fit_neighbours(X))
        self.center_, self.scale_ = stored["center"], stored["scale"]
        self.known_scores_, self.known_right_ = stored["known_scores"], stored["known_right"].astype(bool)
        self.known_rejected_, self.unknown_ = float(stored["known_rejected"]), UnknownProfile(*stored["unknown"])

    def _fit_neighbours(self, X: np.ndarray) -> NeighbourDistanceRatio | None:
        return NeighbourDistanceRatio(self.device).fit(X) if self.neighbours else None

    def _hold_out(self, rows: Refitting, fold: np.ndarray, seed: Seed) -> tuple[np.ndarray, np.ndarray]:
        """Return the features of each row by models not fitted on it, and whether they classify it correctly."""
        X, codes = rows.X, rows.codes
        values, right = np.zeros((len(X), len(WEIGHTS))), np.zeros(len(X), dtype=bool)
        for f in np.unique(fold[fold >= 0]):
            train, test = fold != f, fold == f
            model = rows.fit(train, test, derive(seed, int(f)))
            labels, p = infer(model, X[test])
            features, _ = self.fit_features(X[train], codes[train])
            values[test] = features(X[test], p)
            right[test] = labels == codes[test]
        return values, right

    def _search(
        self,
        rows: Refitting,
        fold: np.ndarray,
        scored: np.ndarray,
        trained: np.ndarray,
        shift: np.ndarray,
        seed: Seed,
    ) -> tuple[float, UnknownProfile]:
        """Treat a quarter of the classes as unknown, and measure HNA and the share of them accepted at each threshold.

        Thresholds are identified by the share of known rows that they accept: scores depend on the number of classes,
        so a threshold found with fewer classes would not fit. ``shift`` is added to the threshold at each share,
        because the known rows here are selected exemplars, and future rows are not. Only rows in ``scored`` are judged
        as known. If the network was trained on hidden classes, more rows of truly new classes may be accepted: mean and
        spread say so.
        """
        X, codes = rows.X, rows.codes
        number, folds = int(codes.max()) + 1, np.unique(fold[fold >= 0])
        spared = trained.any() and not (trained & scored).any()  # rows that the network was trained on are not judged
        of_trained = np.bincount(codes, trained)[codes] > 0
        hna, accepted, drawn = [], [], []
        for r in range(REPEATS):
            rng = generator(derive(seed, r))
            hidden = np.isin(codes, hide_classes(number, max(1, number // 4), rng).hidden)
            # A fold has few rows that were not trained on: half of all are held out then.
            test = (fold >= 0) & (fold % 2 == r % 2) & scored if spared else fold == folds[r % len(folds)]
            train = rng.permutation(np.flatnonzero(~test & ~hidden))[:SEARCH_ROWS]
            present, renumbered = np.unique(codes[train], return_inverse=True)
            known = np.flatnonzero(test & scored & np.isin(codes, present))
            unknown = np.flatnonzero(hidden & ~(trained & spared))
            if len(present) < 2 or not len(known) or not len(unknown):
                continue
            model = rows.fit(train, test | hidden, derive(seed, r, 0))
            judged = np.concatenate([known, rng.permutation(unknown)[:SEARCH_ROWS]])
            labels, p = infer(model, X[judged])
            features, _ = self.fit_features(X[train], renumbered)
            score = self._combine(features(X[judged], p))
            is_known = np.arange(len(judged)) < len(known)
            cut = np.quantile(score[is_known], SHARES)[:, None]
            aks = ((score <= cut) & (present[labels] == codes[judged]))[:, is_known].mean(1)
            accepted.append((score <= cut + shift[:, None])[:, ~is_known].mean(1))
            hna.append(harmonic_means(aks, 1 - accepted[-1]))
            drawn.append(of_trained[judged[~is_known]].mean())
        if not hna:  # with two classes none can be hidden
            return DEFAULT_REJECTED, UnknownProfile(SHARES, SHARES**2, np.full(len(SHARES), 0.3))
        mean = np.mean(hna, axis=0) * (SHARES >= 1 - MOST_REJECTED)
        spread = np.std(accepted, axis=0, ddof=1) if len(accepted) > 1 else np.full(len(SHARES), 0.3)
        profile = UnknownProfile(SHARES, np.mean(accepted, axis=0), spread)
        if spared:
            profile = _of_new_classes(profile, float(np.mean(drawn)))
        best = len(mean) - 1 - mean[::-1].argmax()  # on a tie, reject least
        rejected = float(1 - SHARES[best]) if mean.max() > 0 else DEFAULT_REJECTED
        return rejected, profile

    def _combine(self, features: np.ndarray) -> np.ndarray:
        total: np.ndarray = (features - self.center_) / self.scale_ @ WEIGHTS
        return total


def _of_new_classes(hidden: UnknownProfile, trained: float) -> UnknownProfile:
    """Return what is expected of classes that no network was trained on, from hidden ones of which a share was."""
    at, accepted, spread = hidden
    wider = np.hypot(spread, trained * TRAINED_DEVIATION * accepted)
    spread = np.where(at > TRAINED_ACCEPTED, np.maximum(spread, trained * NOTHING), wider)
    return UnknownProfile(at, np.minimum((1 + trained * (TRAINED_FACTOR - 1)) * accepted, at), spread)


def typical(held_out: np.ndarray, trained: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Return which held-out rows to score: those that are like rows of known classes to come, if there are enough.

    Without a trained network all of them are: rows that discovery found then score hardly lower than others, and
    leaving them out would only make the shares less precise.

    Parameters
    ----------
    held_out : bool array of shape (n,)
    trained : bool array of shape (n,)
        Rows that the network was trained on.
    found : bool array of shape (n,)
        Rows that discovery found.

    Returns
    -------
    bool array of shape (n,)

    """
    others = held_out & ~trained
    for rows in (others & ~(found & trained.any()), others):
        if rows.sum() >= LEAST_SCORED:
            return np.asarray(rows)
    return held_out


def extrapolate(scores: np.ndarray, by_halves: np.ndarray, kept: float = 1.0) -> np.ndarray:
    """Extrapolate held-out scores to those of a model fitted on all rows.

    A score is modelled as a + b / n, with n the number of training rows. Each quantile is known with 1/8 and with 1/2
    of the rows held out, which determines a and b. Exemplars that were selected to preserve the mean of n / ``kept``
    rows represent all of them; holding out some exemplars shifts the mean of the others away from those held out.
    Scores are then extrapolated to n / ``kept`` rows.
    """
    weight = (1 / (1 - 1 / FOLDS_OF_FEW) - kept) / (2 - 1 / (1 - 1 / FOLDS_OF_FEW))
    order = np.argsort(scores, kind="stable")
    corrected = np.empty_like(scores)
    corrected[order] = np.maximum.accumulate(scores[order] + weight * (scores[order] - np.sort(by_halves)))
    return corrected
