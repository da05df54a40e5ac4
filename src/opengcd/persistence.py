"""How a recogniser is laid out in a model folder (see ``storage.py`` for the folder itself)."""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from opengcd import __version__
from opengcd.classify import CLASSIFIERS, XGB, ArrayClassifier
from opengcd.memory import ExemplarMemory, Selector
from opengcd.osr import AlphaSearch
from opengcd.presets import Preset
from opengcd.storage import ModelFileError, read_model, write_model
from opengcd.validation import check_features, check_labels, encode

if TYPE_CHECKING:
    from opengcd.recognizer import OpenWorldRecognizer

KIND = "OpenWorldRecognizer"


def save(recognizer: OpenWorldRecognizer, path: str | os.PathLike[str]) -> None:
    """Write a fitted recogniser to a folder."""
    model, memory, search = recognizer._model, recognizer.memory_, recognizer.alpha_search_
    arrays = {"memory.X": memory.X, "memory.codes": encode(memory.y, recognizer.classes_)}
    classifier: dict[str, Any] = {"name": None, "type": type(model).__qualname__}
    blobs = {}
    if isinstance(model, ArrayClassifier):
        classifier = {
            "name": type(model).__name__.lower(),
            "settings": model.settings(),
            "given_by_name": isinstance(recognizer.classifier, str),
        }
        arrays |= {f"classifier.{name}": value for name, value in model.arrays().items()}
    if isinstance(model, XGB):
        blobs["classifier"] = model.to_bytes()
    if search is not None:
        arrays |= {"alpha.grid": search.grid, "alpha.scores": search.scores}
    preset = recognizer.preset
    header = {
        "kind": KIND,
        "opengcd_version": __version__,
        "classes": recognizer.classes_.tolist(),
        "phase": recognizer.phase_,
        "alpha": recognizer.alpha_,
        "alpha_criterion": None if search is None else search.criterion,
        "seed": _seed_to_json(recognizer._seed),
        "memory": {"size": memory.size, "updates": memory.updates, "seed": _seed_to_json(memory.seed)},
        "classifier": classifier,
        "parameters": {
            "memory_size": recognizer.memory_size,
            "selector": recognizer.selector if isinstance(recognizer.selector, str) else None,
            "alpha": recognizer.alpha if isinstance(recognizer.alpha, str) else float(recognizer.alpha),
            "preset": dataclasses.asdict(preset) if isinstance(preset, Preset) else preset,
            "max_classes": recognizer.max_classes,
        },
    }
    write_model(path, header, arrays, blobs)


def load(
    kind: type[OpenWorldRecognizer],
    path: str | os.PathLike[str],
    *,
    classifier: Any,
    selector: Selector | None,
    device: str,
) -> Any:
    """Read a recogniser from a folder."""
    header, arrays, blobs = read_model(path, KIND)
    try:
        return _restore(kind, header, arrays, blobs, classifier, selector, device)
    except ModelFileError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise ModelFileError(f"{path} is damaged: its contents do not fit together ({error!r}).") from error


def _restore(
    kind: type[OpenWorldRecognizer],
    header: dict[str, Any],
    arrays: dict[str, np.ndarray],
    blobs: dict[str, bytes],
    classifier: Any,
    selector: Selector | None,
    device: str,
) -> OpenWorldRecognizer:
    parameters, stored = dict(header["parameters"]), header["classifier"]
    if parameters["selector"] is None and selector is None:
        raise ModelFileError("This recogniser was saved with an exemplar selector of its own; pass load(selector=...).")
    if stored["name"] is None and classifier is None:
        raise ModelFileError(
            f"This recogniser was saved with a classifier of type {stored['type']}, which is not stored; pass "
            "load(classifier=...) with the same settings and it is fitted again on the stored exemplars."
        )
    if selector is not None:
        parameters["selector"] = selector
    if isinstance(parameters["preset"], dict):
        settings = {**parameters["preset"], "alpha_grid": tuple(parameters["preset"]["alpha_grid"])}
        parameters["preset"] = Preset(**settings)

    classes = check_labels(header["classes"], len(header["classes"]), name="classes")
    X, codes = check_features(arrays["memory.X"], name="memory.X"), arrays["memory.codes"]
    if codes.shape != (len(X),) or set(codes.tolist()) != set(range(len(classes))):
        raise ModelFileError("The model is damaged: exemplars and classes do not fit together.")
    memory = ExemplarMemory(
        int(header["memory"]["size"]), parameters["selector"], _seed_from_json(header["memory"]["seed"]), device
    )
    memory.X, memory.y, memory.updates = X, classes[codes], int(header["memory"]["updates"])

    model = None
    if classifier is None:
        model = CLASSIFIERS[stored["name"]](**stored["settings"], device=device)
        model.restore({k.removeprefix("classifier."): v for k, v in arrays.items() if k.startswith("classifier.")})
        if isinstance(model, XGB):
            model.from_bytes(blobs["classifier"])
        classifier = stored["name"] if stored["given_by_name"] else CLASSIFIERS[stored["name"]](**stored["settings"])
    alpha, search = float(header["alpha"]), None
    if header["alpha_criterion"] is not None:
        search = AlphaSearch(alpha, arrays["alpha.grid"], arrays["alpha.scores"], str(header["alpha_criterion"]))

    recognizer = kind(classifier=classifier, device=device, **parameters)
    recognizer._become(int(header["phase"]), _seed_from_json(header["seed"]), classes, memory, model, alpha, search)
    return recognizer


def _seed_to_json(seed: np.random.SeedSequence) -> dict[str, Any]:
    # 128 bits of entropy are more than a JSON number keeps.
    return {"entropy": str(seed.entropy), "key": [int(i) for i in seed.spawn_key]}


def _seed_from_json(stored: dict[str, Any]) -> np.random.SeedSequence:
    return np.random.SeedSequence(int(stored["entropy"]), spawn_key=tuple(stored["key"]))
