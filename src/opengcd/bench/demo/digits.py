"""Four phases (4 + 2 + 2 + 2 classes) on the digits that ship with scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_digits

from opengcd._internal.progress import Progress, silent
from opengcd._internal.randomness import derive, generator
from opengcd._internal.splits import split_each_class
from opengcd.bench import Dataset, PhaseDetail, PhaseResult, RecognizerMethod, class_groups, run_protocol
from opengcd.recognizer import OpenWorldRecognizer

SIZES = (4, 2, 2, 2)
MAX_CLASSES = 20
"""An upper bound that a user would set: the paper's search, with its bound of 500, fails with so few classes."""


class DemoPhase(NamedTuple):
    """One phase of the demo: its result, its details, and the classes that were new in it."""

    result: PhaseResult
    detail: PhaseDetail | None
    learnt: list[int]


def digits(seed: int) -> Dataset:
    """Return the 1,797 digits (8 × 8 grey levels as features), half of each class for training.

    Parameters
    ----------
    seed : int
        Which half.

    Returns
    -------
    Dataset

    """
    bunch = load_digits()
    X, y = (bunch.data / 16).astype(np.float32), bunch.target.astype(np.int64)
    rng = generator(derive(seed, 0))
    training = np.zeros(len(y), dtype=bool)
    training[split_each_class(y, range(10), lambda n: n // 2, rng)[0]] = True
    return Dataset("digits", X[training], y[training], X[~training], y[~training], [str(c) for c in range(10)])


def run_demo(
    data: Dataset,
    seed: int = 0,
    preset: str = "best",
    classifier: str | None = None,
    progress: Progress = silent,
) -> Iterator[DemoPhase]:
    """Run a recogniser through the phases of the paper's protocol.

    Parameters
    ----------
    data : Dataset
        See :func:`digits`.
    seed : int
    preset, classifier : str
        See :class:`opengcd.OpenWorldRecognizer`.
    progress : callable
        Called with a stage, the steps done and their total.

    Yields
    ------
    DemoPhase

    """
    groups = class_groups(10, SIZES, derive(seed, 1))
    recognizer = OpenWorldRecognizer(classifier, preset=preset, max_classes=MAX_CLASSES, random_state=seed)
    method = RecognizerMethod(recognizer)
    phases = run_protocol(method, data, groups, random_state=derive(seed, 2), progress=progress)
    for group, (result, detail) in zip(groups, phases, strict=True):
        yield DemoPhase(result, detail, sorted(group.tolist()))
