"""A tiny network, and images of classes that differ by colour and pattern."""

import numpy as np
import pytest
import torch

from opengcd.adapt import LabelledCrops
from opengcd.embed.backbone import load_backbone
from tests.helpers.networks import save_vit


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def network(tmp_path):
    """Return the folder of a tiny ViT."""
    return save_vit(tmp_path / "network")[1]


@pytest.fixture
def backbone(network):
    return load_backbone(network, "cpu", "cls", "auto", None)


def stripes(codes, side=32, seed=0):
    """Return noisy images; the class decides colour and width of the stripes."""
    rng = np.random.default_rng(seed)
    columns = np.arange(side)
    images = np.empty((len(codes), side, side, 3))
    for row, code in enumerate(codes):
        pattern = 1 + np.sin(2 * np.pi * columns * (1 + code) / side + rng.uniform(0, 6))
        colour = np.random.default_rng(100 + code).uniform(0.2, 1, 3)
        images[row] = 100 * pattern[None, :, None] * colour
    return (images + rng.normal(0, 25, images.shape)).clip(0, 255).astype(np.uint8)


@pytest.fixture
def images():
    """Return 8 classes of 10 images each."""
    codes = np.repeat(np.arange(8), 10)
    return LabelledCrops(stripes(codes), codes, [f"image {i}" for i in range(len(codes))])
