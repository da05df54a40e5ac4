"""How lonely a row is among known ones, beside how lonely these are among themselves."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from opengcd._internal import kernels

NEIGHBOURS = 10
MOST_ROWS = 10_000
"""Neighbours are sought among at most this many rows, so that time and memory do not grow with the labelled rows."""
LEAST_SPREAD = 0.1
"""Copies have no distance between them; a row counts as at least this lonely, as a share of the mean."""


class LocalOutlierFactor:
    r"""Distance to the nearest known rows, beside their distance to each other (Breunig et al. 2000, simplified).

    .. math:: f(x) = \frac{\sum_{j \in N(x)} d(x, x_j)}{\sum_{j \in N(x)} \rho_j}, \qquad
              \rho_j = \frac{1}{10} \sum_{i \in N(x_j)} d(x_j, x_i), \qquad d = 1 - \cos

    with :math:`N` the ten nearest rows: near 1 where known rows lie as close as x to them, and large where x is alone.
    It looks at features as they are: whitened, the many directions of little but noise count as much as any other, and
    the nearest rows are hardly nearer than the rest.

    Examples
    --------
    >>> import numpy as np
    >>> angles = np.radians(np.arange(0.0, 30.0, 5.0))
    >>> factor = LocalOutlierFactor(device="cpu").fit(np.stack([np.cos(angles), np.sin(angles)], axis=1))
    >>> (factor(np.array([[1.0, 0.2], [0.0, 1.0]])) > 2).tolist()
    [False, True]

    """

    def __init__(self, device: str = "auto") -> None:
        self.device = device

    def fit(self, X: np.ndarray) -> LocalOutlierFactor:
        """Take known rows, two or more, as neighbours; of very many, as many as are looked at, evenly spaced."""
        rows = np.linspace(0, len(X) - 1, MOST_ROWS).round().astype(int) if len(X) > MOST_ROWS else slice(None)
        known = kernels.to_tensor(X[rows], self.device)
        directions = _directions(known)
        # Distances are those between directions; about their middle, they keep more digits.
        self._middle = directions.mean(0)
        self._rows = directions - self._middle
        self._norms = kernels.squared_norms(self._rows)
        distances, _ = self._nearest(known, NEIGHBOURS + 1)
        spread = distances[:, 1:].mean(1)  # the nearest of all is the row itself
        self._spread = spread.clamp(min=max(LEAST_SPREAD * float(spread.mean()), 1e-12))
        return self

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return the factor of each row."""
        distances, places = self._nearest(kernels.to_tensor(X, self.device), NEIGHBOURS)
        return (distances.mean(1) / self._spread[places].mean(1)).double().cpu().numpy()

    def _nearest(self, X: Tensor, number: int) -> tuple[Tensor, Tensor]:
        r"""Distances to the nearest known rows, :math:`1 - \cos = \frac{1}{2} \|a - b\|^2`, and which they are."""
        number = min(number, len(self._rows))

        def nearest(block: slice) -> tuple[Tensor, Tensor]:
            directions = _directions(X[block]) - self._middle
            squares = kernels.squared_distances(directions, self._rows, self._norms)
            distances, places = squares.topk(number, largest=False)
            return distances / 2, places

        # Even of no rows there is one block.
        blocks = list(kernels.row_blocks(X, len(self._rows))) or [slice(0)]
        distances, places = zip(*kernels.run_each(nearest, blocks, X.device), strict=True)
        return torch.cat(distances), torch.cat(places)


def _directions(X: Tensor) -> Tensor:
    """Rows of unit length; first halved or doubled as often as squares need to stay finite, which costs no digits."""
    size = torch.frexp(X.abs().amax(1, keepdim=True).double()).exponent
    return torch.nn.functional.normalize((X * torch.exp2(-size.double())).float(), dim=1)
