"""The open-world loop on feature vectors: recognise, discover, learn, from one phase to the next."""

from __future__ import annotations

import copy
import os
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from opengcd import persistence
from opengcd.classify import CLASSIFIERS, Inference, check_classifier, fit_classifier, infer, name_rows
from opengcd.discover import ClassNumberEstimate, Discovery, arrange, estimate_class_number, ss_kmeans
from opengcd.kernels import resolve_device
from opengcd.memory import ExemplarMemory, Selector, check_selector
from opengcd.osr import AlphaSearch, UncertaintyRule, check_alpha, critical_alpha, search_alpha
from opengcd.presets import Preset, resolve_preset
from opengcd.progress import Progress, silent
from opengcd.randomness import Seed, derive, seed_sequence
from opengcd.validation import (
    check_features,
    check_integer,
    check_labels,
    encode,
    refuse_unknown_label,
    unknown_label,
)

MEMORY, CLASSIFIER, ALPHA, NUMBER, GROUPS = range(5)
"""The steps of a phase; each has a seed of its own, so that none disturbs another."""


class Recognition(NamedTuple):
    """What the recogniser says of n rows."""

    labels: np.ndarray
    """(n,) A known class, or ``unknown_label_``."""
    closed: np.ndarray
    """(n,) The known class that each row would get if none were rejected."""
    unknown_score: np.ndarray
    """(n,) u of Eq. 1: every alpha rejects just the rows above some value."""
    probabilities: np.ndarray
    """(n, C + 1) Eq. 3: column 0 is "unknown", then ``classes_``."""


