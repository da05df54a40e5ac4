"""Semi-supervised k-means against hand-computed cases and its invariants."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

from opengcd import metrics
from opengcd.discover import SemiSupervisedKMeans, ss_kmeans
from opengcd.discover.kmeans import Restarts, kmeans_centers


def test_by_hand_on_a_line():
    # Known class {0, 2} has mean 1; unlabelled 1 joins it, {10, 12} make a group of mean 11.
    model = SemiSupervisedKMeans(2, random_state=0).fit([[0.0], [2.0]], ["a", "a"], [[1.0], [10.0], [12.0]])
    assert model.labels_.tolist() == [0, 1, 1]
    assert model.cluster_centers_.ravel().tolist() == [1.0, 11.0]
    assert model.inertia_ == pytest.approx(1 + 1 + 0 + 1 + 1)
    assert model.predict([[3.0], [9.0]]).tolist() == [0, 1]


def test_labelled_rows_never_change_label():
    # The labelled row at 10 belongs to class 0, although class 1 is nearer: the mean of class 0 becomes 5.
    found = ss_kmeans(np.array([[0.0], [10.0], [11.0]]), np.array([0, 0, 1]), np.array([[12.0]]), 2, random_state=0)
    assert found.labels.tolist() == [1]
    assert found.centers.ravel().tolist() == [5.0, 11.5]


def test_falsely_rejected_rows_return_to_their_class(world):
    L, yl, U, _ = world
    found = ss_kmeans(L, yl, np.concatenate([L[:50], U]), 10, random_state=0)
    assert found.labels[:50].tolist() == yl[:50].tolist()


def test_separated_blobs_are_found(world):
    L, yl, U, yu = world
    found = ss_kmeans(L, yl, U, 10, random_state=0)
    assert metrics.clustering_accuracy(yu, found.labels) == 1
    assert (found.labels >= 6).all()


def test_k_equal_to_the_known_classes_draws_nothing(world):
    L, yl, U, _ = world
    means = np.stack([L[yl == c].mean(0) for c in range(6)])
    found = ss_kmeans(L, yl, U, 6, max_iter=1, random_state=0)
    assert found.labels.max() < 6
    assert found.n_iter == 1
    first = ((U[:, None] - means) ** 2).sum(-1).argmin(1)
    expected = np.stack([np.concatenate([L[yl == c], U[first == c]]).mean(0) for c in range(6)])
    np.testing.assert_allclose(found.centers, expected, atol=1e-12)


def test_same_seed_same_result_and_more_restarts_never_worse(world):
    L, yl, U, _ = world
    a, b = (ss_kmeans(L, yl, U, 14, n_init=3, random_state=5) for _ in range(2))
    np.testing.assert_array_equal(a.labels, b.labels)
    inertia = [ss_kmeans(L, yl, U, 14, n_init=n, random_state=5).inertia for n in (1, 3, 10)]
    assert inertia[0] >= inertia[1] >= inertia[2]


def test_inertia_never_rises_over_the_steps(world):
    L, yl, U, _ = world
    inertia = [ss_kmeans(L, yl, U, 12, n_init=1, max_iter=m, tol=0, random_state=1).inertia for m in range(1, 8)]
    assert all(b <= a + 1e-9 for a, b in pairwise(inertia))


def test_relabelling_the_classes_permutes_the_result(world):
    L, yl, U, _ = world
    order = np.array([3, 5, 0, 1, 4, 2])
    a, b = ss_kmeans(L, yl, U, 9, random_state=2), ss_kmeans(L, order[yl], U, 9, random_state=2)
    renamed = np.where(a.labels < 6, order[np.minimum(a.labels, 5)], a.labels)
    np.testing.assert_array_equal(renamed, b.labels)


def test_features_far_from_the_origin_keep_their_digits(world):
    L, yl, U, _ = world
    near = ss_kmeans(L.astype(np.float32), yl, U.astype(np.float32), 10, random_state=0)
    far = ss_kmeans((L + 1e4).astype(np.float32), yl, (U + 1e4).astype(np.float32), 10, random_state=0)
    assert metrics.clustering_accuracy(near.labels, far.labels) > 0.99


def test_as_many_groups_as_rows_and_all_rows_identical():
    U = np.arange(5.0)[:, None] + 100
    found = ss_kmeans(np.zeros((1, 1)), np.array([0]), U, 6, random_state=0)
    assert sorted(found.labels.tolist()) == [1, 2, 3, 4, 5]
    same = ss_kmeans(np.zeros((2, 1)), np.array([0, 0]), np.ones((4, 1)), 4, random_state=0)
    assert np.isfinite(same.centers).all()
    assert same.inertia == pytest.approx(0)


def test_giving_up_restarts_early_seldom_costs_much():
    rng = np.random.default_rng(0)
    U = rng.normal(size=(10, 6))[rng.integers(10, size=400)] * 1.5 + rng.normal(size=(400, 6))
    empty = np.empty((0, 6)), np.empty(0, dtype=np.int64)

    def inertia(survivors):
        return ss_kmeans(*empty, U, 10, n_init=8, survivors=survivors, random_state=0, device="cpu").inertia

    every, few, all_but_named = inertia(None), inertia(2), inertia(8)
    assert all_but_named == every
    assert every <= few < 1.05 * every
    with pytest.raises(ValueError, match="survivors must be at least 1"):
        inertia(0)


def test_an_emptied_cluster_takes_the_farthest_row():
    run = Restarts(np.zeros((0, 1)), np.zeros(0, int), np.array([[0.0], [1.0], [9.0]]), 2, "cpu")
    run.centers = run.U[None, [0, 0]].clone()  # both centres on the first row: the second gets nothing
    run.iterate(10, 1e-4, 10)
    assert run.best().labels.tolist() == [0, 0, 1]


def test_rows_that_take_no_part_are_never_drawn_nor_counted():
    X = torch.tensor([[0.0], [0.1], [50.0], [5.0], [5.1], [5.2], [-50.0]], dtype=torch.float64)
    part = torch.tensor([[1, 1, 0, 1, 1, 1, 0], [1, 1, 1, 0, 0, 0, 0]], dtype=torch.bool)
    centers = kmeans_centers(X, 2, [0, 1], part=part, tries=3, max_iter=10)
    np.testing.assert_allclose(centers.sort(1).values[:, :, 0], [[0.05, 5.1], [0.05, 50.0]], atol=1e-9)
    # Two equal rows and two clusters: one stays empty, and neither takes a row that has no part.
    same = torch.tensor([[1.0], [1.0], [9.0]])
    centers = kmeans_centers(same, 2, [0], part=torch.tensor([[True, True, False]]), max_iter=5)
    np.testing.assert_allclose(centers.flatten(), [1.0, 1.0], rtol=1e-6)


def test_without_labelled_rows_it_is_k_means():
    X, y = make_blobs(90, centers=3, cluster_std=0.3, random_state=0)
    found = SemiSupervisedKMeans(3, random_state=0).fit(np.empty((0, 2)), [], X)
    assert metrics.clustering_accuracy(y, found.labels_) == 1


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 25), st.integers(1, 6), st.integers(0, 10), st.integers(0, 2**31))
def test_no_nan_for_any_k_up_to_n(n, classes, extra, seed):
    rng = np.random.default_rng(seed)
    L, U = rng.integers(0, 3, (classes, 2)).astype(float), rng.integers(0, 3, (n, 2)).astype(float)
    found = ss_kmeans(L, np.arange(classes), U, classes + min(extra, n), n_init=2, random_state=seed)
    assert np.isfinite(found.centers).all()
    assert np.isfinite(found.inertia)
    nearest = ((U[:, None] - found.centers) ** 2).sum(-1)
    assert np.allclose(nearest[np.arange(n), found.labels], nearest.min(1), atol=1e-9)


@pytest.mark.parametrize(
    ("k", "message"), [(1, "less than the 2 known classes"), (9, "7 new groups of 3 unlabelled rows")]
)
def test_impossible_k_is_refused(k, message):
    with pytest.raises(ValueError, match=message):
        ss_kmeans(np.array([[0.0], [1.0]]), np.array([0, 1]), np.zeros((3, 1)), k)


def test_bad_features_are_refused():
    model = SemiSupervisedKMeans(2)
    with pytest.raises(
        ValueError, match=r"X_unlabelled contains NaN or infinite values in 1 of 2 rows \(first: row 1\)"
    ):
        model.fit([[0.0]], [0], [[1.0], [np.nan]])
    with pytest.raises(ValueError, match="X_labelled has 2 features, but 1 are expected"):
        model.fit([[0.0, 1.0]], [0], [[1.0]])


def test_predict_agrees_with_labels_far_from_the_origin():
    X, _ = make_blobs(300, n_features=16, centers=6, cluster_std=2.0, random_state=0)
    X = (X + 3000).astype(np.float32)
    model = SemiSupervisedKMeans(6, random_state=0).fit([], [], X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
