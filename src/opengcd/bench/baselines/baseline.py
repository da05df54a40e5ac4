"""What the five baselines share: classes, exemplars, parameter search, rejection, discovery, saving and loading."""

from __future__ import annotations

import copy
import os
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from opengcd import __version__
from opengcd._internal import kernels
from opengcd._internal.model_folder import ModelFileError, read_model, reporting_damage, restore_classes, write_model
from opengcd._internal.part import State
from opengcd._internal.progress import Progress, silent
from opengcd._internal.randomness import (
    Seed,
    derive,
    generator,
    integer_seed,
    seed_from_json,
    seed_sequence,
    seed_to_json,
)
from opengcd._internal.run import Run
from opengcd._internal.splits import RowSplit, hold_out_share, split_open_world
from opengcd._internal.validation import (
    check_features,
    check_first_classes,
    check_integer,
    check_labels,
    encode,
    refuse_unknown_label,
    unknown_label,
)
from opengcd.bench.baselines.grid_search import (
    HELD_OUT,
    SEARCH,
    SHARES,
    Decision,
    OpenTrial,
    Range,
    Trial,
    coordinate_search,
    decide,
    judge_thresholds,
    thresholds_at,
)
from opengcd.bench.open_world_method import FittedParameters, OpenWorldMethod, Predictions
from opengcd.classify import Labelled
from opengcd.discover import ClassCount, Discovery, KMeansDiscovery
from opengcd.memory import ExemplarMemory, Selector

MEMORY, TRAINING, LEARNING, REJECTION_SEARCH, NUMBER, GROUPS = range(6)
"""Steps of a phase, each with its own seed."""
OPEN_TRIALS = 5
"""Number of simulated open worlds in the search for the parameter of rejection."""


