"""The recogniser as a scikit-learn classifier: scikit-learn's own checks, and its tools around it."""

import json
import pickle

import numpy as np
import pytest
import scipy.sparse
from pandas import DataFrame
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_blobs
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold, check_cv, cross_val_predict, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from opengcd import ModelFileError, OpenWorldRecognizer
from opengcd._internal.model_folder import read_model, write_model
from opengcd._internal.randomness import seed_sequence

# So few classes and rows often leave no alpha that tells known from unknown.
pytestmark = [
    pytest.mark.filterwarnings("ignore:No alpha of the grid:UserWarning"),
    pytest.mark.usefixtures("one_thread"),
]


def recogniser(**settings):
    return OpenWorldRecognizer(**({"memory_size": 60, "device": "cpu", "random_state": 0} | settings))


def closed(**settings):
    """One that rejects nothing and is fast: with alpha = 0, "unknown" never outweighs a class (Eq. 2)."""
    return recogniser(**({"preset": "paper", "classifier": "logistic", "selector": "greedy", "alpha": 0.0} | settings))


# Four well separated classes in eight dimensions, 30 rows each, sorted by class.
X, Y = make_blobs([30] * 4, 8, cluster_std=1.0, center_box=(-10, 10), shuffle=False, random_state=3)
NAMES = np.array(["crow", "heron", "jay", "wren"])[Y]
FAR = np.full((1, 8), 100.0)


# ---------------------------------------------------------------- scikit-learn's checks

EXPECTED = {
    "check_classifiers_classes": "after words it tries the labels -1 and 1, and -1 is reserved for 'unknown'",
    "check_estimators_nan_inf": "its labels are floats, and labels are integers or strings",
    "check_fit2d_predict1d": "a vector counts as one row, so that one item can be recognised without reshaping",
    "check_supervised_y_2d": "a column of labels is refused, not flattened with a warning",
}
REJECTING = {"check_classifiers_train": "it compares predict, which rejects rows, with the largest of predict_proba"}


def expected_failures(recognizer):
    return EXPECTED if recognizer.alpha == 0 else EXPECTED | REJECTING


@parametrize_with_checks(
    [OpenWorldRecognizer(device="cpu"), OpenWorldRecognizer(device="cpu", preset="paper"), closed()],
    expected_failed_checks=expected_failures,
    xfail_strict=True,
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_tags():
    tags = get_tags(OpenWorldRecognizer())
    assert is_classifier(OpenWorldRecognizer())
    assert (tags.estimator_type, tags.target_tags.required, tags.classifier_tags.multi_class) == (
        "classifier",
        True,
        True,
    )
    assert not tags.input_tags.sparse
    assert not tags.input_tags.allow_nan


@pytest.mark.parametrize("y", [Y, NAMES, NAMES.astype(object), (Y - 7) * 10], ids=["int", "str", "object", "negative"])
def test_classes_are_sorted_after_fit_whatever_the_order_of_rows(y):
    order = np.random.default_rng(0).permutation(len(y))
    assert closed().fit(X[order], y[order]).classes_.tolist() == sorted(set(y.tolist()))


def test_one_class_is_refused():
    with pytest.raises(ValueError, match=r"at least two known classes, but y holds only one class, .*3"):
        recogniser().fit(X[Y == 3], Y[Y == 3])


@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.coo_matrix])
def test_sparse_rows_are_refused(kind):
    with pytest.raises(ValueError, match=r"X is sparse, but sparse data is not supported; pass .*X\.toarray\(\)"):
        closed().fit(kind(X), Y)
    fitted = closed().fit(X, Y)
    for method in ("predict", "predict_proba", "recognize", "discover"):
        with pytest.raises(ValueError, match="sparse"):
            getattr(fitted, method)(kind(X))


# ---------------------------------------------------------------- probabilities of known classes


def test_probabilities_have_one_column_per_class_and_sum_to_1():
    for fitted in (recogniser().fit(X, NAMES), recogniser(preset="paper").fit(X, NAMES)):
        p = fitted.predict_proba(np.concatenate([X, FAR]))
        assert p.shape == (len(X) + 1, len(fitted.classes_))
        np.testing.assert_allclose(p.sum(1), 1, rtol=0, atol=1e-12)


