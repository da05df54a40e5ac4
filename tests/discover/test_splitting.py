import numpy as np
import pytest

from opengcd.discover import similar_rows, split_rows


def test_two_clusters_the_larger_first_and_the_most_typical_row_first():
    Z = np.array([[10.0], [0.0], [1.0], [2.0], [12.0]])
    large, small = split_rows(Z, 2, random_state=0, device="cpu")
    assert large.rows.tolist() == [2, 1, 3]  # the centre is 1
    assert large.spread == pytest.approx(np.sqrt(2 / 3))
    assert sorted(small.rows.tolist()) == [0, 4]  # the centre is 11
    assert small.spread == pytest.approx(1.0)


def test_equal_rows_cannot_be_divided():
    (part,) = split_rows(np.ones((4, 2)), 2, random_state=0, device="cpu")
    assert sorted(part.rows.tolist()) == [0, 1, 2, 3]
    assert part.spread == 0.0


def test_similar_rows_are_those_nearer_to_the_row_than_to_the_rest():
    degrees = np.array([0, 3, 6, 60, 62, 66, 9])
    Z = np.stack([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))], 1) * 3
    order, number = similar_rows(Z, 4)
    assert number == 3
    assert order[0] == 4
    assert order.tolist()[1:3] == [5, 3]  # the farther from the rest, the clearer
    assert order.tolist()[3:] == [6, 2, 1, 0]


def test_a_row_like_all_others_stands_alone():
    order, number = similar_rows(np.ones((4, 2)), 2)
    assert (order[0], number) == (2, 1)
    assert sorted(order.tolist()) == [0, 1, 2, 3]
    assert similar_rows(np.ones((1, 2)), 0)[1] == 1
