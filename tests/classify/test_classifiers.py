"""The closed-set classifiers against hand-computed cases, scikit-learn, scipy and xgboost."""

import functools
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import minimize
from sklearn.datasets import load_digits, make_blobs
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from opengcd.classify import CLASSIFIERS, MLP, SVM, XGB, fit_classifier, infer, svm

NAMES = ["svm", "mlp", "xgb"]


@pytest.fixture(autouse=True)
def one_thread():
    """Small arrays; threads would only wait for each other."""
    with threadpool_limits(1):
        yield


def blobs(n_classes, spread=2.5, n=160, features=6, seed=0):
    """Overlapping classes, so that probabilities are not all 0 or 1; half to fit on, half to look at."""
    X, y = make_blobs(n, features, centers=n_classes, cluster_std=spread, center_box=(-4, 4), random_state=seed)
    return X[::2], y[::2], X[1::2], y[1::2]


def small(name, random_state=0):
    """A quick classifier of that name."""
    if name == "xgb":
        pytest.importorskip("xgboost")
    quick = {"svm": {}, "mlp": {"max_iter": 60, "learning_rate": 0.01}, "xgb": {}}[name]
    return CLASSIFIERS[name](**quick, random_state=random_state, device="cpu")


def is_distribution(p):
    return (p >= 0).all() and np.allclose(p.sum(1), 1, rtol=0, atol=1e-12)


# ---------------------------------------------------------------- SVM: decision values and labels


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


def standardised(model, X):
    return (X - model.mean_) / model.scale_


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


# ---------------------------------------------------------------- SVM: the sigmoid of a pair


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


# ---------------------------------------------------------------- SVM: coupling


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


def test_a_circle_of_wins_couples_to_equal_chances():
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


# ---------------------------------------------------------------- SVM: probabilities


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


# ---------------------------------------------------------------- MLP


def hand_set_mlp():
    model = MLP(device="cpu")
    model.restore(
        {
            "mean_": np.array([1.0]),
            "scale_": np.array([2.0]),
            "hidden_weight_": np.array([[1.0], [-1.0]], dtype=np.float32),
            "hidden_bias_": np.zeros(2, dtype=np.float32),
            "output_weight_": np.eye(2, dtype=np.float32),
            "output_bias_": np.zeros(2, dtype=np.float32),
        }
    )
    return model


def test_mlp_forward_pass_by_hand():
    # 5 is standardised to (5 - 1) / 2 = 2, the hidden units are (2, 0), the output is the softmax of it; -1 mirrors it
    e = np.exp(1.0)
    labels, p = hand_set_mlp().infer(np.array([[5.0], [-1.0]]))
    np.testing.assert_allclose(p, [[e**2 / (e**2 + 1), 1 / (e**2 + 1)], [1 / (e + 1), e / (e + 1)]], rtol=1e-12)
    assert labels.tolist() == [0, 1]


def test_mlp_does_not_overflow():
    assert hand_set_mlp().predict_proba(np.array([[1e6]])).tolist() == [[1.0, 0.0]]


def test_mlp_starts_within_glorots_bound():
    X, y, *_ = blobs(3)
    model = MLP(max_iter=0, random_state=0, device="cpu").fit(X, y)
    bounds = (6 / (6 + 100)) ** 0.5, (6 / (100 + 3)) ** 0.5
    for name, bound in zip(("hidden", "output"), bounds, strict=True):
        for part in ("weight", "bias"):
            values = getattr(model, f"{name}_{part}_")
            assert np.abs(values).max() <= bound
        assert np.abs(getattr(model, f"{name}_weight_")).max() > 0.9 * bound


def test_the_first_step_of_adam_moves_every_weight_by_the_learning_rate():
    X, y, *_ = blobs(3)  # 80 rows are one batch
    before = MLP(max_iter=0, random_state=0, device="cpu").fit(X, y)
    after = MLP(max_iter=1, random_state=0, device="cpu").fit(X, y)
    for name in MLP.ARRAYS[2:]:
        step = np.abs(getattr(after, name) - getattr(before, name))
        assert step.max() == pytest.approx(1e-3, rel=1e-3)
        assert np.median(step) == pytest.approx(1e-3, rel=1e-2)


