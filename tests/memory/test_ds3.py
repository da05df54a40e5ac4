import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.spatial.distance import cdist

from opengcd.memory import SELECTORS, ExemplarMemory, allot, greedy, lambda_max, select_exemplars, solve_ds3
from opengcd.memory import ds3 as ds3_module
from opengcd.memory import greedy_selection as greedy_module
from opengcd.memory.ds3 import authors_row_sums, project_simplex, prox_max, select_ds3, threshold

LINE = np.array([[0.0], [0.1], [0.2], [5.0], [5.1]])


def torch_tensor(values):
    import torch

    return torch.tensor(values, dtype=torch.float64)


def linear_program(D, lam):
    """The optimum of DS3 by a general solver: rows are bounded by t_i, and lambda weighs the t_i."""
    n = len(D)
    cells = np.arange(n * n)
    row, column = cells // n, cells % n
    below = sp.hstack([sp.eye(n * n), sp.csr_matrix((-np.ones(n * n), (cells, row)), (n * n, n))])
    sums = sp.hstack([sp.csr_matrix((np.ones(n * n), (column, cells)), (n, n * n)), sp.csr_matrix((n, n))])
    cost = np.concatenate([D.ravel(), np.full(n, lam)])
    return linprog(cost, A_ub=below, b_ub=np.zeros(n * n), A_eq=sums, b_eq=np.ones(n), bounds=(0, None)).fun


def test_simplex_projection_by_hand():
    v = torch_tensor([[0.5, 0.2, -0.1], [3.0, 0.2, -0.1]])
    np.testing.assert_allclose(project_simplex(v), [[0.63333, 0.33333, 0.03333], [1, 0, 0]], atol=1e-5)


def test_prox_of_the_largest_entry_by_hand():
    # |(3, 1, -2)| with t = 1.5: (3 - theta) + (2 - theta) = 1.5, theta = 1.75. With t = 6 the whole row goes.
    y = torch_tensor([[3.0, 1.0, 2.0], [0.5, 0.5, 0.4]])
    np.testing.assert_allclose(prox_max(y, 1.5), [[1.75, 1, 1.75], [0, 0, 0]], atol=1e-12)
    np.testing.assert_allclose(prox_max(y, 6.0), np.zeros((2, 3)), atol=1e-12)


@given(st.lists(st.lists(st.floats(-5, 5), min_size=3, max_size=3), min_size=1, max_size=9), st.floats(0.01, 4),
       st.floats(-6, 6))  # fmt: skip
def test_threshold_solves_its_equation_from_any_start(rows, radius, start):
    v = torch_tensor(rows)
    above = v.clone()
    theta = threshold(v, torch_tensor([[radius]]), torch_tensor([[start]]).expand(len(v), 1), above, v.clone())
    np.testing.assert_allclose((v - theta).clamp(min=0).sum(1), radius, atol=1e-9)
    np.testing.assert_allclose(above, (v - theta).clamp(min=0), atol=1e-9)


def test_ds3_on_five_points_by_hand():
    D = cdist(LINE, LINE)
    np.testing.assert_allclose(D.sum(1), [10.4, 10.1, 10.0, 14.8, 15.1])
    assert lambda_max(D) == pytest.approx(12.15)
    many = solve_ds3(D, 0.05)
    np.testing.assert_allclose(many.Z, np.eye(5), atol=1e-6)
    assert many.objective == pytest.approx(0.25, rel=1e-6)
    one = solve_ds3(D, 12.15)
    assert one.objective == pytest.approx(22.15, rel=1e-6)
    assert np.flatnonzero(one.Z.max(1) > 1e-3).tolist() == [2]
    tie = solve_ds3(D, 1.0)
    assert tie.objective == pytest.approx(2.30, rel=1e-6)
    assert np.flatnonzero(tie.Z.max(1) > 1e-3).tolist() == [1, 3, 4]


@pytest.mark.parametrize(("lam", "objective", "rows"), [(0.9, 2.7, [0, 1, 2]), (1.1, 3.1, [1])])
def test_ds3_on_a_path_of_three(lam, objective, rows):
    D = np.array([[0.0, 1, 2], [1, 0, 1], [2, 1, 0]])
    found = solve_ds3(D, lam)
    assert found.objective == pytest.approx(objective, rel=1e-6)
    assert np.flatnonzero(found.Z.max(1) > 1e-3).tolist() == rows


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 14), st.floats(0.02, 1.2), st.integers(0, 2**31))
def test_ds3_equals_a_general_solver(n, share, seed):
    D = cdist(*[np.random.default_rng(seed).normal(size=(n, 3))] * 2)
    lam = share * lambda_max(D) + 1e-3
    found = solve_ds3(D, lam)
    assert found.objective == pytest.approx(linear_program(D, lam), rel=2e-6)
    assert found.gap <= 1e-6 + 1e-12
    np.testing.assert_allclose(found.Z.sum(0), 1, atol=1e-9)
    assert found.Z.min() >= 0


def test_ds3_scales_with_d_and_lambda_together():
    D = cdist(*[np.random.default_rng(1).normal(size=(20, 3))] * 2)
    a, b = solve_ds3(D, 2.0), solve_ds3(1000 * D, 2000.0)
    assert b.objective == pytest.approx(1000 * a.objective, rel=1e-5)


def test_ds3_refuses_bad_input():
    with pytest.raises(ValueError, match="square matrix"):
        solve_ds3(np.ones((2, 3)), 1.0)
    with pytest.raises(ValueError, match="lam must be positive"):
        solve_ds3(np.zeros((2, 2)), 0.0)


