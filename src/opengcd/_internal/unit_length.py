"""Scale rows to unit length, as numpy arrays and as tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor


def unit_rows(X: np.ndarray) -> np.ndarray:
    """Return rows scaled to unit length; a row of zeros stays as it is."""
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    scaled: np.ndarray = X / np.where(norms > 0, norms, 1)
    return scaled


def unit_tensor(X: Tensor) -> Tensor:
    """Return vectors along the last axis scaled to unit length; zeros stay as they are."""
    import torch  # not at the top: unit_rows is used where torch is not needed

    return torch.nn.functional.normalize(X, dim=-1, eps=torch.finfo(X.dtype).tiny)
