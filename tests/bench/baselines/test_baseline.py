"""What all baselines do alike: exemplars, searches, saving and loading, and what is said to bad input."""

import json

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError

from opengcd import ModelFileError, metrics
from opengcd.bench import Dataset, class_groups, make_method, method_names, run_protocol
from opengcd.bench.baselines import BASELINES, EVM, NNO, DeepNNO
from opengcd.bench.baselines.baseline import NearestToMean
from opengcd.bench.baselines.bdoc import NearestWithHeldOut
from opengcd.bench.baselines.grid_search import SEARCH, Range
from opengcd.bench.published import published
from tests.helpers.baselines import KNOWN, QUICK, X, Y, quick

pytestmark = pytest.mark.usefixtures("one_thread")


def test_exemplars_nearest_the_mean_first():
    rows = np.array([[5.0], [0.0], [2.0], [3.0], [-5.0]])  # mean 1
    nearest = NearestToMean(lambda X: X)
    assert nearest(rows, 3, None).tolist() == [1, 2, 3]
    # The fifth row is held out; it stands at the fifth place again although it is not the farthest by rank.
    assert NearestWithHeldOut(lambda X: X)(rows[[0, 4, 1, 3, 2]], 5, None).tolist() == [2, 3, 0, 1, 4]


@pytest.mark.parametrize("name", ["nno", "deepnno", "b-doc"])
def test_a_smaller_share_is_the_beginning_of_a_larger_one(name):
    model = quick(name, memory_size=100).fit(X[KNOWN], Y[KNOWN])
    before = model.memory_.X[model.memory_.y == 0]
    model.learn(X[~KNOWN], Y[~KNOWN])
    after = model.memory_.X[model.memory_.y == 0]
    assert len(after) == 13 < len(before) == 20
    np.testing.assert_array_equal(after, before[:13])
    assert len(model.exemplars()[0]) == 100


def test_a_diverged_trial_never_wins_and_a_diverged_fit_says_so():
    model = quick("deepnno", learning_rate=SEARCH, eta=2.0)
    model.RANGES = DeepNNO.RANGES | {"learning_rate": Range(1e20, (1e20, 0.1), DeepNNO.RANGES["learning_rate"].check)}
    assert model.fit(X[KNOWN], Y[KNOWN]).settings_["learning_rate"] == 0.1
    assert [trial.score for trial in model.search_ if trial.value == 1e20] == [0]
    with pytest.raises(ValueError, match="diverged; choose a smaller step"):
        quick("deepnno", learning_rate=1e20).fit(X[KNOWN], Y[KNOWN])


def test_a_search_is_made_once_kept_and_reported():
    stages = []
    model = DeepNNO(device="cpu", random_state=0, max_classes=12, weight_decay=1e-4)
    model.fit(X[KNOWN], Y[KNOWN], progress=lambda stage, done, total: stages.append((stage, done, total)))
    assert set(model.settings_) == {*DeepNNO.RANGES, "eta"}
    assert model.settings_["weight_decay"] == 1e-4
    learning = [trial for trial in model.search_ if trial.criterion == "accuracy"]
    assert {trial.parameter for trial in learning} == {"learning_rate", "classification", "distillation"}
    assert [t.value for t in model.search_ if t.parameter == "eta"] == list(DeepNNO.REJECTION_VALUES)
    for name in ("learning_rate", "classification"):
        tried = {trial.value: trial.score for trial in learning if trial.parameter == name}
        assert tried[model.settings_[name]] == max(tried.values())
    assert ("searching the parameters of learning", 9, 9) in stages
    assert ("searching the threshold", 6, 6) in stages
    model.learn(X[~KNOWN], Y[~KNOWN])
    assert [trial for trial in model.search_ if trial.criterion == "accuracy"] == learning
    assert {trial.phase for trial in model.search_ if trial.parameter == "eta"} == {1, 2}


def test_a_threshold_may_stay_as_it_was_found():
    model = quick("nno", search_again=False).fit(X[KNOWN], Y[KNOWN])
    tau = model.settings_["tau"]
    assert model.learn(X[~KNOWN], Y[~KNOWN]).settings_["tau"] == tau


