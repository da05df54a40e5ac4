import numpy as np
import pytest

from opengcd.discover import split_rows


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
