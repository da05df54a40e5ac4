"""Base class of the built-in classifiers: standardised inputs, a fitted state of arrays, inference in one call."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator


class Inference(NamedTuple):
    """Predicted class numbers, (n,), and class probabilities, (n, C)."""

    labels: np.ndarray
    probabilities: np.ndarray


def softmax_inference(logits: np.ndarray) -> Inference:
    """Return labels and probabilities from logits, in float64: a row gets the same result alone and in a batch."""
    p = np.exp(logits - logits.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    return Inference(p.argmax(1), p)


class Standardised:
    """Standardise features by the mean and standard deviation of the training rows."""

    mean_: np.ndarray
    scale_: np.ndarray

    def _fit_scale(self, X: np.ndarray) -> None:
        # Relative to the first row a constant column is exactly 0, so its deviation is 0 and not a rounding error.
        first = X[0].astype(np.float64)
        rest = X - first
        self.mean_ = first + rest.mean(0)
        deviation = rest.std(0)
        self.scale_ = np.where(deviation > 0, deviation, 1.0)

    def standardised(self, X: np.ndarray) -> np.ndarray:
        """Return rows minus the mean of the training rows, divided by their standard deviation.

        Parameters
        ----------
        X : array of shape (n, d)
            Feature vectors.

        Returns
        -------
        array of shape (n, d)

        """
        return (X - self.mean_) / self.scale_


class ArrayClassifier(Standardised, BaseEstimator, ABC):
    """A classifier whose fitted state consists of arrays, so that it can be saved without pickle.

    Classes are numbered from 0 without gaps. Features are standardised by the mean and standard deviation of the
    training rows. The paper does not mention this; its code does so for the SVM, and the MLP learns fine-grained
    classes better with it.
    """

    ARRAYS: ClassVar[tuple[str, ...]] = ()
    takes_statistics: ClassVar[bool] = False
    """Whether ``fit`` also takes the statistics of the classes, which may be of more rows than those it is given."""

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the class number of each row.

        Parameters
        ----------
        X : array of shape (n, d)
            Feature vectors.

        Returns
        -------
        int array of shape (n,)

        """
        return self.infer(X).labels

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Return the class probabilities of each row.

        Parameters
        ----------
        X : array of shape (n, d)
            Feature vectors.

        Returns
        -------
        float64 array of shape (n, C)
            Each row sums to 1.

        """
        return self.infer(X).probabilities

    @abstractmethod
    def infer(self, X: np.ndarray) -> Inference:
        """Return class numbers and probabilities from one pass.

        Parameters
        ----------
        X : array of shape (n, d)
            Feature vectors.

        Returns
        -------
        Inference

        """

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the fitted state, for :meth:`restore`."""
        return {name: np.asarray(getattr(self, name), order="C") for name in self.ARRAYS}

    def stored_arrays(self, arrays: dict[str, np.ndarray], blobs: Mapping[str, bytes]) -> dict[str, np.ndarray]:
        """Return the fitted state as read from a model folder.

        Parameters
        ----------
        arrays : dict of arrays
            As :meth:`arrays` returned them.
        blobs : mapping of bytes
            Extra files that older versions wrote, by name.

        Returns
        -------
        dict of arrays
            For :meth:`restore`.

        """
        return arrays

    def check_stored(self, arrays: dict[str, np.ndarray], n_classes: int, n_features: int) -> None:
        """Raise :class:`ModelFileError` if it is not safe to restore stored arrays; by default every array is.

        Parameters
        ----------
        arrays : dict of arrays
            From :meth:`stored_arrays`.
        n_classes, n_features : int
            Of the model that they belong to.

        """

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Set the fitted state.

        Parameters
        ----------
        arrays : dict of arrays
            As :meth:`arrays` returned them.

        """
        for name in self.ARRAYS:
            setattr(self, name, arrays[name])

    def settings(self) -> dict[str, Any]:
        """Return the constructor's arguments, except seed and device."""
        return {k: v for k, v in self.get_params().items() if k not in ("random_state", "device")}
