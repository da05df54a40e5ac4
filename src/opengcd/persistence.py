"""How a recogniser is laid out in a model folder (see ``storage.py`` for the folder itself)."""

from __future__ import annotations

import dataclasses
import numbers
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from opengcd import __version__
from opengcd._internal.kernels import resolve_device
from opengcd._internal.storage import ModelFileError, read_model, write_model
from opengcd._internal.validation import check_features, check_integer, check_labels, encode, refuse_unknown_label
from opengcd._internal.whitening import WithinClassWhitening
from opengcd.classify import CLASSIFIERS, XGB, ArrayClassifier, infer, trees_from_ubj
from opengcd.memory import ExemplarMemory, Selector, check_selector
from opengcd.osr import (
    AlphaSearch,
    NoveltyRejection,
    NoveltyScore,
    Rejection,
    Threshold,
    UncertaintyRejection,
    UnknownProfile,
    Witnesses,
    check_alpha,
)
from opengcd.presets import Preset, resolve_preset

if TYPE_CHECKING:
    from opengcd.recognizer import OpenWorldRecognizer

KIND = "OpenWorldRecognizer"
PARAMETERS = ("memory_size", "selector", "alpha", "preset", "max_known_rejected", "max_classes", "random_state")
OWN = "own"
"""Stands for a selector that is the user's own and is not stored."""


def save(recognizer: OpenWorldRecognizer, path: str | os.PathLike[str]) -> None:
    """Write a fitted recogniser to a folder."""
    model, memory, search = recognizer._model, recognizer.memory_, recognizer.alpha_search_
    stored_memory, arrays = describe_memory(memory, recognizer.classes_)
    classifier: dict[str, Any] = {"name": None, "type": type(model).__qualname__}
    # A class derived from ours may compute anything; it counts as the user's own.
    if isinstance(model, ArrayClassifier) and type(model) in CLASSIFIERS.values():
        given = recognizer.classifier
        classifier = {
            "name": type(model).__name__.lower(),
            "settings": model.settings(),
            "given": given if given is None or isinstance(given, str) else OWN,
            "random_state": plain_seed(getattr(given, "random_state", None)),
        }
        arrays |= {f"classifier.{name}": value for name, value in model.arrays().items()}
    if search is not None:
        arrays |= {"alpha.grid": search.grid, "alpha.scores": search.scores}
    if isinstance(recognizer._rejection, NoveltyRejection):
        arrays |= {f"novelty.{name}": value for name, value in _novelty_arrays(recognizer._rejection).items()}
    preset = recognizer.preset
    header = {
        "kind": KIND,
        "opengcd_version": __version__,
        "classes": recognizer.classes_.tolist(),
        "phase": recognizer.phase_,
        "alpha": recognizer.alpha_,
        "threshold": None if recognizer.threshold_ is None else recognizer.threshold_._asdict(),
        "alpha_criterion": None if search is None else search.criterion,
        "seed": seed_to_json(recognizer._seed),
        "memory": stored_memory,
        "classifier": classifier,
        "parameters": {
            "memory_size": recognizer.memory_size,
            "selector": OWN if callable(recognizer.selector) else recognizer.selector,
            "alpha": recognizer.alpha if isinstance(recognizer.alpha, str) else float(recognizer.alpha),
            "preset": dataclasses.asdict(preset) if isinstance(preset, Preset) else preset,
            "max_known_rejected": recognizer.max_known_rejected,
            "max_classes": recognizer.max_classes,
            "random_state": plain_seed(recognizer.random_state),
        },
    }
    write_model(path, header, arrays)


def load(
    kind: type[OpenWorldRecognizer],
    path: str | os.PathLike[str],
    *,
    classifier: Any,
    selector: Selector | None,
    device: str,
) -> Any:
    """Read a recogniser from a folder."""
    resolve_device(device)
    if selector is not None:
        check_selector(selector)
    header, arrays, blobs = read_model(path, KIND)
    with damage_is_told(path):
        return _restore(kind, header, arrays, blobs, classifier, selector, device)


