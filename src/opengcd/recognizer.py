"""The open-world loop on feature vectors: recognise, discover and learn, from one phase to the next."""

from __future__ import annotations

import copy
import os
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from opengcd import persistence
from opengcd._internal.kernels import resolve_device
from opengcd._internal.progress import Progress, silent
from opengcd._internal.randomness import Seed, derive, seed_sequence
from opengcd._internal.run import CLASSIFIER, HELD_OUT, MEMORY, Run
from opengcd._internal.unit_length import unit_rows
from opengcd._internal.validation import (
    check_features,
    check_first_classes,
    check_integer,
    check_labels,
    check_mask,
    refuse_unknown_label,
    unknown_label,
)
from opengcd.classify import (
    Inference,
    Labelled,
    Refitting,
    check_classifier,
    fit_classifier,
    held_out_probabilities,
    hidden_class_probabilities,
    infer,
    predict_labels,
)
from opengcd.discover import ClassCount, Confirmed, Discovery, MetricRows, hidden_classes
from opengcd.discover.copies import CopyScale, Stacks, copy_scale, expand, find_stacks, given_stacks, share_labels
from opengcd.memory import ExemplarMemory, Selector, check_selector, selector_properties
from opengcd.osr import AlphaSearch, Rejection, ScoredRejection, Threshold
from opengcd.persistence import Given, Phase
from opengcd.presets import Preset, resolve_preset


class Recognition(NamedTuple):
    """The result of :meth:`OpenWorldRecognizer.recognize` for n rows and C known classes."""

    labels: np.ndarray
    """(n,) A known class, or ``unknown_label_``."""
    closed: np.ndarray
    """(n,) The known class that each row would get if none were rejected."""
    unknown_score: np.ndarray
    """(n,) The larger the score, the less likely is any known class; rows above a threshold are rejected."""
    probabilities: np.ndarray
    """(n, C + 1) Column 0 is "unknown", then ``classes_``."""


class _NewRows(NamedTuple):
    """The new labelled rows of a phase, with the facts that the memory keeps of them."""

    X: np.ndarray
    y: np.ndarray
    trained: np.ndarray
    found: np.ndarray


