"""The paper's open-set rule by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opengcd.osr import DECADES, UncertaintyRule, critical_alpha


@pytest.mark.parametrize(("alpha", "rejected"), [(1, False), (1.5, False), (1.51, True), (2, True)])
def test_rejection_by_hand(alpha, rejected):
    # p = (.6, .3, .1): u = .4, and .4 alpha > .6 from alpha = 1.5 on.
    assert UncertaintyRule(alpha).rejects([[0.6, 0.3, 0.1]]).tolist() == [rejected]


def test_a_tie_is_accepted():
    assert UncertaintyRule(1).rejects([[0.5, 0.25, 0.25]]).tolist() == [False]


def test_probabilities_by_hand():
    # Eqs. 1-3 with alpha = 2: softmax of (.8, .6, .3, .1).
    expected = np.exp([0.8, 0.6, 0.3, 0.1]) / np.exp([0.8, 0.6, 0.3, 0.1]).sum()
    np.testing.assert_allclose(UncertaintyRule(2).probabilities([[0.6, 0.3, 0.1]]), [expected])


def test_the_papers_own_example_has_chance_outside_its_classes():
    # p = (.1, .2, .6) sums to .9; Eq. 1 says u = .4 all the same.
    expected = np.exp([0.4, 0.1, 0.2, 0.6]) / np.exp([0.4, 0.1, 0.2, 0.6]).sum()
    np.testing.assert_allclose(UncertaintyRule(1).probabilities([[0.1, 0.2, 0.6]]), [expected])


@pytest.mark.parametrize("alpha", [1e-10, 1e-3, 1.0, 1e5, 1e10])
def test_sound_for_every_alpha_of_the_grid(alpha):
    p = np.array([[1.0, 0.0], [0.5, 0.5], [1 - 1e-11, 1e-11]])
    q = UncertaintyRule(alpha).probabilities(p)
    assert np.isfinite(q).all()
    np.testing.assert_allclose(q.sum(1), 1)
    assert not UncertaintyRule(alpha).rejects(p)[0]
    # alpha / (1 + alpha) is the threshold on max p.
    assert UncertaintyRule(alpha).rejects(p)[1] == (alpha > 1)
    assert not UncertaintyRule(alpha).rejects(p)[2]


def test_small_uncertainty_keeps_its_digits():
    # 1 - max p is 0 in float64 here; the sum of the others is not.
    p = np.array([[1.0, 3e-17, 2e-17]])
    assert UncertaintyRule(1e17).rejects(p)[0]
    assert critical_alpha(p)[0] == pytest.approx(1 / 5e-17)


def test_float32_rounding_does_not_count_as_uncertainty():
    p = np.full((1, 3), np.float32(1 / 3), dtype=np.float32)
    assert UncertaintyRule(1).probabilities(p)[0, 0] == pytest.approx(
        np.exp(2 / 3) / (np.exp(2 / 3) + 3 * np.exp(1 / 3))
    )


@given(
    st.lists(st.lists(st.floats(1e-6, 1), min_size=3, max_size=3), min_size=1, max_size=8),
    st.sampled_from(DECADES),
)
def test_rejects_agrees_with_probabilities_and_the_closed_form(rows, alpha):
    p = np.array(rows) / np.sum(rows, axis=1, keepdims=True)
    rule = UncertaintyRule(alpha)
    q = rule.probabilities(p)
    rejected = rule.rejects(p)
    assert ((q[:, 0] > q[:, 1:].max(1)) <= rejected).all()
    clear = np.abs(p.max(1) - alpha / (1 + alpha)) > 1e-9
    np.testing.assert_array_equal(rejected[clear], (p.max(1) < alpha / (1 + alpha))[clear])
    away = np.abs(critical_alpha(p) / alpha - 1) > 1e-9
    np.testing.assert_array_equal(rejected[away], (alpha > critical_alpha(p))[away])


@pytest.mark.parametrize("p", [[[0.7, 0.7]], [[-0.1, 1.1]], [[np.nan, 1.0]], np.empty((2, 0))])
def test_bad_probabilities_are_refused(p):
    with pytest.raises(ValueError, match="p must"):
        UncertaintyRule(1).rejects(p)


@pytest.mark.parametrize("alpha", [-1, np.nan, np.inf])
def test_bad_alpha_is_refused(alpha):
    with pytest.raises(ValueError, match="alpha must be a finite number"):
        UncertaintyRule(alpha)