def test_with_best_they_are_the_open_probabilities_given_known():
    fitted = recogniser().fit(X, Y)
    noisy = X + np.random.default_rng(0).normal(0, 2, X.shape)
    opened = fitted.recognize(noisy).probabilities
    likely = opened[:, 0] < 0.99
    assert (opened[likely, 0] > 0.5).sum() > 0
    given_known = opened[likely, 1:] / (1 - opened[likely, :1])
    np.testing.assert_allclose(fitted.predict_proba(noisy[likely]), given_known, rtol=0, atol=1e-12)


def test_a_row_that_is_certainly_unknown_has_probabilities_too():
    fitted = closed(alpha=1e10).fit(X, Y)
    between = (X[Y == 0].mean(0) + X[Y == 1].mean(0)) / 2
    assert fitted.recognize(between).probabilities.tolist() == [[1, 0, 0, 0, 0]]  # given "known": 0 / 0
    p = fitted.predict_proba(between)
    assert p.sum() == pytest.approx(1)
    assert p.argmax() == fitted.predict_closed(between)[0]


def test_with_the_papers_rule_they_are_what_eq_3_starts_from():
    fitted = recogniser(preset="paper", alpha=2.0, classifier=LogisticRegression()).fit(X, Y)
    noisy = X + np.random.default_rng(0).normal(0, 4, X.shape)
    p, opened = fitted.predict_proba(noisy), fitted.recognize(noisy).probabilities
    logits = np.exp(np.concatenate([2.0 * (1 - p.max(1, keepdims=True)), p], axis=1))
    np.testing.assert_allclose(opened, logits / logits.sum(1, keepdims=True), rtol=0, atol=1e-12)


@pytest.mark.parametrize("settings", [{}, {"preset": "paper", "classifier": "logistic"}], ids=["best", "paper"])
def test_the_largest_is_that_of_the_class_without_rejection(settings):
    fitted = recogniser(**settings).fit(X, NAMES)
    noisy = X + np.random.default_rng(0).normal(0, 4, X.shape)
    assert np.array_equal(fitted.classes_[fitted.predict_proba(noisy).argmax(1)], fitted.predict_closed(noisy))


def test_after_learning_columns_follow_the_classes():
    fitted = closed().fit(X[Y > 1], NAMES[Y > 1]).learn(X[Y <= 1], NAMES[Y <= 1])
    assert fitted.classes_.tolist() == ["jay", "wren", "crow", "heron"]
    assert (fitted.classes_[fitted.predict_proba(X).argmax(1)] == NAMES).mean() > 0.98


