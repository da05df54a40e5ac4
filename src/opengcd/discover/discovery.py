"""What discovery hands to the reviewer: groups of rows, most typical first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from opengcd.discover.class_number import ClassNumberEstimate, CurvePoint
from opengcd.discover.kmeans import Clustering


@dataclass(frozen=True)
class Group:
    """One group of rows that look like a class of their own."""

    label: Any
    """Its provisional label; no known class has it."""
    rows: np.ndarray
    """Its row numbers, from the most typical (nearest the centre) to the least typical."""
    center: np.ndarray
    cohesion: float
    """Root mean squared distance of its rows to the centre: the smaller, the tighter."""
    probability: float | None = None
    """Probability that it is a class of its own; None where that was not estimated."""

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class Discovery:
    """The result of :meth:`OpenWorldRecognizer.discover` on n rows."""

    labels: np.ndarray
    """(n,) The known class that a row returns to, or the provisional label of its group."""
    k: int
    """Number of classes, known ones included; a cluster that ended empty is counted here and has no group."""
    curve: list[CurvePoint]
    """Every k that was scored, in the order of the search; empty if k was given."""
    groups: list[Group]
    """The novel groups, largest first."""
    novel: np.ndarray
    """(n,) Whether a row is in a novel group."""
    trusted: bool
    """Whether the search for k could be trusted."""
    reason: str = ""
    """Why it could not."""
    k_interval: tuple[int, int] | None = None
    """k lies between these with a probability of 90 %, if the search can tell."""
    probabilities: np.ndarray | None = None
    """(n,) How likely each row's label is, if the grouping can tell."""


def arrange(
    X: np.ndarray,
    classes: np.ndarray,
    found: Clustering,
    estimate: ClassNumberEstimate,
    probabilities: np.ndarray | None = None,
    reality: np.ndarray | None = None,
) -> Discovery:
    """Turn clusters into labelled groups; clusters that ended empty are left out.

    ``probabilities`` are those of the rows' labels, ``reality`` those of all clusters to be real.
    """
    known = len(classes)
    clusters, sizes = np.unique(found.labels[found.labels >= known], return_counts=True)
    clusters = clusters[np.argsort(-sizes, kind="stable")]
    names = fresh_labels(classes, len(clusters))
    name_of = np.empty(estimate.k, dtype=np.result_type(classes, names))
    name_of[:known], name_of[clusters] = classes, names
    groups = []
    for cluster, name in zip(clusters, names, strict=True):
        rows, real = np.flatnonzero(found.labels == cluster), None if reality is None else float(reality[cluster])
        groups.append(_group(name, X, rows, found.centers[cluster], real))
    return Discovery(
        labels=name_of[found.labels],
        k=estimate.k,
        curve=estimate.curve,
        groups=groups,
        novel=found.labels >= known,
        trusted=estimate.trusted,
        reason=estimate.reason,
        k_interval=estimate.interval,
        probabilities=probabilities,
    )


def with_confirmed(
    found: Discovery, rest: np.ndarray, X: np.ndarray, confirmed: np.ndarray, new: np.ndarray
) -> Discovery:
    """Put rows that a person has labelled back among the others; ``new`` classes among them stand as groups again.

    ``found`` is the discovery on the rows ``rest``, which knew the confirmed labels as classes.
    """
    labels = np.empty(len(X), dtype=np.result_type(found.labels, confirmed))
    labels[:], labels[rest] = confirmed, found.labels
    probabilities = None
    if found.probabilities is not None:
        probabilities = np.ones(len(X))
        probabilities[rest] = found.probabilities
    groups = [replace(group, rows=rest[group.rows]) for group in found.groups]
    for label in new:
        rows = np.flatnonzero(labels == label)
        groups.append(_group(label, X, rows, X[rows].mean(0), 1.0))
    groups.sort(key=len, reverse=True)
    novel = np.isin(labels, [group.label for group in groups])
    return replace(found, labels=labels, probabilities=probabilities, groups=groups, novel=novel)


def _group(label: Any, X: np.ndarray, rows: np.ndarray, center: np.ndarray, probability: float | None) -> Group:
    """Put the rows of a group in order, from its centre outwards."""
    gap = np.linalg.norm(X[rows] - center, axis=1)
    return Group(label, rows[np.argsort(gap, kind="stable")], center, float(np.sqrt(np.mean(gap**2))), probability)


def fresh_labels(classes: np.ndarray, n: int) -> np.ndarray:
    """Return ``n`` labels that no class has: the next integers, or "group 1", "group 2", ..."""
    if classes.dtype.kind == "i":
        start = max(int(classes.max()) + 1, 0)
        if start + n > np.iinfo(np.int64).max:
            return np.setdiff1d(np.arange(n + len(classes)), classes)[:n]
        return np.arange(start, start + n)
    names = np.array([f"group {i}" for i in range(1, n + len(classes) + 1)])
    return names[~np.isin(names, classes)][:n]