@pytest.mark.parametrize("name", BASELINES)
def test_separate_blobs_are_named_rejected_found_and_learnt(name, fitted):
    model = clone(fitted[name]).fit(X[KNOWN], Y[KNOWN])
    labels = model.predict(X)
    assert metrics.accuracy(Y[KNOWN], model.predict_closed(X[KNOWN])) > 0.98
    assert metrics.hna(Y, labels, range(5)) > 0.75
    assert metrics.auroc(Y, model.unknown_score(X), range(5)) > 0.9
    rejected = np.flatnonzero(labels == -1)
    found = model.discover(X[rejected], k=8)
    assert metrics.clustering_accuracy(Y[rejected], found.labels) > 0.95
    model.learn(X[~KNOWN], Y[~KNOWN])
    assert metrics.accuracy(Y, model.predict_closed(X)) > 0.95
    assert model.phase_ == 2


@pytest.mark.parametrize("name", BASELINES)
def test_digits(name):
    D, truth = load_digits(return_X_y=True)
    train = np.arange(len(truth)) % 2 == 0
    start, later = train & (truth < 6), train & (truth >= 6) & (truth < 8)
    model = quick(name, max_classes=20).fit(D[start], truth[start])
    known, stream = ~train & (truth < 6), ~train & (truth < 8)
    assert metrics.accuracy(truth[known], model.predict_closed(D[known])) > 0.9
    assert metrics.hna(truth[stream], model.predict(D[stream]), range(6)) > 0.5
    model.learn(D[later], truth[later])
    assert metrics.accuracy(truth[stream], model.predict_closed(D[stream])) > 0.85


@pytest.mark.parametrize("name", BASELINES)
def test_recognize_equals_the_three_separate_methods(name, fitted):
    model = fitted[name]
    verdict = model.recognize(X)
    np.testing.assert_array_equal(verdict.labels, model.predict(X))
    np.testing.assert_array_equal(verdict.closed, model.predict_closed(X))
    np.testing.assert_array_equal(verdict.unknown_score, model.unknown_score(X))
    score, rejected = verdict.unknown_score, verdict.labels == -1
    assert score[rejected].min() >= score[~rejected].max()
    alone = np.concatenate([model.predict(row) for row in X[:5]])
    np.testing.assert_array_equal(alone, verdict.labels[:5])
    assert len(model.predict(X[:0])) == len(model.unknown_score(X[:0])) == 0
    assert model.discover(X[:0]).k >= 5


@pytest.mark.parametrize("name", BASELINES)
def test_the_same_seed_gives_the_same_baseline(name, fitted):
    again = clone(fitted[name]).fit(X[KNOWN], Y[KNOWN])
    np.testing.assert_array_equal(again.scores(X), fitted[name].scores(X))
    np.testing.assert_array_equal(again.threshold_, fitted[name].threshold_)
    assert again.search_ == fitted[name].search_
    one, other = (fitted[name].discover(X[~KNOWN]) for _ in range(2))
    np.testing.assert_array_equal(one.labels, other.labels)
    # Fitting twice is fitting once.
    again.fit(X[KNOWN], Y[KNOWN])
    np.testing.assert_array_equal(again.scores(X), fitted[name].scores(X))


@pytest.mark.parametrize("name", BASELINES)
def test_a_baseline_comes_back_and_goes_on_as_before(name, fitted, tmp_path):
    model = clone(fitted[name]).set_params(memory_size=120)
    labels = np.array([f"bird {c}" for c in "abcdefgh"])[Y]
    model.fit(X[KNOWN], labels[KNOWN]).save(tmp_path / "model")
    loaded = type(model).load(tmp_path / "model", device="cpu")
    for _ in range(2):
        assert loaded.get_params() == model.get_params()
        assert (loaded.settings_, loaded.search_, loaded.phase_) == (model.settings_, model.search_, model.phase_)
        np.testing.assert_array_equal(loaded.scores(X), model.scores(X))
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
        np.testing.assert_array_equal(loaded.exemplars()[0], model.exemplars()[0])
        np.testing.assert_array_equal(loaded.discover(X[~KNOWN], 8).labels, model.discover(X[~KNOWN], 8).labels)
        for baseline in (loaded, model):
            baseline.learn(X[~KNOWN], labels[~KNOWN])


