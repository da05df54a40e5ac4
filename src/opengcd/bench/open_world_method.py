"""The interface of a method in the benchmark."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Literal, NamedTuple

import numpy as np

from opengcd import UNKNOWN
from opengcd._internal.progress import Progress, silent
from opengcd.bench.image_dataset import DatasetImages
from opengcd.bench.near_copies import NearCopies
from opengcd.discover import Discovery, MetricRows
from opengcd.osr import AlphaSearch


class Predictions(NamedTuple):
    """Labels and unknown scores of n rows."""

    labels: np.ndarray
    """(n,) A known class, or ``unknown_label_``."""
    closed: np.ndarray
    """(n,) The known class that each row would get if none were rejected."""
    unknown_score: np.ndarray
    """(n,) The larger, the more likely a row is of no known class."""


class FittedParameters(NamedTuple):
    """Parameters that a method found by itself, kept with the results."""

    settings: dict[str, Any] = {}  # noqa: RUF012  a tuple is not changed
    """By name; values that JSON can hold."""
    alpha: float | None = None
    """Weight of uncertainty in the paper's open-set rule."""
    alpha_search: AlphaSearch | None = None
    """The search for it; the unknown score must then be the paper's u (Eq. 1)."""


class OpenWorldMethod(ABC):
    """A method that recognises, rejects, discovers and learns; the protocols call nothing else.

    ``fit``, ``learn``, ``recognize`` and ``discover`` must be implemented; the other methods and the attributes have
    defaults. The command line constructs a method with the keyword arguments ``memory_size`` (None: as many exemplars
    as ``fit`` is given rows) and ``random_state``.

    Attributes
    ----------
    unknown_label_ : int or str
        The label of rejected rows.
    learns_from : {"all", "nothing"} or None
        What the method is given after each phase: the whole official training set of the next classes, or nothing;
        None leaves it to the protocol.
    reviews_one_by_one : bool
        Whether rejected rows are labelled one by one, at one action for each, and not by groups.
    takes_images : bool
        Whether the method makes features of images itself. :meth:`open_images` is then called first, and wherever
        other methods are given the features ``X`` of rows, it is given the numbers of their images, in one dimension.

    """

    unknown_label_: Any = UNKNOWN
    learns_from: Literal["all", "nothing"] | None = None
    reviews_one_by_one: bool = False
    takes_images: bool = False

    @abstractmethod
    def fit(self, X: np.ndarray, y: np.ndarray, *, progress: Progress = silent) -> Any:
        """Start from labelled rows of the first known classes.

        Parameters
        ----------
        X : array of shape (n, d)
            Feature vectors.
        y : array of shape (n,)
            Their classes.
        progress : callable
            Called with a stage, the steps done and their total.

        """

    @abstractmethod
    def learn(self, X: np.ndarray, y: np.ndarray, *, progress: Progress = silent) -> Any:
        """Learn from newly labelled rows, of new classes or of old ones.

        Parameters
        ----------
        X : array of shape (n, d)
            Feature vectors.
        y : array of shape (n,)
            Their classes.
        progress : callable
            Called with a stage, the steps done and their total.

        """

    @abstractmethod
    def recognize(self, X: np.ndarray) -> Predictions:
        """Return labels with rejection, labels without, and the unknown score.

        Parameters
        ----------
        X : array of shape (n, d)

        Returns
        -------
        Predictions

        """

    @abstractmethod
    def discover(self, X: np.ndarray, *, progress: Progress = silent) -> Discovery:
        """Group rejected rows.

        Parameters
        ----------
        X : array of shape (n, d)
            The rejected rows of a stream.
        progress : callable
            Called with a stage, the steps done and their total.

        Returns
        -------
        Discovery

        """

    def open_images(self, images: DatasetImages) -> Any:  # noqa: B027  optional
        """Take the images of a dataset, before :meth:`fit`; called only if ``takes_images`` is true.

        Parameters
        ----------
        images : DatasetImages
            All images, without their classes.

        """

    def add_copies(self, copies: NearCopies) -> Any:
        """Take near copies of images that the next stream shows, in place of earlier ones, if ``takes_images`` is true.

        Parameters
        ----------
        copies : NearCopies
            Numbered after the images of the dataset.

        Raises
        ------
        NotImplementedError
            Unless the method can.

        """
        raise NotImplementedError(f"{type(self).__name__} takes images but not near copies; implement add_copies.")

    def predict_closed(self, X: np.ndarray) -> np.ndarray:
        """Return the known class of each row, rejecting nothing.

        Parameters
        ----------
        X : array of shape (n, d)
            Feature vectors.

        Returns
        -------
        array of shape (n,)

        """
        return self.recognize(X).closed

    def discover_in_stream(
        self, X: np.ndarray, rejected: np.ndarray, *, progress: Progress = silent
    ) -> tuple[np.ndarray, Discovery]:
        """Group rows of a stream; by default the rejected rows alone, by :meth:`discover`.

        Parameters
        ----------
        X : array of shape (n, d)
            All rows of the stream.
        rejected : bool array of shape (n,)
            Which of them were rejected.
        progress : callable
            Called with a stage, the steps done and their total.

        Returns
        -------
        rows : int array
            The rows of ``X`` that were examined.
        discovery : Discovery
            What was found in ``X[rows]``.

        """
        rows = np.flatnonzero(rejected)
        return rows, self.discover(X[rows], progress=progress)

    def discover_again(
        self, X: np.ndarray, rejected: np.ndarray, confirmed: np.ndarray, *, progress: Progress = silent
    ) -> tuple[np.ndarray, Discovery]:
        """Group rows of a stream after a person has labelled some of them; by default the labels are ignored.

        Parameters
        ----------
        X : array of shape (n, d)
            All rows of the stream so far.
        rejected : bool array of shape (n,)
            Which of them were rejected.
        confirmed : array of shape (n,)
            The labels given, and ``unknown_label_`` for the other rows.
        progress : callable
            Called with a stage, the steps done and their total.

        Returns
        -------
        rows : int array
            The rows of ``X`` that were examined.
        discovery : Discovery
            What was found in ``X[rows]``.

        """
        return self.discover_in_stream(X, rejected, progress=progress)

    @property
    def adapts(self) -> bool:
        """Whether the method adapts to the stream: it then sees the stream in parts and :meth:`observe` is called."""
        return False

    def observe(self, X: np.ndarray) -> Any:  # noqa: B027  optional
        """Adapt to rows of the stream that were just recognised; by default nothing is done.

        Parameters
        ----------
        X : array of shape (n, d)
            Feature vectors.

        """

    def in_metric(self, X: np.ndarray) -> np.ndarray | None:
        """Return rows in the metric in which a group is clustered again if the reviewer splits it.

        Parameters
        ----------
        X : array of shape (n, d)

        Returns
        -------
        array of shape (n, d') or None
            By default the features themselves; None for images, whose groups are then not split.

        """
        return None if self.takes_images else X

    def question_rows(self, X: np.ndarray) -> MetricRows | None:
        """Return what questions about groups are made from; by default None: there are no questions.

        Parameters
        ----------
        X : array of shape (n, d)
            The rows that were grouped.

        Returns
        -------
        MetricRows or None

        """
        return None

    def spent(self) -> dict[str, float]:
        """Return the seconds of steps that are to be reported by name, since the last call; none by default.

        They are part of the time of fitting, recognising or discovering, which is measured anyway.
        """
        return {}

    def fitted_parameters(self) -> FittedParameters:
        """Return the parameters found in this phase; none by default."""
        return FittedParameters()
