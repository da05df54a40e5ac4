"""The result of discovery: groups of rows, the most typical row first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from opengcd.discover.class_number import ClassNumberEstimate, CurvePoint
from opengcd.discover.kmeans import Clustering


@dataclass(frozen=True)
class Group:
    """One group of rows that may be a new class."""

    label: Any
    """Provisional label, different from those of all known classes."""
    rows: np.ndarray
    """Row numbers, from the most typical (nearest to the centre) to the least typical."""
    center: np.ndarray
    spread: float
    """Root mean squared distance of the rows to the centre; small for a compact group."""
    probability: float | None = None
    """Probability that the group is a class; None if it was not estimated."""

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class Discovery:
    """The result of :meth:`OpenWorldRecognizer.discover` on n rows."""

    labels: np.ndarray
    """(n,) The known class that a row is assigned to, or the provisional label of its group."""
    k: int
    """Number of classes, known ones included; an empty cluster is counted here, but has no group."""
    curve: list[CurvePoint]
    """Every k that was evaluated, in the order of the search; empty if k was given."""
    groups: list[Group]
    """The novel groups, largest first."""
    novel: np.ndarray
    """(n,) Whether a row is in a novel group."""
    trusted: bool
    """Whether the estimate of k can be trusted."""
    reason: str = ""
    """Why the estimate of k cannot be trusted; empty if it can."""
    k_interval: tuple[int, int] | None = None
    """90 % credible interval of k; None if the search gives none."""
    probabilities: np.ndarray | None = None
    """(n,) Probability of each row's label; None if the strategy does not estimate it."""


def arrange(
    X: np.ndarray,
    classes: np.ndarray,
    found: Clustering,
    estimate: ClassNumberEstimate,
    probabilities: np.ndarray | None = None,
    class_probabilities: np.ndarray | None = None,
) -> Discovery:
    """Turn clusters into labelled groups; empty clusters are left out.

    Parameters
    ----------
    X : array
        The clustered rows.
    classes : array
        The known classes.
    found : Clustering
        Clusters; those of the known classes come first.
    estimate : ClassNumberEstimate
        The number of classes.
    probabilities : array or None
        Probability of each row's label.
    class_probabilities : array or None
        Probability of each cluster to be a class.

    Returns
    -------
    Discovery

    """
    known = len(classes)
    clusters, sizes = np.unique(found.labels[found.labels >= known], return_counts=True)
    clusters = clusters[np.argsort(-sizes, kind="stable")]
    names = fresh_labels(classes, len(clusters))
    name_of = np.empty(estimate.k, dtype=np.result_type(classes, names))
    name_of[:known], name_of[clusters] = classes, names
    groups = []
    for cluster, name in zip(clusters, names, strict=True):
        rows = np.flatnonzero(found.labels == cluster)
        probability = None if class_probabilities is None else float(class_probabilities[cluster])
        groups.append(_group(name, X, rows, found.centers[cluster], probability))
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
    """Combine the discovery on unlabelled rows with the rows that a person has labelled.

    ``found`` is the discovery on the rows ``rest``, in which the confirmed labels were known classes. The ``new``
    classes among them are returned as groups.
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
    """Return a group with its rows sorted by distance to the centre."""
    distances = np.linalg.norm(X[rows] - center, axis=1)
    spread = float(np.sqrt(np.mean(distances**2)))
    return Group(label, rows[np.argsort(distances, kind="stable")], center, spread, probability)


def fresh_labels(classes: np.ndarray, n: int) -> np.ndarray:
    """Return ``n`` labels that are not in use: the next integers, or "group 1", "group 2", ..."""
    if classes.dtype.kind == "i":
        start = max(int(classes.max()) + 1, 0)
        if start + n > np.iinfo(np.int64).max:
            return np.setdiff1d(np.arange(n + len(classes)), classes)[:n]
        return np.arange(start, start + n)
    names = np.array([f"group {i}" for i in range(1, n + len(classes) + 1)])
    return names[~np.isin(names, classes)][:n]
