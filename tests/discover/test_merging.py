"""Merging small groups while they are alike, and how many are left."""

import numpy as np
import pytest

from opengcd.discover.merging import THRESHOLDS, Halves, MergingRows, divide, merge, merge_groups

pytestmark = pytest.mark.usefixtures("one_thread")


def halves(first, second):
    """One row of each class or group in either half."""
    return Halves(np.array([first, second], dtype=float), np.ones((2, len(first)), dtype=int))


def test_groups_of_one_direction_merge_and_a_group_of_a_known_class_joins_it():
    known, new = [1.0, 0.0], [0.0, 1.0]
    rows = [known, new, new, known]
    assert merge(halves(rows, rows), known=1).tolist() == [1.0, 1.0]


def test_two_known_classes_are_never_merged():
    rows = [[1.0, 0.0], [1.0, 0.0]]
    assert len(merge(halves(rows, rows), known=2)) == 0


def test_likeness_is_the_cosine_of_the_directions():
    rows = [[1.0, 0.0], [0.5, np.sqrt(0.75)]]  # an angle of 60 degrees
    assert merge(halves(rows, rows), known=0, least=0.4) == pytest.approx([0.5])
    assert len(merge(halves(rows, rows), known=0, least=0.6)) == 0


def test_the_spread_within_a_class_does_not_make_its_parts_look_different():
    # Rows 0.6 e0 + 0.8 e_i: any two have a cosine of 0.36, in one group or in two, so the likeness is 0.36 / 0.36.
    first, second = np.zeros((2, 2, 5))
    first[:, 0] = second[:, 0] = 0.6
    first[0, 1] = first[1, 2] = second[0, 3] = second[1, 4] = 0.8
    assert merge(halves(first, second), known=0) == pytest.approx([1.0])


def test_a_merged_group_is_compared_as_a_whole():
    # a and b, with a cosine of 0.8, merge first.
    a, b, c = [1.0, 0.0, 0.0], [0.8, 0.6, 0.0], [0.5, 0.0, np.sqrt(0.75)]
    merged = merge(halves([a, b, c], [a, b, c]), known=0, least=0.1)
    # Then four pairs within them have a mean cosine of 0.9, beside one with the pooled cosine 1; with c it is 0.45.
    within = (4 * 0.9 + 1) / 5
    assert merged == pytest.approx([0.8, 0.45 / np.sqrt(within)])


def classes_around(rng, means, sizes, spread=0.6):
    y = np.repeat(np.arange(len(means)), sizes)
    X = means[y] + spread * rng.normal(size=(len(y), means.shape[1])) / np.sqrt(means.shape[1])
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32), y


@pytest.fixture(scope="module")
def rows():
    """Ten known classes, and twelve new ones of 8 to 96 rows."""
    rng = np.random.default_rng(0)
    means = rng.normal(size=(22, 48))
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    L, codes = classes_around(rng, means[:10], [20] * 10)
    U, y = classes_around(rng, means, [15] * 10 + [8 * (i + 1) for i in range(12)])
    scores = np.where(y < 10, 0.0, 1.0) + 0.1 * rng.normal(size=len(y))
    return MergingRows(L, codes, np.zeros(len(L), dtype=bool), U, scores, 0.5)


def test_new_classes_of_any_size_are_left(rows):
    left, of_known = merge_groups(rows, 0, "cpu")
    middle = np.abs(THRESHOLDS - 0.6).argmin()
    assert 11 <= left[middle] <= 13
    assert (np.diff(left) >= 0).all()  # a higher threshold leaves more of them
    assert merge_groups(rows, 0, "cpu").left.tolist() == left.tolist()
    assert (
        of_known[rows.scores < 0.5].mean() > of_known[rows.scores > 0.5].mean() + 0.2
    )  # small groups also hold known rows


def test_rows_that_the_network_was_trained_on_are_used_only_where_there_are_no_others(rows):
    trained = np.arange(len(rows.codes)) % 2 == 0
    trained[rows.codes == 3] = True
    counts = divide(rows._replace(trained=trained), 0, "cpu")[0].counts.sum(0)
    assert counts[:10].tolist() == [10, 10, 10, 20, 10, 10, 10, 10, 10, 10]


def test_every_row_of_a_group_is_in_one_half(rows):
    (sums, counts), of_known = divide(rows, 0, "cpu")
    assert counts[:, :10].tolist() == [[10] * 10] * 2
    assert abs(int(counts[0, 10:].sum()) - int(counts[1, 10:].sum())) < 60
    assert counts[:, 10:].sum() == (~of_known).sum() >= 0.9 * 624  # the rows of new classes
    assert (np.linalg.norm(sums, axis=2) <= counts + 1e-4).all()
