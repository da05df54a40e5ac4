"""Near copies: how near is near, and stacks of rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from opengcd.discover import CopyLimits, CopyScale, Stacks, copy_scale, find_stacks
from opengcd.discover.copies import given_stacks, share_labels

LOG_SHARE = np.log(0.75) / np.log(0.5)
ROWS = arrays(np.float64, st.tuples(st.integers(1, 12), st.just(3)), elements=st.integers(-4, 4).map(float))


def column(*values):
    return np.array(values, dtype=np.float64)[:, None]


def test_in_many_dimensions_copies_are_ten_times_as_near_as_neighbours():
    # The quartiles are those of shape 5, ten dimensions: by chance, 0.5 % of rows have a neighbour within 0.37 medians.
    assert CopyScale(2 * LOG_SHARE**0.2, 2.0, 100).limits(100) == pytest.approx((0.2, 2.0))


def test_in_two_dimensions_copies_are_nearer_than_neighbours_are_by_chance():
    scale = CopyScale(2 * LOG_SHARE, 2.0, 100)  # shape 1
    assert scale.limits(50) == pytest.approx((2 * 0.005 / np.log(2), 2.0))
    assert scale.limits(300) == pytest.approx((2 * 0.005 / np.log(2) / 3, 2.0))


def test_the_scale_is_that_of_nearest_neighbours_in_one_class():
    # 15 rows of one class at distance 1 from each other, 29 of another at distance 2, between those of the first.
    X = np.concatenate([column(*range(15)), column(*range(0, 58, 2)) + 0.5])
    assert copy_scale(X, np.repeat([0, 1], [15, 29])) == (1.0, 4.0, 44)


@pytest.mark.parametrize("X", [column(*range(10)), np.zeros((40, 1)), column(*range(40))])
def test_only_equal_rows_are_copies_where_nothing_tells_how_near_is_near(X):
    assert copy_scale(X, np.zeros(len(X), dtype=int)).limits(5) == CopyLimits(0, 0)
    found = find_stacks(column(3, 1, 3, 1.001), CopyLimits())
    assert found.of_row.tolist() == [0, 1, 0, 2]


def test_near_rows_are_a_stack_and_the_row_nearest_to_the_mean_stands_for_it():
    found = find_stacks(column(11, 0, 30, 2, 10, 1), CopyLimits(1, 1))
    assert found.of_row.tolist() == [0, 1, 2, 1, 0, 1]
    assert found.representatives.tolist() == [4, 5, 2]  # 10 and 11 are equally near: the smaller one


def test_a_long_chain_is_divided():
    found = find_stacks(column(0, 1, 2, 3, 4, 5, 6), CopyLimits(1, 4))
    assert found.of_row.tolist() == [0, 1, 1, 1, 1, 1, 2]
    assert found.representatives.tolist() == [0, 3, 6]


def test_the_row_with_the_least_score_can_stand_for_a_stack():
    found = Stacks(np.array([0, 1, 0, 2, 1]), np.array([2, 1, 3]))
    assert found.copies.tolist() == [0, 1, 2, 4]
    assert found.represented_by_least(np.array([0.1, 0.5, 0.2, 0.5])).representatives.tolist() == [0, 1, 3]


def test_a_stack_shares_one_label_and_is_divided_by_two():
    X = column(0, 0, 0, 1, 1, 1, 2)
    found, labels = share_labels(
        X, given_stacks(X, np.array([0, 0, 0, 1, 1, 1, 2])), np.array([-1, 5, -1, 6, 7, -1, -1]), -1
    )
    assert labels.tolist() == [5, 5, 5, 6, 7, -1, -1]
    assert found.of_row.tolist() == [0, 0, 0, 1, 2, 3, 4]


@given(ROWS, st.integers(0, 8), st.integers(0, 20))
def test_rows_of_a_stack_are_within_reach(X, link, reach):
    limits = CopyLimits(link, max(link, reach))
    found = find_stacks(X, limits)
    assert len(found.representatives) == len(np.unique(found.of_row))
    assert np.array_equal(found.of_row[found.representatives], np.arange(len(found.representatives)))
    assert (((X - X[found.representatives[found.of_row]]) ** 2).sum(1) <= limits.reach).all()


@given(ROWS, st.integers(0, 8), st.integers(0, 20), st.randoms())
def test_copies_share_a_stack_and_the_order_of_rows_does_not_matter(X, link, reach, random):
    limits = CopyLimits(link, max(link, reach))
    doubled = find_stacks(np.concatenate([X, X]), limits)
    assert np.array_equal(doubled.of_row[: len(X)], doubled.of_row[len(X) :])
    order = np.array(random.sample(range(len(X)), len(X)))
    found, moved = find_stacks(X, limits), find_stacks(X[order], limits)
    together = found.of_row[:, None] == found.of_row
    assert np.array_equal(together[order][:, order], moved.of_row[:, None] == moved.of_row)
    assert np.array_equal(X[found.representatives[found.of_row]][order], X[order][moved.representatives[moved.of_row]])


def test_pairs_are_found_in_any_block(monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 40))
    X = np.concatenate([X, X + 1e-3])
    whole = find_stacks(X, CopyLimits(1e-2, 1))
    assert np.array_equal(whole.of_row, np.tile(np.arange(60), 2))
    monkeypatch.setattr("opengcd.discover.copies.BLOCK", 500)
    monkeypatch.setattr("opengcd.discover.copies.PAIRS", 7)
    assert np.array_equal(find_stacks(X, CopyLimits(1e-2, 1)).of_row, whole.of_row)
