"""The whole loop with the paper's preset: fit, predict, discover, learn, and what it says to bad input.

What the preset ``best`` does otherwise is in test_best.py.
"""

import contextlib
import signal
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from opengcd import OpenWorldRecognizer, metrics
from opengcd import recognizer as module
from opengcd.classify import MLP, SVM, XGB
from opengcd.discover import KMeansDiscovery
from opengcd.osr import UncertaintyRejection, UncertaintyRule, uncertainty_rejection
from opengcd.presets import Preset
from tests.helpers.needed import needed_module

METHODS = ["recognize", "predict", "predict_proba", "predict_closed", "unknown_score", "discover"]


# So few classes and rows often leave no alpha that tells known from unknown.
pytestmark = [
    pytest.mark.filterwarnings("ignore:No alpha of the grid:UserWarning"),
    pytest.mark.usefixtures("one_thread"),
]


def recogniser(*arguments, **settings):
    return OpenWorldRecognizer(*arguments, **({"preset": "paper"} | settings))


# Six well separated classes in eight dimensions, 30 rows each.
X, Y = make_blobs(180, 8, centers=6, cluster_std=1.0, center_box=(-10, 10), random_state=3)
KNOWN = Y < 4


def fitted(classifier="svm", **settings):
    settings = {"random_state": 0, "max_classes": 12, "device": "cpu", **settings}
    return recogniser(classifier, **settings).fit(X[KNOWN], Y[KNOWN])


@pytest.fixture(scope="module")
def model():
    """A recogniser of classes 0 to 3, not to be changed."""
    with threadpool_limits(1):
        return fitted()


@contextlib.contextmanager
def no_endless_loop():
    """Turn an endless loop into a failure; how long it takes otherwise does not matter."""

    if not hasattr(signal, "SIGALRM"):  # on Windows, the endless loop itself would be the failure
        yield
        return

    def stop(signum, frame):
        raise TimeoutError("it does not end")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(300)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def same_discovery(a, b):
    return (
        np.array_equal(a.labels, b.labels)
        and (a.k, a.curve, a.trusted, a.reason) == (b.k, b.curve, b.trusted, b.reason)
        and all(np.array_equal(g.rows, h.rows) for g, h in zip(a.groups, b.groups, strict=True))
    )


# ---------------------------------------------------------------- the loop


@pytest.mark.parametrize("seed", [0, 1])
def test_the_loop_on_digits(seed):
    D, truth = load_digits(return_X_y=True)
    train = np.arange(len(truth)) % 2 == 0
    start = train & (truth < 4)
    recognizer = recogniser(selector="greedy", max_classes=20, device="cpu", random_state=seed)
    recognizer.fit(D[start], truth[start])
    for known, least in ((4, (0.97, 0.85, 0.35)), (6, (0.97, 0.82, 0.35)), (8, (0.8, 0.5, 0.2))):
        old, new = ~train & (truth < known), train & (truth >= known) & (truth < known + 2)
        stream, answer = D[old | new], truth[old | new]
        labels = recognizer.predict(stream)
        rejected = labels == recognizer.unknown_label_
        found = recognizer.discover(stream[rejected])
        grouped = labels.copy()
        grouped[rejected] = found.labels
        assert metrics.accuracy(truth[old], recognizer.predict_closed(D[old])) > least[0]
        assert metrics.hna(answer, labels, range(known)) > least[1]
        assert metrics.hca(answer, grouped, range(known)) > least[2]
        reviewed = np.flatnonzero(rejected)[found.novel]
        reviewed = reviewed[answer[reviewed] >= known]
        recognizer.learn(stream[reviewed], answer[reviewed])
        assert len(recognizer.memory_) <= start.sum()
    assert recognizer.phase_ == 4
    assert recognizer.classes_.tolist()[:6] == [0, 1, 2, 3, 4, 5]


def test_separate_blobs_are_rejected_found_and_learnt_without_error():
    recognizer = fitted(alpha=10.0)
    labels = recognizer.predict(X)
    assert metrics.hna(Y, labels, range(4)) > 0.8
    rejected = X[labels == -1]
    found = recognizer.discover(rejected, k=6)
    assert metrics.clustering_accuracy(Y[labels == -1], found.labels) == 1.0
    recognizer.learn(rejected[found.novel], Y[labels == -1][found.novel])
    assert recognizer.classes_.tolist() == [0, 1, 2, 3, 4, 5]
    assert metrics.accuracy(Y, recognizer.predict_closed(X)) > 0.98


def test_discovered_labels_can_be_learnt_as_they_are():
    recognizer = fitted(selector="greedy")
    found = recognizer.discover(X[~KNOWN], k=6)
    recognizer.learn(X[~KNOWN], found.labels)
    assert metrics.clustering_accuracy(Y, recognizer.predict_closed(X)) > 0.98


# ---------------------------------------------------------------- the same seed


@pytest.mark.parametrize("classifier", ["svm", MLP(hidden=20, max_iter=20, device="cpu"), "xgb", LogisticRegression()])
def test_the_same_seed_gives_the_same_results(classifier):
    if classifier == "xgb":
        needed_module("xgboost")
    a, b = (fitted(classifier, memory_size=60, selector="random") for _ in range(2))
    for _ in range(2):
        assert a.alpha_ == b.alpha_
        assert np.array_equal(a.memory_.X, b.memory_.X)
        assert np.array_equal(a.recognize(X).probabilities, b.recognize(X).probabilities)
        assert same_discovery(a.discover(X[~KNOWN]), b.discover(X[~KNOWN]))
        a.learn(X[Y == 4], Y[Y == 4])
        b.learn(X[Y == 4], Y[Y == 4])


