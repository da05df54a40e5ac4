"""The open-world loop on feature vectors: recognise, discover, learn, from one phase to the next."""

from __future__ import annotations

import copy
import os
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from opengcd import persistence
from opengcd._internal.kernels import resolve_device
from opengcd._internal.progress import Progress, silent
from opengcd._internal.randomness import Seed, derive, seed_sequence
from opengcd._internal.validation import (
    check_features,
    check_first_classes,
    check_integer,
    check_labels,
    check_mask,
    check_share,
    encode,
    refuse_unknown_label,
    unknown_label,
)
from opengcd.classify import CLASSIFIERS, Inference, check_classifier, fit_classifier, infer, name_rows
from opengcd.discover import Discovery, Labelled, discover_by_kmeans, discover_jointly, with_confirmed
from opengcd.memory import ExemplarMemory, Selector, check_selector, keeps_mean
from opengcd.osr import (
    AlphaSearch,
    NoveltyRejection,
    NoveltyScore,
    Rejection,
    Threshold,
    UncertaintyRejection,
    check_alpha,
    search_alpha,
)
from opengcd.presets import Preset, resolve_preset

MEMORY, CLASSIFIER, ALPHA, NUMBER, GROUPS, NOVELTY = range(6)
"""The steps of a phase; each has a seed of its own, so that none disturbs another."""
_NEEDS_NOVELTY = "max_known_rejected needs a preset that rejects by novelty, such as 'best', not {!r}."


class Recognition(NamedTuple):
    """What the recogniser says of n rows."""

    labels: np.ndarray
    """(n,) A known class, or ``unknown_label_``."""
    closed: np.ndarray
    """(n,) The known class that each row would get if none were rejected."""
    unknown_score: np.ndarray
    """(n,) Grows with how unknown a row looks: rows above some value are rejected."""
    probabilities: np.ndarray
    """(n, C + 1) Column 0 is "unknown", then ``classes_``."""


class _Known(NamedTuple):
    """What discovery starts from: labelled rows, and what was fitted on them."""

    classes: np.ndarray
    X: np.ndarray
    codes: np.ndarray
    seen: np.ndarray
    model: Any
    rejection: Rejection


