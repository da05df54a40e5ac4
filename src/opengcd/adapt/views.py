"""Random views of images, made on the device of the network: crops, flips and mild changes of light and colour."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

LEAST_AREA = 0.4
"""A view shows at least this share of the image's area."""
ASPECT = 4 / 3
"""Largest ratio of the sides of a view."""
LIGHT, CONTRAST, SATURATION = 0.3, 0.3, 0.2
"""Largest relative change of each."""
LUMA = (0.299, 0.587, 0.114)
"""Weights of red, green and blue in the brightness of a pixel (ITU-R BT.601)."""


def random_views(pixels: Tensor, side: int, rng: torch.Generator) -> Tensor:
    """Return one random view of each image.

    Parameters
    ----------
    pixels : uint8 Tensor of shape (n, height, width, 3)
    side : int
        Width and height of the views.
    rng : torch.Generator
        On the same device.

    Returns
    -------
    float Tensor of shape (n, 3, side, side)
        With values from 0 to 255, as the network's scaling of channels takes them.

    """
    n, device = len(pixels), pixels.device

    def uniform(low: float, high: float) -> Tensor:
        return low + (high - low) * torch.rand(n, device=device, generator=rng)

    scale = uniform(LEAST_AREA, 1).sqrt()
    stretch = uniform(-0.5, 0.5).mul(math.log(ASPECT)).exp()
    wide, high = (scale * stretch).clamp(max=1), (scale / stretch).clamp(max=1)
    flip = (uniform(0, 1) < 0.5).float() * 2 - 1
    zero = torch.zeros(n, device=device)
    place = torch.stack(
        [
            torch.stack([wide * flip, zero, uniform(-1, 1) * (1 - wide)], 1),
            torch.stack([zero, high, uniform(-1, 1) * (1 - high)], 1),
        ],
        1,
    )
    grid = functional.affine_grid(place, [n, 3, side, side], align_corners=False)
    x = pixels.permute(0, 3, 1, 2).float() / 255
    x = functional.grid_sample(x, grid, mode="bilinear", padding_mode="reflection", align_corners=False).clamp(0, 1)

    def factor(most: float) -> Tensor:
        return uniform(1 - most, 1 + most)[:, None, None, None]

    x = (x * factor(LIGHT)).clamp(0, 1)
    mean = x.mean((1, 2, 3), keepdim=True)
    x = ((x - mean) * factor(CONTRAST) + mean).clamp(0, 1)
    grey = (x * x.new_tensor(LUMA)[:, None, None]).sum(1, keepdim=True)
    return ((x - grey) * factor(SATURATION) + grey).clamp(0, 1) * 255


def plain_views(pixels: Tensor, resize: int, crop: int) -> Tensor:
    """Return images as the network's own preparation shows them: resized, and cropped to the centre.

    Parameters
    ----------
    pixels : uint8 Tensor of shape (n, s, s, 3)
        Square images, resized already if s is ``resize``.
    resize, crop : int
        Side after resizing, and side of the centre that is cropped.

    Returns
    -------
    float Tensor of shape (n, 3, crop, crop)
        With whole values from 0 to 255.

    """
    x = pixels.permute(0, 3, 1, 2).float()
    if x.shape[2] != resize:
        x = functional.interpolate(x, (resize, resize), mode="bicubic", antialias=True, align_corners=False)
        x = x.round().clamp(0, 255)
    start = (resize - crop) // 2
    return x[:, :, start : start + crop, start : start + crop]
