import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from opengcd.bench.reviewer import confirm_groups, simulate_review


def test_a_clean_group_costs_a_name_and_a_confirmation():
    review = simulate_review([np.array([0, 1, 2])], [7, 7, 7], known=[0])
    assert (review.actions, review.by_kind["name"], review.by_kind["confirm"]) == (2, 1, 1)
    assert review.rows.tolist() == [0, 1, 2]
    assert review.labels.tolist() == [7, 7, 7]


def test_every_action_counted_by_hand():
    # Group A is 7 7 7 8 0 1: move {8}: 1 + 1; remove {0, 1}: 1 + 2; name 7: 1; name the new group of 8: 1.
    # Group B is 7 7: merge: 1. Group C is 0 0: named after the known class 0: 1. Confirm 7 and 8: 2.
    truth = np.array([7, 7, 7, 8, 0, 1, 7, 7, 0, 0])
    groups = [np.arange(6), np.array([6, 7]), np.array([8, 9])]
    review = simulate_review(groups, truth, known=[0, 1])
    assert review.by_kind == {"select": 3, "remove": 1, "move": 1, "name": 3, "merge": 1, "confirm": 2}
    assert review.actions == 11
    assert sorted(review.rows.tolist()) == [0, 1, 2, 3, 6, 7]


def test_nothing_to_review():
    review = simulate_review([], np.array([], dtype=int), known=[0])
    assert (review.actions, len(review.rows)) == (0, 0)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=40), st.integers(1, 6))
def test_the_result_is_the_truth_of_all_novel_items(truth, n_groups):
    truth = np.array(truth)
    groups = [np.flatnonzero(np.arange(len(truth)) % n_groups == g) for g in range(n_groups)]
    groups = [g for g in groups if len(g)]
    review = simulate_review(groups, truth, known=[0, 1])
    assert sorted(review.rows.tolist()) == np.flatnonzero(truth > 1).tolist()
    np.testing.assert_array_equal(review.labels, truth[review.rows])
    # Nobody would work more than twice: select every item, and name, move and confirm every class in every group.
    assert review.actions <= len(truth) + sum(2 * len(np.unique(truth[g])) + 1 for g in groups) + len(np.unique(truth))


def test_every_second_group_of_a_new_class_is_confirmed():
    truth = np.array([5, 5, 5, 0, 6, 6, 6, 7, 7, 0, 0, 8])
    groups = [np.array([0, 1, 2, 3]), np.array([4, 5, 6]), np.array([7, 8]), np.array([9, 10]), np.array([11])]
    nobody = np.zeros(len(truth), dtype=bool)
    # The first, third and fifth: 5 without the item of a known class, 7, and 8.
    assert confirm_groups(groups, truth, np.array([0]), nobody).tolist() == [0, 1, 2, 7, 8, 11]
    # The first is confirmed already, so that the second and the fourth follow; the fourth is of a known class.
    before = truth == 5
    assert confirm_groups(groups, truth, np.array([0]), before).tolist() == [4, 5, 6]
    assert confirm_groups([], truth, np.array([0]), before).tolist() == []


@given(st.lists(st.integers(0, 6), min_size=1, max_size=40), st.integers(1, 6), st.integers(0, 2**40 - 1))
def test_only_new_items_of_one_class_of_a_group_are_confirmed(truth, n_groups, before):
    truth = np.array(truth)
    confirmed = (before >> np.arange(len(truth)) & 1).astype(bool)
    groups = [np.flatnonzero(np.arange(len(truth)) % n_groups == g) for g in range(n_groups)]
    groups = [g for g in groups if len(g)]
    rows = confirm_groups(groups, truth, np.array([0, 1]), confirmed)
    assert (truth[rows] > 1).all()
    assert not confirmed[rows].any()
    assert all(len(np.unique(truth[np.intersect1d(rows, g)])) <= 1 for g in groups)
