"""What every closed-set classifier of ours shares: standardised inputs, fitted arrays, inference in one call."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator


class Inference(NamedTuple):
    """Class numbers and the (n, C) probabilities of each row."""

    labels: np.ndarray
    probabilities: np.ndarray


def softmax_inference(logits: np.ndarray) -> Inference:
    """Labels and probabilities from logits in float64, so that a row gets the same answer alone and in a batch."""
    p = np.exp(logits - logits.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    return Inference(p.argmax(1), p)


class Standardised:
    """Features less their mean, over their deviation, both those of the rows that were fitted on."""

    mean_: np.ndarray
    scale_: np.ndarray

    def _fit_scale(self, X: np.ndarray) -> None:
        # Taken from the first row, a constant column is exactly 0, and its deviation is no rounding error.
        first = X[0].astype(np.float64)
        rest = X - first
        self.mean_ = first + rest.mean(0)
        deviation = rest.std(0)
        self.scale_ = np.where(deviation > 0, deviation, 1.0)

    def _standardised(self, X: np.ndarray) -> np.ndarray:
        return (X - self.mean_) / self.scale_


class ArrayClassifier(Standardised, BaseEstimator, ABC):
    """A classifier whose fitted state is a handful of arrays, so that it is saved without pickle.

    Classes are numbered from 0 without gaps. Features are standardised with the mean and deviation of the fitting
    rows: the paper is silent on it, its code does so for the SVM, and the MLP learns fine-grained classes better so.
    """

    ARRAYS: ClassVar[tuple[str, ...]] = ()

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the class number of each row."""
        return self.infer(X).labels

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Return the (n, C) class probabilities in float64."""
        return self.infer(X).probabilities

    @abstractmethod
    def infer(self, X: np.ndarray) -> Inference:
        """Return class numbers and probabilities together, computed once."""

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the fitted state."""
        return {name: np.asarray(getattr(self, name), order="C") for name in self.ARRAYS}

    def stored_arrays(self, arrays: dict[str, np.ndarray], blobs: Mapping[str, bytes]) -> dict[str, np.ndarray]:
        """Return the fitted state from a model folder; ``blobs`` are further files that older versions wrote."""
        return arrays

    def check_stored(self, arrays: dict[str, np.ndarray], n_classes: int, n_features: int) -> None:
        """Raise :class:`ModelFileError` if a state that was read must not even be restored."""

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Take over a fitted state."""
        for name in self.ARRAYS:
            setattr(self, name, arrays[name])

    def settings(self) -> dict[str, Any]:
        """Return the constructor's arguments, but for seed and device."""
        return {k: v for k, v in self.get_params().items() if k not in ("random_state", "device")}