def test_a_batch_of_classes_gives_what_each_alone_gives():
    rng = np.random.default_rng(0)
    Xs = [rng.normal(size=(n, 4)) for n in (12, 30, 21)]
    together = select_ds3(Xs, [4, 10, 20])
    for X, k, rows in zip(Xs, [4, 10, 20], together, strict=True):
        assert sorted(rows.tolist()) == sorted(select_ds3([X], [k])[0].tolist())
        assert len(set(rows.tolist())) == k


def test_large_classes_are_solved_in_float32_alike(monkeypatch):
    X = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    exact = select_ds3([X], [9])[0]
    monkeypatch.setattr(ds3_module, "DOUBLE_ROWS", 10)
    assert sorted(select_ds3([X], [9])[0].tolist()) == sorted(exact.tolist())


def test_ds3_costs_about_what_greedy_does():
    X = np.random.default_rng(0).normal(size=(60, 5))
    D = cdist(X, X)
    costs = [D[select_exemplars(X, 12, method)].min(0).sum() for method in ("ds3", "greedy")]
    assert costs[0] <= 1.05 * costs[1]


def test_greedy_picks_the_medoid_first_and_then_the_largest_decrease():
    # Medoid 0.2; the next best is one of the far pair, of which 5.0 leaves 0.1 + the near points unchanged.
    picks, gains = greedy(LINE, 5)
    assert picks[0] == 2
    assert picks[1] in (3, 4)
    assert sorted(picks.tolist()) == [0, 1, 2, 3, 4]
    assert gains[0] == pytest.approx(5 * 5.1 - 10.0)
    assert (np.diff(gains) <= 1e-9).all()


@settings(max_examples=25, deadline=None)
@given(st.integers(3, 40), st.integers(0, 2**31))
def test_lazy_greedy_equals_plain_greedy(n, seed):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    D = cdist(X, X)
    picks, gains = greedy(X, n // 2)
    cost = np.full(n, D.max())
    for pick, gain in zip(picks, gains, strict=True):
        # Whichever of several equal rows is taken, no row has a larger gain.
        every = np.maximum(cost - D, 0).sum(1)
        assert every[pick] == pytest.approx(every.max(), rel=1e-9)
        assert gain == pytest.approx(every[pick], rel=1e-9)
        cost = np.minimum(cost, D[pick])


def test_greedy_without_stored_distances(monkeypatch):
    X = np.random.default_rng(0).normal(size=(300, 6)).astype(np.float32)
    stored = greedy(X, 40)[0]
    monkeypatch.setattr(greedy_module, "STORED_ROWS", 10)
    np.testing.assert_array_equal(greedy(X, 40)[0], stored)


def test_herding_by_hand():
    # Mean 1: first the row nearest to it (1), then the pair whose mean is nearest to 1.
    assert select_exemplars([[0.0], [1.0], [2.0], [1.0]], 1, "herding").tolist() in ([1], [3])
    # Mean 2: first 2; of the rest, 2 and 1 have the mean nearest to 2; then 5 brings it nearest again.
    assert select_exemplars([[0.0], [1.0], [2.0], [5.0]], 3, "herding").tolist() == [2, 1, 3]
    X = np.random.default_rng(0).normal(size=(200, 5))
    error = [np.linalg.norm(X[select_exemplars(X, k, "herding")].mean(0) - X.mean(0)) for k in (5, 20, 80)]
    assert error[0] > error[1] > error[2]


def test_kcenter_by_hand():
    # Nearest the mean (2.08) is 0.2; farthest from it 5.1; then 0, which is 0.2 away.
    assert select_exemplars(LINE, 3, "kcenter").tolist() == [2, 4, 0]


def test_authors_rule_is_a_tie_that_keeps_the_last_rows():
    X = np.random.default_rng(0).normal(size=(40, 64))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    np.testing.assert_array_equal(authors_row_sums(X), np.ones(40))
    assert select_exemplars(X, 7, "authors").tolist() == list(range(33, 40))


@pytest.mark.parametrize("method", SELECTORS)
def test_every_method_returns_k_different_rows(method):
    X = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    for k in (1, 7, 29):
        rows = select_exemplars(X, k, method, random_state=0)
        assert len(set(rows.tolist())) == k
        np.testing.assert_array_equal(rows, select_exemplars(X, k, method, random_state=0))
    for k in (30, 99):
        assert select_exemplars(X, k, method).tolist() == list(range(30))


@pytest.mark.parametrize("method", ["ds3", "greedy", "kcenter"])
def test_duplicates_are_not_chosen_while_there_is_a_choice(method):
    X = np.repeat(np.random.default_rng(0).normal(size=(8, 3)), 4, axis=0)
    rows = select_exemplars(X, 8, method)
    assert sorted((rows // 4).tolist()) == list(range(8))
    assert len(set(select_exemplars(X, 12, method).tolist())) == 12


@pytest.mark.parametrize("method", SELECTORS)
def test_identical_rows(method):
    assert len(set(select_exemplars(np.zeros((9, 2)), 4, method, random_state=0).tolist())) == 4


def test_a_selector_of_ones_own():
    rows = select_exemplars(LINE, 2, lambda X, k, rng: np.argsort(-X[:, 0])[:k])
    assert rows.tolist() == [4, 3]
    with pytest.raises(ValueError, match="2 different row numbers below 5"):
        select_exemplars(LINE, 2, lambda X, k, rng: [0, 0])


def test_bad_selection_is_refused():
    with pytest.raises(ValueError, match="Unknown exemplar selector 'best'"):
        select_exemplars(LINE, 2, "best")
    with pytest.raises(ValueError, match="k must be an integer from 1"):
        select_exemplars(LINE, 0)
    with pytest.raises(ValueError, match="NaN or infinite"):
        select_exemplars([[np.inf]], 1)


# The buffer.


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