def test_another_seed_gives_other_results():
    a, b = (fitted(memory_size=60, selector="random", random_state=seed) for seed in (0, 1))
    assert not np.array_equal(a.memory_.X, b.memory_.X)
    assert not np.array_equal(a.recognize(X).probabilities, b.recognize(X).probabilities)


def test_discovering_does_not_change_what_follows():
    a, b = fitted(), fitted()
    first = a.discover(X[~KNOWN])
    assert same_discovery(a.discover(X[~KNOWN]), first)
    a.learn(X[Y == 4], Y[Y == 4])
    b.learn(X[Y == 4], Y[Y == 4])
    assert np.array_equal(a.recognize(X).probabilities, b.recognize(X).probabilities)


@pytest.mark.parametrize(
    "random_state",
    [None, np.random.default_rng(0), np.random.RandomState(0), np.random.SeedSequence(0), np.int64(3)],
    ids=["none", "generator", "random state", "sequence", "numpy integer"],
)
def test_other_kinds_of_seed(random_state):
    recognizer = fitted(random_state=random_state)
    assert set(recognizer.predict(X)) <= {-1, 0, 1, 2, 3}
    recognizer.discover(X[~KNOWN], k=6)
    recognizer.learn(X[Y == 4], Y[Y == 4])


@pytest.mark.parametrize("random_state", [-1, 1.5, "a"])
def test_a_bad_seed(random_state):
    with pytest.raises(ValueError, match="random_state must be"):
        fitted(random_state=random_state)


# ---------------------------------------------------------------- labels


@pytest.mark.parametrize(
    ("names", "unknown"),
    [
        ([7, 100, 3, -5], -1),
        (["a", "b", "c", "d"], "unknown"),
        (["a", "a very long name of a bird", "", "é"], "unknown"),
        (["0", "1", "-1", "Unknown"], "unknown"),
    ],
)
def test_the_users_own_labels_come_back(names, unknown):
    y = np.array(names)[Y[KNOWN]]
    recognizer = recogniser(alpha=10.0, random_state=0, device="cpu").fit(X[KNOWN], y)
    assert recognizer.unknown_label_ == unknown
    assert recognizer.classes_.tolist() == sorted(names)
    assert set(recognizer.predict(X).tolist()) == {*names, unknown}
    assert set(recognizer.predict_closed(X).tolist()) == set(names)
    assert (recognizer.predict_closed(X[KNOWN]) == y).mean() > 0.98
    labels = recognizer.predict(X[KNOWN])
    assert (labels == y)[labels != unknown].mean() > 0.98
    found = recognizer.discover(X, k=6)
    assert set(names) <= set(found.labels.tolist())
    assert (found.labels[KNOWN] == y).mean() > 0.98


def test_labels_from_lists_and_other_integer_types():
    expected = fitted().predict(X)
    for y in (Y[KNOWN].tolist(), Y[KNOWN].astype(np.uint8), Y[KNOWN].astype(object)):
        recognizer = recogniser(random_state=0, device="cpu").fit(X[KNOWN].tolist(), y)
        assert np.array_equal(recognizer.predict(X), expected)


def test_the_names_of_classes_do_not_matter():
    # The same order of names, so the same numbers inside.
    numbers = fitted()
    words = recogniser(random_state=0, max_classes=12, device="cpu")
    words.fit(X[KNOWN], np.array(["a", "b", "c", "d"])[Y[KNOWN]])
    assert np.array_equal(words.recognize(X).probabilities, numbers.recognize(X).probabilities)
    assert np.array_equal(words.discover(X[~KNOWN]).novel, numbers.discover(X[~KNOWN]).novel)


def test_learnt_classes_follow_in_order_and_columns_keep_their_place():
    names = np.array([50, 90, 20, 70, 10])
    first = Y < 2
    recognizer = recogniser(selector="greedy", random_state=0, device="cpu").fit(X[first], names[Y[first]])
    assert recognizer.classes_.tolist() == [50, 90]
    later = (Y == 2) | (Y == 3)
    recognizer.learn(X[later], names[Y[later]])
    assert recognizer.classes_.tolist() == [50, 90, 20, 70]
    recognizer.learn(X[Y == 4], names[Y[Y == 4]])
    assert recognizer.classes_.tolist() == [50, 90, 20, 70, 10]
    for c in range(5):
        assert (recognizer.predict_closed(X[c == Y]) == names[c]).mean() > 0.95
        columns = recognizer.recognize(X[c == Y]).probabilities[:, 1:].argmax(1)
        assert (columns == c).mean() > 0.95


def test_longer_names_learnt_later_are_not_cut():
    recognizer = recogniser(random_state=0, device="cpu").fit(X[Y < 2], np.array(["a", "b"])[Y[Y < 2]])
    recognizer.learn(X[Y == 2], ["a name of some length"] * 30)
    assert recognizer.classes_.tolist() == ["a", "b", "a name of some length"]
    assert recognizer.predict_closed(X[Y == 2])[0] == "a name of some length"


# ---------------------------------------------------------------- labels and probabilities


def closed_probabilities(model, monkeypatch):
    """What the classifier says of all rows, before any is rejected."""
    given, judge = [], UncertaintyRejection.judge
    with monkeypatch.context() as watched:
        watched.setattr(UncertaintyRejection, "judge", lambda self, X, p: given.append(p) or judge(self, X, p))
        model.recognize(X)
    return given[0]


