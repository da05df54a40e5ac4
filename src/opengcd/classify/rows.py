"""The input of rejection and discovery: labelled rows and a stream, with the classifier's probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from opengcd._internal.class_statistics import ClassStatistics
from opengcd.classify.inference import infer


@dataclass(frozen=True, eq=False)
class Labelled:
    """Labelled rows of the known classes, and the classifier that was fitted on them."""

    X: np.ndarray
    """(n, d) Feature vectors."""
    codes: np.ndarray
    """(n,) Place of each row's class in ``classes``."""
    classes: np.ndarray
    """(C,) The known classes."""
    seen: np.ndarray
    """(C,) Number of labelled rows of each class so far; the memory may have kept fewer."""
    kept: float = 1.0
    """Share of all labelled rows so far that ``X`` holds, if they were selected to preserve the class means; else 1."""
    model: Any = None
    """The fitted classifier; None where only the rows are needed."""
    trained: np.ndarray | None = None
    """(n,) Whether the network that computed a row was trained on its label; None: no row was."""
    found: np.ndarray | None = None
    """(n,) Whether discovery found a row, so that it is easier to recognise than others of its class; None: no row."""
    statistics: ClassStatistics | None = None
    """Statistics of all labelled rows so far, numbered as ``codes``; None if they are not remembered."""

    @cached_property
    def probabilities(self) -> np.ndarray:
        """(n, C) Closed-set probabilities; computed on first use."""
        return infer(self.model, self.X).probabilities

    def stream(self, X: np.ndarray, rejected: np.ndarray) -> Stream:
        """Return unlabelled rows as a stream, with the same classes and classifier.

        Parameters
        ----------
        X : array of shape (n, d)
            Feature vectors.
        rejected : bool array of shape (n,)
            Which of them were rejected.

        Returns
        -------
        Stream

        """
        return Stream(X, rejected, len(self.classes), self.model)


@dataclass(frozen=True, eq=False)
class Stream:
    """Unlabelled rows, and which of them were rejected."""

    X: np.ndarray
    """(n, d) Feature vectors."""
    rejected: np.ndarray
    """(n,) Whether a row was rejected. If all were, ``X`` holds the rejected rows of a stream only."""
    n_classes: int
    """Number C of known classes."""
    model: Any = None
    """The classifier fitted on the labelled rows."""

    @cached_property
    def probabilities(self) -> np.ndarray:
        """(n, C) Closed-set probabilities; computed on first use."""
        return infer(self.model, self.X).probabilities if len(self.X) else np.empty((0, self.n_classes))
