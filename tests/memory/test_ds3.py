"""DS3 against hand-computed cases and a general solver."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.spatial.distance import cdist

from opengcd.memory import ds3 as ds3_module
from opengcd.memory import lambda_max, select_exemplars, solve_ds3
from opengcd.memory.ds3 import authors_row_sums, project_simplex, prox_max, select_ds3, threshold
from tests.helpers.rows import LINE


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


def test_authors_rule_is_a_tie_that_keeps_the_last_rows():
    X = np.random.default_rng(0).normal(size=(40, 64))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    np.testing.assert_array_equal(authors_row_sums(X), np.ones(40))
    assert select_exemplars(X, 7, "authors").tolist() == list(range(33, 40))