def test_probabilities_are_those_of_the_rule(model, monkeypatch):
    p = model.recognize(X).probabilities
    assert p.shape == (len(X), 5)
    np.testing.assert_allclose(p.sum(1), 1, atol=1e-12)
    closed = closed_probabilities(model, monkeypatch)
    assert np.array_equal(p, UncertaintyRule(model.alpha_).probabilities(closed))


def test_the_unknown_score_is_what_is_missing_to_certainty(model, monkeypatch):
    closed = closed_probabilities(model, monkeypatch)
    np.testing.assert_allclose(model.unknown_score(X), 1 - closed.max(1), atol=1e-12)
    # Whatever alpha is, what it rejects has a higher score than what it accepts.
    for alpha in (2.0, 5.0, 10.0):
        rejected = UncertaintyRule(alpha).rejects(closed)
        assert model.unknown_score(X)[rejected].min() > model.unknown_score(X)[~rejected].max()


def test_an_item_that_is_certain_has_unknown_score_0():
    recognizer = fitted(KNeighborsClassifier(1), alpha=1.0)  # its probabilities are exactly 0 and 1
    assert recognizer.unknown_score(X[KNOWN]).tolist() == [0.0] * 120
    assert (recognizer.predict(X[KNOWN]) == Y[KNOWN]).all()


@pytest.mark.parametrize("classifier", ["svm", LogisticRegression()], ids=["svm", "logistic"])
def test_predict_agrees_with_the_open_probabilities(classifier):
    recognizer = fitted(classifier, alpha=2.0)
    mixed = X + np.random.default_rng(0).normal(0, 4, X.shape)
    p, labels = recognizer.recognize(mixed).probabilities, recognizer.predict(mixed)
    rejected = labels == -1
    assert 0.05 < rejected.mean() < 0.95
    assert np.array_equal(rejected, p[:, 0] > p[:, 1:].max(1))
    assert np.array_equal(labels[~rejected], recognizer.predict_closed(mixed)[~rejected])
    agree = (p[:, 1:].argmax(1) == recognizer.predict_closed(mixed))[~rejected]
    assert agree.all() if classifier != "svm" else agree.mean() > 0.95  # an SVM votes


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_closed", "unknown_score"])
def test_one_at_a_time_equals_a_batch(model, method):
    batch = getattr(model, method)(X)
    alone = np.concatenate([getattr(model, method)(x) for x in X])  # a vector is one row
    if method in ("predict_proba", "unknown_score"):
        np.testing.assert_allclose(alone, batch, rtol=0, atol=1e-9)
    else:
        assert np.array_equal(alone, batch)


def test_open_probabilities_one_at_a_time_equal_those_of_a_batch(model):
    alone = np.concatenate([model.recognize(x).probabilities for x in X])
    np.testing.assert_allclose(alone, model.recognize(X).probabilities, rtol=0, atol=1e-9)


def test_no_rows(model):
    none = np.empty((0, 8))
    assert model.predict(none).tolist() == []
    assert model.predict(none).dtype == model.classes_.dtype
    assert model.predict_closed(none).tolist() == []
    assert model.predict_proba(none).shape == (0, 4)
    assert model.recognize(none).probabilities.shape == (0, 5)
    assert model.unknown_score(none).shape == (0,)
    for found in (model.discover(none), model.discover(none, k=4)):
        assert (found.labels.tolist(), found.novel.tolist(), found.groups, found.k) == ([], [], [], 4)


def test_no_rows_beside_names():
    recognizer = recogniser(alpha=1.0, device="cpu").fit(X[Y < 2], np.array(["a", "b"])[Y[Y < 2]])
    assert recognizer.predict(np.empty((0, 8))).dtype.kind == "U"
    assert recognizer.discover(np.empty((0, 8))).labels.tolist() == []


def test_float32_and_read_only_input():
    narrow, y = X.astype(np.float32), Y.copy()
    narrow.setflags(write=False)
    y.setflags(write=False)
    recognizer = recogniser(memory_size=60, selector="greedy", alpha=1.0, device="cpu")
    recognizer.fit(narrow[KNOWN], y[KNOWN])
    assert recognizer.memory_.X.dtype == np.float32
    recognizer.predict(narrow)
    recognizer.discover(narrow, k=6)
    recognizer.learn(narrow, y)


def test_the_memory_does_not_share_the_users_array():
    rows, y = X[KNOWN].copy(), Y[KNOWN].copy()
    recognizer = recogniser(random_state=0, device="cpu").fit(rows, y)
    before = recognizer.recognize(X).probabilities, recognizer.discover(X, k=6)
    rows[:], y[:] = 0, 0
    assert np.array_equal(recognizer.recognize(X).probabilities, before[0])
    assert same_discovery(recognizer.discover(X, k=6), before[1])


# ---------------------------------------------------------------- memory


def test_memory_stays_within_its_budget_and_balanced():
    recognizer = recogniser(memory_size=50, selector="greedy", alpha=1.0, device="cpu").fit(X[Y < 3], Y[Y < 3])
    assert np.bincount(recognizer.memory_.y).tolist() == [17, 17, 16]
    for new in (3, 4, 5):
        recognizer.learn(X[new == Y], Y[new == Y])
        counts = np.bincount(recognizer.memory_.y)
        assert counts.sum() == 50
        assert counts.max() - counts.min() <= 1
        assert len(counts) == new + 1


def test_every_exemplar_is_a_row_that_was_given():
    recognizer = fitted(memory_size=40)
    recognizer.learn(X[Y == 4], Y[Y == 4])
    given = {(*row, label) for row, label in zip(X.tolist(), Y.tolist(), strict=True)}
    kept = [(*row, label) for row, label in zip(recognizer.memory_.X.tolist(), recognizer.memory_.y, strict=True)]
    assert set(kept) <= given
    assert len(set(kept)) == len(kept) == 40


