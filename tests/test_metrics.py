import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import silhouette_score

from opengcd import metrics


def test_accuracy_by_hand():
    assert metrics.accuracy([1, 2, 3, 4], [1, 2, 0, 4]) == 0.75


def test_hna_by_hand():
    # Known items: 4 of 5 right; unknown items: 1 of 2 rejected; HNA(.8, .5) = .615385.
    y_true = [0, 0, 1, 1, 1, 7, 8]
    y_pred = [0, 0, 1, 1, -1, -1, 0]
    assert metrics.hna(y_true, y_pred, known=[0, 1]) == pytest.approx(0.615385, abs=1e-6)
    assert metrics.parts(y_true, y_pred, [0, 1])[:2] == (0.8, 0.5)


def test_hna_is_zero_when_everything_or_nothing_is_rejected():
    assert metrics.hna([0, 1, 9], [-1, -1, -1], known=[0, 1]) == 0
    assert metrics.hna([0, 1, 9], [0, 1, 1], known=[0, 1]) == 0


def test_parts_without_known_or_novel_items_are_nan():
    assert np.isnan(metrics.hna([9, 9], [-1, -1], known=[0, 1]))
    assert np.isnan(metrics.hca([0, 1], [0, 1], known=[0, 1]))


def test_true_and_swapped_hna_differ():
    # 4,000 known and 12,000 unknown items; AKS .51 (the rest rejected), AUS .96: true .666, swapped .83.
    y_true = np.r_[np.zeros(4000, int), np.full(12000, 5)]
    y_pred = np.r_[np.zeros(2040, int), np.full(1960, -1), np.full(11520, -1), np.zeros(480, int)]
    assert metrics.hna(y_true, y_pred, [0]) == pytest.approx(0.666, abs=1e-3)
    precision = 2 / (1 / (2040 / 2520) + 1 / (11520 / 13480))
    assert metrics.hna_precision(y_true, y_pred, [0]) == pytest.approx(precision)
    assert metrics.hna_precision(y_true, y_pred, [0]) == pytest.approx(0.83, abs=5e-3)


def test_appendix_b_where_acc_and_hca_disagree():
    # Known 1, 2, 3; novel 4, 5. Most of known 1 and 2 went to the groups "4" and "5", novel items to "1" and "2". ACC
    # matches these groups to classes 1 and 2 and is pleased; HCA is not.
    y_true = np.repeat([1, 2, 3, 4, 5], 4)
    y_pred = np.array([4, 4, 4, 1, 5, 5, 5, 2, 3, 3, 3, 3, 1, 1, 1, 4, 2, 2, 2, 5])
    assert metrics.clustering_accuracy(y_true, y_pred) == pytest.approx(16 / 20)
    aks, ans = (1 + 1 + 4) / 12, (1 + 1) / 8
    assert metrics.parts(y_true, y_pred, [1, 2, 3]) == pytest.approx((aks, 0, ans))
    assert metrics.hca(y_true, y_pred, [1, 2, 3]) == pytest.approx(2 * aks * ans / (aks + ans))
    assert metrics.hca(y_true, y_pred, [1, 2, 3]) < 0.4 < metrics.clustering_accuracy(y_true, y_pred)


def test_hca_counts_novel_items_taken_for_known_as_errors():
    # Four novel items of one class: two in a group, one accepted as class 0, one in a second group.
    assert metrics.parts([0, 9, 9, 9, 9], [0, 5, 5, 0, 6], [0]).ans == 0.5


def test_clustering_accuracy_leaves_surplus_clusters_unmatched():
    assert metrics.clustering_accuracy([0, 0, 0, 0], [1, 1, 2, 3]) == 0.5
    assert metrics.clustering_accuracy(["a", "a", "b"], [7, 7, 7]) == pytest.approx(2 / 3)


def test_rejecting_all_novel_as_one_group():
    # m balanced novel classes in one group: AUS / m <= ANS <= AUS.
    y_true = np.repeat([0, 5, 6, 7], 10)
    y_pred = np.r_[np.zeros(10, int), np.full(30, -1)]
    p = metrics.parts(y_true, y_pred, [0])
    assert (p.aus, p.ans) == (1, pytest.approx(1 / 3))


def test_string_labels():
    hna = metrics.hna(["cat", "dog", "owl"], ["cat", "unknown", "unknown"], ["cat", "dog"], "unknown")
    assert hna == pytest.approx(2 * 0.5 / 1.5)
    assert metrics.hna(["a", "b"], ["a", "unknown"], ["a"]) == 1
    assert metrics.hna_precision(["a", "b"], ["a", "unknown"], ["a"]) == 1
    with pytest.raises(ValueError, match="cannot be compared"):
        metrics.hna(["cat"], ["cat"], [1, 2])


def test_forgetting_and_final_average_by_hand():
    history = [[0.9], [0.8, 0.7], [0.85, 0.6, 0.5]]
    assert metrics.forgetting(history) == pytest.approx(((0.9 - 0.85) + (0.7 - 0.6)) / 2)
    assert metrics.final_average_accuracy(history) == pytest.approx((0.85 + 0.6 + 0.5) / 3)
    assert metrics.forgetting([[0.9]]) == 0
    with pytest.raises(ValueError, match="one row per phase"):
        metrics.forgetting([[0.9], [0.8]])


