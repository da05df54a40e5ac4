"""The SVM against hand-computed cases, scikit-learn and scipy."""

import functools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import minimize
from sklearn.datasets import load_digits, make_blobs
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from opengcd.classify import SVM, svm
from tests.helpers.classifying import blobs, is_distribution, standardised


@pytest.fixture
def exact(monkeypatch):
    """libsvm stops within 1e-3 of the optimum, at a point that depends on rounding; let it go on."""
    monkeypatch.setattr(svm, "SVC", functools.partial(SVC, tol=1e-9))


def reference_decisions(X, y, X_new, **svc):
    scaler = StandardScaler().fit(X)
    machine = SVC(decision_function_shape="ovo", **svc).fit(scaler.transform(X), y)
    scores = machine.decision_function(scaler.transform(X_new)).reshape(len(X_new), -1)
    # The first class of a pair is positive here; scikit-learn turns that round for two classes.
    return machine.predict(scaler.transform(X_new)), -scores if scores.shape[1] == 1 else scores


def our_decisions(X, y, X_new):
    model = SVM(random_state=0, device="cpu").fit(X, y)
    return model.predict(X_new), model.scores(standardised(model, X_new))


@pytest.mark.parametrize("n_classes", [2, 3, 4, 7])
def test_svm_decides_as_scikit_learn_does(n_classes, exact):
    X, y, X_new, _ = blobs(n_classes)
    labels, scores = reference_decisions(X, y, X_new, tol=1e-9)
    our_labels, our_scores = our_decisions(X, y, X_new)
    np.testing.assert_allclose(our_scores, scores, rtol=0, atol=1e-7)
    assert np.array_equal(our_labels, labels)


@pytest.mark.parametrize("n_classes", [2, 10])
def test_svm_decides_as_scikit_learn_does_on_digits(n_classes):
    X, y = load_digits(n_class=n_classes, return_X_y=True)  # some columns are constant
    labels, scores = reference_decisions(X[::3], y[::3], X[1::3])
    our_labels, our_scores = our_decisions(X[::3], y[::3], X[1::3])
    np.testing.assert_allclose(our_scores, scores, rtol=0, atol=2e-3)
    assert (our_labels == labels).mean() > 0.998


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("of_a_pair", [True, False])
def test_svm_is_the_same_with_and_without_a_stored_kernel_matrix(n_classes, of_a_pair, exact, monkeypatch):
    X, y, X_new, _ = blobs(n_classes)
    keep = np.concatenate([np.flatnonzero(y != 1), np.flatnonzero(y == 1)[:1]])  # a class that a fold leaves out
    for rows in (np.arange(len(y)), keep):
        monkeypatch.setattr(svm, "GRAM_ROWS", len(y))
        stored = SVM(random_state=0, device="cpu").fit(X[rows], y[rows])
        monkeypatch.setattr(svm, "GRAM_ROWS", len(rows) - 1 if of_a_pair else 0)
        anew = SVM(random_state=0, device="cpu").fit(X[rows], y[rows])
        np.testing.assert_allclose(anew.predict_proba(X_new), stored.predict_proba(X_new), rtol=0, atol=1e-6)
        np.testing.assert_array_equal(anew.n_support_, stored.n_support_)


def test_svm_ignores_shift_and_scale_of_the_features(exact):
    X, y, X_new, _ = blobs(3)
    factor = 2.0 ** np.arange(-3, 3)
    p = SVM(random_state=0, device="cpu").fit(X, y).predict_proba(X_new)
    moved = SVM(random_state=0, device="cpu").fit(X * factor + 5, y).predict_proba(X_new * factor + 5)
    np.testing.assert_allclose(moved, p, atol=1e-6)


# The sigmoid of a pair.


def both_ways(scores):
    """The values of the rows of two classes, each against the other."""
    return np.repeat(scores[:, None], 2, axis=1)


