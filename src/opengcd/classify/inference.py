"""Fit a closed-set classifier, built-in or scikit-learn's, and predict with it."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from opengcd._internal.class_statistics import ClassStatistics
from opengcd._internal.randomness import Seed, as_int
from opengcd.classify.classifier import ArrayClassifier, Inference
from opengcd.classify.registry import CLASSIFIERS


def check_classifier(classifier: Any) -> None:
    """Raise a ValueError unless this can be used as a classifier.

    Parameters
    ----------
    classifier : str or estimator
        The name of a built-in classifier, or an object with ``fit``, ``predict_proba`` and ``get_params``.

    """
    if isinstance(classifier, str):
        if classifier not in CLASSIFIERS:
            raise ValueError(
                f"Unknown classifier {classifier!r}; choose from {', '.join(CLASSIFIERS)} "
                "or pass a scikit-learn classifier with predict_proba."
            )
    elif not all(callable(getattr(classifier, verb, None)) for verb in ("fit", "predict_proba", "get_params")):
        raise ValueError(
            f"{classifier!r} cannot be used as a classifier: it needs fit, predict_proba and get_params "
            "(for SVC, use classifier='svm')."
        )


def _make(classifier: Any, random_state: Seed, device: str) -> Any:
    """Return an unfitted classifier for a name or an estimator, seeded if it has no seed."""
    check_classifier(classifier)
    if isinstance(classifier, str):
        return CLASSIFIERS[classifier](random_state=as_int(random_state), device=device)
    fresh = clone(classifier)
    seeds = {name: as_int(random_state) for name, value in fresh.get_params().items()
             if value is None and name.split("__")[-1] == "random_state"}  # fmt: skip
    return fresh.set_params(**seeds)


def fit_classifier(
    classifier: Any,
    X: np.ndarray,
    y: np.ndarray,
    random_state: Seed,
    device: str = "auto",
    statistics: ClassStatistics | None = None,
) -> Any:
    """Fit a new classifier from scratch.

    Parameters
    ----------
    classifier : str or estimator
        Name of a built-in classifier, or a scikit-learn classifier, which is cloned.
    X, y : array
        Training rows, and their classes numbered from 0 without gaps.
    random_state : int, SeedSequence, Generator or None
        Used if the classifier has no seed.
    device : str
        Torch device of the built-in classifiers.
    statistics : ClassStatistics or None
        Statistics of the classes, from these rows and perhaps more; classifiers that cannot use them ignore them.

    Returns
    -------
    estimator
        The fitted classifier.

    """
    model = _make(classifier, random_state, device)
    if statistics is not None and isinstance(model, ArrayClassifier) and model.takes_statistics:
        return model.fit(X, y, statistics)
    return model.fit(X, y)


def infer(model: Any, X: np.ndarray) -> Inference:
    """Return the class number and the class probabilities of each row.

    Parameters
    ----------
    model : estimator
        From :func:`fit_classifier`.
    X : array of shape (n, d)
        Feature vectors.

    Returns
    -------
    Inference

    """
    if isinstance(model, ArrayClassifier):
        return model.infer(X)
    p = np.asarray(model.predict_proba(X), dtype=np.float64)
    return Inference(p.argmax(1), p)


def predict_labels(model: Any, X: np.ndarray) -> np.ndarray:
    """Return the same class numbers as :func:`infer`, without the cost of the probabilities where that is possible.

    Parameters
    ----------
    model : estimator
        From :func:`fit_classifier`.
    X : array of shape (n, d)
        Feature vectors.

    Returns
    -------
    int array of shape (n,)

    """
    return model.predict(X) if isinstance(model, ArrayClassifier) else infer(model, X).labels