class OpenWorldRecognizer(ClassifierMixin, BaseEstimator):
    r"""Recognise known classes, reject other rows as unknown, discover new classes among these, and learn them.

    A scikit-learn classifier that can also answer "unknown". It works on *embeddings*: one row per item, such as the
    vector that a network computes for an image. The work goes in *phases*:

    1. :meth:`fit` learns the known classes from labelled rows and keeps some of these, the *exemplars*, in its
       *memory*. This is phase 1.
    2. :meth:`recognize` (or :meth:`predict`) labels the rows of the *stream*, the items that arrive over time, and
       rejects those that seem to be of no known class.
    3. :meth:`discover` groups the rows of new classes, and estimates *k*, the number of known and new classes.
    4. :meth:`learn` takes the groups as new classes, best after a person has reviewed them. It learns from the new rows
       and the exemplars, and the next phase begins.

    A *preset* names the methods for all steps. See Notes for what "unknown" means for scikit-learn's tools.

    Parameters
    ----------
    classifier : str, estimator or None
        ``"logistic"``, ``"svm"``, ``"mlp"``, ``"xgb"``, or any scikit-learn classifier with ``predict_proba``; None
        uses the classifier of the preset.
    memory_size : int or None
        Number of exemplars kept for all classes together; None keeps as many as ``fit`` is given (the paper's choice).
    selector : str, callable or None
        How exemplars are chosen, see :func:`opengcd.memory.select_exemplars`; None chooses as the preset does.
    alpha : float or "search"
        Weight of uncertainty in the paper's open-set rule, see :func:`opengcd.osr.search_alpha`; only for presets that
        use this rule. ``"search"`` keeps the setting of the preset.
    preset : str or Preset
        ``"best"``, recommended; ``"paper"``, the methods of the paper's text; ``"robust"``, the same with a search for
        the number of classes that does not get stuck; ``"authors"``, the same with the search, effort and training
        lengths of the paper's code; or a :class:`~opengcd.presets.Preset` with your own parts.
    max_known_rejected : float or None
        Reject at most this share of items of known classes, as measured on held-out labelled ones (preset ``best``).
        None estimates the threshold: from labelled data at first, and from the stream after :meth:`observe`.
    max_classes : int
        Largest number of classes, known and novel, that ``discover`` tries.
    device : str
        ``"auto"``, ``"cpu"`` or ``"cuda"``.
    random_state : int, Generator, RandomState, SeedSequence or None
        Seed of all random choices: the same integer, sequence, or state of a numpy generator gives the same results.
        ``fit`` draws one number from a generator, so a second ``fit`` with the same generator gives other results.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
        Known classes: sorted after ``fit``; classes learnt later are appended, so that columns keep their place.
    unknown_label_ : int or str
        ``-1`` if labels are integers, ``"unknown"`` if they are strings.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns; only if ``fit`` was given a data frame whose column names are all strings.
    memory_ : ExemplarMemory
        The exemplars.
    alpha_ : float or None
        Alpha of the paper's open-set rule; None if rows are rejected by another rule.
    alpha_search_ : AlphaSearch or None
        The scores of all alphas tried, if any were.
    threshold_ : Threshold or None
        Threshold of the unknown score, what it was estimated from, and the accuracy expected of it (preset ``best``).
    phase_ : int
        1 after ``fit``; one more after each ``learn``.

    Notes
    -----
    ``predict`` returns ``unknown_label_`` for rejected rows, which is not among ``classes_``. Hence:

    - ``score`` and every scorer that calls ``predict`` count a rejected row as an error, unless its true label in ``y``
      is ``unknown_label_``.
    - ``predict_proba`` has one column per class of ``classes_`` and rejects nothing. Tools that use it
      (``CalibratedClassifierCV``, ``BaggingClassifier``, soft voting, ``roc_auc_score``) therefore work with the closed
      set, and what they predict is always a known class. The open probabilities, with "unknown", are those of
      :meth:`recognize`.
    - Tools that count votes of ``predict`` as class numbers (hard voting) cannot be used: "unknown" has no number.
    - Labels are integers or strings. ``unknown_label_`` cannot be a class, and ``fit`` needs at least two classes.
    - Scikit-learn's tools fit clones, whose ``classes_`` are sorted. Only ``learn``, which they never call, appends
      classes in another order.

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

    _seed: np.random.SeedSequence
    _model: Any
    _rejection: Rejection
    _copy_scale: CopyScale | None

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

    def check_parameters(self, n_classes: int) -> Self:
        """Raise an error if a parameter has an unusable value; ``fit`` and ``learn`` do so themselves.

        Call it before long work that precedes ``fit``, such as embedding images.

        Parameters
        ----------
        n_classes : int
            The number of known classes; ``max_classes`` must not be smaller.

        Returns
        -------
        OpenWorldRecognizer
            The recogniser itself, unchanged.

        """
        resolve_device(self.device)
        check_selector(self._selector())
        check_classifier(self._preset().classifier if self.classifier is None else self.classifier)
        self._unfitted_rejection()
        if self.memory_size is not None:
            check_integer(self.memory_size, "memory_size")
        if check_integer(self.max_classes, "max_classes") < n_classes:
            raise ValueError(f"max_classes={self.max_classes} is less than the {n_classes} known classes; raise it.")
        return self

    def fit(self, X: Any, y: Any, *, trained: Any = None, progress: Progress = silent) -> Self:
        """Start phase 1 from labelled rows: fill the memory, fit the classifier on it, and learn to reject.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Features, one row per item: dense, finite real numbers.
        y : array-like of shape (n,)
            Labels, all integers or all strings, of at least two classes; ``-1`` and ``"unknown"`` are reserved.
        trained : array-like of bool of shape (n,) or None
            True for rows that the network which computed the features was trained on (:mod:`opengcd.adapt`). Such
            rows look more typical than others of their class, so the threshold for "unknown" is calibrated on the
            others. None means that it was trained on none of them.
        progress : callable
            Called with the name of a step, the work done and the work in total.

        Returns
        -------
        OpenWorldRecognizer
            The recogniser itself. If fitting fails, it stays as it was.

        """
        names = _feature_names(X)
        X, y, classes = check_first_classes(X, y)
        seed = seed_sequence(self.random_state)
        memory = self._with_settings(ExemplarMemory(self.memory_size, random_state=derive(seed, MEMORY)))
        phase = Phase(1, seed, classes, memory, None, self._preset().rejection, names)
        rows = _NewRows(X, y, check_mask(trained, len(X), "trained", default=False), np.zeros(len(X), dtype=bool))
        self._enter(phase, rows, progress)
        return self

    def learn(
        self,
        X: Any,
        y: Any,
        *,
        trained: Any = None,
        found: Any = None,
        stacks: Any = None,
        forget: Any = None,
        progress: Progress = silent,
    ) -> Self:
        """Begin the next phase with newly labelled rows, of new or known classes (Sec. 3.6).

        The exemplars and ``X`` are merged, the memory is balanced again, and everything is fitted from scratch. Near
        copies in ``X`` with the same label, such as the images of a burst, count once if ``stacks`` names them or the
        preset searches for them.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Features, one row per item.
        y : array-like of shape (n,)
            Labels, of the same type as ``classes_``.
        trained : array-like of bool of shape (n,) or None
            As for :meth:`fit`.
        found : array-like of bool of shape (n,) or None
            True for rows that were labelled because :meth:`discover` found them, False for rows that are a random
            sample of their class, which has as many hard cases as the stream; None means True for all. If the network
            was trained on some rows, the threshold for "unknown" is calibrated on the sampled rows.
        stacks : array-like of int of shape (n,) or None
            As for :meth:`discover`.
        forget : array-like of bool of shape (m,) or None
            True for exemplars whose label was wrong: they are removed before anything is learnt, and a class of which
            no exemplar is left is no longer known. To correct a label, forget the exemplar and give the row again in
            ``X``, which may be empty if something is forgotten.
        progress : callable
            Called with the name of a step, the work done and the work in total.

        Returns
        -------
        OpenWorldRecognizer
            The recogniser itself. If learning fails, it stays as it was.

        """
        check_is_fitted(self)
        forget = check_mask(forget, len(self.memory_), "forget", default=False)
        X = self._check_rows(X, min_rows=0 if forget.any() else 1)
        y = check_labels(y, len(X), like=self.classes_) if len(X) else self.classes_[:0]
        refuse_unknown_label(y)
        new = _NewRows(X, y, check_mask(trained, len(X), "trained", default=False), check_mask(found, len(X), "found"))
        rows = np.empty(0, dtype=np.int64)
        if len(X):
            together, _ = share_labels(X, self._stacks(X, stacks), y, self.unknown_label_)
            rows = self._represented(X, together).representatives
        memory = self._with_settings(self.memory_)
        if forget.any():
            memory = memory.without(forget)
        if self.memory_size is not None:
            memory.size = self.memory_size
        phase = self._phase()
        known = phase.classes[np.isin(phase.classes, np.concatenate([memory.y, y[rows]]))]
        classes = np.concatenate([known, np.setdiff1d(y[rows], known)])
        if len(classes) < 2:
            raise ValueError(f"Only {len(classes)} class would be left; keep exemplars of at least two classes.")
        phase = phase._replace(number=phase.number + 1, classes=classes, memory=memory)
        offered = np.concatenate([np.flatnonzero(~forget), len(self.memory_) + rows])
        self._enter(phase, _NewRows(*(values[rows] for values in new)), progress)
        memory.kept = offered[memory.kept]  # numbered over all rows that were given, copies among them
        return self

    def reembed(self, X: Any, *, trained: Any = None, progress: Progress = silent) -> Self:
        """Replace the features of the exemplars by those of another network, in the same phase.

        Everything is fitted again, and the threshold for "unknown" is again estimated without the stream. Remembered
        statistics of the classes are replaced by those of the exemplars.

        Parameters
        ----------
        X : array-like of shape (m, d)
            New features of the exemplars, in the order of ``memory_``; d may differ from before.
        trained : array-like of bool of shape (m,) or None
            As for :meth:`fit`.
        progress : callable
            Called with the name of a step, the work done and the work in total.

        Returns
        -------
        OpenWorldRecognizer
            The recogniser itself. If fitting fails, it stays as it was.

        """
        check_is_fitted(self)
        X = check_features(X, name="X")
        if len(X) != len(self.memory_):
            raise ValueError(
                f"There are {len(self.memory_)} exemplars, but X has {len(X)} rows; give one row for each."
            )
        phase = self._phase()
        memory = phase.memory.with_features(X, check_mask(trained, len(X), "trained", default=False))
        self._fit_phase(phase._replace(memory=memory, feature_names=None), progress)
        return self

    def recognize(self, X: Any, *, stacks: Any = None) -> Recognition:
        """Return labels, unknown scores and open probabilities from one pass of the classifier (Sec. 3.4).

        A row that is not rejected gets the label that the classifier predicts. For the SVM, this is the class with the
        most votes; where classes are close, another class may have the largest probability.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Features, one row per item; a vector is one row.
        stacks : array-like of int of shape (n,) or None
            Near copies of each other have the same number, as :meth:`stacks` returns them. All of them get the result
            of the one with the lowest unknown score. None judges every row by itself.

        Returns
        -------
        Recognition
            Its ``probabilities`` have "unknown" in column 0, then ``classes_``.

        """
        X, (codes, p) = self._infer(X)
        if stacks is not None:
            together = self._represented(X, self._stacks(X, stacks))
            rows = together.representatives[together.of_row]
            X, codes, p = X[rows], codes[rows], p[rows]
        judged = self._rejection.judge(X, p)
        closed = self.classes_[codes]
        labels = closed.astype(np.result_type(closed, np.asarray(self.unknown_label_)))
        labels[judged.rejected] = self.unknown_label_
        return Recognition(labels, closed, judged.score, judged.probabilities)

    def observe(self, X: Any) -> Self:
        """Adapt the threshold for "unknown" to rows of the stream.

        Only their scores are kept, until the next ``learn``. Near copies within ``X`` count once if the preset searches
        for them. Nothing happens with the paper's rule, which has no threshold, or if ``max_known_rejected`` is set.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Features, one row per item; a vector is one row.

        Returns
        -------
        OpenWorldRecognizer
            The recogniser itself, with a new ``threshold_``.

        """
        X, inference = self._infer(X)
        rows = self._represented(X, self._stacks(X)).representatives
        self._rejection.observe(X[rows], inference.probabilities[rows])
        return self

    def recall(self, scores: Any) -> Self:
        """Adapt the threshold to all unknown scores of the stream so far, as :meth:`recognize` returned them.

        Store the scores, and you need not pass the rows to :meth:`observe` again after loading the recogniser.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Unknown scores, oldest first.

        Returns
        -------
        OpenWorldRecognizer
            The recogniser itself, with a new ``threshold_``.

        """
        check_is_fitted(self)
        self._rejection.recall(np.asarray(scores, dtype=np.float64))
        return self

    def limit_rejection(self, max_known_rejected: float | None) -> Self:
        """Set ``max_known_rejected`` after ``fit``; the threshold changes at once.

        While there is a limit, scores of the stream are not kept: call :meth:`recall` when the limit is lifted.

        Parameters
        ----------
        max_known_rejected : float or None
            Largest share of known items that may be rejected, from 0 to 1; None lifts the limit.

        Returns
        -------
        OpenWorldRecognizer
            The recogniser itself.

        """
        check_is_fitted(self)
        self._rejection = self._rejection.limit(max_known_rejected)
        self.max_known_rejected = max_known_rejected
        return self

    def threshold_for(self, max_known_rejected: float | None, scores: Any = ()) -> Threshold:
        """Return what ``threshold_`` would be after :meth:`limit_rejection` and :meth:`recall`; change nothing.

        Parameters
        ----------
        max_known_rejected : float or None
            As for :meth:`limit_rejection`.
        scores : array-like of shape (n,)
            As for :meth:`recall`.

        Returns
        -------
        Threshold

        """
        check_is_fitted(self)
        threshold = self._rejection.limit(max_known_rejected, np.asarray(scores, dtype=np.float64)).threshold
        assert threshold is not None  # a rejection without one refuses limits
        return threshold

    def predict(self, X: Any) -> np.ndarray:
        """Return the label of each row.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Features, one row per item; a vector is one row.

        Returns
        -------
        ndarray of shape (n,)
            A known class, or ``unknown_label_`` where the row is rejected.

        """
        return self.recognize(X).labels

    def predict_proba(self, X: Any) -> np.ndarray:
        r"""Return the probability of each known class, given that the row belongs to one of them.

        These are the classifier's closed-set probabilities :math:`p_{ij}`, from which Eqs. 1 to 3 start, scaled to
        rows that sum to 1. They are defined for every row, even where "unknown" is certain. With preset ``best`` they
        equal the open probabilities conditioned on "known", :math:`(1 - p_0) p_c / (1 - p_0) = p_c`. With the paper's
        rule that condition would give :math:`e^{p_{ij}} / \sum_{l \ge 1} e^{p_{il}}`, the same order of classes, but
        never above :math:`e / (e + C - 1)` even for a certain row; hence the :math:`p_{ij}` themselves.

        The largest probability is that of :meth:`predict_closed`, except that the SVM names the winner of its votes.
        :meth:`recognize` returns the probabilities with "unknown" (Eq. 3).

        Parameters
        ----------
        X : array-like of shape (n, d)
            Features, one row per item; a vector is one row.

        Returns
        -------
        ndarray of shape (n, C)
            One column per class, in the order of ``classes_``; rows sum to 1.

        """
        X, (_, p) = self._infer(X)
        total = p.sum(axis=1, keepdims=True)
        return np.divide(p, total, out=np.full_like(p, 1 / p.shape[1]), where=total > 0)

    def unknown_score(self, X: Any) -> np.ndarray:
        """Return the unknown score of each row, u of Eq. 1 in the paper's presets; the largest scores are rejected.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Features, one row per item; a vector is one row.

        Returns
        -------
        ndarray of shape (n,)

        """
        return self.recognize(X).unknown_score

    def predict_closed(self, X: Any) -> np.ndarray:
        """Return the known class of each row, rejecting nothing.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Features, one row per item; a vector is one row.

        Returns
        -------
        ndarray of shape (n,)

        """
        X = self._check_rows(X, single=True)
        return self.classes_[predict_labels(self._model, X) if len(X) else np.empty(0, dtype=np.int64)]

    def discover(
        self,
        X: Any,
        k: int | None = None,
        *,
        rejected: Any = None,
        confirmed: Any = None,
        stacks: Any = None,
        progress: Progress = silent,
    ) -> Discovery:
        """Group the rows of new classes; rows that look like a known class return to it (Sec. 3.5).

        Parameters
        ----------
        X : array-like of shape (n, d)
            The rejected rows; with preset ``best``, all rows of the stream give better groups.
        k : int or None
            The number of known and new classes together; None estimates it.
        rejected : array of bool of shape (n,) or None
            Which rows of ``X`` were rejected; None means all.
        confirmed : array-like of shape (n,) or None
            For a second round: the labels that a person gave to rows of ``X``, of known or new classes, and
            ``unknown_label_`` for all other rows. Rows with a label count as labelled rows and keep their label.
        stacks : array-like of int of shape (n,) or None
            Near copies of each other, such as the images of a burst, have the same number. Such rows count once and
            get one label, unless confirmed labels differ. None searches for them if the preset does
            (:attr:`Preset.stack_copies <opengcd.presets.Preset.stack_copies>`).
        progress : callable
            Called with the name of a step, the work done and the work in total.

        Returns
        -------
        Discovery
            The groups, the number of classes, and a label for each row.

        """
        X = self._check_rows(X)
        rejected = check_mask(rejected, len(X), "rejected")
        if k is not None:
            k = check_integer(k, "k", least=None)
        strategy, labelled = self._preset().discovery, self._labelled()
        try:
            strategy.check(self._rejection)
        except ValueError as error:
            raise ValueError("The preset was changed after fit; call fit again.") from error
        count, run = ClassCount(k, self.max_classes), self._run(progress)
        stacks, labels = self._stacks(X, stacks), None
        if confirmed is not None:
            labels = check_labels(confirmed, len(X), name="confirmed", like=self.classes_)
            stacks, labels = share_labels(X, stacks, labels, self.unknown_label_)
        stacks = self._represented(X, stacks)
        rows = stacks.representatives
        stream = labelled.stream(X[rows], rejected[rows])
        if labels is None:
            found = strategy.discover(labelled, stream, self._rejection, count, run)
        else:
            given = Confirmed(
                labels[rows], labels[rows] != self.unknown_label_, lambda more: self._fit_on(more, self._run(silent))
            )
            found = strategy.discover_again(labelled, stream, self._rejection, given, count, run)
        return expand(found, stacks)

    def stacks(self, X: Any) -> np.ndarray:
        """Find near copies among rows, such as the images of a burst, for :meth:`discover`.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Features, one row per item.

        Returns
        -------
        int array of shape (n,)
            Rows with the same number are near copies.

        """
        return self._find_stacks(self._check_rows(X)).of_row

    def in_metric(self, X: Any) -> np.ndarray:
        """Return rows in the metric in which discovery groups them: whitened if the rejection whitens.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Features, one row per item.

        Returns
        -------
        ndarray of shape (n, d)

        """
        return self._rejection.transform(self._check_rows(X, min_rows=1))

    def held_out(
        self, *, folds: int = 5, stacks: Any = None, hide_classes: bool = False, progress: Progress = silent
    ) -> np.ndarray:
        """Return the class probabilities of the exemplars, each by a classifier that was fitted without it.

        The classifier is fitted again for each fold. Use the result to see which classes are mixed up, and which labels
        may be wrong (:func:`opengcd.classify.suspect_labels`). If the network was trained on the exemplars
        (``memory_.trained``), the result is too optimistic.

        Parameters
        ----------
        folds : int
            Number of parts of the exemplars, of which each is held out once.
        stacks : array-like of int of shape (m,) or None
            Near copies of each other have the same number and are held out together; None keeps none together.
        hide_classes : bool
            Whether a whole class is held out together, so that its exemplars are judged as items of a new class.
        progress : callable
            Called with the name of a step, the work done and the work in total.

        Returns
        -------
        ndarray of shape (m, C)
            One row per exemplar, in the order of ``memory_``; one column per class, in the order of ``classes_``. NaN
            for the only exemplar of a class, and for all if classes are to be hidden and there are fewer than four.

        """
        check_is_fitted(self)
        if check_integer(folds, "folds") < 2:
            raise ValueError(f"folds={folds} cannot be used; give at least 2.")
        labelled, run = self._labelled(), self._run(progress).at(HELD_OUT)
        together = None if stacks is None else check_labels(stacks, len(labelled.X), name="stacks")
        rows = Refitting(labelled.X, labelled.codes, self._classifier(), labelled.statistics, self.device)
        if hide_classes:
            return hidden_class_probabilities(rows, folds=folds, random_state=run.at(1).seed, progress=run.progress)
        return held_out_probabilities(
            rows, folds=folds, together=together, random_state=run.seed, progress=run.progress
        )

    def metric_rows(self, X: Any, *, hidden: bool = True) -> MetricRows:
        """Return what questions about groups are computed from: exemplars and rows in the metric of discovery.

        Parameters
        ----------
        X : array-like of shape (n, d)
            The rows that :meth:`discover` was given.
        hidden : bool
            Whether to return also each known class in a metric that was fitted without it, on which questions are
            calibrated.

        Returns
        -------
        MetricRows
            See :func:`opengcd.discover.rank_questions`.

        """
        labelled, rejection = self._labelled(), self._rejection
        unseen = hidden_classes(labelled, rejection) if hidden and isinstance(rejection, ScoredRejection) else []
        L, U = (unit_rows(self.in_metric(rows)) for rows in (labelled.X, X))
        return MetricRows(L, labelled.codes, U, unseen)

    @property
    def alpha_(self) -> float | None:
        """Alpha of the paper's open-set rule; None where rows are rejected otherwise."""
        check_is_fitted(self)
        return self._rejection.fitted_parameters.get("alpha")

    @property
    def alpha_search_(self) -> AlphaSearch | None:
        """The search for alpha, if there was one."""
        check_is_fitted(self)
        return self._rejection.fitted_parameters.get("alpha_search")

    @property
    def threshold_(self) -> Threshold | None:
        """The threshold of the unknown score; None for a rejection without one."""
        check_is_fitted(self)
        return self._rejection.threshold

    @property
    def adapts(self) -> bool:
        """Whether :meth:`observe` changes anything."""
        check_is_fitted(self)
        return self._rejection.adapts

    @property
    def discovers_from(self) -> str:
        """Which rows to pass to :meth:`discover`: ``"stream"`` (all rows) or ``"rejected"`` rows only."""
        return self._preset().discovery.takes

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the recogniser to a folder: JSON and safetensors, no pickle.

        Your own classifier, selector or part of a preset is not stored; pass it to :meth:`load` again. Your own
        rejection is saved by its method ``state``.

        Parameters
        ----------
        path : path
            The folder; it is made if it does not exist, and a model in it is replaced.

        """
        check_is_fitted(self)
        persistence.save(path, self._phase(), self.get_params(deep=False))

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        classifier: Any = None,
        selector: Selector | None = None,
        preset: str | Preset | None = None,
        device: str = "auto",
    ) -> Self:
        """Read a recogniser that :meth:`save` wrote; nothing in the folder is executed.

        Parameters
        ----------
        path : path
            The folder.
        classifier, selector, preset : optional
            Needed only if the saved recogniser had your own. The classifier is then fitted again on the stored
            exemplars, as in every phase; the rejection of the preset is restored from what it saved. The parts of the
            preset must have the settings that they were saved with.
        device : str
            ``"auto"``, ``"cpu"`` or ``"cuda"``.

        Returns
        -------
        OpenWorldRecognizer

        Raises
        ------
        ModelFileError
            If the folder has no model, is damaged, needs a part that is not given, or was saved with another preset.

        """
        resolve_device(device)
        if selector is not None:
            check_selector(selector)
        if preset is not None:
            resolve_preset(preset)
        recognizer = persistence.load(path, Given(classifier, selector, preset, device), cls._restored)
        if recognizer._model is None:
            recognizer._model = recognizer._fit_classifier(recognizer._labelled(), recognizer._run(silent))
        return recognizer

    @classmethod
    def _restored(cls, parameters: dict[str, Any], phase: Phase) -> Self:
        recognizer = cls(**parameters)
        recognizer.check_parameters(len(phase.classes))
        recognizer._become(phase)
        return recognizer

    def _enter(self, phase: Phase, rows: _NewRows, progress: Progress) -> None:
        """Do everything that can fail before changing the recogniser; ``phase`` has the classes of the rows."""
        self.check_parameters(len(phase.classes))
        progress("selecting exemplars", 0, 1)
        phase.memory.update(*rows)
        progress("selecting exemplars", 1, 1)
        self._fit_phase(phase, progress)

    def _fit_phase(self, phase: Phase, progress: Progress) -> None:
        """Fit classifier and rejection on the memory of a phase, then become what was fitted."""
        rows = phase.labelled(chosen_by_mean=selector_properties(self._selector()).keeps_mean)
        labelled, rejection = self._fit_on(rows, Run(derive(phase.seed, phase.number), self.device, progress))
        self._become(phase._replace(model=labelled.model, rejection=rejection))

    def _fit_on(self, labelled: Labelled, run: Run) -> tuple[Labelled, Rejection]:
        """Fit classifier and rejection on labelled rows; return the rows with their classifier, and the rejection."""
        run.progress("fitting the classifier", 0, 1)
        labelled = replace(labelled, model=self._fit_classifier(labelled, run))
        run.progress("fitting the classifier", 1, 1)
        return labelled, self._unfitted_rejection().fit(labelled, self._classifier(), run)

    def _fit_classifier(self, labelled: Labelled, run: Run) -> Any:
        seed = run.at(CLASSIFIER).seed
        return fit_classifier(self._classifier(), labelled.X, labelled.codes, seed, self.device, labelled.statistics)

    def _become(self, phase: Phase) -> None:
        self.phase_, self._seed, self.classes_, self.memory_, self._model, self._rejection, names = phase
        self._copy_scale = None
        self.unknown_label_ = unknown_label(phase.classes)
        self.n_features_in_ = phase.memory.X.shape[1]
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = names

    def _phase(self) -> Phase:
        names = getattr(self, "feature_names_in_", None)
        return Phase(self.phase_, self._seed, self.classes_, self.memory_, self._model, self._rejection, names)

    def _labelled(self) -> Labelled:
        return self._phase().labelled(chosen_by_mean=selector_properties(self._selector()).keeps_mean)

    def _run(self, progress: Progress) -> Run:
        return Run(derive(self._seed, self.phase_), self.device, progress)

    def _with_settings(self, memory: ExemplarMemory) -> ExemplarMemory:
        """Return a copy of a memory with the present settings, except its size."""
        memory, preset = copy.copy(memory), self._preset()
        memory.selector, memory.device = self._selector(), self.device
        memory.rank_once, memory.keep_statistics = preset.rank_once, preset.keep_statistics
        return memory

    def _stacks(self, X: np.ndarray, numbers: Any = None) -> Stacks:
        """Return rows in stacks of near copies: given ones, or found ones if the preset searches for them."""
        if numbers is not None:
            return given_stacks(X, check_labels(numbers, len(X), name="stacks"))
        if not self._preset().stack_copies:
            return Stacks(np.arange(len(X)), np.arange(len(X)))
        return self._find_stacks(X)

    def _find_stacks(self, X: np.ndarray) -> Stacks:
        if self._copy_scale is None:
            self._copy_scale = copy_scale(self.memory_.X, self._labelled().codes)
        return find_stacks(X, self._copy_scale.limits(len(X)))

    def _represented(self, X: np.ndarray, stacks: Stacks) -> Stacks:
        """Return stacks represented by the row with the lowest unknown score.

        Blur and other differences within a burst make an image look more unknown, hardly ever more known.
        """
        if stacks.trivial:
            return stacks
        X = X[stacks.copies]
        return stacks.represented_by_least(self._rejection.judge(X, infer(self._model, X).probabilities).score)

    def _preset(self) -> Preset:
        return resolve_preset(self.preset)

    def _unfitted_rejection(self) -> Rejection:
        return self._preset().rejection_for(self.alpha, self.max_known_rejected)

    def _classifier(self) -> Any:
        return self._preset().classifier_for(self.classifier, self.device)

    def _selector(self) -> Selector:
        return self._preset().selector if self.selector is None else self.selector

    def _check_rows(self, X: Any, *, min_rows: int = 0, single: bool = False) -> np.ndarray:
        """Return ``X`` as an array if it has the columns that were fitted on."""
        check_is_fitted(self)
        validate_data(self, X, reset=False, skip_check_array=True, ensure_2d=False)  # the names of columns alone
        owner = type(self).__name__
        return check_features(X, width=self.n_features_in_, owner=owner, min_rows=min_rows, single=single)

    def _infer(self, X: Any) -> tuple[np.ndarray, Inference]:
        X = self._check_rows(X, single=True)
        if not len(X):
            return X, Inference(np.empty(0, dtype=np.int64), np.empty((0, len(self.classes_))))
        return X, infer(self._model, X)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "phase_")


def _feature_names(X: Any) -> np.ndarray | None:
    """Return the names of a data frame's columns as scikit-learn reads them; None for an array."""
    reader = BaseEstimator()  # the recogniser itself must not change before everything has succeeded
    validate_data(reader, X, skip_check_array=True, ensure_2d=False)
    return getattr(reader, "feature_names_in_", None)
