"""The rows of one group clustered again, for a person who sees that it holds several classes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from opengcd._internal.randomness import Seed
from opengcd.discover.kmeans import SemiSupervisedKMeans


class Subcluster(NamedTuple):
    """A part of a group."""

    rows: np.ndarray
    """The most typical first."""
    spread: float
    """Root mean square of the distances to the centre."""


def split_rows(Z: np.ndarray, n: int, *, random_state: Seed = None, device: str = "auto") -> list[Subcluster]:
    """Divide rows by k-means, without any label.

    Parameters
    ----------
    Z : array of shape (m, d)
        Rows in the metric of the recogniser, see :meth:`opengcd.OpenWorldRecognizer.in_metric`.
    n : int
        Number of parts; fewer are returned if one stays empty.
    random_state : int, SeedSequence or None
    device : str

    Returns
    -------
    list of Subcluster
        The largest first.

    """
    found = SemiSupervisedKMeans(n, random_state=random_state, device=device).fit([], [], Z)
    distances = np.linalg.norm(Z - found.cluster_centers_[found.labels_], axis=1)
    parts = [np.flatnonzero(found.labels_ == cluster) for cluster in range(n)]
    return [
        Subcluster(rows[np.argsort(distances[rows], kind="stable")], float(np.sqrt(np.mean(distances[rows] ** 2))))
        for rows in sorted((rows for rows in parts if len(rows)), key=len, reverse=True)
    ]
