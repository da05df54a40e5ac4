"""Splits of labelled rows: nothing lost, nothing twice, and the draws are those that results were published with."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opengcd._internal.splits import (
    assign_folds,
    choose_hidden_classes,
    class_groups,
    hide_classes,
    hold_out_half,
    hold_out_share,
    renumber,
    simulate_stream,
    split_open_world,
    split_share,
)

labels = st.lists(st.integers(0, 5), min_size=2, max_size=60).map(lambda y: np.unique(y, return_inverse=True)[1])


def test_renumbering_by_hand():
    assert renumber(5, np.array([3, 0])).tolist() == [1, -1, -1, 0, -1]


def test_folds_by_hand():
    # Class 0 starts at fold 0, class 1 at fold 1; a class of a single row is in no fold.
    codes = np.array([0, 0, 0, 1, 1, 1, 2])
    fold = assign_folds(codes, lambda n: min(2, n) if n > 1 else 0, np.random.default_rng(0))
    assert sorted(fold[:3]) == [0, 0, 1]
    assert sorted(fold[3:6]) == [0, 1, 1]
    assert fold[6] == -1


@given(labels, st.integers(0, 9))
def test_held_out_rows_are_not_fitted_and_every_class_is(codes, seed):
    classes = range(codes.max() + 1)
    halves = hold_out_half(codes, classes, np.random.default_rng(seed))
    fifth = hold_out_share(codes, 0.2, np.random.default_rng(seed))
    for fitting, held_out in (halves, fifth):
        assert sorted([*fitting, *held_out]) == list(range(len(codes)))
        assert set(codes[fitting]) == set(classes)


@given(labels, st.integers(0, 9))
def test_split_into_known_and_unknown_classes(codes, seed):
    fitting, held_out, unknown, number = split_open_world(codes, seed)
    assert sorted([*fitting, *held_out, *unknown]) == list(range(len(codes)))
    known = (number >= 0).sum()
    assert known == (max(2, -(-len(number) // 2)) if len(number) > 1 else 1)
    assert (number[codes[unknown]] == -1).all()
    assert sorted(number[number >= 0]) == list(range(known))


@pytest.mark.parametrize(("classes", "splits", "sizes"), [(9, 1, [3]), (2, 1, [1]), (9, 3, [3, 3, 3]), (2, 3, [1, 1])])
def test_hidden_in_turns(classes, splits, sizes):
    hidden = choose_hidden_classes(classes, splits, np.random.default_rng(0))
    assert [len(part) for part in hidden] == sizes
    assert len(set(np.concatenate(hidden))) == sum(sizes)


def test_a_simulated_stream():
    codes = np.repeat(np.arange(6), 20)
    known, labelled, stream = simulate_stream(codes, 2, 10, 0.5, np.random.default_rng(0))
    assert len(known) == 4
    assert set(codes[labelled]) == set(known)
    assert not set(labelled) & set(stream)
    hidden = ~np.isin(codes[stream], known)
    assert hidden.sum() == 20
    assert (~hidden).sum() == 20  # half of the stream
    # Half of the rows of a known class keep their label, whatever share is asked for.
    _, labelled, stream = simulate_stream(codes, 2, 20, 0.99, np.random.default_rng(0))
    assert len(labelled) == 40
    # Hidden classes may be of different sizes.
    known, _, stream = simulate_stream(codes, 2, np.array([3, 7]), 0.5, np.random.default_rng(0))
    counts = np.bincount(codes[stream], minlength=6)
    assert sorted(np.delete(counts, known).tolist()) == [3, 7]


def test_the_draws_are_those_of_the_generator_in_this_order():
    codes = np.array([0, 1, 0, 1, 2, 2, 0, 1, 2])
    rng = np.random.default_rng(5)
    order = rng.permutation(3)
    assert hide_classes(3, 1, np.random.default_rng(5)).hidden.tolist() == order[:1].tolist()
    expected = [rng.permutation(np.flatnonzero(codes == c))[:2] for c in order[:2]]
    assert split_open_world(codes, np.random.default_rng(5)).fitting.tolist() == np.concatenate(expected).tolist()
    rows = np.arange(10, 20)
    first, rest = split_share(rows, 0.83, np.random.default_rng(1))
    assert [*first, *rest] == np.random.default_rng(1).permutation(rows).tolist()
    assert len(first) == 8
    assert (
        np.concatenate(class_groups(5, (2, 3), 4)).tolist()
        == np.random.default_rng(np.random.SeedSequence(4)).permutation(5).tolist()
    )


def test_shares_of_hidden_classes():
    rng = np.random.default_rng(0)
    # The paper's split: anchors to hidden 2:1, and at least one hidden.
    assert [len(choose_hidden_classes(known, 1, rng)[0]) for known in (2, 3, 4, 6, 12, 40)] == [1, 1, 1, 2, 4, 13]
    for known in range(2, 14):
        parts = choose_hidden_classes(known, 3, rng)
        assert sorted(np.concatenate(parts).tolist()) == list(range(known))
        sizes = [len(part) for part in parts]
        assert max(sizes) - min(sizes) <= 1


@settings(max_examples=30)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=60))
def test_every_class_keeps_a_row_to_fit_on(labels):
    codes = np.unique(labels, return_inverse=True)[1]
    fitting, held_out = hold_out_share(codes, 0.2, np.random.default_rng(0))
    assert sorted([*fitting, *held_out]) == list(range(len(codes)))
    assert set(codes[fitting]) == set(codes)
