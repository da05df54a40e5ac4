"""What discovery hands to the reviewer: groups of rows, most typical first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from opengcd.discover._class_number import ClassNumberEstimate, CurvePoint
from opengcd.discover._kmeans import Clustering


@dataclass(frozen=True)
class Group:
    """One group of rows that look like a class of their own."""

    label: Any
    """Its provisional label; no known class has it."""
    rows: np.ndarray
    """Numbers of its rows, from the most typical (nearest the centre) to the most doubtful."""
    center: np.ndarray
    cohesion: float
    """Root mean squared distance of its rows to the centre: the smaller, the tighter."""

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


def arrange(X: np.ndarray, classes: np.ndarray, found: Clustering, estimate: ClassNumberEstimate) -> Discovery:
    """Turn clusters into labelled groups; clusters that ended empty are left out."""
    known = len(classes)
    gap = np.linalg.norm(X - found.centers[found.labels], axis=1)
    clusters, sizes = np.unique(found.labels[found.labels >= known], return_counts=True)
    clusters = clusters[np.argsort(-sizes, kind="stable")]
    names = fresh_labels(classes, len(clusters))
    name_of = np.empty(estimate.k, dtype=np.result_type(classes, names))
    name_of[:known], name_of[clusters] = classes, names
    groups = []
    for cluster, name in zip(clusters, names, strict=True):
        rows = np.flatnonzero(found.labels == cluster)
        rows = rows[np.argsort(gap[rows], kind="stable")]
        groups.append(Group(name, rows, found.centers[cluster], float(np.sqrt(np.mean(gap[rows] ** 2)))))
    return Discovery(
        labels=name_of[found.labels],
        k=estimate.k,
        curve=estimate.curve,
        groups=groups,
        novel=found.labels >= known,
        trusted=estimate.trusted,
        reason=estimate.reason,
    )


def fresh_labels(classes: np.ndarray, n: int) -> np.ndarray:
    """Return ``n`` labels that no class has: the next integers, or "group 1", "group 2", ..."""
    if classes.dtype.kind == "i":
        start = max(int(classes.max()) + 1, 0)
        if start + n > np.iinfo(np.int64).max:
            return np.setdiff1d(np.arange(n + len(classes)), classes)[:n]
        return np.arange(start, start + n)
    names = np.array([f"group {i}" for i in range(1, n + len(classes) + 1)])
    return names[~np.isin(names, classes)][:n]
