"""Which questions about groups are asked, and with what expected gain."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opengcd.discover import (
    Calibration,
    HiddenClasses,
    LinkedGroups,
    MetricRows,
    SameQuestion,
    SplitQuestion,
    WhichQuestion,
    calibrate,
    memberships,
    rank_questions,
)
from opengcd.discover.questions import Line, bisect, likeness

pytestmark = pytest.mark.usefixtures("one_thread")

ALWAYS, NEVER = Line(0.0, 50.0), Line(0.0, -50.0)
QUARTER = Line(0.0, float(np.log(1 / 3)))
LABELLED = np.eye(6, dtype=np.float32)[[4, 4, 5, 5]]
CODES = np.array([0, 0, 1, 1])


def rows_of(*axes):
    """Unit vectors along the given axes, and two labelled rows of either of two known classes."""
    return MetricRows(LABELLED, CODES, np.eye(6, dtype=np.float32)[list(axes)])


def one_list(rows, groups, mixed=NEVER, same=NEVER, pair=NEVER, **options):
    return rank_questions(rows, groups, Calibration(mixed, same, pair), **options)


def test_bisect_finds_the_smaller_of_two_directions():
    assert bisect(rows_of(0, 1, 0, 0, 1).U).tolist() == [False, True, False, False, True]


@pytest.mark.parametrize("n", [1, 3, 9])
def test_equal_rows_cannot_be_divided(n):
    assert not bisect(rows_of(*[0] * n).U).any()


def test_likeness_is_the_cosine_of_the_means_whatever_the_spread_within():
    # Rows 0.6 e0 + 0.8 e_i: any two have a cosine of 0.36, in one set or in two, so the likeness is 0.36 / 0.36.
    rows = 0.6 * np.eye(6)[[0] * 4] + 0.8 * np.eye(6)[[1, 2, 3, 4]]
    assert likeness(rows[:2], rows[2:]) == pytest.approx(1)
    assert likeness(np.eye(6)[[0, 0]], np.eye(6)[[1, 1]]) == 0


def test_the_gain_of_a_split_is_the_smaller_part_times_its_probability_less_the_answer():
    groups = LinkedGroups.of([np.arange(16)], known=2)
    (question,) = one_list(rows_of(*[0] * 10, *[1] * 6), groups, mixed=QUARTER)
    assert isinstance(question, SplitQuestion)
    assert question.gain == pytest.approx(6 / 4 - 1)
    assert [part.tolist() for part in question.parts] == [[*range(10)], [*range(10, 16)]]
    assert [len(shown) for shown in question.shown] == [8, 6]
    # With four rows in the smaller part, nothing is gained.
    assert not one_list(rows_of(*[0] * 10, *[1] * 4), LinkedGroups.of([np.arange(14)], known=2), mixed=QUARTER)


def test_the_gain_of_two_groups_of_one_class_is_naming_and_confirming_once_less_the_answer():
    groups = LinkedGroups.of([np.arange(3), np.arange(3, 6)], known=2)
    (question,) = one_list(rows_of(*[0] * 6), groups, same=Line(0.0, float(np.log(3))))
    assert isinstance(question, SameQuestion)
    assert question.groups == (2, 3)
    assert question.gain == pytest.approx(2 * 0.75 - 1)
    assert not one_list(rows_of(*[0] * 6), groups, same=QUARTER)


def test_the_largest_gain_comes_first_and_a_group_is_in_one_question():
    groups = LinkedGroups.of([np.arange(8), np.arange(8, 20)], known=2)
    asked = one_list(rows_of(*[0, 1] * 4, *[2, 3] * 6), groups, mixed=ALWAYS, same=ALWAYS)
    assert [(one.kind, round(one.gain, 6)) for one in asked] == [("split", 5), ("split", 3)]
    assert [one.group for one in asked] == [3, 2]


def test_a_row_in_doubt_is_asked_about_with_the_rows_that_would_follow_it():
    # Rows between two groups, of which each is as likely.
    U = np.eye(6, dtype=np.float32)[[0] * 20 + [1] * 20 + [0] * 6]
    U[-6:, 1] = 1
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    groups = LinkedGroups.of([np.r_[0:20, 40:43], np.r_[20:40, 43:46]], known=2)
    pair = Line(1e3, -900.0)  # rows are of one class if their cosine exceeds 0.9
    (question, *rest) = one_list(MetricRows(LABELLED, CODES, U), groups, pair=pair, about_items=True)
    assert isinstance(question, WhichQuestion)
    assert question.row >= 40
    assert set(question.choices[:2]) == {2, 3}
    # Each of six rows, this one included, is right with a probability of p where it is, and of 1 with this one.
    p = memberships(MetricRows(LABELLED, CODES, U), groups).probabilities[question.row].max()
    assert question.gain == pytest.approx((1 - p) * 6 * (1 - p) - 1, abs=0.01)
    assert not rest  # the others are of the same class as this one


def test_each_answer_to_a_split_changes_the_groups():
    rows = rows_of(*[0] * 10, *[1] * 6)
    groups = LinkedGroups.of([np.arange(16)], known=2)
    (question,) = one_list(rows, groups, mixed=ALWAYS)
    first, second = set(range(10)), set(range(10, 16))
    expected = {"one": [first | second], "two": [first, second], "first": [first], "second": [second], "none": []}
    for answer, parts in expected.items():
        after = question.answered(groups, answer)
        assert [set(members.tolist()) for members in after.rows.values()] == parts
    assert question.answered(groups, "two").apart == {frozenset({2, 3})}
    with pytest.raises(ValueError, match="not an answer to this question"):
        question.answered(groups, "perhaps")


def test_groups_that_were_declared_different_are_not_compared_again():
    rows, groups = rows_of(*[0] * 6), LinkedGroups.of([np.arange(3), np.arange(3, 6)], known=2)
    (question,) = one_list(rows, groups, same=ALWAYS)
    assert not one_list(rows, question.answered(groups, "no"), same=ALWAYS)
    assert [len(members) for members in question.answered(groups, "yes").rows.values()] == [6]


def test_calibration_tells_one_class_from_two():
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(12), 20)
    Z = rng.normal(size=(12, 32))[codes] + 0.7 * rng.normal(size=(240, 32))
    found = calibrate([HiddenClasses(Z / np.linalg.norm(Z, axis=1, keepdims=True), codes)])
    assert found.mixed(0.0) > 0.9 > 0.1 > found.mixed(1.0)
    assert found.same(1.0) > 0.9 > 0.1 > found.same(0.3)
    assert found.pair(0.9) > 0.9 > 0.1 > found.pair(0.0)


def test_without_hidden_classes_everything_is_as_likely_as_not():
    assert [float(line(0.7)) for line in calibrate([])] == [0.5] * 3


def key(question):
    """What a question is about, whichever part comes first."""
    if isinstance(question, SplitQuestion):
        return "split", frozenset(frozenset(part.tolist()) for part in question.parts)
    if isinstance(question, SameQuestion):
        return "same", frozenset(question.groups)
    return "which", question.row


def scene(seed, classes=5, size=12):
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(classes + 2, 16))
    U = np.repeat(means[2:], size, axis=0) + 0.6 * rng.normal(size=(classes * size, 16))
    L = np.repeat(means[:2], 4, axis=0) + 0.6 * rng.normal(size=(8, 16))
    L, U = (X / np.linalg.norm(X, axis=1, keepdims=True) for X in (L, U))
    groups = np.array_split(rng.permutation(len(U)), 4)
    return MetricRows(L, np.repeat([0, 1], 4), U), LinkedGroups.of(groups, known=2)


HALF = Calibration(Line(0.0, 0.0), Line(8.0, -4.0), Line(10.0, -5.0))
ANSWERS = {"split": ("one", "two", "first", "second", "none"), "same": ("yes", "no")}


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000), data=st.data())
def test_an_answered_question_never_returns_and_questions_end(seed, data):
    rows, groups = scene(seed)
    seen = set()
    for _ in range(300):
        questions = rank_questions(rows, groups, HALF, about_items=True)
        if not questions:
            break
        question = questions[0]
        asked = key(question)
        if isinstance(question, SameQuestion):  # the number of a group that is gone is used again
            asked = "same", frozenset(frozenset(groups.rows[number].tolist()) for number in question.groups)
        assert asked not in seen
        assert question.gain > 0
        seen.add(asked)
        possible = ANSWERS.get(question.kind) or (*question.choices, None)
        groups = question.answered(groups, data.draw(st.sampled_from(possible)))
    else:
        pytest.fail("There is always another question.")


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000), about_items=st.booleans())
def test_the_questions_do_not_depend_on_the_order_of_the_rows(seed, about_items):
    rows, groups = scene(seed)
    order = np.random.default_rng(seed + 1).permutation(len(rows.U))
    place = np.argsort(order)  # row i is at place[i] in the new order
    moved = LinkedGroups.of([place[members] for members in groups.rows.values()], known=2)
    calibration = HALF._replace(mixed=ALWAYS if not about_items else NEVER)
    before = rank_questions(rows, groups, calibration, about_items=about_items)
    after = rank_questions(rows._replace(U=rows.U[order]), moved, calibration, about_items=about_items)
    assert [one.gain for one in after] == pytest.approx([one.gain for one in before])
    for old, new in zip(before, after, strict=True):
        if isinstance(old, SplitQuestion):
            parts = frozenset(frozenset(place[part].tolist()) for part in old.parts)
            assert key(new) == ("split", parts)
        elif isinstance(old, WhichQuestion):
            assert (new.row, new.choices) == (place[old.row], old.choices)
        else:
            assert key(new) == key(old)
