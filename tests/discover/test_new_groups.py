"""New groups where rows are alike and nothing explains them."""

import numpy as np
import pytest

from opengcd.discover import LinkedGroups, MetricRows, memberships, regroup, regroup_by_answers, start_groups
from opengcd.discover.linked_groups import Memberships

pytestmark = pytest.mark.usefixtures("one_thread")

AXES = np.eye(3, dtype=np.float32)
ROWS = MetricRows(AXES[[2, 2]], np.array([0, 0]), AXES[[0, 0, 0, 0, 1, 1, 1]])
"""One known class along the last axis, four rows along the first and three along the second."""
GROUP = LinkedGroups.of([np.arange(7)], known=1)
FOUND = Memberships(np.array([0, 1]), np.array([[0.1, 0.9]] * 4 + [[0.5, 0.5]] * 3))
"""The first four rows belong to the group; nothing is known of the others."""


def members(groups):
    return {number: set(rows.tolist()) for number, rows in groups.rows.items()}


def test_a_group_starts_where_rows_are_alike_and_in_doubt():
    # Of six neighbours, two others along the second axis give 2 (1 - 0.5) / 6, three along the first 3 (1 - 0.9) / 6.
    assert members(start_groups(ROWS, GROUP, FOUND, 1)) == {1: {0, 1, 2, 3, 5, 6}, 2: {4}}


def test_the_next_group_starts_elsewhere():
    # Rows are like their sixth neighbour by a cosine of 0; the other rows along the second axis are more like row 4.
    assert members(start_groups(ROWS, GROUP, FOUND, 2)) == {1: {1, 2, 3, 5, 6}, 2: {4}, 3: {0}}
    assert len(start_groups(ROWS, GROUP, FOUND, 9).rows) == 3  # no third direction is left


def test_settled_rows_stay_where_a_person_put_them():
    groups = GROUP.with_placed(4, 1).with_placed(5, 1).with_placed(6, 0)
    assert members(start_groups(ROWS, groups, FOUND, 1)) == {1: {1, 2, 3, 4, 5}, 2: {0}}


def test_without_free_rows_nothing_starts():
    none = LinkedGroups.of([], known=1)
    assert start_groups(ROWS, none, memberships(ROWS, none), 3) is none


def test_rows_are_regrouped_and_new_groups_get_their_rows():
    groups = LinkedGroups.of([np.arange(5), np.empty(0, dtype=np.int64)], known=1)
    once = regroup(groups, memberships(ROWS, groups))
    assert members(regroup_by_answers(ROWS, groups).groups) == members(once)
    begun = start_groups(ROWS, once, memberships(ROWS, once), 1)
    found = regroup_by_answers(ROWS, groups, 1)
    assert members(found.groups) == members(regroup(begun, memberships(ROWS, begun)))
    assert found.found.numbers.tolist() == [0, 1, 2, 3]


def test_blocks_of_rows_make_no_difference(monkeypatch):
    rng = np.random.default_rng(0)
    U = rng.normal(size=(50, 8)).astype(np.float32)
    rows = ROWS._replace(U=U / np.linalg.norm(U, axis=1, keepdims=True))
    rows = rows._replace(L=rows.U[:2])
    groups = LinkedGroups.of(np.array_split(np.arange(50), 4), known=1)
    found = memberships(rows, groups)
    whole = members(start_groups(rows, groups, found, 5))
    monkeypatch.setattr("opengcd.discover.new_groups.BLOCK", 7)
    assert members(start_groups(rows, groups, found, 5)) == whole
    assert len(whole) == 9