def test_without_a_size_the_first_phase_sets_it():
    recognizer = fitted()
    assert len(recognizer.memory_) == KNOWN.sum() == 120
    recognizer.learn(X[Y == 4], Y[Y == 4])
    assert len(recognizer.memory_) == 120
    assert np.bincount(recognizer.memory_.y).tolist() == [24] * 5


def test_a_memory_larger_than_the_data_keeps_all():
    assert len(fitted(memory_size=1000).memory_) == 120


def test_one_exemplar_a_class_warns_that_alpha_cannot_be_found():
    with pytest.warns(UserWarning, match="No class has two rows"):
        recognizer = fitted(memory_size=4)
    assert recognizer.memory_.y.tolist() == [0, 1, 2, 3]
    assert (recognizer.predict(X) != -1).all()


def test_a_selector_of_the_users_own():
    calls = []

    def first(rows, k, rng):
        calls.append((rows.shape, k))
        return np.arange(k)

    recognizer = fitted(memory_size=8, selector=first, alpha=1.0)
    assert calls == [((30, 8), 2)] * 4
    assert np.array_equal(recognizer.memory_.X[:2], X[Y == 0][:2])


# ---------------------------------------------------------------- alpha


def test_alpha_given(model):
    recognizer = fitted(alpha=3)
    assert recognizer.alpha_ == 3.0
    assert recognizer.alpha_search_ is None
    assert model.alpha_search_.alpha == model.alpha_


def test_alpha_0_rejects_nothing_and_a_huge_one_all_that_is_not_certain():
    assert (fitted(alpha=0).predict(X) != -1).all()
    assert (fitted(alpha=1e10).predict(X) == -1).all()


def test_alpha_decides_nothing_but_rejection(model):
    recognizer = fitted(alpha=100.0)
    assert np.array_equal(recognizer.predict_closed(X), model.predict_closed(X))
    assert np.array_equal(recognizer.memory_.X, model.memory_.X)


@pytest.mark.parametrize("alpha", ["auto", -1, np.nan, np.inf, None, "3"])
def test_bad_alpha(alpha):
    with pytest.raises((TypeError, ValueError), match="alpha must be"):
        fitted(alpha=alpha)


# ---------------------------------------------------------------- learn


def test_learning_more_rows_of_known_classes():
    few = np.flatnonzero(KNOWN)[::3]
    recognizer = recogniser(memory_size=120, random_state=0, device="cpu").fit(X[few], Y[few])
    recognizer.learn(X[KNOWN], Y[KNOWN])
    assert recognizer.phase_ == 2
    assert recognizer.classes_.tolist() == [0, 1, 2, 3]
    assert len(recognizer.memory_) == 120


def test_learning_one_row_of_a_new_class():
    recognizer = fitted().learn(X[Y == 5][:1], [5])
    assert recognizer.classes_.tolist() == [0, 1, 2, 3, 5]
    assert (recognizer.memory_.y == 5).sum() == 1
    assert recognizer.recognize(X).probabilities.shape == (180, 6)


def test_a_corrected_exemplar_is_learnt_under_its_new_label():
    X, y = make_blobs(60, n_features=4, centers=3, cluster_std=0.3, random_state=0)
    wrong = y.copy()
    (row,) = np.flatnonzero(y == 0)[:1]
    wrong[row] = 1
    model = recogniser().fit(X, wrong)
    known = model.memory_.kept
    forget = known == row
    model.learn(X[[row]], [0], forget=forget)
    offered = np.concatenate([known, [row]])[model.memory_.kept]
    np.testing.assert_array_equal(model.memory_.y, y[offered])
    assert sorted(offered.tolist()) == list(range(60))
    assert (model.phase_, model.memory_.seen) == (2, {0: 20, 1: 20, 2: 20})


def test_a_class_without_exemplars_is_forgotten_but_two_stay():
    X, y = make_blobs(60, n_features=4, centers=3, cluster_std=0.3, random_state=0)
    model = recogniser().fit(X, y)
    model.learn(np.empty((0, 4)), [], forget=model.memory_.y == 1)
    assert model.classes_.tolist() == [0, 2]
    assert set(model.predict_closed(X).tolist()) == {0, 2}
    with pytest.raises(ValueError, match="Only 1 class would be left"):
        model.learn(np.empty((0, 4)), [], forget=model.memory_.y == 0)
    assert model.classes_.tolist() == [0, 2]
    with pytest.raises(ValueError, match="X"):
        model.learn(np.empty((0, 4)), [])


def test_fitting_again_forgets():
    recognizer = fitted().learn(X[Y == 4], Y[Y == 4])
    again = recognizer.fit(X[KNOWN], Y[KNOWN])
    assert again is recognizer
    assert recognizer.phase_ == 1
    assert recognizer.classes_.tolist() == [0, 1, 2, 3]
    assert np.array_equal(recognizer.recognize(X).probabilities, fitted().recognize(X).probabilities)


def fail(*args, **kwargs):
    raise RuntimeError("out of memory")


def fail_in(stage):
    def progress(at, done, total):
        if at == stage:
            raise KeyboardInterrupt

    return progress