def test_mlp_stops_when_the_loss_no_longer_falls():
    X, y, *_ = blobs(2)
    # No epoch can fall by 1000, so the first is the best, and eleven more without progress end it.
    stopped = MLP(max_iter=50, tol=1000, random_state=0, device="cpu").fit(X, y)
    for epochs in (11, 12, 13):
        patient = MLP(max_iter=epochs, patience=100, random_state=0, device="cpu").fit(X, y)
        assert np.array_equal(stopped.hidden_weight_, patient.hidden_weight_) == (epochs == 12)


def test_mlp_divides_its_penalty_by_the_rows_of_a_batch():
    # So every row twice and twice the penalty is the same loss.
    X, y, X_new, _ = blobs(2)
    once, twice, without = (
        MLP(alpha=alpha, max_iter=20, random_state=0, device="cpu").fit(np.tile(X, (n, 1)), np.tile(y, n))
        for alpha, n in ((100, 1), (200, 2), (0, 1))
    )
    np.testing.assert_allclose(once.predict_proba(X_new), twice.predict_proba(X_new), atol=1e-4)
    assert np.abs(once.predict_proba(X_new) - without.predict_proba(X_new)).max() > 1e-3


def test_mlp_differs_between_seeds():
    X, y, X_new, _ = blobs(3)
    p, q = (small("mlp", seed).fit(X, y).predict_proba(X_new) for seed in (0, 1))
    assert np.abs(p - q).max() > 1e-4


# ---------------------------------------------------------------- XGB


@pytest.mark.parametrize("n_classes", [2, 4])
def test_xgb_is_xgboost_with_its_defaults(n_classes):
    xgboost = pytest.importorskip("xgboost")
    X, y, X_new, _ = blobs(n_classes)
    booster = xgboost.train({"objective": "multi:softprob", "num_class": n_classes}, xgboost.DMatrix(X, label=y), 10)
    expected = booster.predict(xgboost.DMatrix(X_new))
    np.testing.assert_allclose(small("xgb").fit(X, y).predict_proba(X_new), expected, atol=1e-6)


def test_xgb_rounds():
    pytest.importorskip("xgboost")
    X, y, *_ = blobs(3)
    assert XGB(rounds=3, device="cpu").fit(X, y).booster_.num_boosted_rounds() == 3


def test_xgb_refuses_numbers_beyond_float32():
    pytest.importorskip("xgboost")
    X, y, *_ = blobs(3)
    with pytest.raises(ValueError, match="large"):
        XGB(device="cpu").fit(X * 1e40, y)


def test_xgb_missing_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "xgboost", None)
    X, y, *_ = blobs(3)
    with pytest.raises(ImportError, match=r"opengcd\[xgb\]"):
        fit_classifier("xgb", X, y, 0)


# ---------------------------------------------------------------- all of ours


@pytest.mark.parametrize("name", NAMES)
def test_separate_blobs_are_learnt(name):
    X, y, X_new, y_new = blobs(4, spread=0.5)
    labels, p = small(name).fit(X, y).infer(X_new)
    assert (labels == y_new).mean() > 0.95
    assert (p.argmax(1) == y_new).mean() > 0.95
    assert is_distribution(p)
    assert p.dtype == np.float64
    assert p.shape == (len(X_new), 4)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_probabilities(name):
    X, y, X_new, _ = blobs(3)
    assert np.array_equal(small(name).fit(X, y).predict_proba(X_new), small(name).fit(X, y).predict_proba(X_new))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n_classes", [2, 6])
def test_a_row_gets_the_same_answer_alone_and_in_a_batch(name, n_classes):
    X, y, X_new, _ = blobs(n_classes)
    model = small(name).fit(X, y)
    labels, p = model.infer(X_new)
    alone = [model.infer(x[None]) for x in X_new]
    assert np.array_equal(np.concatenate([a.labels for a in alone]), labels)
    np.testing.assert_allclose(np.concatenate([a.probabilities for a in alone]), p, rtol=0, atol=1e-12)


