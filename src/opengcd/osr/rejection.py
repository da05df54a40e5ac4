"""The interface of a rejection: a strategy that decides which rows are "unknown"."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np

from opengcd._internal.model_folder import ModelFileError
from opengcd._internal.part import Part, State
from opengcd._internal.run import Run
from opengcd.classify import Labelled
from opengcd.osr.threshold import Threshold, UnknownProfile


class Judgement(NamedTuple):
    """Decision of a rejection on n rows."""

    rejected: np.ndarray
    """(n,) Whether each row is unknown."""
    score: np.ndarray
    """(n,) Unknown score: larger for rows that are less likely to be of a known class."""
    probabilities: np.ndarray
    """(n, C + 1) Column 0 is "unknown", then the known classes."""


class Rejection(Part, ABC):
    """Base class of strategies that reject rows of unknown classes.

    An instance in a :class:`~opengcd.presets.Preset` holds settings only. In each phase the recogniser calls
    :meth:`fit`, which returns a fitted copy, and uses that copy. To plug in your own rejection, implement :meth:`fit`
    and :meth:`judge`, and :meth:`state` and :meth:`restore` if it is to be saved. The defaults of the other methods
    are: no threshold, no adaptation to the stream, features unchanged.

    The recogniser's arguments ``alpha`` and ``max_known_rejected`` are settings of the rejection: a rejection whose
    constructor has an argument of that name gets the value; otherwise an error is raised.
    """

    @abstractmethod
    def fit(self, labelled: Labelled, classifier: Any, run: Run) -> Self:
        """Return a copy fitted on labelled rows; ``self`` does not change.

        Parameters
        ----------
        labelled : Labelled
            The exemplars with their class numbers, and the classifier fitted on them.
        classifier : str or estimator
            The unfitted classifier, to be fitted on parts of the rows by :func:`opengcd.classify.fit_classifier`.
        run : Run
            Seed of the phase, device, progress callback.

        Returns
        -------
        Rejection

        """

    def check(self) -> None:
        """Raise ``ValueError`` if a setting is invalid; called when a preset is composed."""

    @abstractmethod
    def judge(self, X: np.ndarray, p: np.ndarray) -> Judgement:
        """Decide which rows are unknown.

        Parameters
        ----------
        X : array of shape (n, d)
            Feature vectors.
        p : array of shape (n, C)
            Closed-set probabilities.

        Returns
        -------
        Judgement

        """

    def observe(self, X: np.ndarray, p: np.ndarray) -> None:
        """Adapt to rows of the stream; by default, do nothing.

        Parameters
        ----------
        X, p : array
            Feature vectors and closed-set probabilities, as in :meth:`judge`.

        """

    def recall(self, scores: np.ndarray) -> None:
        """Adapt to the unknown scores of the whole stream so far; by default, do nothing.

        Parameters
        ----------
        scores : array of shape (n,)
            In the order of the stream, the latest last.

        """

    @property
    def adapts(self) -> bool:
        """Whether :meth:`observe` and :meth:`recall` change anything."""
        return False

    @property
    def threshold(self) -> Threshold | None:
        """The threshold of the unknown score; None for a rejection without one."""
        return None

    def limit(self, max_known_rejected: float | None, scores: np.ndarray | None = None) -> Self:
        """Return a copy that rejects at most a share of known rows; by default, raise ``ValueError``.

        Parameters
        ----------
        max_known_rejected : float or None
            The share; None lifts the limit.
        scores : array of shape (n,) or None
            Unknown scores of the stream, from which the threshold of a fitted copy without a limit is set; None takes
            those observed so far.

        Returns
        -------
        Rejection

        """
        raise ValueError(
            f"Rejection {self.title()!r} cannot limit the share of known rows that it rejects; that needs a preset "
            "whose rejection has the setting max_known_rejected, such as 'best'."
        )

    @property
    def fitted_parameters(self) -> Mapping[str, Any]:
        """What was fitted, by name; the recogniser shows ``alpha`` and ``alpha_search`` as its attributes."""
        return {}

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Map features to the metric in which groups have their centres; the identity by default.

        Parameters
        ----------
        X : array of shape (n, d)
            Feature vectors.

        Returns
        -------
        array of shape (n, d)

        """
        return X

    def state(self) -> State:
        """Return what is saved of a fitted rejection.

        Header entries and arrays must not have names that the recogniser itself uses; it raises an error for them.
        """
        raise ValueError(f"{self.title()} cannot be saved: it has no method state; define state and restore.")

    def restore(self, state: State, labelled: Labelled, device: str) -> Self:
        """Return a fitted copy from what :meth:`state` returned.

        Raise :class:`~opengcd.ModelFileError` if it is damaged; errors such as ``KeyError`` and ``ValueError`` are
        turned into one.

        Parameters
        ----------
        state : State
            Header entries and arrays of the model, which may also hold those of other parts.
        labelled : Labelled
            The exemplars; their classifier may not be restored yet.
        device : str
            Torch device.

        Returns
        -------
        Rejection

        """
        raise ModelFileError(f"{self.title()} cannot be loaded: it has no method restore; define state and restore.")


class HeldOutScores(NamedTuple):
    """The unknown scores of held-out labelled rows."""

    known: np.ndarray
    """(m,) Scores of rows of known classes, by models that were not fitted on them."""
    unknown: UnknownProfile
    """How rows of classes that were treated as unknown score in comparison."""


class ScoresAmong(NamedTuple):
    """Labelled rows and a stream as a rejection sees them that was fitted on some of the classes only."""

    L: np.ndarray
    """(m, d) Labelled rows of these classes, in the metric fitted on them."""
    U: np.ndarray
    """(n, d) Rows of the stream, in the same metric."""
    scores: np.ndarray
    """(n,) Unknown scores of the stream."""


class ScoredRejection(Rejection):
    """A rejection of rows whose unknown score exceeds a threshold, with the score's distribution on held-out rows.

    Joint discovery (:class:`opengcd.discover.JointDiscovery`) needs one. It also uses :attr:`threshold`, which is not
    None after :meth:`fit`, and :meth:`transform`, which returns unit vectors.
    """

    @property
    @abstractmethod
    def held_out(self) -> HeldOutScores:
        """Scores of held-out labelled rows."""

    @abstractmethod
    def among(self, classes: np.ndarray, L: np.ndarray, codes: np.ndarray, X: np.ndarray, p: np.ndarray) -> ScoresAmong:
        """Return the metric and the scores that rows would have if only some of the classes were known.

        Parameters
        ----------
        classes : array of shape (K,)
            Numbers of the classes that count as known.
        L, codes : array
            Labelled rows of these classes, and their place in ``classes``.
        X : array of shape (n, d)
            Feature vectors of the stream.
        p : array of shape (n, C)
            Their closed-set probabilities over all classes.

        Returns
        -------
        ScoresAmong

        """


class StoredHeader(NamedTuple):
    """Header entries of the built-in rejections; each writes all three, because earlier versions expect them."""

    alpha: float | None = None
    threshold: dict[str, Any] | None = None
    alpha_criterion: str | None = None

    @classmethod
    def read(cls, header: Mapping[str, Any]) -> StoredHeader:
        """Return the entries of a model's header; a missing one is a ``KeyError``."""
        return cls(*(header[name] for name in cls._fields))
