"""Methods by name: ours with each classifier, its ablations (Sec. 4.2.2), baselines, any class by ``module:Class``."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from opengcd._internal.run import Run
from opengcd.adapt import AdaptSettings
from opengcd.bench.adapted_method import AdaptedMethod
from opengcd.bench.baselines import BASELINES
from opengcd.bench.open_world_method import OpenWorldMethod
from opengcd.bench.recognizer_method import RecognizerMethod
from opengcd.classify import CLASSIFIERS, Labelled, Stream
from opengcd.discover import (
    ClassCount,
    ClassNumberEstimate,
    Clustering,
    Discovery,
    DiscoveryStrategy,
    JointDiscovery,
    arrange,
)
from opengcd.osr import NoveltyRejection, Rejection
from opengcd.presets import PRESETS, resolve_preset
from opengcd.recognizer import OpenWorldRecognizer


class SingleGroup(DiscoveryStrategy):
    """No discovery: all rows are one group."""

    def discover(
        self, labelled: Labelled, stream: Stream, rejection: Rejection, count: ClassCount, run: Run
    ) -> Discovery:
        """Return all rows as one group."""
        X, known = stream.X, len(labelled.classes)
        center = X.mean(0) if len(X) else np.zeros(X.shape[1])
        group = Clustering(np.full(len(X), known), np.tile(center, (known + 1, 1)), 0.0, 0)
        return arrange(X, labelled.classes, group, ClassNumberEstimate(known + 1, [], True, "", known + 1))


class Family(NamedTuple):
    """A method that exists for every classifier."""

    text: str
    settings: dict[str, Any] = {}  # noqa: RUF012  a tuple is not changed
    """Of the recogniser."""
    parts: dict[str, Any] = {}  # noqa: RUF012
    """Parts of the preset that are replaced."""
    rules: dict[str, Any] = {}  # noqa: RUF012
    """What :class:`RecognizerMethod` is told of how the method takes part."""


NEVER_REJECT = {"alpha": 0.0}
ABLATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "best": ("the recommended preset", {}),
    "best-plain": (
        "without whitening: features are only centred and scaled",
        {"rejection": NoveltyRejection(whiten=False)},
    ),
    "best-two": (
        "without the neighbour distance ratio in the unknown score, which then has two parts",
        {"rejection": NoveltyRejection(neighbours=False)},
    ),
    "best-fixed": (
        "without adaptation to the stream: the threshold comes from labelled data alone",
        {"rejection": NoveltyRejection(adapt=False)},
    ),
    "best-rejects": (
        "discovery on the rejected rows alone, not on the whole stream",
        {"discovery": JointDiscovery(over_stream=False)},
    ),
    "best-sized": (
        "the number of new classes follows from class sizes alone",
        {"discovery": JointDiscovery(search="size")},
    ),
    "best-rehearsed": (
        "counts new classes by the agreement of groupings and by sizes, not by merging",
        {"discovery": JointDiscovery(search="rehearsal")},
    ),
    "best-exemplars": (
        "remembers exemplars alone, without mean and covariance of all rows",
        {"keep_statistics": False},
    ),
    "best-copies": ("near copies in the stream count as separate items", {"stack_copies": False}),
    "best-headless": ("without the refinement head", {"discovery": JointDiscovery(head=False)}),
}
"""``best`` and its ablations: a description, and the parts of the preset that differ."""
ADAPTED: dict[str, tuple[str, dict[str, Any]]] = {
    "best-adapted": ("best on images: adapts the network to labelled images, in phase 1 and after each learning", {}),
    "best-adapted-once": ("the network adapts in phase 1 only", {"again": False}),
    "best-adapted-stream": (
        "the network also adapts to the stream without labels, between recognition and discovery",
        {"uses_stream": True},
    ),
    "best-adapted-blocks": (
        "the last blocks of the network are trained, not low-rank updates",
        {"settings": AdaptSettings(method="blocks")},
    ),
    "best-adapted-naive": (
        "calibrated on all labelled images, including those that the network was trained on",
        {"calibrates_on_all": True},
    ),
}
"""``best`` with a network that adapts, and its ablations: a description, and settings of :class:`AdaptedMethod`."""
FAMILIES = {
    "opengcd": Family("the paper's full method"),
    "csr": Family(
        "closed-set recognition: no learning, rejection or discovery",
        settings=NEVER_REJECT,
        rules={"learns_from": "nothing"},
    ),
    "il-e": Family(
        "incremental learning from exemplars: no rejection or discovery",
        settings=NEVER_REJECT,
        rules={"learns_from": "all"},
    ),
    "owr-ue": Family(
        "open-world recognition without discovery: rejects are labelled one by one",
        parts={"discovery": SingleGroup()},
        rules={"reviews_one_by_one": True},
    ),
}

BASELINE_TEXTS = {
    "nno": "Nearest Non-Outlier: nearest class mean in a learnt metric, within a radius",
    "evm": "Extreme Value Machine: Weibull distributions of the margins around points",
    "l2ac": "Learning to Accept Classes: a network compares a row with examples of a class",
    "deepnno": "DeepNNO: class means that follow a trained head, and one threshold",
    "b-doc": "B-DOC: a trained head that clusters, and a learnt radius for each class",
}


class AuthorsSettings(NamedTuple):
    """Constants of the paper's code for a dataset, where its text has a search or one value for all datasets."""

    alpha: float
    max_classes: int
    n_init: int