@contextmanager
def damage_is_told(path: str | os.PathLike[str]) -> Iterator[None]:
    """Say of whatever goes wrong meanwhile that the model folder is damaged."""
    try:
        yield
    except (ModelFileError, torch.OutOfMemoryError):
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RuntimeError) as error:
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
    parameters, stored = header["parameters"], header["classifier"]
    if set(parameters) != set(PARAMETERS):
        raise ModelFileError(f"The model is damaged: its parameters are not {', '.join(PARAMETERS)}.")
    if parameters["selector"] == OWN and selector is None:
        raise ModelFileError("This recogniser was saved with an exemplar selector of its own; pass load(selector=...).")
    if stored["name"] is None and classifier is None:
        raise ModelFileError(
            f"This recogniser was saved with a classifier of type {stored['type']}, which is not stored; pass "
            "load(classifier=...) with the same settings and it is fitted again on the stored exemplars."
        )
    parameters = {**parameters, "selector": selector or parameters["selector"], "device": device}
    if isinstance(parameters["preset"], dict):
        parameters["preset"] = Preset(
            **{**parameters["preset"], "alpha_grid": tuple(parameters["preset"]["alpha_grid"])}
        )
    classes = restore_classes(header["classes"])
    rule = parameters["selector"] or resolve_preset(parameters["preset"]).selector
    memory = restore_memory(header["memory"], arrays, classes, rule, device)
    model = None
    if classifier is None:
        classifier, model = _restore_classifier(stored, arrays, blobs, memory.X[:1], len(classes), device)
    recognizer = kind(classifier=classifier, **parameters)
    recognizer._check_settings(len(classes))
    rejection: Rejection
    search, threshold, alpha = None, header["threshold"], header["alpha"]
    if resolve_preset(recognizer.preset).rejection == "novelty":
        rejection = _restore_novelty(recognizer, threshold, arrays, memory, len(classes))
    else:
        rejection = UncertaintyRejection(check_alpha(alpha))
        if header["alpha_criterion"] is not None:
            curve = arrays["alpha.grid"], arrays["alpha.scores"]
            search = AlphaSearch(rejection.rule.alpha, *curve, str(header["alpha_criterion"]))
    phase, seed = check_integer(header["phase"], "phase"), seed_from_json(header["seed"])
    recognizer._become(phase, seed, classes, memory, model, rejection, search)
    return recognizer


def _novelty_arrays(rejection: NoveltyRejection) -> dict[str, np.ndarray]:
    score = rejection.score
    return {
        "origin": score.witnesses_.metric.origin_,
        "map": score.witnesses_.metric.map_,
        "means": score.witnesses_.means,
        "center": score.center_,
        "scale": score.scale_,
        "known_scores": score.known_scores_,
        "known_right": score.known_right_,
        "known_rejected": np.array(score.known_rejected_),
        "unknown": np.stack(score.unknown_),
        "seen": rejection.seen,
    }


def _restore_novelty(
    recognizer: OpenWorldRecognizer,
    threshold: dict[str, Any],
    arrays: dict[str, np.ndarray],
    memory: ExemplarMemory,
    n_classes: int,
) -> NoveltyRejection:
    preset, width = resolve_preset(recognizer.preset), memory.X.shape[1]
    score = NoveltyScore(whiten=preset.whiten, neighbours=preset.neighbours, device=recognizer.device)
    metric = WithinClassWhitening(score.shrinkage if preset.whiten else None, recognizer.device)
    stored = {name.removeprefix("novelty."): value for name, value in arrays.items() if name.startswith("novelty.")}
    known = len(stored["known_scores"])
    shapes = {
        "origin": (width,),
        "map": (width, width),
        "means": (n_classes, width),
        "center": (3,),
        "scale": (3,),
        "known_scores": (known,),
        "known_right": (known,),
        "known_rejected": (),
        "unknown": (3, stored["unknown"].shape[-1]),
        "seen": (stored["seen"].size,),
    }
    if (
        any(stored[name].shape != shape for name, shape in shapes.items())
        or not known
        or not all(np.isfinite(array).all() for array in stored.values())
    ):
        raise ModelFileError("The model is damaged: the score for unknown and the classes do not fit together.")
    metric.origin_, metric.map_ = stored["origin"], stored["map"]
    score.witnesses_ = Witnesses(metric, stored["means"], score.outlier(memory.X))
    score.center_, score.scale_ = stored["center"], stored["scale"]
    score.known_scores_, score.known_right_ = stored["known_scores"], stored["known_right"].astype(bool)
    score.known_rejected_, score.unknown_ = float(stored["known_rejected"]), UnknownProfile(*stored["unknown"])
    rejection = NoveltyRejection(score, recognizer.max_known_rejected, preset.adapt)
    rejection.seen, rejection.threshold = stored["seen"], _restore_threshold(threshold)
    return rejection