@pytest.mark.parametrize(("home", "step"), [(module, "fit_classifier"), (uncertainty_rejection, "search_alpha")])
def test_a_failure_while_learning_leaves_the_recogniser_as_it_was(home, step, monkeypatch):
    recognizer, twin = (fitted(memory_size=60, selector="greedy") for _ in range(2))
    before = recognizer.recognize(X).probabilities, recognizer.memory_, recognizer.memory_.X.copy()
    with monkeypatch.context() as patch:
        patch.setattr(home, step, fail)
        with pytest.raises(RuntimeError, match="out of memory"):
            recognizer.learn(X[Y == 4], Y[Y == 4])
    assert recognizer.phase_ == 1
    assert recognizer.classes_.tolist() == [0, 1, 2, 3]
    assert recognizer.memory_ is before[1]
    assert np.array_equal(recognizer.memory_.X, before[2])
    assert recognizer.memory_.updates == 1
    assert np.array_equal(recognizer.recognize(X).probabilities, before[0])
    # ... and learning afterwards gives what it would have given.
    for r in (recognizer, twin):
        r.learn(X[Y == 4], Y[Y == 4])
    assert np.array_equal(recognizer.recognize(X).probabilities, twin.recognize(X).probabilities)


@pytest.mark.parametrize("stage", ["selecting exemplars", "fitting the classifier", "searching alpha"])
def test_an_interruption_while_learning_leaves_the_recogniser_as_it_was(stage):
    recognizer = fitted()
    before = recognizer.recognize(X).probabilities
    with pytest.raises(KeyboardInterrupt):
        recognizer.learn(X[Y == 4], Y[Y == 4], progress=fail_in(stage))
    assert recognizer.phase_ == 1
    assert recognizer.classes_.tolist() == [0, 1, 2, 3]
    assert len(recognizer.memory_) == 120
    assert np.array_equal(recognizer.recognize(X).probabilities, before)


def test_a_failure_while_fitting_again_leaves_the_recogniser_as_it_was(monkeypatch):
    recognizer = fitted()
    before = recognizer.recognize(X).probabilities
    monkeypatch.setattr(module, "fit_classifier", fail)
    with pytest.raises(RuntimeError, match="out of memory"):
        recognizer.fit(X[Y < 2], Y[Y < 2])
    assert np.array_equal(recognizer.recognize(X).probabilities, before)


def test_a_failed_first_fit_leaves_it_unfitted():
    recognizer = recogniser("no such classifier")
    with pytest.raises(ValueError, match="Unknown classifier"):
        recognizer.fit(X, Y)
    with pytest.raises(NotFittedError):
        recognizer.predict(X)


# ---------------------------------------------------------------- discover


def test_discovery_holds_together(model):
    found = model.discover(X, k=7)
    names = [group.label for group in found.groups]
    assert found.k == 7
    assert len(names) == len(set(names)) == 3
    assert not set(names) & set(model.classes_.tolist())
    assert np.array_equal(found.novel, ~np.isin(found.labels, model.classes_))
    assert np.array_equal(found.novel, np.isin(found.labels, names))
    assert [len(g) for g in found.groups] == sorted((len(g) for g in found.groups), reverse=True)
    for group in found.groups:
        assert np.array_equal(np.sort(group.rows), np.flatnonzero(found.labels == group.label))
        gaps = np.linalg.norm(X[group.rows] - group.center, axis=1)
        assert (np.diff(gaps) >= 0).all()
        np.testing.assert_allclose(group.center, X[group.rows].mean(0), atol=1e-6)
        assert group.spread == pytest.approx(np.sqrt((gaps**2).mean()))


def test_given_the_right_number_the_blobs_are_found(model):
    found = model.discover(X, k=6)
    assert (found.labels[KNOWN] == Y[KNOWN]).all()
    assert metrics.clustering_accuracy(Y[~KNOWN], found.labels[~KNOWN]) == 1.0
    assert found.trusted
    assert found.curve == []


def test_without_a_number_it_is_estimated_within_bounds(model):
    found = model.discover(X[~KNOWN])
    assert 4 <= found.k <= 12
    assert found.k in [max(4, point.k) for point in found.curve]
    assert max(point.k for point in found.curve) <= 12
    assert found.trusted == (found.reason == "")


def test_rows_like_exemplars_return_to_their_class(model):
    found = model.discover(np.concatenate([model.memory_.X, X[~KNOWN]]), k=6)
    n = len(model.memory_)
    assert np.array_equal(found.labels[:n], model.memory_.y)
    assert not found.novel[:n].any()


def test_with_as_many_groups_as_classes_every_row_returns(model):
    found = model.discover(X[~KNOWN], k=4)
    assert not found.novel.any()
    assert found.groups == []


def test_names_of_groups_avoid_the_known_ones():
    names = np.array(["group 2", "b"])
    recognizer = recogniser(random_state=0, device="cpu").fit(X[Y < 2], names[Y[Y < 2]])
    found = recognizer.discover(X, k=6)
    assert sorted(g.label for g in found.groups) == ["group 1", "group 3", "group 4", "group 5"]
    assert set(found.labels.tolist()) == {"group 2", "b", "group 1", "group 3", "group 4", "group 5"}


def test_groups_beside_the_largest_integer():
    recognizer = recogniser(random_state=0, device="cpu").fit(X[Y < 2], np.array([5, 2**63 - 1])[Y[Y < 2]])
    names = [group.label for group in recognizer.discover(X, k=6).groups]
    assert len(set(names)) == 4
    assert not {5, 2**63 - 1, -1} & set(names)


@pytest.mark.parametrize("row", [X[~KNOWN][0], X[KNOWN][0]], ids=["novel", "known"])
@pytest.mark.parametrize("preset", ["paper", "authors"])
def test_rows_that_are_all_the_same_stay_together(row, preset):
    recognizer = fitted(preset=preset)
    found = recognizer.discover(np.tile(row, (20, 1)))
    assert len(set(found.labels.tolist())) == 1
    assert len(found.groups) <= 1


