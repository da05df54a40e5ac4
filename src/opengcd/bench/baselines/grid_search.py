"""How a baseline's parameters are found: accuracy for those of learning, HNA for the one of rejection (Sec. 4.1.3)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from opengcd.metrics import harmonic_means
from opengcd.osr import KNOWN_KEPT

SEARCH = "search"
"""A parameter that is given this value is searched for."""
HELD_OUT = 0.2
"""Share of the rows of each class that is held out to evaluate a setting."""
SHARES = tuple(np.linspace(0, 1, 101).tolist())
"""Shares of known rows to reject that are tried where a method rejects by a plain threshold."""


class Range(NamedTuple):
    """A parameter of learning: where its search starts, which values are tried, and what checks one that is given."""

    start: Any
    values: tuple[Any, ...]
    check: Callable[[Any, str], Any]


class Trial(NamedTuple):
    """What a value of a parameter scored in a phase."""

    phase: int
    parameter: str
    value: Any
    criterion: str
    score: float


class Decision(NamedTuple):
    """What follows from the (n, C) scores of n rows: class numbers, -1 for unknown."""

    codes: np.ndarray
    closed: np.ndarray
    unknown_score: np.ndarray


class OpenTrial(NamedTuple):
    """A simulated open world: scores of held-out known rows, their class numbers, scores of unknown rows."""

    known: np.ndarray
    codes: np.ndarray
    unknown: np.ndarray


def decide(scores: np.ndarray, threshold: float | np.ndarray, strict: bool) -> Decision:
    """Name each row by the best of the classes that accept it; a row that none accepts is unknown.

    A class accepts a row whose score is above its threshold, or at it unless ``strict``. The unknown score is what the
    nearest class lacks to accept; where all classes have one threshold, that threshold is left out of it.
    """
    accepts = scores > threshold if strict else scores >= threshold
    codes = np.where(accepts, scores, -np.inf).argmax(1)
    codes[~accepts.any(1)] = -1
    lacking = np.asarray(threshold)[None] - scores if np.ndim(threshold) else -scores
    return Decision(codes, scores.argmax(1), lacking.min(1))


def coordinate_search(
    ranges: Mapping[str, Range], given: Mapping[str, Any], score: Callable[[dict[str, Any], str], float]
) -> tuple[dict[str, Any], list[tuple[str, Any, float]]]:
    """Tune one parameter after the other, with the others at their start or at the value found.

    ``score(settings, name)`` judges settings while ``name`` is tuned. On a tie the start stays, then the first value
    wins. Returns the settings, and each value tried with its score.
    """
    found = {name: given[name] if given[name] != SEARCH else range_.start for name, range_ in ranges.items()}
    tried = []
    for name, (start, values, _) in ranges.items():
        if given[name] != SEARCH:
            continue
        scores = {}
        for value in sorted(values, key=lambda value: value != start):
            scores[value] = score(found | {name: value}, name)
            tried.append((name, value, scores[value]))
        found[name] = max(scores, key=scores.__getitem__)
    return found, tried


def thresholds_at(known: np.ndarray, shares: Sequence[float]) -> list[float]:
    """Return the thresholds that reject these shares of known rows, whose (n, C) scores are given."""
    tops = known.max(1) if len(known) else np.zeros(1)
    return [float(threshold) for threshold in np.quantile(tops, shares)]


def judge_thresholds(
    trials: Sequence[OpenTrial], thresholds: Sequence[Sequence[float | np.ndarray]], strict: bool
) -> tuple[int, np.ndarray, str]:
    """Return the number of the best candidate, the score of each, and the criterion.

    ``thresholds[r][v]`` belongs to candidate v in trial r. Candidates that reject less come first, and win ties.
    The score is the mean HNA over the trials. Where no class is treated as unknown it is AKS, and the last candidate
    wins that keeps 95 % of the rows which are right without rejection.
    """
    aks, aus, right = [], [], []
    for (known, codes, unknown), candidates in zip(trials, thresholds, strict=True):
        right.append((known.argmax(1) == codes).mean() if len(known) else 0.0)
        named = [decide(known, theta, strict).codes == codes for theta in candidates]
        aks.append([hits.mean() if len(hits) else 0.0 for hits in named])
        aus.append([(decide(unknown, theta, strict).codes < 0).mean() if len(unknown) else 0.0 for theta in candidates])
    if any(len(trial.unknown) for trial in trials):
        scores = harmonic_means(np.array(aks), np.array(aus)).mean(0)
        if scores.max() == 0:
            warnings.warn("No threshold tells known from unknown classes; nothing will be rejected.", stacklevel=2)
        return int(scores.argmax()), scores, "HNA"
    scores = np.mean(aks, axis=0)
    kept = np.flatnonzero(scores >= KNOWN_KEPT * np.mean(right))
    return int(kept.max(initial=0)), scores, "AKS"
