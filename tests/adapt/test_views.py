"""Views of images."""

import numpy as np
import torch
from PIL import Image

from opengcd._internal.images import Square
from opengcd.adapt.views import plain_views, random_views


def test_a_plain_view_is_what_the_preparation_makes():
    rng = np.random.default_rng(0)
    image = Image.fromarray(rng.integers(0, 256, (90, 120, 3), dtype=np.uint8))
    square = Square(40, 32, int(Image.Resampling.BICUBIC))
    whole = Square(40, 40, int(Image.Resampling.BICUBIC))
    pixels = torch.from_numpy(np.asarray(whole.of(image))[None].copy())
    view = plain_views(pixels, 40, 32)[0].permute(1, 2, 0).numpy()
    assert np.array_equal(view, np.asarray(square.of(image)))


def test_a_smaller_image_is_resized_as_by_pillow():
    pixels = np.random.default_rng(1).integers(90, 160, (1, 8, 8, 3), dtype=np.uint8)
    expected = np.asarray(Image.fromarray(pixels[0]).resize((40, 40), Image.Resampling.BICUBIC), dtype=float)
    view = plain_views(torch.from_numpy(pixels), 40, 40)[0].permute(1, 2, 0).numpy()
    assert np.abs(view - expected).max() <= 1


def test_random_views_follow_the_seed_and_stay_in_range():
    pixels = torch.from_numpy(np.random.default_rng(2).integers(0, 256, (5, 40, 40, 3), dtype=np.uint8))
    one, same, other = (random_views(pixels, 32, torch.Generator().manual_seed(s)) for s in (0, 0, 1))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
    assert one.shape == (5, 3, 32, 32)
    assert one.min() >= 0
    assert one.max() <= 255


def test_a_uniform_image_changes_in_light_alone():
    pixels = torch.full((50, 16, 16, 3), 100, dtype=torch.uint8)
    views = random_views(pixels, 16, torch.Generator().manual_seed(0))
    assert views.std((1, 2, 3)).max() < 1e-3
    assert 69 <= views.min() < 80
    assert 120 < views.max() <= 131
