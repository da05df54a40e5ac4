"""Weibull distributions by maximum likelihood, one for each row of a matrix, all at once."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

STEPS = 10
FLOOR = 1e-12
"""Least value, as a share of the largest of its row, so that its logarithm is finite."""
SHARPEST = 1e5
"""Largest shape; for a row of equal values the maximum-likelihood shape is infinite."""


class Weibull(NamedTuple):
    """Shapes k and scales λ."""

    shape: Tensor
    scale: Tensor


def fit_weibull(values: Tensor) -> Weibull:
    r"""Fit each row of positive numbers.

    The shape solves

    .. math:: \frac{\sum_i x_i^k \ln x_i}{\sum_i x_i^k} - \frac1k - \frac1n \sum_i \ln x_i = 0

    by Newton's method. In :math:`1/k` the left side is decreasing and nearly linear, so a start from the deviation of
    the logarithms, :math:`k = \pi / (\sqrt6\, \sigma)`, takes a few steps. Then
    :math:`\lambda = (\frac1n \sum_i x_i^k)^{1/k}`. Each row is divided by its largest value first: no power overflows,
    and data in other units get the same shape.
    """
    top = values.amax(1, keepdim=True).clamp(min=torch.finfo(values.dtype).tiny)
    logs = (values / top).clamp(min=FLOOR).log()
    logs = logs - logs.amax(1, keepdim=True)  # differs from 0 only in a row of zeros
    mean = logs.mean(1)
    deviation = logs.std(1, correction=0)
    shape = (torch.pi / 6**0.5 / deviation.clamp(min=1 / SHARPEST)).clamp(max=SHARPEST)
    for _ in range(STEPS):
        powers = (shape[:, None] * logs).exp()
        weights = powers / powers.sum(1, keepdim=True)
        first = (weights * logs).sum(1)
        slope = (weights * logs.square()).sum(1) - first.square() + 1 / shape.square()
        step = (first - 1 / shape - mean) / slope
        # Newton's step can only overshoot towards zero; half the shape is always on the safe side.
        shape = torch.maximum(shape - step, shape / 2).clamp(max=SHARPEST)
    scale = top[:, 0] * ((shape[:, None] * logs).exp().mean(1).log() / shape).exp()
    return Weibull(shape, scale)