def test_more_groups_than_different_rows(model):
    found = model.discover(np.tile(X[~KNOWN][0], (20, 1)), k=8)
    assert len(found.groups) == 1  # empty clusters are left out
    assert found.novel.all()


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_few_rejected_rows(model, rows):
    found = model.discover(X[~KNOWN][:rows])
    assert len(found.labels) == rows
    assert 4 <= found.k <= 4 + rows


def test_everything_rejected():
    recognizer = fitted(alpha=1e10)
    rejected = X[recognizer.predict(X) == -1]
    assert len(rejected) == len(X)
    found = recognizer.discover(rejected, k=6)
    assert (found.labels[KNOWN] == Y[KNOWN]).all()


@pytest.mark.parametrize(
    ("rows", "k", "message"),
    [
        (X[~KNOWN], 3, "less than the 4 known classes"),
        (X[~KNOWN], 0, "less than the 4 known classes"),
        (X[~KNOWN], -1, "less than the 4 known classes"),
        (X[~KNOWN][:5], 10, "6 new groups of 5 unlabelled rows"),
        (X[:0], 5, "1 new groups of 0"),
        (X[~KNOWN], 6.0, "k must be an integer"),
        (X[~KNOWN], "6", "k must be an integer"),
    ],
)
def test_bad_number_of_classes(model, rows, k, message):
    with pytest.raises((TypeError, ValueError), match=message):
        model.discover(rows, k=k)


# ---------------------------------------------------------------- scikit-learn's conventions


def test_clone_and_parameters():
    recognizer = OpenWorldRecognizer("xgb", 20, "random", 3.0, "authors", None, 30, "cpu", 5)
    expected = {
        "classifier": "xgb",
        "memory_size": 20,
        "selector": "random",
        "alpha": 3.0,
        "preset": "authors",
        "max_known_rejected": None,
        "max_classes": 30,
        "device": "cpu",
        "random_state": 5,
    }
    assert recognizer.get_params(deep=False) == expected
    assert clone(recognizer).get_params(deep=False) == expected
    assert recognizer.set_params(alpha=1.0, memory_size=None).alpha == 1.0
    assert recognizer.memory_size is None
    with pytest.raises(ValueError, match="Invalid parameter"):
        recognizer.set_params(alfa=1.0)


def test_a_clone_is_unfitted_and_fits_to_the_same(model):
    twin = clone(model)
    with pytest.raises(NotFittedError):
        twin.predict(X)
    assert np.array_equal(twin.fit(X[KNOWN], Y[KNOWN]).recognize(X).probabilities, model.recognize(X).probabilities)


def test_parameters_reach_a_foreign_classifier():
    recognizer = fitted(SVM(C=5.0, device="cpu"), alpha=1.0)
    before = recognizer.unknown_score(X)
    after = recognizer.set_params(classifier__C=0.01).fit(X[KNOWN], Y[KNOWN]).unknown_score(X)
    assert not np.array_equal(after, before)
    assert np.array_equal(after, fitted(SVM(C=0.01, device="cpu"), alpha=1.0).unknown_score(X))


def test_the_classifier_given_stays_unfitted():
    classifier = LogisticRegression()
    fitted(classifier, alpha=1.0)
    assert not hasattr(classifier, "coef_")


def test_fit_and_learn_return_self():
    recognizer = recogniser(alpha=1.0, device="cpu")
    assert recognizer.fit(X[KNOWN], Y[KNOWN]) is recognizer
    assert recognizer.learn(X[Y == 4], Y[Y == 4]) is recognizer


def test_progress_reports_every_stage_to_its_end():
    seen = []
    recognizer = recogniser(random_state=0, max_classes=12, device="cpu")
    recognizer.fit(X[KNOWN], Y[KNOWN], progress=lambda *step: seen.append(step))
    recognizer.discover(X[~KNOWN], progress=lambda *step: seen.append(step))
    stages = list(dict.fromkeys(stage for stage, _, _ in seen))
    assert stages == [
        "selecting exemplars",
        "fitting the classifier",
        "searching alpha",
        "estimating the number of classes",
        "grouping",
    ]
    for stage in stages:
        steps = [step[1:] for step in seen if step[0] == stage]
        assert [done for done, _ in steps] == sorted(done for done, _ in steps)
        assert steps[-1][0] == steps[-1][1] > 0
        assert all(done <= total or total == 0 for done, total in steps)


# ---------------------------------------------------------------- presets


def test_the_authors_preset():
    recognizer = fitted(preset="authors")
    found = recognizer.discover(X[~KNOWN])
    assert all(point.k >= 5 for point in found.curve)  # their search starts above the known classes
    recognizer.learn(X[Y == 4], Y[Y == 4])
    assert recognizer.phase_ == 2


@pytest.mark.parametrize(("name", "kind", "setting"), [("mlp", MLP, "max_iter"), ("xgb", XGB, "rounds")])
def test_the_authors_preset_sets_up_the_classifier(name, kind, setting):
    needed_module("xgboost")
    few = np.flatnonzero(KNOWN)[::4]

    def scores(classifier, preset):
        settings = {"alpha": 1.0, "selector": "greedy", "device": "cpu", "random_state": 0}
        return recogniser(classifier, preset=preset, **settings).fit(X[few], Y[few]).unknown_score(X)

    assert np.array_equal(scores(name, "authors"), scores(kind(**{setting: 50}, device="cpu"), "paper"))
    assert not np.array_equal(scores(name, "authors"), scores(name, "paper"))