def test_auroc_by_hand():
    # Pairs (unknown, known): .9 > .1, .9 > .5, .5 > .1, .5 = .5 -> 3.5 of 4.
    assert metrics.auroc([0, 0, 9, 9], [0.1, 0.5, 0.9, 0.5], known=[0]) == pytest.approx(3.5 / 4)
    assert np.isnan(metrics.auroc([0, 0], [0.1, 0.2], known=[0]))


def test_the_best_threshold_by_hand():
    y, closed = [0, 0, 1, 1, 2, 3], [0, 1, 1, 1, 0, 1]
    score = [0.1, 0.2, 0.3, 0.6, 0.3, 0.9]
    # Accepted up to 0.1: AKS 1/4, AUS 1; up to 0.2 the same; up to 0.3, where a known and an unknown item tie: AKS 2/4,
    # AUS 1/2; up to 0.6: AKS 3/4, AUS 1/2; all: AUS 0.
    assert metrics.best_hna(y, closed, score, [0, 1]) == pytest.approx(0.6)
    # Without the tie, up to the known one: AKS 2/4, AUS 1.
    score[4] = 0.31
    assert metrics.best_hna(y, closed, score, [0, 1]) == pytest.approx(2 / 3)
    assert metrics.best_hna(list("aabb"), list("aaaa"), [0, 0, 1, 1], ["a"]) == 1
    assert metrics.best_hna([0, 1], [1, 1], [1, 0], [0]) == 0
    assert np.isnan(metrics.best_hna([0, 0], [0, 0], [1, 2], [0]))
    assert np.isnan(metrics.best_hna([1, 1], [0, 0], [1, 2], [0]))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 4)), min_size=1, max_size=30))
def test_no_threshold_is_better_than_the_best(items):
    y, closed, score = np.array(items).T
    found = metrics.best_hna(y, closed, score, [0, 1])
    each = [metrics.hna(y, np.where(score > t, -1, closed), [0, 1]) for t in range(-1, 5)]
    np.testing.assert_allclose(found, max(each) if not np.isnan(each).any() else np.nan)


def test_silhouette_by_hand():
    # Points 0, 1 | 4: a = 1, 1; b = 4, 3; the singleton scores 0.
    assert metrics.silhouette([[0.0], [1.0], [4.0]], [0, 0, 1]) == pytest.approx((3 / 4 + 2 / 3 + 0) / 3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("labels", ["int", "str"])
def test_silhouette_equals_scikit_learn(dtype, labels):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 7, 300)
    X = (rng.normal(size=(300, 12)) + codes[:, None] + 1000).astype(dtype)
    y = codes if labels == "int" else np.array([f"c{c}" for c in codes])
    assert metrics.silhouette(X, y) == pytest.approx(silhouette_score(X.astype(np.float64), y), abs=1e-9)


def test_silhouette_over_many_blocks(monkeypatch):
    from opengcd._internal import kernels

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 5, 200)
    whole = metrics.silhouette(X, y)
    monkeypatch.setitem(kernels.BLOCK_BYTES, "cpu", 17 * 17 * 8)
    assert metrics.silhouette(X, y) == pytest.approx(whole, abs=1e-12)


def test_silhouette_of_identical_rows_is_zero():
    assert metrics.silhouette(np.full((6, 3), 0.1, dtype=np.float32), [0, 0, 0, 1, 1, 1]) == 0


@pytest.mark.parametrize("labels", [[0, 0, 0], [0, 1, 2]])
def test_silhouette_needs_between_two_and_n_minus_one_clusters(labels):
    with pytest.raises(ValueError, match="between 2 and 2 clusters"):
        metrics.silhouette(np.eye(3), labels)


def test_length_mismatch_is_refused():
    with pytest.raises(ValueError, match="different lengths"):
        metrics.accuracy([1, 2], [1])


labels = st.lists(st.integers(0, 5), min_size=1, max_size=30)


@given(labels, st.data())
def test_relabelling_groups_leaves_hca_unchanged(y_true, data):
    y_pred = np.array(data.draw(st.lists(st.integers(0, 5), min_size=len(y_true), max_size=len(y_true))))
    known = [0, 1]
    renamed = np.where(y_pred > 1, 100 - y_pred, y_pred)
    np.testing.assert_equal(metrics.hca(y_true, renamed, known), metrics.hca(y_true, y_pred, known))


@given(labels, st.permutations(range(6)))
def test_clustering_accuracy_is_invariant_and_perfect_for_a_relabelling(y_true, permutation):
    clusters = np.array(permutation)[y_true]
    assert metrics.clustering_accuracy(y_true, clusters) == 1


@given(st.floats(0.01, 1), st.floats(0.01, 1))
def test_harmonic_mean_bounds(a, b):
    h = metrics.harmonic_mean(a, b)
    assert h == pytest.approx(metrics.harmonic_mean(b, a))
    assert h <= 2 * min(a, b) / (1 + min(a, b)) + 1e-12
