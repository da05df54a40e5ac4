"""Save and restore a fitted classifier as settings and arrays, without pickle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from opengcd._internal.model_folder import ModelFileError
from opengcd._internal.part import State
from opengcd._internal.randomness import integer_seed
from opengcd.classify.inference import infer
from opengcd.classify.registry import CLASSIFIERS

OWN = "own"
"""Stored in place of an argument that is an object, not a name."""
PREFIX = "classifier."


def describe_classifier(model: Any, given: Any) -> State:
    """Return what is saved of a fitted classifier.

    Only built-in classes are saved. A subclass may compute anything, so only its name is saved, as for your own
    classifiers.

    Parameters
    ----------
    model : estimator
        The fitted classifier.
    given : str, estimator or None
        The argument ``classifier`` of the recogniser.

    Returns
    -------
    State

    """
    if type(model) not in CLASSIFIERS.values():
        return State({"name": None, "type": type(model).__qualname__}, {})
    header = {
        "name": type(model).__name__.lower(),
        "settings": model.settings(),
        "given": given if given is None or isinstance(given, str) else OWN,
        "random_state": integer_seed(getattr(given, "random_state", None)),
    }
    return State(header, {f"{PREFIX}{name}": value for name, value in model.arrays().items()})


def needs_classifier(stored: Mapping[str, Any], classifier: Any) -> None:
    """Raise a :class:`ModelFileError` if the classifier was the user's own, so that it was not saved, and is not given.

    Parameters
    ----------
    stored : mapping
        The header of :func:`describe_classifier`.
    classifier : str, estimator or None
        What was given when the recogniser is loaded.

    """
    if stored["name"] is None and classifier is None:
        raise ModelFileError(
            f"This recogniser was saved with a classifier of type {stored['type']}, which is not stored; pass "
            "load(classifier=...) with the same settings and it is fitted again on the stored exemplars."
        )


def restore_classifier(
    state: State, blobs: Mapping[str, bytes], row: np.ndarray, n_classes: int, device: str
) -> tuple[Any, Any]:
    """Return the recogniser's argument ``classifier`` as it was given, and the fitted classifier.

    Parameters
    ----------
    state : State
        What :func:`describe_classifier` returned; ``arrays`` may also hold those of other parts.
    blobs : mapping
        Files that older versions wrote.
    row : array of shape (1, d)
        Features on which the restored classifier is tested.
    n_classes : int
        Number of known classes.
    device : str
        Torch device.

    Returns
    -------
    given, model : tuple

    """
    stored = state.header
    name, settings, seed = stored["name"], stored["settings"], stored["random_state"]
    model = CLASSIFIERS[name](**settings, device=device)
    own = {key.removeprefix(PREFIX): value for key, value in state.arrays.items() if key.startswith(PREFIX)}
    arrays = model.stored_arrays(own, blobs)
    model.check_stored(arrays, n_classes, row.shape[1])
    model.restore(arrays)
    p = infer(model, row).probabilities
    if p.shape != (1, n_classes) or not all(np.isfinite(array).all() for array in (*arrays.values(), p)):
        raise ModelFileError("The model is damaged: classifier and classes do not fit together.")
    given = stored["given"]
    return CLASSIFIERS[name](**settings, random_state=seed, device=device) if given == OWN else given, model
