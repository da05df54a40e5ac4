"""The integral form of DS3 (facility location) by lazy greedy: exactly k items, in nested order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from opengcd._internal import kernels

STORED_ROWS = 8192
"""Up to this many rows the whole distance matrix is stored; above, its rows are computed when they are needed."""
CANDIDATES = 8


def greedy(X: np.ndarray, k: int, device: str = "auto") -> tuple[np.ndarray, np.ndarray]:
    r"""Pick ``k`` rows of ``X`` one by one, each the largest decrease of :math:`\sum_j \min_{i \in S} D_{ij}`.

    The first pick is the medoid. The decrease (the *gain*) of a row can only shrink as others are picked, so an old
    gain is an upper bound, and only the rows with the highest bounds are evaluated again. The total decrease is at
    least :math:`1 - 1/e` of the best one (Nemhauser et al. 1978).

    Parameters
    ----------
    X : array of shape (n, d)
        Rows of one class.
    k : int
        Number of rows to pick.
    device : str
        Torch device.

    Returns
    -------
    picks, gains : array
        Indices in the order in which they were picked, and their gains.

    """
    rows, bound, farthest = _distance_rows(kernels.to_tensor(X, device))
    n = len(bound)
    cost = farthest.expand(n).clone()
    picks, gains = [], []
    with kernels.threads_for(CANDIDATES * n):
        for _ in range(min(k, n)):
            while True:
                candidates = bound.topk(min(CANDIDATES, n)).indices
                D = rows(candidates)
                fresh = (cost - D).clamp_(min=0).sum(1)
                fresh[bound[candidates] < 0] = -1  # already picked
                bound[candidates] = fresh
                best = int(fresh.argmax())
                if fresh[best] >= bound.max():
                    break
            pick = int(candidates[best])
            picks.append(pick)
            gains.append(float(fresh[best]))
            cost = torch.minimum(cost, D[best])
            bound[pick] = -1
    return np.array(picks), np.array(gains)


def _distance_rows(X: Tensor) -> tuple[Callable[[Tensor], Tensor], Tensor, Tensor]:
    """Return a function for rows of the distance matrix, the gains of all rows as first pick, the largest distance."""
    if len(X) <= STORED_ROWS:
        D = kernels.distances(X)
        farthest = D.max()
        return D.__getitem__, (farthest - D).sum(1), farthest
    X = X - X.mean(0)
    norms = kernels.squared_norms(X)

    def rows(index: Tensor) -> Tensor:
        D = kernels.squared_distances(X[index], X, norms).sqrt_()
        return D.scatter_(1, index[:, None], 0)

    everything = torch.arange(len(X), device=X.device)
    sums, largest = [], []
    for block in kernels.row_blocks(X, len(X)):
        D = rows(everything[block])
        sums.append(D.sum(1))
        largest.append(D.max())
    farthest = torch.stack(largest).max()
    return rows, farthest * len(X) - torch.cat(sums), farthest
