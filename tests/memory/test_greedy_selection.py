"""Greedy selection by the largest decrease of cost."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from opengcd.memory import greedy
from opengcd.memory import greedy_selection as greedy_module
from tests.helpers.rows import LINE


def test_greedy_picks_the_medoid_first_and_then_the_largest_decrease():
    # Medoid 0.2; the next best is one of the far pair, of which 5.0 leaves 0.1 + the near points unchanged.
    picks, gains = greedy(LINE, 5)
    assert picks[0] == 2
    assert picks[1] in (3, 4)
    assert sorted(picks.tolist()) == [0, 1, 2, 3, 4]
    assert gains[0] == pytest.approx(5 * 5.1 - 10.0)
    assert (np.diff(gains) <= 1e-9).all()


@settings(max_examples=25, deadline=None)
@given(st.integers(3, 40), st.integers(0, 2**31))
def test_lazy_greedy_equals_plain_greedy(n, seed):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    D = cdist(X, X)
    picks, gains = greedy(X, n // 2)
    cost = np.full(n, D.max())
    for pick, gain in zip(picks, gains, strict=True):
        # Whichever of several equal rows is taken, no row has a larger gain.
        every = np.maximum(cost - D, 0).sum(1)
        assert every[pick] == pytest.approx(every.max(), rel=1e-9)
        assert gain == pytest.approx(every[pick], rel=1e-9)
        cost = np.minimum(cost, D[pick])


def test_greedy_without_stored_distances(monkeypatch):
    X = np.random.default_rng(0).normal(size=(300, 6)).astype(np.float32)
    stored = greedy(X, 40)[0]
    monkeypatch.setattr(greedy_module, "STORED_ROWS", 10)
    np.testing.assert_array_equal(greedy(X, 40)[0], stored)