def test_a_preset_of_the_users_own():
    preset = Preset(
        "mine",
        rejection=UncertaintyRejection(alpha_grid=(0.5, 20.0)),
        discovery=KMeansDiscovery(search="robust"),
        classifier_settings={"svm": {"C": 0.01}},
    )
    recognizer = fitted(preset=preset)
    assert recognizer.alpha_search_.grid.tolist() == [0.5, 20.0]
    assert np.array_equal(recognizer.unknown_score(X), fitted(SVM(C=0.01, device="cpu")).unknown_score(X))
    assert not np.array_equal(recognizer.unknown_score(X), fitted().unknown_score(X))
    assert min(point.k for point in recognizer.discover(X[~KNOWN]).curve) == 4


# ---------------------------------------------------------------- bad input


BROKEN = {
    "nan": (np.where(np.arange(8) == 2, np.nan, X[:2]), "NaN or infinite"),
    "inf": (np.where(np.arange(8) == 2, np.inf, X[:2]), "NaN or infinite"),
    "narrow": (
        X[:2, :7],
        "7 features, but .* is expecting 8 features as input; use features from the same",
    ),
    "wide": (
        np.ones((2, 9)),
        "9 features, but .* is expecting 8 features as input; use features from the same",
    ),
    "3-D": (X[None, :2], "two dimensions"),
    "words": ([["a"] * 8] * 2, "real numbers"),
    "no columns": (np.empty((2, 0)), "no feature columns"),
}


@pytest.mark.parametrize("case", BROKEN)
@pytest.mark.parametrize("method", [*METHODS, "learn"])
def test_bad_rows_for_a_fitted_model(model, method, case):
    rows, message = BROKEN[case]
    with pytest.raises(ValueError, match=message):
        getattr(model, method)(rows, *([[4, 4]] if method == "learn" else []))
    assert model.phase_ == 1


@pytest.mark.parametrize("case", ["nan", "inf", "3-D", "words", "no columns"])
def test_bad_rows_to_fit(case):
    rows, message = BROKEN[case]
    with pytest.raises(ValueError, match=message):
        recogniser().fit(rows, [0, 1])


@pytest.mark.parametrize(
    ("rows", "y", "message"),
    [
        (X[0], [0] * 8, r"two dimensions .* reshape"),
        (np.empty((0, 8)), [], "0 rows, but at least 1"),
        ([], [], "two dimensions"),
        (X[:4], [0, 1, 0], "3 labels for 4 rows"),
        (X[:4], [0, 1, 0, 1, 0], "5 labels for 4 rows"),
        (X[:4], [[0], [1], [0], [1]], "one label per row"),
        (X[:4], [2, 2, 2, 2], "at least two known classes.*only.*2"),
        (X[:4], ["a"] * 4, "at least two known classes"),
        (X[:4], [0, 1, "a", "b"], "all int or all str"),
        (X[:4], [0.0, 1.0, 0.0, 1.0], "float"),
        (X[:4], np.array([0.0, 1.0, 0.0, 1.0]), "float64"),
        (X[:4], [True, False, True, False], "bool"),
        (X[:4], [None, None, None, None], "NoneType"),
        (X[:4], [0, 1, -1, 0], "-1 as a class, but that label is reserved"),
        (X[:4], ["a", "b", "unknown", "a"], "'unknown' as a class, but that label is reserved"),
        (X[:4], None, "one label per row"),
    ],
)
def test_bad_fit(rows, y, message):
    with pytest.raises(ValueError, match=message):
        recogniser().fit(rows, y)


@pytest.mark.parametrize(
    ("rows", "y", "message"),
    [
        (X[0], [4], "two dimensions"),
        (np.empty((0, 8)), [], "0 rows, but at least 1"),
        (X[:2], [4], "1 labels for 2 rows"),
        (X[:2], ["a", "b"], "labels like .*'a'.*known classes are like .*0"),
        (X[:2], [4.0, 5.0], "float"),
        (X[:2], [4, "a"], "all int or all str"),
        (X[:2], [4, -1], "reserved"),
    ],
)
def test_bad_learn(model, rows, y, message):
    with pytest.raises(ValueError, match=message):
        model.learn(rows, y)
    assert model.phase_ == 1


def test_integers_after_names():
    recognizer = recogniser(alpha=1.0, device="cpu").fit(X[Y < 2], np.array(["a", "b"])[Y[Y < 2]])
    with pytest.raises(ValueError, match=r"labels like .*4"):
        recognizer.learn(X[Y == 4], Y[Y == 4])
    with pytest.raises(ValueError, match="reserved"):
        recognizer.learn(X[:1], ["unknown"])


@pytest.mark.parametrize("method", [*METHODS, "learn", "save"])
def test_an_unfitted_recogniser(method, tmp_path):
    arguments = {"learn": (X, Y), "save": (tmp_path / "model",)}.get(method, (X,))
    with pytest.raises(NotFittedError):
        getattr(recogniser(), method)(*arguments)
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"memory_size": 3}, "memory of 3 rows cannot hold 4 classes; set memory_size"),
        ({"memory_size": 0}, "memory_size must be an integer from 1, not 0"),
        ({"memory_size": -5}, "memory_size must be an integer from 1"),
        ({"memory_size": "20"}, "memory"),
        ({"preset": "nope"}, "Unknown preset 'nope'; choose from best, paper, robust, authors"),
        ({"preset": None}, "Unknown preset"),
        ({"preset": ["paper"]}, "Unknown preset"),
        ({"selector": "nope"}, "Unknown exemplar selector 'nope'; choose from ds3"),
        ({"selector": 5}, "selector"),
        ({"selector": ["ds3"]}, "selector"),
        ({"classifier": "tree"}, "Unknown classifier 'tree'"),
        ({"classifier": SVC()}, "predict_proba"),
        ({"classifier": 5}, "predict_proba"),
        ({"max_known_rejected": 0.1}, "has no setting max_known_rejected; .* that has it: best"),
        ({"device": "gpu"}, "'gpu' is not a device that"),
        ({"device": "meta"}, "device='meta'"),
        ({"device": None}, "device=None"),
        ({"max_classes": 3}, "max_classes=3 is less than the 4 known classes"),
        ({"max_classes": None}, "max_classes"),
    ],
    ids=str,
)
def test_bad_settings(settings, message):
    with pytest.raises((TypeError, ValueError), match=message):
        recogniser(**{"random_state": 0, "device": "cpu", **settings}).fit(X[KNOWN], Y[KNOWN])