class NearestToMean:
    """The exemplar rule of NNO, DeepNNO and B-DOC: rows of a class by their distance to its mean, nearest first."""

    nested = True

    def __init__(self, space: Callable[[np.ndarray], np.ndarray]) -> None:
        self.space = space

    def __call__(self, X: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
        """Return the k rows nearest the mean."""
        Z = self.space(X).astype(np.float64)
        return np.argsort(np.linalg.norm(Z - Z.mean(0), axis=1), kind="stable")[:k]


class Baseline(OpenWorldMethod, BaseEstimator):
    """An open-world method that scores every known class and rejects rows that no class accepts.

    A class accepts a row if its score is above a threshold. Parameters that are ``"search"`` are found from labelled
    rows: those of learning once, by accuracy on held-out rows, one after the other; the one of rejection in each phase,
    by HNA in simulated open worlds with half of the classes as unknown (:func:`opengcd.osr.split_open_world`).

    Attributes
    ----------
    classes_ : array
        Known classes: sorted after ``fit``; those learnt later follow.
    unknown_label_ : int or str
        ``-1`` beside integer labels, ``"unknown"`` beside strings.
    settings_ : dict
        The parameters in use, given or found.
    search_ : list of Trial
        All values tried, in all phases.
    threshold_ : array
        Of the scores: one for all classes, or one each.
    memory_ : ExemplarMemory
    phase_ : int
        1 after ``fit``; one more after each ``learn``.

    """

    RANGES: ClassVar[dict[str, Range]]
    """Parameters of learning, in the order in which they are searched."""
    BETWEEN_PHASES: ClassVar[tuple[str, ...]] = ()
    """Those of them that matter only when classes are learnt later."""
    REJECTION: ClassVar[str]
    """The parameter of rejection."""
    REJECTION_VALUES: ClassVar[tuple[float, ...]] = ()
    """Its grid; without one, thresholds that reject 0, 1, ... 100 % of known rows are tried."""
    SEARCH_ROWS: ClassVar[int | None] = None
    """Largest number of rows used in the search for the parameters of learning, the same for each class."""
    STRICT: ClassVar[bool] = True
    """Whether a class accepts only scores above its threshold, or equal ones too."""
    ARRAYS: ClassVar[tuple[str, ...]]
    """Names of the fitted arrays."""

    memory_size: int | None
    search_again: bool
    max_classes: int
    device: str
    random_state: Seed

    def fit(self, X: Any, y: Any, *, progress: Progress = silent) -> Self:
        """Start from labelled rows of the first known classes."""
        X, y, classes = check_first_classes(X, y)
        draft = copy.copy(self)
        draft._start(classes, X.shape[1], seed_sequence(self.random_state))
        draft._check_settings()
        draft._search_learning(X, encode(y, classes), progress)
        draft._take_in(X, y, progress)
        draft._refuse_divergence()
        draft._set_threshold(progress)
        self.__dict__.update(draft.__dict__)
        return self

    def learn(self, X: Any, y: Any, *, progress: Progress = silent) -> Self:
        """Learn from newly labelled rows, of new classes or of old ones.

        If anything fails, the baseline stays as it was.
        """
        check_is_fitted(self)
        X = check_features(X, width=self.n_features_in_)
        y = check_labels(y, len(X), like=self.classes_)
        refuse_unknown_label(y)
        draft = copy.copy(self)
        draft.classes_ = np.concatenate([self.classes_, np.setdiff1d(y, self.classes_)])
        draft.phase_ += 1
        draft.memory_, draft.settings_ = copy.copy(self.memory_), dict(self.settings_)
        draft._check_settings()
        draft._take_in(X, y, progress)
        draft._refuse_divergence()
        draft._set_threshold(progress)
        self.__dict__.update(draft.__dict__)
        return self

    def recognize(self, X: Any) -> Predictions:
        """Return labels with and without rejection and the unknown score, from one pass."""
        decision = self._decision(X)
        closed = self.classes_[decision.closed]
        labels = closed.astype(np.result_type(closed, np.asarray(self.unknown_label_)))
        accepted = decision.codes >= 0
        labels[accepted] = self.classes_[decision.codes[accepted]]
        labels[~accepted] = self.unknown_label_
        return Predictions(labels, closed, decision.unknown_score)

    def predict(self, X: Any) -> np.ndarray:
        """Return the label of each row.

        Parameters
        ----------
        X : array of shape (n, d)
            Feature vectors.

        Returns
        -------
        array of shape (n,)
            A known class, or ``unknown_label_``.

        """
        return self.recognize(X).labels

    def predict_closed(self, X: Any) -> np.ndarray:
        """Return the known class of each row, rejecting nothing."""
        return self.classes_[self._decision(X).closed]

    def unknown_score(self, X: Any) -> np.ndarray:
        """Return how unknown each row looks; rejected rows have the largest scores.

        Parameters
        ----------
        X : array of shape (n, d)
            Feature vectors.

        Returns
        -------
        array of shape (n,)

        """
        return self._decision(X).unknown_score

    def exemplars(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows that are remembered, (m, d), and their classes, (m,)."""
        check_is_fitted(self)
        return self.memory_.X, self.memory_.y

    def discover(self, X: Any, k: int | None = None, *, progress: Progress = silent) -> Discovery:
        """Group rejected rows as the paper does (Sec. 3.5).

        Parameters
        ----------
        X : array of shape (n, d)
            The rejected rows of a stream.
        k : int or None
            Number of classes, known ones included; None estimates it.
        progress : callable
            Called with a stage, the steps done and their total.

        Returns
        -------
        Discovery

        """
        check_is_fitted(self)
        X = check_features(X, width=self.n_features_in_, min_rows=0)
        seen = np.array([self.memory_.seen[c] for c in self.classes_.tolist()])
        labelled = Labelled(self.memory_.X, encode(self.memory_.y, self.classes_), self.classes_, seen)
        count = ClassCount(None if k is None else check_integer(k, "k", least=None), self.max_classes)
        run = Run(derive(self._seed, self.phase_), self.device, progress)
        return KMeansDiscovery().group(labelled, X, count, run.at(NUMBER), run.at(GROUPS))

    def fitted_parameters(self) -> FittedParameters:
        """Return ``settings_``."""
        return FittedParameters(self.settings_)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the baseline to a folder: JSON and safetensors, no pickle.

        Parameters
        ----------
        path : path
            The folder of the model.

        """
        check_is_fitted(self)
        memory = self.memory_.state(self.classes_)
        parameters = {name: value for name, value in self.get_params().items() if name != "device"}
        header = {
            "kind": type(self).__name__,
            "opengcd_version": __version__,
            "classes": self.classes_.tolist(),
            "phase": self.phase_,
            "seed": seed_to_json(self._seed),
            "memory": memory.header,
            "parameters": parameters | {"random_state": integer_seed(self.random_state)},
            "settings": self.settings_,
            "search": self.search_,
        }
        arrays = memory.arrays | {
            f"fitted.{name}": np.asarray(getattr(self, name)) for name in (*self.ARRAYS, "threshold_")
        }
        write_model(path, header, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, device: str = "auto") -> Self:
        """Read what :meth:`save` wrote; nothing in the folder is executed.

        Parameters
        ----------
        path : path
            The folder of the model.
        device : str
            Torch device.

        Returns
        -------
        Baseline

        Raises
        ------
        ModelFileError
            If the folder holds no model of this class, or a damaged one.

        """
        kernels.resolve_device(device)
        header, arrays, _ = read_model(path, cls.__name__)
        with reporting_damage(path):
            model = cls(**header["parameters"], device=device)
            classes = restore_classes(header["classes"])
            seed = seed_from_json(header["seed"])
            for name in (*cls.ARRAYS, "threshold_"):
                setattr(model, name, arrays[f"fitted.{name}"])
            model._start(classes, arrays["memory.X"].shape[1], seed, header["settings"])
            model.phase_ = check_integer(header["phase"], "phase")
            model._check_settings()
            model.search_ = [Trial(*trial) for trial in header["search"]]
            model.memory_ = ExemplarMemory.restore(State(header["memory"], arrays), classes, model._selector(), device)
            whole = model.scores(model.memory_.X[:1]).shape == (1, len(classes))
            if not whole or model.threshold_.shape not in ((), (len(classes),)):
                raise ModelFileError(f"{path} is damaged: its arrays and classes do not match.")
        return model

    # To be implemented by each baseline.

    @abstractmethod
    def _learn(self, X: np.ndarray, codes: np.ndarray, progress: Progress) -> None:
        """Learn from rows, of known or new classes; ``memory_`` still holds the exemplars of the previous phase."""

    @abstractmethod
    def scores(self, X: np.ndarray) -> np.ndarray:
        """Return the scores of the known classes; the largest is the class without rejection.

        Parameters
        ----------
        X : array of shape (n, d)
            Feature vectors.

        Returns
        -------
        array of shape (n, C)

        """

    @abstractmethod
    def to_threshold(self, value: float) -> float | np.ndarray:
        """Return the threshold of the scores for a value of the parameter of rejection.

        Parameters
        ----------
        value : float
            Of the parameter that ``REJECTION`` names.

        Returns
        -------
        float or array of shape (C,)
            One for all classes, or one for each.

        """

    def from_threshold(self, threshold: float) -> float:
        """Return the value of the parameter of rejection for a threshold: the inverse of :meth:`to_threshold`.

        Parameters
        ----------
        threshold : float
            Of the scores.

        Returns
        -------
        float

        """
        raise NotImplementedError

    @abstractmethod
    def _selector(self) -> Selector:
        """Return the exemplar rule."""

    def _after_selection(self) -> None:
        """Do what needs the newly selected exemplars; nothing by default."""

    # The phases.

    def _start(
        self, classes: np.ndarray, width: int, seed: np.random.SeedSequence, settings: dict[str, Any] | None = None
    ) -> None:
        self.phase_, self._seed, self.classes_ = 1, seed, classes
        self.unknown_label_, self.n_features_in_ = unknown_label(classes), width
        self.settings_: dict[str, Any] = dict(settings or {})
        self.search_: list[Trial] = []
        self.memory_ = ExemplarMemory(
            self.memory_size, self._selector(), derive(seed, MEMORY), self.device, rank_once=True
        )

    def _take_in(self, X: np.ndarray, y: np.ndarray, progress: Progress = silent) -> None:
        """Learn from rows, then choose exemplars."""
        progress("learning", 0, 1)
        self._learn(X, encode(y, self.classes_), progress)
        self.memory_.selector, self.memory_.device = self._selector(), self.device
        if self.memory_size is not None:
            self.memory_.size = self.memory_size
        self.memory_.update(X, y)
        self._after_selection()
        progress("learning", 1, 1)

    def _refuse_divergence(self) -> None:
        if not np.isfinite(self.scores(self.memory_.X[:1])).all():
            raise ValueError(f"The training of {type(self).__name__} diverged; choose a smaller step or learning rate.")

    def _trial(self, settings: dict[str, Any], X: np.ndarray, codes: np.ndarray, seed: Seed) -> Self:
        """Return a new baseline with these settings, fitted on encoded classes without any search."""
        model = clone(self).set_params(memory_size=None)
        model._start(np.arange(int(codes.max()) + 1), X.shape[1], seed_sequence(seed), settings)
        model._take_in(X, codes)
        return model

    def _search_learning(self, X: np.ndarray, codes: np.ndarray, progress: Progress) -> None:
        """Find the parameters of learning, by accuracy."""
        given = {name: getattr(self, name) for name in self.RANGES}
        total = sum(len(self.RANGES[name].values) for name, value in given.items() if value == SEARCH)
        seed = derive(self._seed, LEARNING)
        known: dict[tuple[Any, ...], float] = {}
        if self.SEARCH_ROWS is not None and len(X) > self.SEARCH_ROWS:
            part = ExemplarMemory(max(self.SEARCH_ROWS, len(self.classes_)), "random", derive(seed, 1))
            rows = part.update(X, codes)
            X, codes = X[rows], codes[rows]
        split = hold_out_share(codes, HELD_OUT, generator(seed))
        stage = "searching the parameters of learning"

        def score(settings: dict[str, Any], name: str) -> float:
            key = (name in self.BETWEEN_PHASES, *settings.values())
            if key not in known:
                progress(stage, min(len(known), total), total)
                known[key] = self._accuracy(settings, name, X, codes, split, derive(seed, 0))
            return known[key]

        if total and not len(split.held_out):
            raise ValueError(
                "No class has two rows, so nothing can be searched for; give every parameter, or more rows."
            )
        self.settings_, tried = coordinate_search(self.RANGES, given, score)
        if total:
            progress(stage, total, total)
        self.search_ = [Trial(self.phase_, name, value, "accuracy", got) for name, value, got in tried]

    def _accuracy(
        self,
        settings: dict[str, Any],
        name: str,
        X: np.ndarray,
        codes: np.ndarray,
        split: RowSplit,
        seed: Seed,
    ) -> float:
        """Accuracy on held-out rows; for ``BETWEEN_PHASES``, half of the classes are learnt in a second phase."""
        fitting, held_out = split
        if name not in self.BETWEEN_PHASES:
            model = self._trial(settings, X[fitting], codes[fitting], seed)
        else:
            first = codes[fitting] < -(-(int(codes.max()) + 1) // 2)
            model = self._trial(settings, X[fitting[first]], codes[fitting[first]], seed)
            model.memory_.size = int(first.sum())
            model.classes_, model.phase_ = np.arange(int(codes.max()) + 1), 2
            model._take_in(X[fitting[~first]], codes[fitting[~first]])
        scores = model.scores(X[held_out])
        return float((scores.argmax(1) == codes[held_out])[np.isfinite(scores).all(1)].sum() / len(held_out))

    def _set_threshold(self, progress: Progress) -> None:
        """Take the parameter of rejection as it was given, or find it by simulating open worlds with the exemplars."""
        name, value = self.REJECTION, getattr(self, self.REJECTION)
        if value == SEARCH and not self.search_again and name in self.settings_:
            value = self.settings_[name]
        if value != SEARCH:
            self.settings_[name], self.threshold_ = value, np.asarray(self.to_threshold(value))
            return
        X, codes = self.memory_.X, encode(self.memory_.y, self.classes_)
        seed = derive(self._seed, self.phase_, REJECTION_SEARCH)
        models, trials = [], []
        for r in range(OPEN_TRIALS):
            progress("searching the threshold", r, OPEN_TRIALS + 1)
            fitting, held_out, unknown, number = split_open_world(codes, derive(seed, r))
            model = self.open_world_model(X[fitting], number[codes[fitting]], derive(seed, r, 0))
            models.append(model)
            known, foreign = (model.scores(X[rows]) for rows in (held_out, unknown))
            trials.append(OpenTrial(known, number[codes[held_out]], foreign))
        progress("searching the threshold", OPEN_TRIALS, OPEN_TRIALS + 1)
        values = self.REJECTION_VALUES or SHARES
        if self.REJECTION_VALUES:
            thresholds = [[model.to_threshold(value) for value in values] for model in models]
        else:
            thresholds = [list(thresholds_at(trial.known, values)) for trial in trials]
        best, scores, criterion = judge_thresholds(trials, thresholds, self.STRICT)
        if self.REJECTION_VALUES:
            self.settings_[name], self.threshold_ = values[best], np.asarray(self.to_threshold(values[best]))
        else:
            # Scores depend on how many classes and rows a model has seen, so the share is carried over, not the number.
            fitting, held_out = hold_out_share(codes, HELD_OUT, generator(derive(seed, OPEN_TRIALS)))
            known = self._refitted(X[fitting], codes[fitting], derive(seed, OPEN_TRIALS, 0)).scores(X[held_out])
            self.threshold_ = np.asarray(thresholds_at(known, values[best : best + 1])[0])
            self.settings_[name] = self.from_threshold(float(self.threshold_))
        progress("searching the threshold", OPEN_TRIALS + 1, OPEN_TRIALS + 1)
        tried = name if self.REJECTION_VALUES else "share of known rows rejected"
        found = [Trial(self.phase_, tried, v, criterion, s) for v, s in zip(values, scores.tolist(), strict=True)]
        self.search_ = [*self.search_, *found]

    def open_world_model(self, X: np.ndarray, codes: np.ndarray, seed: Seed) -> Self:
        """Return a baseline that knows only some classes, as in a simulated open world.

        Parameters
        ----------
        X : array of shape (n, d)
            Rows of the classes that it knows.
        codes : int array of shape (n,)
            Their classes, numbered from 0 without gaps.
        seed : int, SeedSequence, Generator or None
            Of its training.

        Returns
        -------
        Baseline
            Fitted with the settings of this one.

        """
        return self._trial(self.settings_, X, codes, seed)

    def _refitted(self, X: np.ndarray, codes: np.ndarray, seed: Seed) -> Self:
        """Return a baseline with these settings, fitted on rows of all classes."""
        return self._trial(self.settings_, X, codes, seed)

    def _check_settings(self) -> None:
        kernels.resolve_device(self.device)
        for name, range_ in self.RANGES.items():
            if getattr(self, name) != SEARCH:
                range_.check(getattr(self, name), name)
        if getattr(self, self.REJECTION) != SEARCH:
            self._check_rejection(getattr(self, self.REJECTION), self.REJECTION)
        if self.memory_size is not None:
            check_integer(self.memory_size, "memory_size")
        if check_integer(self.max_classes, "max_classes") < len(self.classes_):
            raise ValueError(
                f"max_classes={self.max_classes} is less than the {len(self.classes_)} known classes; raise it."
            )

    @abstractmethod
    def _check_rejection(self, value: Any, name: str) -> Any:
        """Raise unless the value is valid for the parameter of rejection."""

    def _decision(self, X: Any) -> Decision:
        check_is_fitted(self)
        X = check_features(X, width=self.n_features_in_, min_rows=0, single=True)
        scores = self.scores(X) if len(X) else np.empty((0, len(self.classes_)))
        return decide(scores, self.threshold_, self.STRICT)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "threshold_")
