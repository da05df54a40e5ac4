"""How a recogniser is laid out in a model folder.

Each part (memory, classifier, rejection) describes its own state as header entries and arrays; this module puts them
together in one header and one set of arrays, and hands them back to the parts when the model is loaded.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from opengcd import __version__
from opengcd._internal.model_folder import ModelFileError, read_model, reporting_damage, restore_classes, write_model
from opengcd._internal.part import State
from opengcd._internal.randomness import integer_seed, seed_from_json, seed_to_json
from opengcd._internal.validation import check_integer, encode
from opengcd.classify import OWN, Labelled, describe_classifier, needs_classifier, restore_classifier
from opengcd.memory import ExemplarMemory, Selector
from opengcd.osr import Rejection
from opengcd.presets import Preset, resolve_preset
from opengcd.saved_presets import describe_preset, restore_preset

Built = TypeVar("Built")
KIND = "OpenWorldRecognizer"
"""The kind of this model in the header; baselines have names of their own."""
PARAMETERS = ("memory_size", "selector", "alpha", "preset", "max_known_rejected", "max_classes", "random_state")
"""The constructor's arguments that are stored as such; the classifier has an entry of its own, the device has none."""


class Phase(NamedTuple):
    """Everything that a recogniser has learnt up to a phase."""

    number: int
    """1 after ``fit``; one more after each ``learn``."""
    seed: np.random.SeedSequence
    """The seed of all phases."""
    classes: np.ndarray
    """The known classes in the order of the columns of probabilities."""
    memory: ExemplarMemory
    """The exemplars."""
    model: Any
    """The fitted classifier; None until your own classifier is fitted again."""
    rejection: Rejection
    """The fitted rejection."""
    feature_names: np.ndarray | None = None
    """The columns of the data frame that was fitted on; None if it was an array."""

    def labelled(self, *, chosen_by_mean: bool = False) -> Labelled:
        """Return the exemplars with their classifier.

        Parameters
        ----------
        chosen_by_mean : bool
            Whether they were chosen to keep the means of all rows (:class:`opengcd.memory.SelectorProperties`).

        Returns
        -------
        Labelled

        """
        memory, classes = self.memory, self.classes
        seen = np.array([memory.seen[c] for c in classes.tolist()])
        kept = len(memory) / int(seen.sum()) if chosen_by_mean else 1.0
        codes, statistics = encode(memory.y, classes), memory.statistics_of(classes)
        return Labelled(memory.X, codes, classes, seen, kept, self.model, memory.trained, memory.found, statistics)


def save(path: str | os.PathLike[str], phase: Phase, parameters: dict[str, Any]) -> None:
    """Write a recogniser to a folder.

    Parameters
    ----------
    path : path
        The folder; it is made if it does not exist, and a model in it is replaced.
    phase : Phase
        What the recogniser has learnt.
    parameters : dict
        The arguments of its constructor.

    """
    memory = phase.memory.state(phase.classes)
    classifier = describe_classifier(phase.model, parameters["classifier"])
    rejection = phase.rejection.state()
    selector, alpha = parameters["selector"], parameters["alpha"]
    own: dict[str, Any] = {
        "kind": KIND,
        "opengcd_version": __version__,
        "classes": phase.classes.tolist(),
        "phase": phase.number,
    }
    rest = {
        "seed": seed_to_json(phase.seed),
        "memory": memory.header,
        "classifier": classifier.header,
        "parameters": {
            "memory_size": parameters["memory_size"],
            "selector": OWN if callable(selector) else selector,
            "alpha": alpha if isinstance(alpha, str) else float(alpha),
            "preset": describe_preset(parameters["preset"]),
            "max_known_rejected": parameters["max_known_rejected"],
            "max_classes": parameters["max_classes"],
            "random_state": integer_seed(parameters["random_state"]),
        },
    }
    if phase.feature_names is not None:
        rest["feature_names"] = phase.feature_names.tolist()
    arrays = memory.arrays | classifier.arrays
    taken = [*(rejection.header.keys() & (own | rest).keys()), *(rejection.arrays.keys() & arrays.keys())]
    if taken:
        raise ValueError(
            f"The state of {phase.rejection!r} uses names that are already taken: {', '.join(sorted(taken))}; rename "
            "them."
        )
    write_model(path, own | rejection.header | rest, arrays | rejection.arrays)


class Given(NamedTuple):
    """What :meth:`OpenWorldRecognizer.load` is given: parts that are not stored, if any, and the device."""

    classifier: Any
    """An unfitted classifier, or None to use the stored one."""
    selector: Selector | None
    """A selector of exemplars, or None to use the stored one."""
    preset: str | Preset | None
    """A preset, or None to use the stored one."""
    device: str
    """Where to compute; it is not stored."""


def load(path: str | os.PathLike[str], given: Given, build: Callable[[dict[str, Any], Phase], Built]) -> Built:
    """Read a recogniser that :func:`save` wrote.

    Parameters
    ----------
    path : path
        The folder.
    given : Given
        Parts that are not stored, and the device.
    build : callable
        Makes the recogniser from the arguments of its constructor and what it has learnt.

    Returns
    -------
    What ``build`` returns

    Raises
    ------
    ModelFileError
        If the folder holds no model, is damaged, needs a part that is not given, or was saved with another preset.

    """
    header, arrays, blobs = read_model(path, KIND)
    with reporting_damage(path):
        parameters = _restore_parameters(header["parameters"], given)
        needs_classifier(header["classifier"], given.classifier)
        state, device = State(header, arrays), given.device
        classes, preset = restore_classes(header["classes"]), resolve_preset(parameters["preset"])
        selector = parameters["selector"] or preset.selector
        memory = ExemplarMemory.restore(state._replace(header=header["memory"]), classes, selector, device)
        model = None
        if given.classifier is None:
            stored = state._replace(header=header["classifier"])
            parameters["classifier"], model = restore_classifier(stored, blobs, memory.X[:1], len(classes), device)
        rejection = preset.rejection_for(parameters["alpha"], parameters["max_known_rejected"])
        number, seed = check_integer(header["phase"], "phase"), seed_from_json(header["seed"])
        names = _restore_feature_names(header.get("feature_names"), memory.X.shape[1])
        phase = Phase(number, seed, classes, memory, model, rejection, names)
        return build(parameters, phase._replace(rejection=rejection.restore(state, phase.labelled(), device)))


def _restore_feature_names(stored: Any, n_features: int) -> np.ndarray | None:
    """Return the names of columns; older versions, and models that were fitted on arrays, stored none."""
    if stored is None:
        return None
    if not isinstance(stored, list) or len(stored) != n_features or not all(isinstance(name, str) for name in stored):
        raise ModelFileError(f"The model is damaged: it does not name its {n_features} features.")
    return np.array(stored, dtype=object)


def _restore_parameters(stored: dict[str, Any], given: Given) -> dict[str, Any]:
    """Return the arguments of the constructor, with those that are given again."""
    if set(stored) != set(PARAMETERS):
        raise ModelFileError(f"The model is damaged: its parameters are not {', '.join(PARAMETERS)}.")
    if stored["selector"] == OWN and given.selector is None:
        raise ModelFileError(
            "This recogniser was saved with a selector that is not built in; pass it as load(selector=...)."
        )
    return stored | {
        "preset": restore_preset(stored["preset"], given.preset),
        "selector": given.selector or stored["selector"],
        "classifier": given.classifier,
        "device": given.device,
    }
