"""Weibull distributions by maximum likelihood: by hand, and against scipy."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import weibull_min

from opengcd.bench.baselines.weibull import fit_weibull
from tests.helpers.devices import DEVICES

pytestmark = pytest.mark.usefixtures("one_thread")


def test_weibull_by_hand():
    tail = torch.tensor([[0.5, 1.0, 1.5, 2.0]], dtype=torch.float64)
    shape, scale = (float(v) for v in fit_weibull(tail))
    assert (shape, scale) == (pytest.approx(2.453197, abs=1e-6), pytest.approx(1.414348, abs=1e-6))
    assert np.exp(-((1 / scale) ** shape)) == pytest.approx(0.652317, abs=1e-6)
    assert np.exp(-((2 / scale) ** shape)) == pytest.approx(0.096366, abs=1e-6)
    shape, scale = (float(v) for v in fit_weibull(1 + tail.max() - tail))
    assert (shape, scale) == (pytest.approx(3.566322, abs=1e-6), pytest.approx(1.950662, abs=1e-6))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", [0.5, 2.0, 40.0, 500.0])
def test_weibull_is_scipys(shape, device):
    tails = 3 * weibull_min.rvs(shape, size=(20, 60), random_state=1)
    found = fit_weibull(torch.tensor(tails, device=device))
    for tail, k, scale in zip(tails, found.shape.tolist(), found.scale.tolist(), strict=True):
        expected = weibull_min.fit(tail, floc=0)
        np.testing.assert_allclose([k, scale], [expected[0], expected[2]], rtol=1e-3)
        # scipy's optimiser stops early; the equation of maximum likelihood says which of the two is right.
        residual = np.average(np.log(tail), weights=tail**k) - 1 / k - np.log(tail).mean()
        assert abs(residual) * k < 1e-9


@given(st.lists(st.floats(1e-3, 1e3), min_size=3, max_size=30, unique=True), st.floats(1e-6, 1e6))
def test_units_scale_a_weibull_and_leave_its_shape(values, unit):
    one, other = (fit_weibull(torch.tensor([values], dtype=torch.float64) * u) for u in (1, unit))
    np.testing.assert_allclose(other.shape, one.shape, rtol=1e-6)
    np.testing.assert_allclose(other.scale, one.scale * unit, rtol=1e-6)


def test_weibull_of_equal_and_of_vanishing_values_is_finite():
    values = torch.tensor([[1.0, 1.0, 1.0], [0.0, 1.0, 2.0], [0.0, 0.0, 0.0]], dtype=torch.float64)
    found = fit_weibull(values)
    assert torch.isfinite(found.shape).all()
    assert torch.isfinite(found.scale).all()