def test_svm_blocks_do_not_show():
    # 2**24 // 151**2 = 735 rows of 150 classes are a block.
    X = np.random.default_rng(0).normal(size=(450, 6))
    X_new = np.tile(X[:8], (100, 1))
    labels, p = SVM(random_state=0, device="cpu").fit(X, np.arange(450) % 150).infer(X_new)
    assert len(labels) == len(p) == 800
    assert np.array_equal(labels, np.tile(labels[:8], 100))
    np.testing.assert_allclose(p, np.tile(p[:8], (100, 1)), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("sizes", [(1, 1), (1, 30), (2, 2), (1, 2, 20), (1, 1, 1, 1, 1, 1, 1), (2, 1, 30, 2, 1, 5, 1)])
def test_classes_of_one_or_two_rows(name, sizes):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.normal(size=(len(y), 6)) + 4 * rng.normal(size=(len(sizes), 6))[y]
    labels, p = small(name).fit(X, y).infer(X)
    assert p.shape == (len(y), len(sizes))
    assert is_distribution(p)
    assert set(labels) <= set(range(len(sizes)))


def test_held_out_rows_of_a_class_of_one_row_count_for_the_other_class():
    # Without its only row a class cannot win: the scores are -1 for the first class and +1 for the second, their
    # targets 2/3 and 1/3, so the sigmoid has slope ln 2 and offset 0. (So it is in libsvm.)
    model = SVM(random_state=0, device="cpu").fit(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([0, 1]))
    np.testing.assert_allclose([model.slope_[0], model.offset_[0]], [np.log(2), 0], atol=1e-4)


@pytest.mark.parametrize("rows", [1, 2])
def test_many_small_classes_give_no_warning(rows):
    # scikit-learn would ask whether this is not a regression problem
    y = np.arange(30 * rows) % 30
    assert is_distribution(
        small("svm").fit(np.random.default_rng(0).normal(size=(len(y), 6)), y).predict_proba(np.zeros((1, 6)))
    )


@pytest.mark.parametrize("name", ["svm", "mlp"])
@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, 1e6 + 0.1])
def test_a_constant_column_is_standardised_to_zero(name, value):
    X, y, X_new, _ = blobs(2, n=74)
    assert len(X) == 37  # the mean of 37 times 0.1 is not 0.1 in floating point
    X = np.column_stack([X, np.full(len(X), value)])
    X_new = np.column_stack([X_new, np.full(len(X_new), value)])
    model = small(name).fit(X, y)
    np.testing.assert_allclose(standardised(model, X)[:, -1], 0, atol=1e-9)
    np.testing.assert_allclose(standardised(model, X), StandardScaler().fit_transform(X), atol=1e-9)
    moved = X_new.copy()
    moved[:, -1] *= 1 + 1e-12  # another rounding of the same number
    np.testing.assert_allclose(model.predict_proba(moved), model.predict_proba(X_new), atol=1e-4)