class OpenWorldRecognizer(BaseEstimator):
    """Name what is known, reject what is not, group what was rejected, and learn the new classes.

    Parameters
    ----------
    classifier : str, estimator or None
        ``"logistic"``, ``"svm"``, ``"mlp"``, ``"xgb"``, or any scikit-learn classifier with ``predict_proba``; None
        takes the preset's.
    memory_size : int or None
        Number of exemplars kept for all classes together; None keeps as many as ``fit`` is given (the paper's choice).
    selector : str, callable or None
        How exemplars are chosen, see :func:`opengcd.memory.select_exemplars`; None takes the preset's.
    alpha : float or "search"
        Weight of uncertainty in the paper's open-set rule, see :func:`opengcd.osr.search_alpha`; for presets that
        reject by it.
    preset : str or Preset
        ``"best"``, what we recommend; ``"paper"``; ``"robust"``, with a search for the number of classes that does not
        get stuck; ``"authors"``, with the search, effort and training lengths of the paper's code (see
        :mod:`opengcd.presets`).
    max_known_rejected : float or None
        Reject at most this share of known items, as measured on held-out labelled ones (preset ``best``); None lets
        the threshold be found, from labelled data at first and from the stream once :meth:`observe` was shown some.
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
    alpha_ : float or None
        Of the paper's open-set rule; None where rows are rejected otherwise.
    alpha_search_ : AlphaSearch or None
        The scores of all alphas tried, if any were.
    threshold_ : Threshold or None
        Of the unknown score, what it was found from, and what is to be expected of it (preset ``best``).
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

    _rejection: Rejection

    def __init__(
        self,
        classifier: Any = None,
        memory_size: int | None = None,
        selector: Selector | None = None,
        alpha: float | str = "search",
        preset: str | Preset = "best",
        max_known_rejected: float | None = None,
        max_classes: int = 500,
        device: str = "auto",
        random_state: Seed = None,
    ) -> None:
        self.classifier = classifier
        self.memory_size = memory_size
        self.selector = selector
        self.alpha = alpha
        self.preset = preset
        self.max_known_rejected = max_known_rejected
        self.max_classes = max_classes
        self.device = device
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, progress: Progress = silent) -> Self:
        """Start at phase 1 from labelled rows: fill the memory, fit the classifier on it, learn to reject."""
        X, y, classes = check_first_classes(X, y)
        seed = seed_sequence(self.random_state)
        rank_once = resolve_preset(self.preset).rank_once
        memory = ExemplarMemory(self.memory_size, self._selector(), derive(seed, MEMORY), self.device, rank_once)
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
        memory.selector, memory.device = self._selector(), self.device
        memory.rank_once = resolve_preset(self.preset).rank_once
        if self.memory_size is not None:
            memory.size = self.memory_size
        self._enter_phase(self.phase_ + 1, self._seed, classes, memory, X, y, progress)
        return self

    def recognize(self, X: Any) -> Recognition:
        """Return all that can be said of each row, from one pass of the classifier (Sec. 3.4).

        A row is rejected by its probabilities. An accepted row gets the classifier's own label, which for the SVM is
        the winner of the votes and, where classes are close, not always the class with the largest probability.
        """
        X, (codes, p) = self._infer(X)
        judged = self._rejection.judge(X, p)
        closed = self.classes_[codes]
        labels = closed.astype(np.result_type(closed, np.asarray(self.unknown_label_)))
        labels[judged.rejected] = self.unknown_label_
        return Recognition(labels, closed, judged.score, judged.probabilities)

    def observe(self, X: Any) -> Self:
        """Take notice of rows of the stream, so that the threshold for "unknown" can follow it.

        Only their scores are kept, until the next ``learn``. The paper's rule has no threshold, and a bound on the
        share of rejected known items stays what it is: then nothing happens. ``threshold_`` says what was found.
        """
        X, inference = self._infer(X)
        self._rejection.observe(X, inference.probabilities)
        return self

    def recall(self, scores: Any) -> Self:
        """Set the threshold by all unknown scores of the stream so far, as :meth:`recognize` gave them.

        Who keeps the scores need not show the rows again to :meth:`observe` after the recogniser was loaded.
        """
        check_is_fitted(self)
        self._rejection.recall(np.asarray(scores, dtype=np.float64))
        return self

    def limit_rejection(self, max_known_rejected: float | None) -> Self:
        """Set ``max_known_rejected`` after ``fit``; the threshold changes at once.

        While there is a limit, the stream is not remembered: show it again by :meth:`recall` when the limit is lifted.
        """
        check_is_fitted(self)
        seen = self._rejection.seen if isinstance(self._rejection, NoveltyRejection) else np.empty(0)
        self._rejection = self._limited(max_known_rejected, seen)
        self.max_known_rejected = max_known_rejected
        return self

    def threshold_for(self, max_known_rejected: float | None, scores: Any = ()) -> Threshold:
        """Return what ``threshold_`` would be after :meth:`limit_rejection` and :meth:`recall` of these scores."""
        check_is_fitted(self)
        return self._limited(max_known_rejected, np.asarray(scores, dtype=np.float64)).threshold

    def predict(self, X: Any) -> np.ndarray:
        """Return the label of each row: a known class, or ``unknown_label_``."""
        return self.recognize(X).labels

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return probabilities: column 0 is "unknown", then ``classes_`` (Eq. 3 in the paper's presets)."""
        return self.recognize(X).probabilities

    def unknown_score(self, X: Any) -> np.ndarray:
        """Return how unknown each row looks: rows above some value are rejected (u of Eq. 1 in the paper's presets)."""
        return self.recognize(X).unknown_score

    def predict_closed(self, X: Any) -> np.ndarray:
        """Return the known class of each row, rejecting nothing."""
        check_is_fitted(self)
        X = check_features(X, width=self.n_features_in_, min_rows=0, single=True)
        return self.classes_[name_rows(self._model, X) if len(X) else np.empty(0, dtype=np.int64)]

    def discover(
        self,
        X: Any,
        k: int | None = None,
        *,
        rejected: Any = None,
        confirmed: Any = None,
        progress: Progress = silent,
    ) -> Discovery:
        """Group rejected rows; those that look like a known class return to it (Sec. 3.5).

        Parameters
        ----------
        X : array
            The rejected rows, or, better with preset ``best``, all rows of the stream.
        k : int or None
            The number of classes, known ones included; without it, it is estimated.
        rejected : array of bool or None
            Which rows of ``X`` were rejected; None means all.
        confirmed : array of labels or None
            For a second round: labels that a person gave to rows of ``X``, of known or of new classes, and
            ``unknown_label_`` for the other rows. They count as labelled rows and are kept.

        """
        check_is_fitted(self)
        X = check_features(X, width=self.n_features_in_, min_rows=0)
        rejected = check_mask(rejected, len(X), "rejected")
        if k is not None:
            k = check_integer(k, "k", least=None)
        if confirmed is None:
            return self._discover(X, k, rejected, self._known(), progress)
        confirmed = check_labels(confirmed, len(X), name="confirmed", like=self.classes_)
        rest = np.flatnonzero(confirmed == self.unknown_label_)
        told = np.setdiff1d(np.arange(len(X)), rest)
        new = np.setdiff1d(confirmed[told], self.classes_)
        if not len(told):
            return self._discover(X, k, rejected, self._known(), progress)
        known = self._known_with(X[told], confirmed[told], new, X[rest])
        left = rejected[rest]
        if isinstance(known.rejection, NoveltyRejection) and not rejected.all():
            # Rows of a confirmed class were rejected when it was new, but no group should start from them now.
            left = left & known.rejection.judge(X[rest], infer(known.model, X[rest]).probabilities).rejected
        found = self._discover(X[rest], k, left, known, progress)
        return with_confirmed(found, rest, _in_metric(known.rejection, X), confirmed, new)

    def _discover(
        self, X: np.ndarray, k: int | None, rejected: np.ndarray, known: _Known, progress: Progress
    ) -> Discovery:
        preset = resolve_preset(self.preset)
        if preset.discovery == "joint":
            if not isinstance(known.rejection, NoveltyRejection):
                raise ValueError("The preset was changed after fit; call fit again.")
            labelled = Labelled(known.X, known.codes, infer(known.model, known.X).probabilities, known.seen)
            return discover_jointly(
                labelled,
                X,
                infer(known.model, X).probabilities if len(X) else np.empty((0, len(known.classes))),
                rejected,
                known.rejection,
                known.classes,
                k=k,
                by_size=preset.search == "size",
                head=preset.head,
                max_classes=self.max_classes,
                random_state=derive(self._seed, self.phase_, NUMBER),
                device=self.device,
                progress=progress,
            )
        if not rejected.all():
            raise ValueError(f"Preset {preset.name!r} groups rejected rows alone; pass X[rejected].")
        return discover_by_kmeans(
            known.X,
            known.codes,
            X,
            known.classes,
            k=k,
            max_classes=self.max_classes,
            objective=preset.objective,
            search=preset.search,
            n_init=preset.n_init,
            max_iter=preset.max_iter,
            seeds=(derive(self._seed, self.phase_, NUMBER), derive(self._seed, self.phase_, GROUPS)),
            device=self.device,
            progress=progress,
        )

    def in_metric(self, X: Any) -> np.ndarray:
        """Return rows where groups have their centres: whitened if the preset whitens, else as they are."""
        check_is_fitted(self)
        return _in_metric(self._rejection, check_features(X, width=self.n_features_in_))

    @property
    def threshold_(self) -> Threshold | None:
        """The threshold of the unknown score, unless the paper's rule rejects."""
        check_is_fitted(self)
        return self._rejection.threshold if isinstance(self._rejection, NoveltyRejection) else None

    @property
    def adapts(self) -> bool:
        """Whether :meth:`observe` changes anything."""
        check_is_fitted(self)
        return isinstance(self._rejection, NoveltyRejection) and self._rejection.adapt

    @property
    def discovers_from(self) -> str:
        """What :meth:`discover` is best given: ``"stream"`` or ``"rejected"`` rows."""
        preset = resolve_preset(self.preset)
        return "stream" if preset.discovery == "joint" and preset.over_stream else "rejected"

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
            recognizer._model = recognizer._fit_classifier(memory.X, codes, recognizer._seed, recognizer.phase_)
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
        progress("selecting exemplars", 0, 1)
        memory.update(X, y)
        progress("selecting exemplars", 1, 1)
        codes = encode(memory.y, classes)
        model, rejection, search = self._fit(memory.X, codes, sum(memory.seen.values()), seed, phase, progress)
        self._become(phase, seed, classes, memory, model, rejection, search)

    def _fit(
        self, X: np.ndarray, codes: np.ndarray, had: int, seed: np.random.SeedSequence, phase: int, progress: Progress
    ) -> tuple[Any, Rejection, AlphaSearch | None]:
        """Fit the classifier, and learn to reject, from what was kept of the rows that these classes ever had."""
        preset = resolve_preset(self.preset)
        progress("fitting the classifier", 0, 1)
        model = self._fit_classifier(X, codes, seed, phase)
        progress("fitting the classifier", 1, 1)
        if preset.rejection == "novelty":
            progress("learning to reject", 0, 1)
            kept = len(X) / had if keeps_mean(self._selector()) else 1.0
            score = NoveltyScore(
                whiten=preset.whiten,
                neighbours=preset.neighbours,
                random_state=derive(seed, phase, NOVELTY),
                device=self.device,
            ).fit(X, codes, self._classifier(), kept=kept)
            progress("learning to reject", 1, 1)
            return model, NoveltyRejection(score, self.max_known_rejected, preset.adapt), None
        if self.alpha != "search":
            return model, UncertaintyRejection(float(self.alpha)), None
        search = search_alpha(
            X,
            codes,
            self._classifier(),
            grid=preset.alpha_grid,
            repeats=preset.alpha_repeats,
            random_state=derive(seed, phase, ALPHA),
            device=self.device,
            progress=progress,
        )
        return model, UncertaintyRejection(search.alpha), search

    def _limited(self, max_known_rejected: float | None, seen: np.ndarray) -> NoveltyRejection:
        preset = resolve_preset(self.preset)
        if not isinstance(self._rejection, NoveltyRejection):
            raise ValueError(_NEEDS_NOVELTY.format(preset.name))
        if max_known_rejected is not None:
            check_share(max_known_rejected, "max_known_rejected")
        limited = NoveltyRejection(self._rejection.score, max_known_rejected, preset.adapt)
        limited.recall(seen)
        return limited

    def _known(self) -> _Known:
        """What discovery builds on."""
        memory = self.memory_
        codes = encode(memory.y, self.classes_)
        seen = np.array([memory.seen[c] for c in self.classes_.tolist()])
        return _Known(self.classes_, memory.X, codes, seen, self._model, self._rejection)

    def _known_with(self, X: np.ndarray, y: np.ndarray, new: np.ndarray, rest: np.ndarray) -> _Known:
        """The same after rows were labelled by a person, as if they had been learnt and the rest observed."""
        known = self._known()
        classes = np.concatenate([known.classes, new])
        codes = np.concatenate([known.codes, encode(y, classes)])
        X = np.concatenate([known.X, X])
        # Of a new class no more is expected than of the old ones, however few of its rows are confirmed so far.
        seen = np.concatenate([known.seen, np.full(len(new), known.seen.mean())])
        model, rejection = known.model, known.rejection
        if resolve_preset(self.preset).discovery == "joint":
            model, rejection, _ = self._fit(X, codes, known.seen.sum() + len(y), self._seed, self.phase_, silent)
            if len(rest):
                rejection.observe(rest, infer(model, rest).probabilities)
        return _Known(classes, X, codes, seen, model, rejection)

    def _check_settings(self, classes: int) -> None:
        preset = resolve_preset(self.preset)
        resolve_device(self.device)
        check_selector(self._selector())
        check_classifier(preset.classifier if self.classifier is None else self.classifier)
        if self.alpha != "search":
            check_alpha(self.alpha)
            if preset.rejection != "uncertainty":
                raise ValueError(
                    f"alpha belongs to the paper's open-set rule, and preset {preset.name!r} rejects otherwise; set "
                    "max_known_rejected instead, or choose preset='paper'."
                )
        if self.max_known_rejected is not None:
            check_share(self.max_known_rejected, "max_known_rejected")
            if preset.rejection != "novelty":
                raise ValueError(_NEEDS_NOVELTY.format(preset.name))
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
        rejection: Rejection,
        search: AlphaSearch | None,
    ) -> None:
        self.phase_, self._seed, self.classes_, self.memory_, self._model = phase, seed, classes, memory, model
        self._rejection, self.alpha_search_ = rejection, search
        self.alpha_ = rejection.rule.alpha if isinstance(rejection, UncertaintyRejection) else None
        self.unknown_label_ = unknown_label(classes)
        self.n_features_in_ = memory.X.shape[1]

    def _fit_classifier(self, X: np.ndarray, codes: np.ndarray, seed: np.random.SeedSequence, phase: int) -> Any:
        return fit_classifier(self._classifier(), X, codes, derive(seed, phase, CLASSIFIER), self.device)

    def _classifier(self) -> Any:
        """The classifier to fit, with the settings that the preset has for it."""
        preset = resolve_preset(self.preset)
        classifier = preset.classifier if self.classifier is None else self.classifier
        if not isinstance(classifier, str):
            return classifier
        settings = preset.classifier_settings.get(classifier)
        return CLASSIFIERS[classifier](**settings, device=self.device) if settings else classifier

    def _selector(self) -> Selector:
        return resolve_preset(self.preset).selector if self.selector is None else self.selector

    def _infer(self, X: Any) -> tuple[np.ndarray, Inference]:
        check_is_fitted(self)
        X = check_features(X, width=self.n_features_in_, min_rows=0, single=True)
        if not len(X):
            return X, Inference(np.empty(0, dtype=np.int64), np.empty((0, len(self.classes_))))
        return X, infer(self._model, X)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "phase_")


def _in_metric(rejection: Rejection, X: np.ndarray) -> np.ndarray:
    return rejection.score.witnesses_.metric.transform(X) if isinstance(rejection, NoveltyRejection) else X
