"""Split a group by clustering its rows again, after a person saw that it contains several classes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from opengcd._internal.randomness import Seed
from opengcd._internal.unit_length import unit_rows
from opengcd.discover.kmeans import SemiSupervisedKMeans

LEAST_MARGIN = 1e-9
"""Less than this is due to rounding, in :func:`similar_rows`."""


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
    r"""Order the rows of a group by whether they are nearer to one row than to the centre, and count those that are.

    With unit vectors u and the direction c of their mean, row i is similar to row r if

    .. math:: u_i \cdot u_r > u_i \cdot c

    Parameters
    ----------
    Z : array of shape (m, d)
        Rows in the metric of the recogniser.
    row : int
        The row that a person has pointed at.

    Returns
    -------
    rows : int array of shape (m,)
        The row itself, then the others, the most similar first.
    number : int
        How many are similar, the row itself included.

    """
    U = unit_rows(Z).astype(np.float64)
    margin = U @ (U[row] - unit_rows(U.mean(0)[None])[0])
    margin[row] = np.inf
    return np.argsort(-margin, kind="stable"), int((margin > LEAST_MARGIN).sum())


def _around(Z: np.ndarray, rows: np.ndarray, center: np.ndarray) -> Subcluster:
    distances = np.linalg.norm(Z[rows] - center, axis=1)
    return Subcluster(rows[np.argsort(distances, kind="stable")], float(np.sqrt(np.mean(distances**2))))
