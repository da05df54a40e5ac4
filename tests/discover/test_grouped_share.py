"""The share of known rows in a stream, from how a grouping divides it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opengcd.classify import Labelled
from opengcd.discover.grouped_share import Rates, mean_by_precision, rate, share_by_rates
from opengcd.discover.simulation import SimulatedStream


def test_the_share_solves_the_equation_of_the_mixture():
    # 0.5 * 0.8 + 0.5 * 0.2 = 0.5 of the rows are assigned to known classes.
    share = share_by_rates(0.5, [Rates(0.9, 0.1), Rates(0.7, 0.3)], 10_000)
    assert share.value == pytest.approx(0.5)
    # Variances of both means: 0.02 / 2. By hand: sqrt((0.25 + 0.25) * 0.01 + 0.25 / 10000) / 0.6 and 0.07.
    assert share.deviation == pytest.approx(np.hypot(np.sqrt(0.005 + 0.25 / 10_000) / 0.6, 0.07))


@given(st.floats(0, 1), st.floats(0.55, 1), st.floats(0, 0.4))
def test_the_share_is_found_whatever_the_rates(share, known, new):
    assigned = share * known + (1 - share) * new
    found = share_by_rates(assigned, [Rates(known, new)] * 3, 1000)
    assert found.value == pytest.approx(min(share, 0.999), abs=1e-9)
    assert found.deviation >= 0.07


@pytest.mark.parametrize("rates", [[], [Rates(0.9, 0.1)], [Rates(0.5, 0.45), Rates(0.5, 0.45)]])
def test_too_few_rehearsals_or_no_contrast_tell_nothing(rates):
    assert share_by_rates(0.5, rates, 100) is None


def test_shares_are_combined_by_their_precision():
    assert mean_by_precision([0.2, 0.6], [0.1, 0.1]) == pytest.approx((0.4, 0.1 / np.sqrt(2)))
    assert mean_by_precision([0.2, 0.7], [0.1, 0.2])[0] == pytest.approx(0.3)


def world(trained=None, found=None):
    """A stream of 100 known rows, of class 0, and 100 new ones, of class 1."""
    codes = np.repeat([0, 1], 100)
    labelled = Labelled(np.zeros((200, 2)), codes, np.arange(2), np.array([100, 100]), trained=trained, found=found)
    nothing = np.empty(0)
    stream = SimulatedStream(np.array([0]), nothing, np.arange(200), nothing, nothing, nothing, nothing)
    return labelled, stream


def test_rates_are_those_of_known_and_of_new_rows():
    labelled, stream = world()
    assigned = np.arange(200) < 80
    assert rate(labelled, stream, assigned) == (0.8, 0.0)
    only_known = stream._replace(stream=np.arange(100))
    assert rate(labelled, only_known, assigned[:100]) is None


def test_rows_that_are_easier_than_those_to_come_are_left_out():
    # The first 60 rows of either class were trained on; discovery found the last 40 of the new class.
    trained = np.arange(200) % 100 < 60
    found = np.arange(200) >= 160
    assigned = np.isin(np.arange(200), [*range(80), *range(100, 110), *range(160, 180)])
    labelled, stream = world(trained, found)
    assert rate(labelled, stream, assigned) == (0.5, 0.5)  # 20 of 40 known rows, 20 of 40 new ones
    # Without a trained network, rows that discovery found are hardly easier, and all serve.
    labelled, stream = world(None, found)
    assert rate(labelled, stream, assigned) == (0.8, 0.3)


def test_all_rows_serve_where_too_few_others_are_left():
    trained = np.arange(200) % 100 < 90
    labelled, stream = world(trained)
    assert rate(labelled, stream, np.arange(200) < 80) == (0.8, 0.0)
