"""Distance of a row to its nearest labelled neighbours, relative to the distances between labelled rows."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from opengcd._internal import kernels
from opengcd._internal.unit_length import unit_tensor

NEIGHBOURS = 10
MOST_ROWS = 10_000
"""Neighbours are searched among at most this many rows, so that time and memory do not grow with the labelled rows."""
LEAST_SPREAD = 0.1
"""Lower bound of a row's mean neighbour distance, as a share of the mean over all rows: copies have distance 0."""


class NeighbourDistanceRatio:
    r"""Mean distance to the nearest labelled rows, over the mean neighbour distance of these rows themselves.

    .. math:: f(x) = \frac{\sum_{j \in N(x)} d(x, x_j)}{\sum_{j \in N(x)} \rho_j}, \qquad
              \rho_j = \frac{1}{10} \sum_{i \in N(x_j)} d(x_j, x_i), \qquad d = 1 - \cos

    with :math:`N` the ten nearest rows. It is near 1 where x is as close to labelled rows as they are to each other,
    and large where x is far from all of them. This is the local outlier factor of Breunig et al. (2000) with mean
    distances in place of reachability distances, and therefore not the one of scikit-learn. Features are not
    whitened: that gives noisy directions the same weight as the others, and the nearest rows are then hardly closer
    than the rest.

    Parameters
    ----------
    device : str
        Torch device.

    Examples
    --------
    >>> import numpy as np
    >>> angles = np.radians(np.arange(0.0, 30.0, 5.0))
    >>> ratio = NeighbourDistanceRatio(device="cpu").fit(np.stack([np.cos(angles), np.sin(angles)], axis=1))
    >>> (ratio(np.array([[1.0, 0.2], [0.0, 1.0]])) > 2).tolist()
    [False, True]

    """

    def __init__(self, device: str = "auto") -> None:
        self.device = device

    def fit(self, X: np.ndarray) -> NeighbourDistanceRatio:
        """Store labelled rows as possible neighbours.

        Parameters
        ----------
        X : array of shape (n, d)
            At least two rows; of more than 10,000 rows an evenly spaced sample is stored.

        Returns
        -------
        NeighbourDistanceRatio
            The object itself.

        """
        rows = np.linspace(0, len(X) - 1, MOST_ROWS).round().astype(int) if len(X) > MOST_ROWS else slice(None)
        known = kernels.to_tensor(X[rows], self.device)
        directions = _directions(known)
        # Centred on their mean, distances between directions lose fewer digits.
        self._center = directions.mean(0)
        self._rows = directions - self._center
        self._norms = kernels.squared_norms(self._rows)
        distances, _ = self._nearest(known, NEIGHBOURS + 1)
        spread = distances[:, 1:].mean(1)  # the nearest of all is the row itself
        self._spread = spread.clamp(min=max(LEAST_SPREAD * float(spread.mean()), 1e-12))
        return self

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return the ratio for each row.

        Parameters
        ----------
        X : array of shape (n, d)
            Rows.

        Returns
        -------
        array of shape (n,)

        """
        distances, places = self._nearest(kernels.to_tensor(X, self.device), NEIGHBOURS)
        return (distances.mean(1) / self._spread[places].mean(1)).double().cpu().numpy()

    def _nearest(self, X: Tensor, number: int) -> tuple[Tensor, Tensor]:
        r"""Return distances to the nearest labelled rows, :math:`1 - \cos = \frac12 \|a - b\|^2`, and their indices."""
        number = min(number, len(self._rows))

        def nearest(block: slice) -> tuple[Tensor, Tensor]:
            directions = _directions(X[block]) - self._center
            squares = kernels.squared_distances(directions, self._rows, self._norms)
            distances, places = squares.topk(number, largest=False)
            return distances / 2, places

        # Without rows there is still one (empty) block.
        blocks = list(kernels.row_blocks(X, len(self._rows))) or [slice(0)]
        distances, places = zip(*kernels.run_each(nearest, blocks, X.device), strict=True)
        return torch.cat(distances), torch.cat(places)


def _directions(X: Tensor) -> Tensor:
    """Return rows of unit length in float32.

    They are first divided by a power of two, which is exact, so that squares neither overflow nor underflow.
    """
    size = torch.frexp(X.abs().amax(1, keepdim=True).double()).exponent
    return unit_tensor((X * torch.exp2(-size.double())).float())
