"""Split a group by clustering its rows again, after a person saw that it contains several classes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from opengcd._internal.randomness import Seed
from opengcd._internal.unit_length import unit_rows
from opengcd.discover.kmeans import SemiSupervisedKMeans

STEPS = 10
"""Steps of 2-means in :func:`similar_rows`."""


class Subcluster(NamedTuple):
    """A part of a group."""

    rows: np.ndarray
    """The most typical first."""
    spread: float
    """Root mean square of the distances to the centre."""


def around_mean(Z: np.ndarray, rows: np.ndarray) -> Subcluster:
    """Return rows in the order of their distance to their mean.

    Parameters
    ----------
    Z : array of shape (m, d)
        All rows in the metric of the recogniser.
    rows : int array
        Some of them.

    Returns
    -------
    Subcluster

    """
    return _around(Z, rows, Z[rows].mean(0))


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
    parts = [(np.flatnonzero(found.labels_ == part), center) for part, center in enumerate(found.cluster_centers_)]
    parts.sort(key=lambda part: -len(part[0]))
    return [_around(Z, rows, center) for rows, center in parts if len(rows)]


def similar_rows(Z: np.ndarray, row: int) -> tuple[np.ndarray, int]:
    """Order the rows of a group by whether they rather belong with one row than with the rest, and count those that do.

    2-means on directions, started from the row and the mean of all: the row always stays in the first part.

    Parameters
    ----------
    Z : array of shape (m, d)
        Rows in the metric of the recogniser.
    row : int
        The row that a person has pointed at.

    Returns
    -------
    rows : int array of shape (m,)
        The row itself, then the others, those that belong with it the most clearly first.
    number : int
        How many of them belong with it, itself included.

    """
    U = unit_rows(Z).astype(np.float64)
    part = np.zeros(len(U), dtype=bool)
    centre, rest = U[row], U.mean(0)
    for _ in range(STEPS):
        margin = U @ (unit_rows(centre[None])[0] - unit_rows(rest[None])[0])
        nearer = margin > 0
        nearer[row] = True
        if nearer.all() or (nearer == part).all():
            break
        part = nearer
        centre, rest = U[part].mean(0), U[~part].mean(0)
    margin[row] = np.inf
    order = np.argsort(-margin, kind="stable")
    return order, int((margin[order] > 0).sum())


def _around(Z: np.ndarray, rows: np.ndarray, center: np.ndarray) -> Subcluster:
    distances = np.linalg.norm(Z[rows] - center, axis=1)
    return Subcluster(rows[np.argsort(distances, kind="stable")], float(np.sqrt(np.mean(distances**2))))