def test_sigmoid_of_two_separate_values_by_hand():
    # 8 scores of +1 and 8 of -1: p(+1) = (8 + 1) / (8 + 2) = 9/10, so the slope is -ln 9 and the offset 0.
    y = np.repeat([0, 1], 8)
    A, B = svm.fit_sigmoids(both_ways(np.where(y == 0, 1.0, -1.0)), y)
    assert A[0] == pytest.approx(-np.log(9), abs=1e-4)
    assert B[0] == pytest.approx(0, abs=1e-4)


def test_sigmoid_of_useless_scores_by_hand():
    # Scores of 0 tell nothing: p is the mean target of 3 rows with 4/5 and one with 1/3, that is 41/60.
    A, B = svm.fit_sigmoids(np.zeros((4, 2)), np.array([0, 0, 0, 1]))
    p = svm.sigmoid(np.zeros((1, 1)), A, B)[0, 0]
    assert A[0] == 0
    assert p == pytest.approx(41 / 60, abs=1e-6)


@pytest.mark.parametrize(("positives", "negatives", "overlap"), [(40, 40, 1.0), (50, 5, 0.5), (3, 60, 2.0), (1, 2, 1)])
def test_sigmoid_minimises_the_loss(positives, negatives, overlap):
    rng = np.random.default_rng(positives)
    y = np.repeat([0, 1], [positives, negatives])
    s = np.where(y == 0, 1.0, -1.0) + overlap * rng.normal(size=len(y))
    t = np.where(y == 0, (positives + 1) / (positives + 2), 1 / (negatives + 2))

    def loss(v):
        f = v[0] * s + v[1]
        return (t * np.logaddexp(0, f) + (1 - t) * np.logaddexp(0, -f)).sum()

    best = minimize(loss, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13, "maxiter": 5000})
    A, B = svm.fit_sigmoids(both_ways(s), y)
    assert loss([A[0], B[0]]) <= best.fun + 1e-8
    np.testing.assert_allclose([A[0], B[0]], best.x, rtol=1e-3, atol=1e-3)


def test_sigmoids_of_many_pairs_are_those_of_each_pair_alone():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2, 3], [30, 4, 11, 1])
    first, second = np.triu_indices(4, 1)
    others = np.arange(4)
    scores = rng.normal(size=(len(y), 4)) + np.sign(others - y[:, None])
    together = np.array(svm.fit_sigmoids(scores, y))
    for p, (i, j) in enumerate(zip(first, second, strict=True)):
        rows = (y == i) | (y == j)
        of_pair = scores[rows, np.where(y[rows] == i, j, i)]
        alone = svm.fit_sigmoids(both_ways(of_pair), (y[rows] == j).astype(int))
        np.testing.assert_allclose(together[:, p], np.ravel(alone), atol=1e-4)


# Coupling.


def pairwise_of(p):
    first, second = np.triu_indices(len(p), 1)
    return (p[first] / (p[first] + p[second]))[None]


@pytest.mark.parametrize("p", [(0.7, 0.3), (0.5, 0.3, 0.2), (0.9, 0.05, 0.03, 0.02), (0.2,) * 5])
def test_consistent_pairs_couple_to_the_probabilities_they_came_from(p):
    np.testing.assert_allclose(svm.couple(pairwise_of(np.array(p)), len(p))[0], p, atol=1e-14)


@settings(deadline=None)
@given(hnp.arrays(float, st.integers(2, 12), elements=st.floats(1e-3, 1)))
def test_coupling_inverts_any_consistent_pairs(weights):
    p = weights / weights.sum()
    np.testing.assert_allclose(svm.couple(pairwise_of(p), len(p))[0], p, atol=1e-10)


def test_cyclic_pairwise_probabilities_couple_to_equal_ones():
    # 0 beats 1, 1 beats 2, 2 beats 0, all with 0.9
    np.testing.assert_allclose(svm.couple(np.array([[0.9, 0.1, 0.9]]), 3)[0], [1 / 3] * 3, atol=1e-14)