def test_a_gpu_that_is_not_there(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(ValueError, match="torch finds no GPU"):
        fitted(device="cuda")


def test_a_memory_that_becomes_too_small():
    recognizer = fitted(memory_size=5, alpha=1.0)
    recognizer.learn(X[Y == 4], Y[Y == 4])
    with pytest.raises(ValueError, match="memory of 5 rows cannot hold 6 classes"):
        recognizer.learn(X[Y == 5], Y[Y == 5])
    assert recognizer.phase_ == 2
    assert len(recognizer.memory_) == 5


def test_more_classes_than_allowed():
    recognizer = fitted(max_classes=5, selector="greedy")
    recognizer.learn(X[Y == 4], Y[Y == 4])
    with pytest.raises(ValueError, match="max_classes=5 is less than the 6 known classes; raise it"):
        recognizer.learn(X[Y == 5], Y[Y == 5])
    assert recognizer.phase_ == 2
    assert recognizer.set_params(max_classes=6).learn(X[Y == 5], Y[Y == 5]).phase_ == 3


def test_a_selector_that_returns_nonsense():
    with pytest.raises(ValueError, match="must return 5 different row numbers below 30"):
        fitted(memory_size=20, selector=lambda rows, k, rng: np.zeros(k, dtype=int))


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="needs an alarm")
def test_a_memory_of_half_a_row():
    with no_endless_loop(), pytest.raises((TypeError, ValueError), match="memory"):
        recogniser(memory_size=20.5, alpha=1.0, device="cpu").fit(X[KNOWN], Y[KNOWN])


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="needs an alarm")
@pytest.mark.parametrize("rows", [X * 1e200, (X * 1e25).astype(np.float32)], ids=["float64", "float32"])
def test_numbers_whose_squares_overflow_are_refused(rows):
    with warnings.catch_warnings(), no_endless_loop():
        warnings.simplefilter("ignore", RuntimeWarning)  # it is the answer that counts here
        with pytest.raises(ValueError, match="large"):
            recogniser(memory_size=60, alpha=1.0, device="cpu").fit(rows[KNOWN], Y[KNOWN])


@pytest.mark.parametrize("scale", [2.0**-20, 2.0**20])
def test_the_unit_of_the_features_does_not_matter(scale):
    # Distances compare; a power of two changes no digit of them.
    recognizer = recogniser(memory_size=60, random_state=0, max_classes=12, device="cpu")
    recognizer.fit(X[KNOWN] * scale, Y[KNOWN])
    reference = fitted(memory_size=60)
    assert np.array_equal(recognizer.memory_.X, reference.memory_.X * scale)
    np.testing.assert_allclose(
        recognizer.recognize(X * scale).probabilities, reference.recognize(X).probabilities, atol=1e-9
    )
    assert np.array_equal(recognizer.discover(X * scale, k=6).labels, reference.discover(X, k=6).labels)


# ---------------------------------------------------------------- degenerate, but legitimate


@pytest.mark.parametrize("classifier", ["svm", "mlp", "xgb"])
def test_rows_that_are_all_the_same_cannot_be_told_apart(classifier):
    needed_module("xgboost")
    y = np.repeat([0, 1], [30, 10])
    recognizer = recogniser(classifier, memory_size=20, random_state=0, device="cpu")
    recognizer.fit(np.ones((40, 3)), y)
    p = recognizer.recognize(np.ones((3, 3))).probabilities
    assert np.isfinite(p).all()
    assert (p == p[0]).all()


def test_two_rows_of_two_classes():
    recognizer = recogniser(alpha=1.0, random_state=0, device="cpu").fit([[0.0], [1.0]], ["a", "b"])
    assert set(recognizer.predict([[0.0], [1.0]])) <= {"a", "b", "unknown"}
    assert recognizer.discover([[0.0], [1.0], [9.0], [9.1]], k=3).labels.tolist() == ["a", "b", "group 1", "group 1"]


def test_two_known_classes_leave_alpha_to_the_share_of_known_kept():
    recognizer = recogniser(random_state=0, device="cpu").fit(X[Y < 2], Y[Y < 2])
    assert recognizer.alpha_search_.criterion == "AKS"
    assert (recognizer.predict(X[Y < 2]) == Y[Y < 2]).mean() > 0.85


def test_one_feature():
    rows = np.r_[np.linspace(0, 1, 20), np.linspace(10, 11, 20), np.linspace(30, 31, 20)][:, None]
    y = np.repeat([0, 1, 2], 20)
    recognizer = recogniser(random_state=0, memory_size=30, device="cpu").fit(rows[:40], y[:40])
    assert recognizer.predict_closed(rows[:40]).tolist() == y[:40].tolist()
    assert recognizer.discover(rows, k=3).labels.tolist() == y.tolist()
