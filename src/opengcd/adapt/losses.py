"""The losses of adaptation: a cosine classifier, and contrastive losses with and without labels."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

TEMPERATURE = 0.1
CLASSIFIER_WEIGHT, LABEL_WEIGHT, VIEW_WEIGHT = 0.5, 0.35, 0.65
"""Weights of the three losses."""
FAR = -1e9
"""Used as minus infinity in a softmax: a row is not compared with itself."""


def cosine_cross_entropy(features: Tensor, prototypes: Tensor, codes: Tensor) -> Tensor:
    r"""Return the mean cross-entropy of a cosine classifier.

    .. math:: -\log \frac{\exp(f_i \cdot w_{y_i} / \tau)}{\sum_c \exp(f_i \cdot w_c / \tau)}

    Parameters
    ----------
    features : Tensor of shape (n, d)
        Unit vectors.
    prototypes : Tensor of shape (C, d)
        One for each class; they are scaled to unit length.
    codes : Tensor of shape (n,)
        Class numbers.

    Returns
    -------
    Tensor

    """
    return functional.cross_entropy(features @ functional.normalize(prototypes, dim=1).T / TEMPERATURE, codes)


def supervised_contrastive(z: Tensor, codes: Tensor) -> Tensor:
    r"""Return the supervised contrastive loss (Khosla et al. 2020).

    .. math:: -\frac{1}{|P_i|} \sum_{p \in P_i}
              \log \frac{\exp(z_i \cdot z_p / \tau)}{\sum_{a \neq i} \exp(z_i \cdot z_a / \tau)}

    averaged over all rows, with :math:`P_i` the other rows of the same class.

    Parameters
    ----------
    z : Tensor of shape (n, d)
        Unit vectors.
    codes : Tensor of shape (n,)
        Class numbers.

    Returns
    -------
    Tensor

    """
    itself = torch.eye(len(z), device=z.device, dtype=torch.bool)
    log_p = functional.log_softmax((z @ z.T / TEMPERATURE).masked_fill(itself, FAR), dim=1)
    positive = (codes[:, None] == codes[None]) & ~itself
    return -((log_p * positive).sum(1) / positive.sum(1).clamp(min=1)).mean()


def view_contrastive(one: Tensor, other: Tensor) -> Tensor:
    r"""Return the contrastive loss between two views of each image (NT-Xent, Chen et al. 2020).

    Parameters
    ----------
    one, other : Tensor of shape (n, d)
        Unit vectors; row i of both is from the same image.

    Returns
    -------
    Tensor

    """
    n = len(one)
    z = torch.cat([one, other])
    itself = torch.eye(2 * n, device=z.device, dtype=torch.bool)
    partner = torch.arange(2 * n, device=z.device).roll(n)
    return functional.cross_entropy((z @ z.T / TEMPERATURE).masked_fill(itself, FAR), partner)