def _restore_threshold(stored: dict[str, Any]) -> Threshold:
    threshold = Threshold(**stored)
    shares = (threshold.known_share, threshold.hna)
    numbers = (threshold.value, threshold.known_rejected, *(share for share in shares if share is not None))
    if not all(type(number) in (int, float) and number == number for number in numbers):
        raise ModelFileError("The model is damaged: the threshold for unknown holds something other than numbers.")
    return threshold


def restore_classes(stored: Any) -> np.ndarray:
    """Return the known classes as they were saved."""
    if not isinstance(stored, list):
        raise ModelFileError("The model is damaged: classes is no list.")
    classes = check_labels(stored, len(stored), name="classes")
    refuse_unknown_label(classes, name="classes")
    return classes


def describe_memory(memory: ExemplarMemory, classes: np.ndarray) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return what a header says of a memory, and its arrays."""
    header = {
        "size": memory.size,
        "updates": memory.updates,
        "seen": [memory.seen[c] for c in classes.tolist()],
        "ranked": [c in memory.ranked for c in classes.tolist()],
        "rank_once": memory.rank_once,
        "seed": seed_to_json(memory.seed),
    }
    return header, {"memory.X": memory.X, "memory.codes": encode(memory.y, classes)}


def restore_memory(
    stored: dict[str, Any], arrays: dict[str, np.ndarray], classes: np.ndarray, selector: Selector, device: str
) -> ExemplarMemory:
    """Return the memory that :func:`describe_memory` described."""
    X, codes = check_features(arrays["memory.X"], name="memory.X"), arrays["memory.codes"]
    complete = set(codes.ravel().tolist()) == set(range(len(np.unique(classes)))) == set(range(len(classes)))
    if codes.shape != (len(X),) or codes.dtype != np.int64 or not complete:
        raise ModelFileError("The model is damaged: exemplars and classes do not fit together.")
    size, seed = check_integer(stored["size"], "memory.size"), seed_from_json(stored["seed"])
    memory = ExemplarMemory(size, selector, seed, device, bool(stored["rank_once"]))
    memory.X, memory.y = X, classes[codes]
    memory.updates = check_integer(stored["updates"], "memory.updates")
    seen = [check_integer(number, "memory.seen") for number in stored["seen"]]
    memory.seen = dict(zip(classes.tolist(), seen, strict=True))
    memory.ranked = {c for c, is_ranked in zip(classes.tolist(), stored["ranked"], strict=True) if is_ranked}
    return memory


def _restore_classifier(
    stored: dict[str, Any],
    arrays: dict[str, np.ndarray],
    blobs: dict[str, bytes],
    row: np.ndarray,
    n_classes: int,
    device: str,
) -> tuple[Any, Any]:
    """Return the ``classifier`` argument as it was given, and the fitted classifier; try it on one row."""
    name, settings, seed = stored["name"], stored["settings"], stored["random_state"]
    model = CLASSIFIERS[name](**settings, device=device)
    state = {k.removeprefix("classifier."): v for k, v in arrays.items() if k.startswith("classifier.")}
    if isinstance(model, XGB):
        if "classifier" in blobs:  # as older versions of OpenGCD stored them
            state = trees_from_ubj(blobs["classifier"])
        if state["shape"].tolist() != [n_classes, row.shape[1]]:
            raise ModelFileError("The model is damaged: trees, classes and features do not fit together.")
    model.restore(state)
    probabilities = infer(model, row).probabilities
    if probabilities.shape != (1, n_classes) or not all(np.isfinite(a).all() for a in (*state.values(), probabilities)):
        raise ModelFileError("The model is damaged: classifier and classes do not fit together.")
    given = stored["given"]
    return CLASSIFIERS[name](**settings, random_state=seed, device=device) if given == OWN else given, model


def seed_to_json(seed: np.random.SeedSequence) -> dict[str, Any]:
    """Return a seed as JSON has it."""
    # 128 bits of entropy are more than a JSON number keeps.
    entropy = seed.entropy
    plain = [str(int(word)) for word in entropy] if isinstance(entropy, Sequence) else str(entropy)
    return {"entropy": plain, "key": [int(i) for i in seed.spawn_key]}


def seed_from_json(stored: dict[str, Any]) -> np.random.SeedSequence:
    """Return the seed that :func:`seed_to_json` wrote."""
    entropy = stored["entropy"]
    words = [int(word) for word in entropy] if isinstance(entropy, list) else int(entropy)
    return np.random.SeedSequence(words, spawn_key=tuple(stored["key"]))


def plain_seed(random_state: Any) -> int | None:
    """An integer seed as it was given; anything else has done its work and is not kept."""
    return int(random_state) if isinstance(random_state, numbers.Integral) else None