def test_coupling_minimises_its_sum_of_squares():
    rng = np.random.default_rng(0)
    r = rng.uniform(0.05, 0.95, size=(20, 3))
    grid = np.array([(a, b, 1 - a - b) for a in np.linspace(0, 1, 201) for b in np.linspace(0, 1 - a, 201)])
    for row, p in zip(r, svm.couple(r, 3), strict=True):
        R = np.zeros((3, 3))
        R[0, 1], R[0, 2], R[1, 2] = row
        R[1, 0], R[2, 0], R[2, 1] = 1 - row

        def loss(q, R=R):
            return sum((R[j, i] * q[..., i] - R[i, j] * q[..., j]) ** 2 for i in range(3) for j in range(3) if j != i)

        assert loss(p) <= loss(grid).min() + 1e-12


@settings(deadline=None)
@given(st.integers(2, 8), st.data())
def test_coupling_gives_a_distribution(n_classes, data):
    pairs = n_classes * (n_classes - 1) // 2
    chance = st.one_of(st.floats(svm.CLIP, 1 - svm.CLIP), st.sampled_from([svm.CLIP, 1 - svm.CLIP, 0.5]))
    r = data.draw(hnp.arrays(float, (2, pairs), elements=chance))
    assert is_distribution(svm.couple(r, n_classes))


# Probabilities.


@pytest.mark.parametrize("n_classes", [2, 4])
def test_svm_probabilities_are_near_those_scikit_learn_had(n_classes):
    X, y = load_digits(n_class=n_classes, return_X_y=True)
    X, y, X_new = X[::2], y[::2], X[1::2] + np.random.default_rng(0).normal(0, 4, X[1::2].shape)
    scaler = StandardScaler().fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            reference = SVC(probability=True, random_state=0)
        except TypeError:
            pytest.skip("this scikit-learn no longer has SVC(probability=True)")
        expected = reference.fit(scaler.transform(X), y).predict_proba(scaler.transform(X_new))
    p = SVM(random_state=0, device="cpu").fit(X, y).predict_proba(X_new)
    assert 0.05 < expected.max(1).mean() < 0.999  # something is uncertain
    assert np.abs(p - expected).mean() < 0.02
    assert (p.argmax(1) == expected.argmax(1)).mean() > 0.97


def test_svm_is_surer_near_a_class_than_between_two():
    X, y = make_blobs(80, 6, centers=[[-3] * 6, [3] * 6], random_state=0)
    p = SVM(random_state=0, device="cpu").fit(X, y).predict_proba(np.array([[-3.0] * 6, [0.0] * 6, [3.0] * 6]))
    assert p[0, 0] > 0.9
    assert p[2, 1] > 0.9
    assert abs(p[1, 0] - 0.5) < 0.3


def test_svm_blocks_do_not_show():
    # 2**24 // 151**2 = 735 rows of 150 classes are a block.
    X = np.random.default_rng(0).normal(size=(450, 6))
    X_new = np.tile(X[:8], (100, 1))
    labels, p = SVM(random_state=0, device="cpu").fit(X, np.arange(450) % 150).infer(X_new)
    assert len(labels) == len(p) == 800
    assert np.array_equal(labels, np.tile(labels[:8], 100))
    np.testing.assert_allclose(p, np.tile(p[:8], (100, 1)), rtol=0, atol=1e-12)


def test_held_out_rows_of_a_class_of_one_row_count_for_the_other_class():
    # Without its only row a class cannot win: the scores are -1 for the first class and +1 for the second, their
    # targets 2/3 and 1/3, so the sigmoid has slope ln 2 and offset 0. (So it is in libsvm.)
    model = SVM(random_state=0, device="cpu").fit(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([0, 1]))
    np.testing.assert_allclose([model.slope_[0], model.offset_[0]], [np.log(2), 0], atol=1e-4)
