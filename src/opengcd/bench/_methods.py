"""Methods by name: ours with each classifier, its ablations (Sec. 4.2.2), and any class by ``module:Class``."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from opengcd.bench._protocol import OpenWorldMethod
from opengcd.classify import CLASSIFIERS
from opengcd.discover import ClassNumberEstimate, Clustering, Discovery, arrange
from opengcd.progress import Progress, silent
from opengcd.recognizer import OpenWorldRecognizer


class Unrejecting(OpenWorldRecognizer):
    """What the two ablations without rejection share."""

    def predict(self, X: Any) -> np.ndarray:
        """Name everything."""
        return self.predict_closed(X)


class ClosedSet(Unrejecting):
    """CSR: neither learns new classes, nor rejects, nor discovers."""

    def learn(self, X: Any, y: Any, *, progress: Progress = silent) -> Self:
        """Stay as it is."""
        return self


class IncrementalOnly(Unrejecting):
    """IL-E: learns new classes from all of their labelled data, but neither rejects nor discovers."""

    learns_from = "all"


class Undiscovered(OpenWorldRecognizer):
    """OWR-UE: rejects, but leaves what it rejected in one heap, to be labelled one by one."""

    reviews_one_by_one = True

    def discover(self, X: Any, k: int | None = None, *, progress: Progress = silent) -> Discovery:
        """Return all rows as one group."""
        X = np.asarray(X)
        known = len(self.classes_)
        center = X.mean(0) if len(X) else np.zeros(X.shape[1])
        heap = Clustering(np.full(len(X), known), np.tile(center, (known + 1, 1)), 0.0, 0)
        return arrange(X, self.classes_, heap, ClassNumberEstimate(known + 1, [], True, "", known + 1))


FAMILIES: dict[str, tuple[type[OpenWorldRecognizer], str]] = {
    "opengcd": (OpenWorldRecognizer, "the full method"),
    "csr": (ClosedSet, "closed-set recognition: no learning, rejection or discovery"),
    "il-e": (IncrementalOnly, "incremental learning from exemplars: no rejection or discovery"),
    "owr-ue": (Undiscovered, "open-world recognition without discovery: rejected items are labelled one by one"),
}


def method_names() -> dict[str, str]:
    """Return every built-in method with a line that says what it is."""
    return {f"{family}-{c}": f"{text}; classifier {c}" for family, (_, text) in FAMILIES.items() for c in CLASSIFIERS}


def make_method(name: str, **settings: Any) -> OpenWorldMethod:
    """Return a fresh method for a built-in name or ``module:Class``; ``settings`` go to its constructor."""
    return method_factory(name)(**settings)


def method_factory(name: str) -> Callable[..., Any]:
    """Return what makes a method of that name, or raise an error that lists the names."""
    family, _, classifier = name.rpartition("-")
    if family in FAMILIES and classifier in CLASSIFIERS:
        return lambda **settings: FAMILIES[family][0](classifier, **settings)
    module, colon, attribute = name.partition(":")
    if not colon:
        raise ValueError(f"Unknown method {name!r}; choose from {', '.join(method_names())}, or give module:Class.")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"The method {name!r} cannot be imported: {error}.") from error
    lacking = [verb for verb in ("fit", "learn", "predict", "predict_closed", "discover") if not hasattr(found, verb)]
    if lacking:
        raise ValueError(f"The method {name!r} lacks {', '.join(lacking)}.")
    return found