@pytest.mark.parametrize("value", [0.1, -7.3, 1e6 + 0.1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_constant_column_of_many_rows_is_standardised_to_zero(value, dtype):
    # Rounding grows with the number of rows: the deviation of 20,000 times 0.1 is 1600 units in the last place.
    X = np.column_stack([np.full(20_000, value), np.linspace(0, 1, 20_000)]).astype(dtype)
    model = MLP(max_iter=1, device="cpu").fit(X, np.arange(len(X)) % 2)
    np.testing.assert_allclose(standardised(model, X)[:, 0], 0, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_column_that_varies_little_is_not_taken_for_a_constant(dtype):
    X = np.array([[1.0, 1.0], [1.0 + 100 * np.finfo(dtype).eps, 0.0]] * 10, dtype=dtype)
    model = SVM(device="cpu").fit(X, np.arange(len(X)) % 2)
    np.testing.assert_allclose(np.abs(standardised(model, X)), 1, rtol=0.1)


@pytest.mark.parametrize("name", NAMES)
def test_rows_that_are_all_the_same_give_the_share_of_each_class(name):
    y = np.repeat([0, 1], [30, 10])
    p = small(name).fit(np.ones((40, 3)), y).predict_proba(np.ones((1, 3)))
    np.testing.assert_allclose(p, [[0.75, 0.25]], atol=0.06)


@pytest.mark.parametrize("name", NAMES)
def test_float32_and_float64_agree(name):
    X, y, X_new, _ = blobs(3)
    X, X_new = X.astype(np.float32), X_new.astype(np.float32)
    p = small(name).fit(X, y).predict_proba(X_new)
    wide = small(name).fit(X.astype(np.float64), y).predict_proba(X_new.astype(np.float64))
    np.testing.assert_allclose(p, wide, atol=1e-5)


@pytest.mark.parametrize("name", ["svm", "mlp"])
def test_arrays_carry_the_whole_fitted_state(name):
    X, y, X_new, _ = blobs(3)
    model = small(name).fit(X, y)
    twin = CLASSIFIERS[name](**model.settings(), device="cpu")
    twin.restore(model.arrays())
    assert np.array_equal(twin.predict_proba(X_new), model.predict_proba(X_new))


def test_read_only_data_will_do():
    X, y, *_ = blobs(3)
    X.setflags(write=False)
    y.setflags(write=False)
    for name in NAMES:
        small(name).fit(X, y).infer(X)


# ---------------------------------------------------------------- by name, or anybody's


@pytest.mark.parametrize("name", NAMES)
def test_fit_classifier_by_name(name):
    if name == "xgb":
        pytest.importorskip("xgboost")
    X, y, *_ = blobs(2, n=40)
    assert type(fit_classifier(name, X, y, 0, "cpu")) is CLASSIFIERS[name]


@pytest.mark.parametrize("classifier", [LogisticRegression(), GaussianNB(), KNeighborsClassifier(3)], ids=repr)
def test_any_classifier_with_probabilities_will_do(classifier):
    X, y, X_new, y_new = blobs(4, spread=0.5)
    model = fit_classifier(classifier, X, y, 0)
    labels, p = infer(model, X_new)
    assert model is not classifier
    assert not hasattr(classifier, "classes_")  # the user's object stays unfitted
    assert (labels == y_new).mean() > 0.97
    assert np.array_equal(labels, p.argmax(1))
    assert is_distribution(p)


@pytest.mark.parametrize(
    "classifier",
    [RandomForestClassifier(5), make_pipeline(StandardScaler(), RandomForestClassifier(5))],
    ids=["bare", "in a pipeline"],
)
def test_a_foreign_classifier_without_seed_is_seeded(classifier):
    X, y, X_new, _ = blobs(3)
    p = [infer(fit_classifier(classifier, X, y, seed), X_new).probabilities for seed in (0, 0, 1)]
    assert np.array_equal(p[0], p[1])
    assert not np.array_equal(p[0], p[2])


def test_a_seed_of_the_users_own_is_kept():
    X, y, *_ = blobs(3)
    assert fit_classifier(RandomForestClassifier(2, random_state=5), X, y, 0).random_state == 5
    assert fit_classifier(SVM(random_state=5), X, y, 0).random_state == 5


@pytest.mark.parametrize(
    "classifier", [SVC(), RidgeClassifier(), object(), None, 3], ids=lambda classifier: type(classifier).__name__
)
def test_a_classifier_without_probabilities_is_refused(classifier):
    X, y, *_ = blobs(2)
    with pytest.raises(ValueError, match="predict_proba"):
        fit_classifier(classifier, X, y, 0)


def test_an_unknown_name_lists_the_known_ones():
    X, y, *_ = blobs(2)
    with pytest.raises(ValueError, match="Unknown classifier 'tree'; choose from mlp, svm, xgb"):
        fit_classifier("tree", X, y, 0)
