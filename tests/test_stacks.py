"""A recogniser that looks for near copies in a stream: a stack of them counts once."""

import dataclasses

import numpy as np
import pytest

from opengcd.presets import PRESETS
from tests.helpers.streams import fitted, open_world

pytestmark = pytest.mark.usefixtures("one_thread")
STACKING = PRESETS["best"]


@pytest.fixture(scope="module")
def world():
    X, y, stream, truth = open_world()
    return fitted(X, y, preset=STACKING), stream, truth


@pytest.fixture(scope="module")
def alone(world):
    recognizer, stream, _ = world
    return recognizer.discover(stream, rejected=recognizer.predict(stream) == -1)


def burst(stream, steps=8):
    """Every other row is followed by copies, each a small step from the one before."""
    rng = np.random.default_rng(1)
    rows, original = [], []
    for i, row in enumerate(stream):
        for step in range(1 + steps * (i % 2)):
            row = row if step == 0 else row + 0.01 * rng.normal(size=row.shape).astype(row.dtype)
            rows.append(row)
            original.append(i)
    return np.array(rows), np.array(original)


def test_twice_every_row_is_the_same(world, alone):
    recognizer, stream, _ = world
    twice = np.repeat(stream, 2, axis=0)
    found = recognizer.discover(twice, rejected=recognizer.predict(twice) == -1)
    assert (found.k, found.k_interval, found.curve) == (alone.k, alone.k_interval, alone.curve)
    assert np.array_equal(found.labels, np.repeat(alone.labels, 2))
    assert np.array_equal(found.novel, np.repeat(alone.novel, 2))
    assert np.array_equal(found.probabilities, np.repeat(alone.probabilities, 2))
    for group, other in zip(found.groups, alone.groups, strict=True):
        assert np.array_equal(group.rows.reshape(-1, 2) // 2, np.stack([other.rows, other.rows], 1))


def test_without_copies_nothing_changes(world, alone):
    _, stream, _ = world
    X, y, _, _ = open_world()
    other = fitted(X, y)
    found = other.discover(stream, rejected=other.predict(stream) == -1)
    assert np.array_equal(found.labels, alone.labels)
    assert np.array_equal(found.probabilities, alone.probabilities)


def test_a_burst_counts_once(world, alone):
    recognizer, stream, truth = world
    X, original = burst(stream)
    found = recognizer.discover(X, rejected=recognizer.predict(X) == -1)
    assert found.k == alone.k == 12
    labels = [np.unique(found.labels[original == i]) for i in range(len(stream))]
    assert all(len(one) == 1 for one in labels)
    assert sum(len(group) for group in found.groups) == found.novel.sum()
    assert sorted(np.concatenate([group.rows for group in found.groups])) == np.flatnonzero(found.novel).tolist()
    for group in found.groups:
        assert len(np.unique(truth[original[group.rows]])) == 1


def test_a_burst_counts_once_for_the_threshold(world):
    recognizer, stream, _ = world
    X, y, _, _ = open_world()
    once = fitted(X, y, preset=STACKING).observe(stream).threshold_
    twice = fitted(X, y, preset=STACKING).observe(np.concatenate([stream, stream[:100], stream[:100]])).threshold_
    assert once == twice
    assert recognizer.threshold_ != once


def test_a_burst_is_learnt_once(world):
    _, stream, truth = world
    X, y, _, _ = open_world()
    new = truth >= 8
    once = fitted(X, y, preset=STACKING).learn(stream[new], truth[new])
    copied = np.repeat(stream[new], 3, axis=0)
    again = fitted(X, y, preset=STACKING).learn(copied, np.repeat(truth[new], 3))
    assert np.array_equal(once.memory_.X, again.memory_.X)
    assert np.array_equal(np.concatenate([X, copied])[again.memory_.kept], again.memory_.X)
    told = fitted(X, y).learn(copied, np.repeat(truth[new], 3), stacks=np.repeat(np.arange(new.sum()), 3))
    assert np.array_equal(told.memory_.X, fitted(X, y).learn(stream[new], truth[new]).memory_.X)


def test_rows_can_be_said_to_be_copies(world):
    recognizer, stream, _ = world
    found = recognizer.discover(stream, 12, stacks=np.arange(len(stream)) // 2)
    assert np.array_equal(found.labels[::2], found.labels[1::2])
    with pytest.raises(ValueError, match="stacks"):
        recognizer.discover(stream, stacks=[1, 2])


def test_near_copies_are_recognised_as_the_one_that_looks_least_strange(world):
    recognizer, stream, _ = world
    copied, original = burst(stream[:40])
    alone = recognizer.recognize(copied)
    found = recognizer.recognize(copied, stacks=original)
    for item in range(40):
        rows = np.flatnonzero(original == item)
        least = rows[alone.unknown_score[rows].argmin()]
        assert (found.labels[rows] == alone.labels[least]).all()
        assert (found.closed[rows] == alone.closed[least]).all()
        np.testing.assert_allclose(found.unknown_score[rows], alone.unknown_score[least])
        np.testing.assert_allclose(found.probabilities[rows], np.tile(alone.probabilities[least], (len(rows), 1)))


def test_rows_are_recognised_one_by_one_unless_they_are_said_to_be_copies(world):
    recognizer, stream, _ = world
    twice = np.repeat(stream[:20], 2, axis=0)
    found = recognizer.recognize(twice)
    np.testing.assert_array_equal(found.labels[::2], recognizer.recognize(stream[:20]).labels)
    with pytest.raises(ValueError, match="stacks"):
        recognizer.recognize(twice, stacks=[1, 2])
    assert len(recognizer.recognize(stream[:0], stacks=[]).labels) == 0


def test_a_name_given_to_one_copy_holds_for_all(world):
    recognizer, stream, truth = world
    twice, names = np.repeat(stream, 2, axis=0), np.full(2 * len(stream), -1)
    named = np.flatnonzero(truth == 8)
    names[2 * named] = 90
    names[2 * named[0] + 1] = 91  # the person has told these two apart
    found = recognizer.discover(twice, 13, rejected=recognizer.predict(twice) == -1, confirmed=names)
    assert (found.labels[2 * named] == 90).all()
    assert (found.labels[2 * named[1:] + 1] == 90).all()
    assert found.labels[2 * named[0] + 1] == 91


def test_the_presets_of_the_paper_count_every_row_unless_they_are_told_which_are_copies(world):
    recognizer, stream, _ = world
    assert [name for name, preset in PRESETS.items() if preset.stack_copies] == ["best"]
    X, y, _, _ = open_world()
    plain = fitted(X, y, preset=dataclasses.replace(STACKING, stack_copies=False))
    twice = np.repeat(stream[:50], 2, axis=0)
    assert plain.stacks(twice).tolist() == recognizer.stacks(twice).tolist()
    assert len(np.unique(plain.stacks(twice))) == 50
