import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from opengcd.bench.reviewer import MANY, confirm_groups, simulate_review, split_mixed


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


def by_truth(truth):
    """A split that finds the classes of a group."""
    return lambda rows, n: [rows[truth[rows] == c] for c in np.unique(truth[rows])[:n]]


def test_a_group_of_two_frequent_classes_is_split_by_one_action():
    # By hand: select ten, move them, name both, confirm both. With a split that is right: split, name and confirm both.
    truth = np.repeat([7, 8], [12, MANY])
    groups = [np.arange(len(truth))]
    assert simulate_review(groups, truth, known=[0]).actions == MANY + 1 + 2 + 2
    review = simulate_review(groups, truth, [0], by_truth(truth))
    assert review.by_kind == {"split": 1, "select": 0, "remove": 0, "move": 0, "name": 2, "confirm": 2}
    assert review.actions == 5
    assert sorted(review.rows.tolist()) == groups[0].tolist()


def test_a_group_with_few_items_of_a_second_class_is_not_split():
    truth = np.repeat([7, 8], [50, MANY - 1])
    groups, splits = split_mixed([np.arange(len(truth))], truth, by_truth(truth))
    assert (len(groups), splits) == (1, 0)


def test_a_split_that_does_not_help_costs_its_action():
    truth = np.tile([7, 8], MANY)
    halves = np.array_split(np.arange(2 * MANY), 2)  # both classes in both halves, now fewer than many of each
    by_hand = simulate_review(halves, truth, known=[0]).actions
    split = simulate_review([np.arange(2 * MANY)], truth, [0], np.array_split)
    assert split.actions == by_hand + 1


def test_a_group_that_cannot_be_divided_is_reviewed_as_it_is():
    truth = np.tile([7, 8], MANY)
    groups, splits = split_mixed([np.arange(2 * MANY)], truth, lambda rows, n: [rows])
    assert [group.tolist() for group in groups] == [list(range(2 * MANY))]
    assert splits == 1


@given(st.lists(st.integers(0, 3), min_size=1, max_size=80), st.integers(0, 5))
def test_splitting_loses_no_item(truth, seed):
    truth = np.array(truth)
    rng = np.random.default_rng(seed)

    def at_random(rows, n):
        labels = rng.integers(0, n, len(rows))
        return [rows[labels == c] for c in range(n) if (labels == c).any()]

    review = simulate_review([np.arange(len(truth))], truth, [0], at_random)
    assert sorted(review.rows.tolist()) == np.flatnonzero(truth > 0).tolist()
    np.testing.assert_array_equal(review.labels, truth[review.rows])


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
