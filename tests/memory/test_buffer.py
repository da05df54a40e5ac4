"""The memory: how its places are shared out, and what it keeps over phases."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opengcd.memory import ClassStatistics, ExemplarMemory, allot, select_exemplars


@given(st.integers(1, 60), st.lists(st.integers(1, 20), min_size=1, max_size=8))
def test_allot_is_even_full_and_never_over(size, available):
    if size < len(available):
        with pytest.raises(ValueError, match="cannot hold"):
            allot(size, available)
        return
    quotas = allot(size, available)
    assert sum(quotas) == min(size, sum(available))
    assert all(0 < q <= n for q, n in zip(quotas, available, strict=True))
    hungry = [q for q, n in zip(quotas, available, strict=True) if q < n]
    # Nobody who could take more has less than another class but for the one place of the remainder.
    assert not hungry or max(quotas) - min(hungry) <= 1


def test_memory_keeps_its_size_over_phases():
    rng = np.random.default_rng(0)
    memory = ExemplarMemory(50, "random", random_state=0)
    for phase in range(4):
        y = np.repeat(np.arange(2 * phase, 2 * phase + 2), 40)
        memory.update(rng.normal(size=(80, 3)) + y[:, None], y)
        counts = np.bincount(memory.y)
        assert len(memory) == 50
        assert counts.max() - counts.min() <= 1


def test_memory_without_size_keeps_the_first_update_whole():
    memory = ExemplarMemory()
    y = np.array([0] * 30 + [1] * 2)
    kept = memory.update(np.random.default_rng(0).normal(size=(32, 2)), y)
    assert sorted(kept.tolist()) == list(range(32))
    memory.update(np.ones((10, 2)), [2] * 10)
    assert len(memory) == 32


def test_update_returns_where_the_exemplars_come_from():
    X = np.random.default_rng(0).normal(size=(20, 3))
    memory = ExemplarMemory(8, "herding")
    kept = memory.update(X, [0, 1] * 10)
    np.testing.assert_array_equal(memory.X, X[kept])
    old, new = memory.X, np.random.default_rng(1).normal(size=(6, 3))
    kept = memory.update(new, [2] * 6)
    np.testing.assert_array_equal(memory.X, np.concatenate([old, new])[kept])


def test_memory_too_small_for_the_classes():
    with pytest.raises(ValueError, match="A memory of 2 rows cannot hold 3 classes"):
        ExemplarMemory(2).update(np.eye(3), [0, 1, 2])


def test_labels_of_another_type_are_refused():
    memory = ExemplarMemory()
    memory.update(np.eye(2), [0, 1])
    with pytest.raises(ValueError, match="known classes are like"):
        memory.update(np.eye(2), ["a", "b"])


def test_filling_takes_no_duplicate_while_there_is_a_choice():
    # High-dimensional unit vectors: no lambda leaves five, so the choice is rounded; no row may appear twice.
    X = np.random.default_rng(0).normal(size=(60, 256))
    X = np.concatenate([X, X]) / np.linalg.norm(X, axis=1).mean()
    rows = select_exemplars(X, 5, "ds3")
    assert len(set((rows % 60).tolist())) == 5


def test_a_class_that_was_cut_is_only_cut_further():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 5)), np.repeat([0, 1, 2], 30)
    memory = ExemplarMemory(40, "herding", 0, "cpu", rank_once=True)
    memory.update(X[y < 2], y[y < 2])
    order = memory.X[memory.y == 0]
    memory.update(X[y == 2], y[y == 2])
    np.testing.assert_array_equal(memory.X[memory.y == 0], order[: (memory.y == 0).sum()])
    assert len(memory) == 40
    assert memory.seen == {0: 30, 1: 30, 2: 30}
    memory.update(X[:3] + 1, y[:3])  # it brought something new: chosen anew
    assert memory.seen[0] == 33
    by_order = ExemplarMemory(4, "authors", 0, "cpu", rank_once=True)  # whose most important rows come last
    by_order.update(X[:10], y[:10])
    by_order.update(X[30:40], y[30:40])
    chosen = ExemplarMemory(4, "authors", 0, "cpu")
    chosen.update(X[:10], y[:10])
    chosen.update(X[30:40], y[30:40])
    np.testing.assert_array_equal(by_order.X, chosen.X)


def test_memory_drops_exemplars_but_never_a_whole_class():
    memory = ExemplarMemory()
    memory.update(np.arange(8.0).reshape(4, 2), np.array([0, 0, 1, 1]))
    memory.keep_only(np.array([True, False, True, True]))
    assert memory.y.tolist() == [0, 1, 1]
    assert memory.X[:, 0].tolist() == [0, 4, 6]
    assert memory.kept.tolist() == [0, 2, 3]
    with pytest.raises(ValueError, match="No exemplar of the class 0 would stay"):
        memory.keep_only(np.array([False, True, True]))
    assert len(memory) == 3


def test_forgotten_exemplars_leave_no_trace():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 3)), np.repeat([0, 1, 2], 4)
    memory = ExemplarMemory(12, "random", random_state=0, keep_statistics=True)
    memory.update(X, y)
    rows = np.flatnonzero(np.isin(memory.kept, [1, *range(4, 8)]))
    forgotten = memory.without(np.isin(np.arange(12), rows))
    rest = [0, 2, 3, *range(8, 12)]
    assert sorted(forgotten.X[:, 0].tolist()) == sorted(X[rest, 0].tolist())
    assert (forgotten.seen, forgotten.size, len(memory)) == ({0: 3, 2: 4}, 12, 12)
    expected = ClassStatistics.of(X[rest], np.array([0, 0, 0, 1, 1, 1, 1]), 2)
    for value, wanted in zip(forgotten.statistics, expected, strict=True):
        np.testing.assert_allclose(value, wanted, atol=1e-12)
    forgotten.update(np.empty((0, 3)), np.empty(0, dtype=np.int64))
    assert len(forgotten) == 7


def test_only_a_memory_that_has_rows_can_do_without_new_ones():
    with pytest.raises(ValueError, match="X"):
        ExemplarMemory(12).update(np.empty((0, 3)), np.empty(0, dtype=np.int64))