@pytest.mark.parametrize("name", BASELINES)
def test_a_damaged_folder_is_refused(name, fitted, tmp_path):
    fitted[name].save(tmp_path)
    index = json.loads((tmp_path / "model.json").read_text())
    header = json.loads((tmp_path / index["parts"].pop("header")["file"]).read_text())
    kind = type(fitted[name])

    def load(**changes):  # as of the first format, which has the header in the index
        (tmp_path / "model.json").write_text(json.dumps(index | {"format_version": 1} | header | changes))
        return kind.load(tmp_path, device="cpu")

    load()
    for changes in (
        {"classes": header["classes"][:-1]},
        {"parameters": header["parameters"] | {"nonsense": 1}},
        {"parameters": header["parameters"] | {kind.REJECTION: -1}},
        {"phase": "first"},
        {"search": [[1, 2]]},
    ):
        with pytest.raises(ModelFileError):
            load(**changes)
    other = EVM if kind is NNO else NNO
    with pytest.raises(ModelFileError, match="contains a"):
        other.load(tmp_path)


@pytest.mark.parametrize("name", BASELINES)
def test_bad_input_is_refused_and_changes_nothing(name, fitted):
    kind, model = BASELINES[name], clone(fitted[name]).fit(X[KNOWN], Y[KNOWN])
    parameter, value = next(iter(kind.RANGES)), model.scores(X)
    for changes, message in [
        ({parameter: -1}, f"{parameter} must be"),
        ({parameter: "much"}, f"{parameter} must be"),
        ({kind.REJECTION: -0.5}, f"{kind.REJECTION} must be"),
        ({"memory_size": 2}, "cannot hold 5 classes"),
        ({"max_classes": 4}, "max_classes=4 is less"),
        ({"device": "toaster"}, "device"),
    ]:
        with pytest.raises(ValueError, match=message):
            clone(model).set_params(**changes).fit(X[KNOWN], Y[KNOWN])
    with pytest.raises(NotFittedError):
        clone(model).predict(X)
    with pytest.raises(ValueError, match="at least two known classes"):
        clone(model).fit(X[:5], [1] * 5)
    with pytest.raises(ValueError, match="12 are expected"):
        model.predict(X[:, :5])
    with pytest.raises(ValueError, match="reserved for 'unknown'"):
        model.learn(X[:2], [-1, 3])
    with pytest.raises(ValueError, match="NaN or infinite"):
        model.learn(X[:2] * np.nan, [1, 3])
    model.memory_size = 6
    with pytest.raises(ValueError, match="cannot hold 8 classes"):
        model.learn(X[~KNOWN], Y[~KNOWN])
    np.testing.assert_array_equal(model.scores(X), value)
    assert model.phase_ == 1


@pytest.mark.filterwarnings("ignore:No threshold tells known from unknown:UserWarning")
@pytest.mark.parametrize("name", BASELINES)
@pytest.mark.parametrize("classes", [2, 3])
def test_few_classes_and_single_rows(name, classes):
    few = classes > Y
    model = quick(name).fit(X[few], Y[few])
    assert metrics.accuracy(Y[few], model.predict(X[few])) > 0.4
    model.learn(X[Y == 7][:1], [7])
    assert model.predict_closed(X[Y == 7]).tolist().count(7) > 15


@pytest.mark.parametrize("name", BASELINES)
def test_every_baseline_runs_in_the_benchmark_beside_the_papers_numbers(name):
    train, test = np.arange(len(X)) % 3 > 0, np.arange(len(X)) % 3 == 0
    data = Dataset("blobs", X[train], Y[train], X[test], Y[test], [str(c) for c in range(8)])
    method = make_method(name, memory_size=100, random_state=0, max_classes=12, **QUICK[name])
    results = [result for result, _ in run_protocol(method, data, class_groups(8, (5, 2, 1), 0), random_state=0)]
    assert [result.known for result in results] == [5, 7, 8]
    assert results[0].accuracy_all > 0.95
    assert results[0].hna > 0.5
    assert results[0].k > 5
    assert name in method_names()
    assert published(name, "cub", 1, "hca") is not None


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("name", BASELINES)
def test_a_gpu_agrees(name, fitted, tmp_path):
    there = clone(fitted[name]).set_params(device="cuda").fit(X[KNOWN], Y[KNOWN])
    assert metrics.accuracy(fitted[name].predict(X), there.predict(X)) > 0.95
    there.save(tmp_path)
    here = type(there).load(tmp_path, device="cpu")
    new = X + 0.01  # where a row coincides with an exemplar, EVM's score is the logarithm of a rounding error
    np.testing.assert_allclose(here.scores(new), there.scores(new), rtol=1e-3, atol=1e-3)
    there.learn(X[~KNOWN], Y[~KNOWN])
    assert metrics.accuracy(Y, there.predict_closed(X)) > 0.95
    assert there.discover(X[~KNOWN]).k >= 8
