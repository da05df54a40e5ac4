"""Groups that obey what a person has said about them."""

import numpy as np
import pytest

from opengcd.discover import LinkedGroups, MetricRows, memberships, regroup
from opengcd.discover.linked_groups import Memberships, typical

pytestmark = pytest.mark.usefixtures("one_thread")

AXES = np.eye(5, dtype=np.float32)
ROWS = MetricRows(AXES[[4, 4]], np.array([0, 0]), AXES[[0, 0, 0, 1, 1, 1, 4]])
"""One known class along the last axis; six rows along two others, and one of the known class."""


def members(groups):
    return {number: set(rows.tolist()) for number, rows in groups.rows.items()}


def after(groups):
    return regroup(groups, memberships(ROWS, groups))


def test_groups_are_numbered_after_the_known_classes():
    groups = LinkedGroups.of([np.array([0, 1]), np.array([3])], known=1)
    assert members(groups) == {1: {0, 1}, 2: {3}}
    assert groups.under_review.tolist() == [0, 1, 3]


def test_misplaced_rows_go_to_the_group_they_are_like():
    groups = LinkedGroups.of([np.array([0, 1, 3]), np.array([2, 4, 5])], known=1)
    assert members(after(groups)) == {1: {0, 1, 2}, 2: {3, 4, 5}}


def test_as_many_rows_stay_under_review():
    groups = LinkedGroups.of([np.array([0, 1]), np.array([3, 6])], known=1)
    found = members(after(groups))
    assert sum(map(len, found.values())) == 4
    assert 6 not in found[2]  # it looks like the known class, and five other rows do not


def test_fewer_rows_hold_as_many_new_items_where_groups_are_purer():
    # The odds of being new, 3^5, 3^5, 1 and 3^-5, give q = 3/4, 3/4, 1/2 and 1/4: the first two make up for the others.
    p = np.array([[1, 243], [1, 243], [122, 122], [243, 1]]) / 244
    groups = LinkedGroups.of([np.array([0, 2, 3])], known=1)
    assert members(regroup(groups, Memberships(np.array([0, 1]), p))) == {1: {0, 1}}
    # A row that a person has put into the group counts as a new item, one put into the known class as none.
    assert members(regroup(groups.with_placed(2, 1), Memberships(np.array([0, 1]), p))) == {1: {0, 1, 2}}
    assert members(regroup(groups.with_placed(0, 0), Memberships(np.array([0, 1]), p))) == {1: {1}}


def test_settled_rows_stay_under_review_however_few_there_were():
    p = np.array([[1, 243], [1, 243], [243, 1]]) / 244
    groups = LinkedGroups.of([np.array([2])], known=1).with_placed(0, 1).with_placed(1, 1)
    assert members(regroup(groups, Memberships(np.array([0, 1]), p))) == {1: {0, 1}}


def test_a_row_that_a_person_placed_stays_there():
    groups = LinkedGroups.of([np.array([0, 1, 2]), np.array([3, 4, 5])], known=1)
    moved = after(groups.with_placed(0, 2).with_placed(3, 0))
    assert members(moved) == {1: {1, 2}, 2: {0, 4, 5}}  # row 3 is of the known class now
    assert moved.fixed == {0: 2, 3: 0}


def test_rows_seen_together_stay_together():
    groups = LinkedGroups.of([np.array([0, 1, 2, 3]), np.array([4, 5])], known=1).kept_whole(1, [2, 3])
    assert {2, 3} <= members(after(groups))[1]


def test_a_row_never_joins_a_group_that_it_was_excluded_from():
    groups = LinkedGroups.of([np.array([0, 1, 2]), np.array([3, 4, 5])], known=1).with_excluded(0, [0, 1])
    assert members(groups)[1] == {1, 2}
    assert 0 not in members(after(groups))[1]


def test_two_parts_share_what_was_said_of_the_group():
    groups = LinkedGroups.of([np.arange(3), np.arange(3, 6)], known=1)
    said = groups.kept_apart(1, 2).kept_whole(1, [0, 1])
    parts = said.divided(1, (np.array([0]), np.array([1, 2])), ([0], [2]))
    assert members(parts) == {1: {0}, 2: {3, 4, 5}, 3: {1, 2}}
    assert parts.together == {1: {0}, 3: {1, 2}}
    assert parts.apart == {frozenset({1, 2}), frozenset({2, 3}), frozenset({1, 3})}


def test_joined_groups_share_what_was_said_of_either():
    groups = LinkedGroups.of([np.array([0, 1]), np.array([2]), np.array([3])], known=1)
    joined = groups.kept_whole(1, [0]).kept_whole(2, [2]).kept_apart(2, 3).with_placed(1, 2).joined(1, 2)
    assert members(joined) == {1: {0, 1, 2}, 3: {3}}
    assert joined.together == {1: {0, 2}}
    assert joined.apart == {frozenset({1, 3})}
    assert joined.placed == {1: 1}
    assert joined.whole == {1}


def test_a_group_that_is_joined_with_one_nobody_has_seen_is_not_known_to_be_whole():
    groups = LinkedGroups.of([np.array([0]), np.array([1])], known=1)
    assert not groups.kept_whole(1, [0]).joined(1, 2).whole
    assert not groups.kept_whole(2, [1]).joined(1, 2).whole


def test_a_row_leaves_its_group_for_a_new_one():
    groups = LinkedGroups.of([np.array([0, 1]), np.array([3])], known=1)
    assert members(groups.with_group(1)) == {1: {0}, 2: {3}, 3: {1}}


def test_nothing_is_left_of_a_dissolved_group():
    groups = LinkedGroups.of([np.array([0, 1]), np.array([3])], known=1)
    gone = groups.kept_whole(1, [0]).kept_apart(1, 2).with_placed(1, 1).dissolved(1)
    assert members(gone) == {2: {3}}
    assert not any([gone.together, gone.apart, gone.placed, gone.whole])


def test_typical_rows_are_those_most_like_the_mean():
    U = np.array([[1.0, 0.0], [0.0, 1.0], [0.8, 0.6]])
    assert typical(U, np.array([0, 1, 2]), 2).tolist() == [2, 0]  # the mean is along (1.8, 1.6)