class OpenWorldRecognizer(BaseEstimator):
    """Name what is known, reject what is not, group what was rejected, and learn the new classes.

    Parameters
    ----------
    classifier : str or estimator
        ``"svm"``, ``"mlp"``, ``"xgb"``, or any scikit-learn classifier with ``predict_proba``.
    memory_size : int or None
        Number of exemplars kept for all classes together; None keeps as many as ``fit`` is given (the paper's choice).
    selector : str or callable
        How exemplars are chosen; see :func:`opengcd.memory.select_exemplars`.
    alpha : float or "search"
        Weight of uncertainty in the open-set rule; see :func:`opengcd.osr.search_alpha`.
    preset : str or Preset
        ``"paper"``; ``"robust"``, with a search for the number of classes that does not get stuck; ``"authors"``, with
        the search, effort and training lengths of the paper's code (see :mod:`opengcd.presets`).
    max_classes : int
        Largest number of classes, known and novel, that ``discover`` tries.
    device : str
        ``"auto"``, ``"cpu"`` or ``"cuda"``.
    random_state : int, Generator or None
        The same integer gives the same results.

    Attributes
    ----------
    classes_ : array
        Known classes: sorted after ``fit``; those learnt later follow, so that columns keep their place.
    unknown_label_ : int or str
        ``-1`` beside integer labels, ``"unknown"`` beside strings.
    memory_ : ExemplarMemory
    alpha_ : float
    alpha_search_ : AlphaSearch or None
        The scores of all alphas tried, unless alpha was given.
    phase_ : int
        1 after ``fit``; one more after each ``learn``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(500, n_features=8, centers=5, cluster_std=0.5, random_state=0)
    >>> recognizer = OpenWorldRecognizer(random_state=0).fit(X[y < 3], y[y < 3])
    >>> stream = X[y >= 3]
    >>> rejected = stream[recognizer.predict(stream) == recognizer.unknown_label_]
    >>> found = recognizer.discover(rejected, k=5)
    >>> recognizer.learn(rejected, found.labels).classes_.tolist()
    [0, 1, 2, 3, 4]

    """

    def __init__(
        self,
        classifier: Any = "svm",
        memory_size: int | None = None,
        selector: Selector = "ds3",
        alpha: float | str = "search",
        preset: str | Preset = "paper",
        max_classes: int = 500,
        device: str = "auto",
        random_state: Seed = None,
    ) -> None:
        self.classifier = classifier
        self.memory_size = memory_size
        self.selector = selector
        self.alpha = alpha
        self.preset = preset
        self.max_classes = max_classes
        self.device = device
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, progress: Progress = silent) -> Self:
        """Start at phase 1 from labelled rows: fill the memory, fit the classifier on it, find alpha."""
        X = check_features(X)
        y = check_labels(y, len(X))
        refuse_unknown_label(y)
        classes = np.unique(y)
        if len(classes) < 2:
            raise ValueError(
                f"A recogniser needs at least two known classes, but y holds only {classes[0]!r}; "
                "add rows of another class (a catch-all class will do)."
            )
        seed = seed_sequence(self.random_state)
        memory = ExemplarMemory(self.memory_size, self.selector, derive(seed, MEMORY), self.device)
        self._enter_phase(1, seed, classes, memory, X, y, progress)
        return self

    def learn(self, X: Any, y: Any, *, progress: Progress = silent) -> Self:
        """Enter the next phase with newly labelled rows, of new classes or more of old ones (Sec. 3.6).

        The exemplars and ``X`` are merged, the memory is balanced again, and everything is fitted from scratch. If
        anything fails on the way, the recogniser stays as it was.
        """
        check_is_fitted(self)
        X = check_features(X, width=self.n_features_in_)
        y = check_labels(y, len(X), like=self.classes_)
        refuse_unknown_label(y)
        classes = np.concatenate([self.classes_, np.setdiff1d(y, self.classes_)])
        memory = copy.copy(self.memory_)
        memory.selector, memory.device = self.selector, self.device
        if self.memory_size is not None:
            memory.size = self.memory_size
        self._enter_phase(self.phase_ + 1, self._seed, classes, memory, X, y, progress)
        return self

    def recognize(self, X: Any) -> Recognition:
        """Return all that can be said of each row, from one pass of the classifier (Sec. 3.4).

        A row is rejected by its probabilities. An accepted row gets the classifier's own label, which for the SVM is
        the winner of the votes and, where classes are close, not always the class with the largest probability.
        """
        codes, p = self._infer(X)
        rule = UncertaintyRule(self.alpha_)
        closed = self.classes_[codes]
        labels = closed.astype(np.result_type(closed, np.asarray(self.unknown_label_)))
        labels[rule.rejects(p)] = self.unknown_label_
        return Recognition(labels, closed, 1 / (1 + critical_alpha(p)), rule.probabilities(p))

    def predict(self, X: Any) -> np.ndarray:
        """Return the label of each row: a known class, or ``unknown_label_``."""
        return self.recognize(X).labels

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of Eq. 3: column 0 is "unknown", then ``classes_``."""
        return self.recognize(X).probabilities

    def unknown_score(self, X: Any) -> np.ndarray:
        """Return how unknown each row looks, u of Eq. 1: every alpha rejects just the rows above some value."""
        return self.recognize(X).unknown_score

    def predict_closed(self, X: Any) -> np.ndarray:
        """Return the known class of each row, rejecting nothing."""
        check_is_fitted(self)
        X = check_features(X, width=self.n_features_in_, min_rows=0, single=True)
        return self.classes_[name_rows(self._model, X) if len(X) else np.empty(0, dtype=np.int64)]

    def discover(self, X: Any, k: int | None = None, *, progress: Progress = silent) -> Discovery:
        """Group rejected rows; those that look like a known class return to it (Sec. 3.5).

        ``k`` is the number of classes, known ones included; without it, it is estimated.
        """
        check_is_fitted(self)
        X = check_features(X, width=self.n_features_in_, min_rows=0)
        preset = resolve_preset(self.preset)
        exemplars, codes = self.memory_.X, encode(self.memory_.y, self.classes_)
        if k is not None:
            k = check_integer(k, "k", least=None)
            estimate = ClassNumberEstimate(k, [], True, "", k)
        else:
            estimate = estimate_class_number(
                exemplars,
                codes,
                X,
                max_classes=self.max_classes,
                objective=preset.objective,
                search=preset.search,
                random_state=derive(self._seed, self.phase_, NUMBER),
                n_init=preset.n_init,
                max_iter=preset.max_iter,
                device=self.device,
                progress=progress,
            )
        progress("grouping", 0, 1)
        found = ss_kmeans(
            exemplars,
            codes,
            X,
            estimate.k,
            n_init=preset.n_init,
            max_iter=preset.max_iter,
            random_state=derive(self._seed, self.phase_, GROUPS),
            device=self.device,
        )
        progress("grouping", 1, 1)
        return arrange(X, self.classes_, found, estimate)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the recogniser to a folder: JSON, safetensors, XGBoost's own format; no pickle.

        A classifier or selector that is not ours is not stored; :meth:`load` must be given it again.
        """
        check_is_fitted(self)
        persistence.save(self, path)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        classifier: Any = None,
        selector: Selector | None = None,
        device: str = "auto",
    ) -> Self:
        """Read a recogniser that :meth:`save` wrote; nothing in the folder is executed.

        XGBoost reads its trees itself, and a crafted file can crash it: take such folders from people you trust.
        ``classifier`` and ``selector`` are needed only if the saved recogniser had one of the user's own. The
        classifier is then fitted again on the stored exemplars, as after every phase.
        """
        recognizer: Self = persistence.load(cls, path, classifier=classifier, selector=selector, device=device)
        if recognizer._model is None:
            memory, codes = recognizer.memory_, encode(recognizer.memory_.y, recognizer.classes_)
            recognizer._model = recognizer._fit_classifier(memory, codes, recognizer._seed, recognizer.phase_)
        return recognizer

    def _enter_phase(
        self,
        phase: int,
        seed: np.random.SeedSequence,
        classes: np.ndarray,
        memory: ExemplarMemory,
        X: np.ndarray,
        y: np.ndarray,
        progress: Progress,
    ) -> None:
        """Do all that can fail first, then change the recogniser."""
        self._check_settings(len(classes))
        preset = resolve_preset(self.preset)
        progress("selecting exemplars", 0, 1)
        memory.update(X, y)
        progress("selecting exemplars", 1, 1)
        codes = encode(memory.y, classes)
        progress("fitting the classifier", 0, 1)
        model = self._fit_classifier(memory, codes, seed, phase)
        progress("fitting the classifier", 1, 1)
        search = None
        if self.alpha == "search":
            search = search_alpha(
                memory.X,
                codes,
                self._classifier(),
                grid=preset.alpha_grid,
                repeats=preset.alpha_repeats,
                random_state=derive(seed, phase, ALPHA),
                device=self.device,
                progress=progress,
            )
        alpha = float(self.alpha) if search is None else search.alpha
        self._become(phase, seed, classes, memory, model, alpha, search)

    def _check_settings(self, classes: int) -> None:
        resolve_preset(self.preset)
        resolve_device(self.device)
        check_selector(self.selector)
        check_classifier(self.classifier)
        if self.alpha != "search":
            check_alpha(self.alpha)
        if self.memory_size is not None:
            check_integer(self.memory_size, "memory_size")
        if check_integer(self.max_classes, "max_classes") < classes:
            raise ValueError(f"max_classes={self.max_classes} is less than the {classes} known classes; raise it.")

    def _become(
        self,
        phase: int,
        seed: np.random.SeedSequence,
        classes: np.ndarray,
        memory: ExemplarMemory,
        model: Any,
        alpha: float,
        search: AlphaSearch | None,
    ) -> None:
        self.phase_, self._seed, self.classes_, self.memory_, self._model = phase, seed, classes, memory, model
        self.alpha_, self.alpha_search_ = alpha, search
        self.unknown_label_ = unknown_label(classes)
        self.n_features_in_ = memory.X.shape[1]

    def _fit_classifier(
        self, memory: ExemplarMemory, codes: np.ndarray, seed: np.random.SeedSequence, phase: int
    ) -> Any:
        return fit_classifier(self._classifier(), memory.X, codes, derive(seed, phase, CLASSIFIER), self.device)

    def _classifier(self) -> Any:
        """The classifier to fit, with the settings that the preset has for it."""
        if not isinstance(self.classifier, str):
            return self.classifier
        settings = resolve_preset(self.preset).classifier_settings.get(self.classifier)
        return CLASSIFIERS[self.classifier](**settings, device=self.device) if settings else self.classifier

    def _infer(self, X: Any) -> Inference:
        check_is_fitted(self)
        X = check_features(X, width=self.n_features_in_, min_rows=0, single=True)
        if not len(X):
            return Inference(np.empty(0, dtype=np.int64), np.empty((0, len(self.classes_))))
        return infer(self._model, X)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "phase_")
