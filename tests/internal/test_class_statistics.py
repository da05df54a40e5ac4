"""Statistics of classes: merged or parted, they are those of the rows themselves."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from opengcd.memory import ClassStatistics

X = np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 6.0], [5.0, 1.0], [5.0, 3.0]])
CODES = np.array([0, 0, 0, 1, 1])


def assert_close(found, expected):
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


def test_by_hand():
    counts, means, scatter = ClassStatistics.of(X, CODES, 3)
    assert counts.tolist() == [3, 2, 0]
    assert means.tolist() == [[2, 2], [5, 2], [0, 0]]
    # Class 0 differs from its mean by (-2, -2), (0, -2) and (2, 4), class 1 by (0, -1) and (0, 1).
    assert scatter.tolist() == [[8, 12], [12, 26]]


def test_merged_by_hand():
    # Class 0 has the mean (1, 0) in two rows and (4, 6) in one: the scatter grows by 2/3 (3, 6)(3, 6)ᵀ.
    first, second = ClassStatistics.of(X[:2], CODES[:2], 2), ClassStatistics.of(X[2:], CODES[2:], 2)
    assert first.scatter.tolist() == [[2, 0], [0, 0]]
    assert second.scatter.tolist() == [[0, 0], [0, 2]]
    both = first.merged(second)
    assert both.means.tolist() == [[2, 2], [5, 2]]
    np.testing.assert_allclose(both.scatter, [[2 + 6, 12], [12, 2 + 24]])


def test_shrunk_covariance_by_hand():
    statistics = ClassStatistics.of(X, CODES, 2)
    assert statistics.freedom == 3
    np.testing.assert_allclose(statistics.covariance(0.5), [[4 / 3 + 34 / 12, 2], [2, 13 / 3 + 34 / 12]])
    np.testing.assert_array_equal(ClassStatistics.of(X[:2], np.arange(2), 2).covariance(0.1), np.eye(2))


def test_classes_left_out_take_their_share_of_the_scatter():
    statistics = ClassStatistics.of(X, CODES, 2)
    only = statistics.of_classes(np.array([1]))
    assert only.counts.tolist() == [2]
    np.testing.assert_allclose(only.covariance(0.1), statistics.covariance(0.1))
    other = statistics.of_classes(np.array([1, -1, 0]))
    assert (other.counts.tolist(), other.means.tolist()) == ([2, 0, 3], [[5, 2], [0, 0], [2, 2]])
    np.testing.assert_array_equal(other.scatter, statistics.scatter)


@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 4))
def test_any_parts_in_any_order(seed, classes, parts):
    rng = np.random.default_rng(seed)
    rows, codes, part = rng.normal(3, 2, (30, 4)), rng.integers(0, classes, 30), rng.integers(0, parts, 30)
    whole = ClassStatistics.of(rows, codes, classes)
    each = [ClassStatistics.of(rows[part == i], codes[part == i], classes) for i in range(parts)]
    for order in (range(parts), rng.permutation(parts)):
        merged = ClassStatistics.of(rows[:0], codes[:0], classes)
        for i in order:
            merged = merged.merged(each[i])
        assert_close(merged, whole)
    assert_close(whole.without(each[0]), ClassStatistics.of(rows[part != 0], codes[part != 0], classes))