AUTHORS = {
    "cifar10": AuthorsSettings(1e4, 10, 6),
    "cifar100": AuthorsSettings(1e5, 110, 14),
    "cub": AuthorsSettings(1.0, 350, 4),
}


def method_names() -> dict[str, str]:
    """Return the built-in methods by name, each with a line of description."""
    ours = {name: text for name, (text, _) in (ABLATIONS | ADAPTED).items()}
    ours |= {f"{name}-{c}": f"{family.text}; classifier {c}" for name, family in FAMILIES.items() for c in CLASSIFIERS}
    return ours | {name: f"baseline: {BASELINE_TEXTS[name]}" for name in BASELINES}


def make_method(name: str, *, dataset: str = "", protocol: str = "paper", **settings: Any) -> OpenWorldMethod:
    """Return an unfitted method.

    Parameters
    ----------
    name : str
        A built-in name, see :func:`method_names`, or ``module:Class`` for a subclass of :class:`OpenWorldMethod`.
    dataset, protocol : str
        In protocol ``authors``, our own methods follow the paper's code where it differs from the text, which depends
        on the dataset.
    **settings
        Of the constructor: of the class, or of :class:`~opengcd.OpenWorldRecognizer` for our own methods.

    Returns
    -------
    OpenWorldMethod

    """
    if protocol == "authors" and _split(name)[0] in FAMILIES:
        settings = _authors_settings(dataset) | settings
    return method_factory(name)(**settings)


def takes_images(name: str) -> bool:
    """Say whether a method is given images instead of features.

    Parameters
    ----------
    name : str
        As for :func:`make_method`.

    Returns
    -------
    bool

    """
    return name in ADAPTED or bool(getattr(method_factory(name), "takes_images", False))


def method_factory(name: str) -> Callable[..., OpenWorldMethod]:
    """Return the constructor of a method; raise ValueError if the name or the class cannot be used."""
    family, classifier = _split(name)
    if name in ABLATIONS:
        preset = dataclasses.replace(PRESETS["best"], **ABLATIONS[name][1])
        return lambda **settings: RecognizerMethod(OpenWorldRecognizer(**({"preset": preset} | settings)))
    if name in ADAPTED:
        return lambda **settings: AdaptedMethod(OpenWorldRecognizer(**settings), **ADAPTED[name][1])
    if family in FAMILIES and classifier in CLASSIFIERS:
        return partial(_make_ours, FAMILIES[family], classifier)
    if name in BASELINES:
        return BASELINES[name]
    module, colon, attribute = name.partition(":")
    if not colon:
        raise ValueError(f"Unknown method {name!r}; choose from {', '.join(method_names())}, or give module:Class.")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except Exception as error:  # a user's module can fail in any way
        raise ValueError(f"The method {name!r} cannot be imported: {type(error).__name__}: {error}.") from error
    if not (isinstance(found, type) and issubclass(found, OpenWorldMethod)):
        raise ValueError(
            f"The method {name!r} must be a subclass of opengcd.bench.OpenWorldMethod that implements "
            f"{', '.join(sorted(OpenWorldMethod.__abstractmethods__))}; to use a recogniser, pass it to "
            "opengcd.bench.RecognizerMethod."
        )
    if found.__abstractmethods__:
        raise ValueError(f"The method {name!r} does not implement {', '.join(sorted(found.__abstractmethods__))}.")
    return found


def _make_ours(family: Family, classifier: str, **settings: Any) -> RecognizerMethod:
    preset = settings.pop("preset", "paper")
    if family.parts:
        preset = dataclasses.replace(resolve_preset(preset), **family.parts)
    recognizer = OpenWorldRecognizer(classifier, preset=preset, **(settings | family.settings))
    return RecognizerMethod(recognizer, **family.rules)


def _split(name: str) -> tuple[str, str]:
    family, _, classifier = name.rpartition("-")
    return family, classifier


def _authors_settings(dataset: str) -> dict[str, Any]:
    settings: dict[str, Any] = {"preset": "authors", "selector": "authors"}
    if dataset.lower() in AUTHORS:
        alpha, max_classes, n_init = AUTHORS[dataset.lower()]
        discovery = clone(PRESETS["authors"].discovery).set_params(n_init=n_init)
        preset = dataclasses.replace(PRESETS["authors"], discovery=discovery)
        settings |= {"preset": preset, "alpha": alpha, "max_classes": max_classes}
    return settings