class Careless(ClassifierMixin, BaseEstimator):
    """Probabilities that sum to 0.6, or to 0 where nothing is known."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        p = np.tile([0.3, 0.2, 0.1, 0.0], (len(X), 1))
        p[X[:, 0] >= 100] = 0
        return p


def test_probabilities_of_a_classifier_that_does_not_normalise():
    fitted = closed(classifier=Careless()).fit(X, Y)
    p = fitted.predict_proba(np.concatenate([X[:1], FAR]))
    np.testing.assert_allclose(p, [[1 / 2, 1 / 3, 1 / 6, 0], [1 / 4] * 4])


# ---------------------------------------------------------------- score and cross-validation


def test_score_counts_rejected_rows_as_errors():
    fitted = recogniser().fit(X, Y)
    assert fitted.score(X, Y) == (fitted.predict(X) == Y).mean()
    rows, truth = np.concatenate([X[:1], X[-1:], FAR]), np.array([0, 3, 3])
    assert fitted.predict(rows).tolist() == [0, 3, -1]
    assert fitted.score(rows, truth) == pytest.approx(2 / 3)
    assert fitted.score(rows, truth, sample_weight=[1, 1, 2]) == pytest.approx(1 / 2)
    assert fitted.score(rows, [0, 3, -1]) == 1.0  # said to be unknown, and rejected


def test_cross_validation_on_sorted_labels():
    # A classifier gets stratified folds; without them a fold of sorted labels holds classes that were never seen.
    assert type(check_cv(4, Y, classifier=is_classifier(recogniser()))).__name__ == "StratifiedKFold"
    assert cross_val_score(recogniser(), X, Y, cv=4).min() > 0.8
    assert cross_val_score(recogniser(), X, Y, cv=KFold(4)).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("y", [Y, NAMES], ids=["int", "str"])
def test_a_fold_that_is_rejected_as_a_whole_scores_0(y):
    # With such an alpha only a certain row would be accepted.
    assert cross_val_score(closed(alpha=1e10), X, y, cv=3).tolist() == [0, 0, 0]


def test_cross_validated_probabilities():
    p = cross_val_predict(recogniser(), X, NAMES, cv=3, method="predict_proba")
    assert p.shape == (120, 4)
    assert (p.argmax(1) == Y).mean() > 0.98
    assert roc_auc_score(NAMES, p, multi_class="ovr") > 0.99


def test_grid_search_in_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), closed(classifier=LogisticRegression()))
    prefix = "openworldrecognizer__"
    grid = {f"{prefix}memory_size": [20, 60], f"{prefix}classifier__C": [1e-6, 1.0], f"{prefix}alpha": [0.0, 1e10]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, NAMES)
    assert search.best_score_ > 0.98
    assert search.best_params_[f"{prefix}alpha"] == 0
    assert search.best_estimator_[-1].classes_.tolist() == search.classes_.tolist() == sorted(set(NAMES))
    assert search.score(X, NAMES) > 0.98


def test_a_pipeline_recognises_what_its_parts_do():
    scaler = StandardScaler().fit(X)
    pipeline = make_pipeline(StandardScaler(), recogniser()).fit(X, Y)
    alone = recogniser().fit(scaler.transform(X), Y)
    assert np.array_equal(pipeline.predict(X), alone.predict(scaler.transform(X)))
    assert np.array_equal(pipeline.predict_proba(X), alone.predict_proba(scaler.transform(X)))
    assert pipeline.predict(FAR).tolist() == [-1]


# ---------------------------------------------------------------- ensembles and calibration


@pytest.mark.parametrize("settings", [{"ensemble": True}, {"ensemble": False}, {"method": "isotonic"}], ids=str)
def test_calibration(settings):
    calibrated = CalibratedClassifierCV(recogniser(), cv=3, **settings).fit(X, NAMES)
    assert calibrated.score(X, NAMES) > 0.98
    assert calibrated.predict_proba(X).shape == (120, 4)
    assert set(calibrated.predict(FAR)) <= set(NAMES)  # the closed set: nothing is rejected


def test_calibration_of_a_fitted_recogniser_with_classes_in_another_order():
    fitted = closed().fit(X[Y > 1], NAMES[Y > 1]).learn(X[Y <= 1], NAMES[Y <= 1])
    calibrated = CalibratedClassifierCV(FrozenEstimator(fitted)).fit(X, NAMES)
    assert calibrated.score(X, NAMES) > 0.98


def test_bagging():
    bag = BaggingClassifier(recogniser(memory_size=40), n_estimators=3, max_samples=0.8, random_state=0)
    assert bag.fit(X, NAMES).score(X, NAMES) > 0.98
    assert bag.predict_proba(X).shape == (120, 4)


def test_voting():
    voters = [("recogniser", closed()), ("neighbours", KNeighborsClassifier())]
    assert VotingClassifier(voters, voting="soft").fit(X, NAMES).score(X, NAMES) > 0.98
    hard = VotingClassifier([("recogniser", recogniser())], voting="hard").fit(X, NAMES)
    with pytest.raises(ValueError, match="negative"):  # "unknown" is no class to vote for
        hard.predict(FAR)


# ---------------------------------------------------------------- pickling, cloning, seeds


@pytest.mark.parametrize("settings", [{}, {"preset": "paper", "selector": "greedy"}], ids=["best", "paper"])
def test_pickling(settings):
    fitted = recogniser(**settings).fit(X[Y < 3], Y[Y < 3])
    twin = pickle.loads(pickle.dumps(fitted))
    for one in (fitted, twin):
        one.learn(X[Y == 3], Y[Y == 3])
    assert twin.classes_.tolist() == [0, 1, 2, 3]
    for mine, other in zip(fitted.recognize(X), twin.recognize(X), strict=True):
        assert np.array_equal(mine, other)


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng, np.random.SeedSequence, int])
def test_the_same_state_gives_the_same_result_and_clones_have_it(make):
    one, other = (recogniser(selector="random", random_state=make(5)) for _ in range(2))
    twin = clone(one)
    first = one.fit(X, Y).memory_.X
    assert np.array_equal(other.fit(X, Y).memory_.X, first)
    assert np.array_equal(twin.fit(X, Y).memory_.X, first)
    moved = make in (np.random.RandomState, np.random.default_rng)
    assert np.array_equal(one.fit(X, Y).memory_.X, first) != moved
    assert not np.array_equal(recogniser(selector="random", random_state=make(6)).fit(X, Y).memory_.X, first)


def test_an_integer_is_its_own_seed():
    assert seed_sequence(5).entropy == np.random.SeedSequence(5).entropy
    drawn = seed_sequence(np.random.RandomState(5)).entropy
    assert drawn == np.random.RandomState(5).randint(2**63 - 1, dtype=np.int64)


# ---------------------------------------------------------------- names of features


COLUMNS = [f"feature {i}" for i in range(8)]


def test_names_of_features():
    fitted = closed().fit(DataFrame(X, columns=COLUMNS), Y)
    assert fitted.n_features_in_ == 8
    assert fitted.feature_names_in_.tolist() == COLUMNS
    assert np.array_equal(fitted.predict(DataFrame(X, columns=COLUMNS)), closed().fit(X, Y).predict(X))
    for method in ("predict", "predict_proba", "recognize", "discover", "observe", "in_metric"):
        with pytest.raises(ValueError, match="feature names should match"):
            getattr(fitted, method)(DataFrame(X, columns=COLUMNS[::-1]))
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.learn(DataFrame(X, columns=COLUMNS[::-1]), Y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        fitted.predict(X)
    assert fitted.learn(DataFrame(X, columns=COLUMNS), Y).feature_names_in_.tolist() == COLUMNS
    assert not hasattr(fitted.fit(X, Y), "feature_names_in_")


def test_a_failed_fit_keeps_the_names_of_features():
    fitted = closed().fit(DataFrame(X, columns=COLUMNS), Y)
    with pytest.raises(ValueError, match="two known classes"):
        fitted.fit(X[:, :5], np.zeros(len(X), dtype=int))
    assert fitted.feature_names_in_.tolist() == COLUMNS
    assert fitted.n_features_in_ == 8


def test_names_of_features_are_saved(tmp_path):
    closed().fit(DataFrame(X, columns=COLUMNS), Y).save(tmp_path / "named")
    assert OpenWorldRecognizer.load(tmp_path / "named", device="cpu").feature_names_in_.tolist() == COLUMNS
    closed().fit(X, Y).save(tmp_path / "nameless")
    assert not hasattr(OpenWorldRecognizer.load(tmp_path / "nameless", device="cpu"), "feature_names_in_")


@pytest.mark.parametrize(
    "names", [COLUMNS[:7], [*COLUMNS[:7], 3], "features", {}], ids=["few", "no text", "text", "no list"]
)
def test_damaged_names_of_features(tmp_path, names):
    closed().fit(DataFrame(X, columns=COLUMNS), Y).save(tmp_path)
    header, arrays, _ = read_model(tmp_path, "OpenWorldRecognizer")
    write_model(tmp_path, json.loads(json.dumps(header)) | {"feature_names": names}, arrays)
    with pytest.raises(ModelFileError, match="does not name its 8 features"):
        OpenWorldRecognizer.load(tmp_path, device="cpu")


# ---------------------------------------------------------------- parameters


def test_parameters_can_be_checked_before_there_are_rows():
    recognizer = recogniser(max_classes=5)
    assert recognizer.check_parameters(5) is recognizer
    assert not hasattr(recognizer, "classes_")
    with pytest.raises(ValueError, match="max_classes=5 is less than the 6 known classes"):
        recognizer.check_parameters(6)
    with pytest.raises(ValueError, match="Unknown classifier"):
        recogniser(classifier="tree").check_parameters(2)
