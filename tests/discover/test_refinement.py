"""The head that refines prototypes."""

import numpy as np
import pytest
import torch

from opengcd.discover import refine
from opengcd.discover.refinement import imbalance

pytestmark = pytest.mark.usefixtures("one_thread")


def around_axes(truth, spread, rng):
    """Unit vectors, those of a class around an axis of its own."""
    U = np.eye(8)[truth] + spread * rng.normal(size=(len(truth), 8))
    return (U / np.linalg.norm(U, axis=1, keepdims=True)).astype(np.float32)


def test_the_head_brings_stray_prototypes_to_their_rows():
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(4), 50)
    U = around_axes(truth, 0.15, rng)
    L, codes = U[::5][:20], truth[::5][:20]
    start = np.eye(8)[:4] + 0.5 * rng.normal(size=(4, 8))
    start[:2] = np.eye(8)[:2]
    start = (start / np.linalg.norm(start, axis=1, keepdims=True)).astype(np.float32)
    before = U @ start.T
    after = refine(L, codes, U, start, np.full(4, 50.0), random_state=0, device="cpu")
    own = np.arange(200), truth
    assert after[own].mean() > before[own].mean() + 0.05
    assert (after.argmax(1) == truth).mean() > 0.95
    np.testing.assert_array_equal(after, refine(L, codes, U, start, np.full(4, 50.0), random_state=0, device="cpu"))


def test_imbalance_by_hand():
    target = torch.tensor([0.5, 0.5, 1 / 3, 2 / 3])
    # Known: 0.4 KL((1/4, 3/4) || (1/2, 1/2)) = 0.4 (ln(1/2)/4 + 3 ln(3/2)/4); novel ones are as they should be.
    uneven = imbalance(torch.tensor([0.1, 0.3, 0.2, 0.4]), target, known=2)
    assert float(uneven) == pytest.approx(0.4 * 0.130812, abs=1e-5)
    # How much of the whole is known does not matter.
    assert float(imbalance(torch.tensor([0.01, 0.01, 0.98 / 3, 1.96 / 3]), target, known=2)) == pytest.approx(
        0, abs=1e-6
    )


def test_the_head_leaves_large_new_classes_large():
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(4), [40, 40, 500, 500])
    U = around_axes(truth, 0.35, rng)
    L, codes = U[:80:2], truth[:80:2]
    sizes = np.bincount(truth)
    cosines = refine(L, codes, U, np.eye(8, dtype=np.float32)[:4], sizes, random_state=0, device="cpu")
    novel = truth >= 2
    assert (cosines.argmax(1) < 2)[novel].mean() < 0.1
    assert (cosines.argmax(1) == truth).mean() > 0.9
