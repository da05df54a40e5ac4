"""Whitening by the covariance within known classes, after which classes have the same variance in all directions."""

from __future__ import annotations

import numpy as np
import torch

from opengcd._internal import kernels
from opengcd._internal.unit_length import unit_rows, unit_tensor


class WithinClassWhitening:
    r"""Whiten features by the covariance within known classes, then scale them to unit length.

    With :math:`S_w` the pooled covariance within the known classes and :math:`m` the mean of their means,

    .. math:: \Sigma = (1-\gamma) S_w + \gamma \frac{\mathrm{tr} S_w}{D} I, \qquad
              z = \frac{\Sigma^{-1/2} (x - m)}{\|\Sigma^{-1/2} (x - m)\|}

    Directions in which items of one class differ (light, pose, background) get less weight, which also
    helps for unseen classes.
    Time :math:`O(nD^2 + D^3)`.

    Parameters
    ----------
    shrinkage : float or None
        :math:`\gamma`; None only centres and scales, without whitening.
    device : str
        Torch device.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[-3.0, 2], [3, 2], [-3, 4], [3, 4], [-3, -2], [3, -2], [-3, -4], [3, -4]])
    >>> whitening = WithinClassWhitening(shrinkage=0.0).fit(X, np.array([0, 0, 0, 0, 1, 1, 1, 1]))
    >>> whitening.transform(np.array([[3.0, 1.0]])).round(2).astype(str).tolist()  # one deviation each way
    [['0.71', '0.71']]

    """

    def __init__(self, shrinkage: float | None = 0.1, device: str = "auto") -> None:
        self.shrinkage = shrinkage
        self.device = device

    def fit(self, X: np.ndarray, codes: np.ndarray) -> WithinClassWhitening:
        """Estimate the covariance of rows ``X`` within their classes, numbered from 0 without gaps."""
        where = kernels.resolve_device(self.device)
        Z, classes = kernels.to_tensor(X, where).double(), kernels.to_tensor(codes, where).long()
        n, d, number = len(Z), Z.shape[1], int(classes.max()) + 1
        means = kernels.class_means(Z, classes, number)
        self.origin_ = means.mean(0).cpu().numpy()
        if self.shrinkage is None:
            self.map_ = np.eye(d)
            return self
        rest = Z - means[classes]
        scatter = rest.T @ rest / max(1, n - number)
        level = scatter.trace() / d
        if level <= 0:  # every class is a single point: there is nothing to whiten
            scatter, level = torch.eye(d, dtype=Z.dtype, device=where), level + 1
        scatter = (1 - self.shrinkage) * scatter
        scatter.diagonal().add_(self.shrinkage * level)
        values, vectors = torch.linalg.eigh(scatter)
        # Without shrinkage the variance of some directions can be 0: limit how much they are scaled up.
        values = values.clamp(min=float(level) * 1e-6)
        self.map_ = ((vectors / values.sqrt()) @ vectors.T).cpu().numpy()
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Return unit vectors in float32; a row at the origin stays there."""
        Z = (X - self.origin_) @ self.map_
        return unit_rows(Z).astype(np.float32)

    def class_directions(self, Z: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return the mean of the whitened rows ``Z`` of each class, scaled to unit length: (C, D)."""
        rows, classes = (kernels.to_tensor(array, self.device) for array in (Z, codes))
        means = kernels.class_means(rows, classes.long(), int(codes.max()) + 1)
        return unit_tensor(means).cpu().numpy()
