"""What all closed-set classifiers have in common, ours and anybody's."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from opengcd.classify import CLASSIFIERS, MLP, SVM, fit_classifier, infer
from tests.helpers.classifying import NAMES, blobs, is_distribution, small, standardised
from tests.helpers.needed import needed_module


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
    writable = X.copy(), y.copy()
    X.setflags(write=False)
    y.setflags(write=False)
    for name in NAMES:
        expected = small(name).fit(*writable).infer(writable[0])
        assert np.array_equal(small(name).fit(X, y).infer(X).probabilities, expected.probabilities)


# By name, or anybody's.


@pytest.mark.parametrize("name", NAMES)
def test_fit_classifier_by_name(name):
    if name == "xgb":
        needed_module("xgboost")
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
