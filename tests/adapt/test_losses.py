"""The losses, by hand."""

import math

import torch

from opengcd.adapt.losses import cosine_cross_entropy, supervised_contrastive, view_contrastive

ALONG = torch.tensor([[1.0, 0.0], [0.0, 1.0]])


def test_cross_entropy_of_a_cosine_classifier():
    # Cosines 1 and 0 at a temperature of 0.1: -log(e^10 / (e^10 + 1)).
    expected = math.log1p(math.exp(-10))
    assert math.isclose(cosine_cross_entropy(ALONG, 3 * ALONG, torch.tensor([0, 1])), expected, rel_tol=1e-3)
    wrong = cosine_cross_entropy(ALONG, ALONG, torch.tensor([1, 0]))
    assert math.isclose(wrong, 10 + expected, rel_tol=1e-6)


def test_views_of_one_image_are_drawn_together():
    # Each row has its partner at cosine 1 and two others at cosine 0.
    expected = math.log(1 + 2 * math.exp(-10))
    assert math.isclose(view_contrastive(ALONG, ALONG), expected, rel_tol=1e-3)
    assert view_contrastive(ALONG, ALONG.flip(0)) > 9


def test_rows_of_one_class_are_drawn_together():
    z = torch.cat([ALONG, ALONG])
    # The one other row of its class is at cosine 1, two more rows are at cosine 0.
    expected = math.log(1 + 2 * math.exp(-10))
    assert math.isclose(supervised_contrastive(z, torch.tensor([0, 1, 0, 1])), expected, rel_tol=1e-3)


def test_a_class_with_one_row_adds_nothing():
    z = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    alone = supervised_contrastive(z, torch.tensor([0, 0, 1]))
    # Rows 0 and 1 have each other at cosine 1 and row 2 at cosine 0; row 2 counts as 0 in the mean over three rows.
    assert math.isclose(alone, 2 / 3 * math.log1p(math.exp(-10)), rel_tol=1e-3)
