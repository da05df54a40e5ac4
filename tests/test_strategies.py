"""Parts of a user's own: a rejection and a discovery strategy go through the loop, and are saved and loaded."""

import dataclasses
import io
import json
import re
from contextlib import redirect_stdout

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression

from opengcd import ModelFileError, OpenWorldRecognizer
from opengcd._internal.model_folder import read_model, write_model
from opengcd.classify import Labelled
from opengcd.discover import (
    ClassNumberEstimate,
    Clustering,
    DiscoveryStrategy,
    JointDiscovery,
    KMeansDiscovery,
    arrange,
)
from opengcd.osr import Judgement, NoveltyRejection, Rejection, State, UncertaintyRejection
from opengcd.presets import PRESETS, Preset
from opengcd.saved_presets import describe_preset, restore_preset
from tests.helpers.places import ROOT

# Six well separated classes of 30 rows in eight dimensions; 0 to 3 are known at first.
X, Y = make_blobs(180, 8, centers=6, cluster_std=1.0, center_box=(-10, 10), random_state=0)
KNOWN = Y < 4


class FarFromMeans(Rejection):
    """Reject rows farther from all class means than any labelled row, times a factor."""

    def __init__(self, factor=1.5):
        self.factor = factor

    def fit(self, labelled, classifier, run):
        means = np.stack([labelled.X[labelled.codes == c].mean(0) for c in range(len(labelled.classes))])
        return self._with(means, float(self._distance(labelled.X, means).max()))

    def judge(self, X, p):
        far = self._distance(X, self.means_)
        rejected = far > self.factor * self.radius_
        unknown = rejected[:, None].astype(float)
        return Judgement(rejected, far, np.concatenate([unknown, (1 - unknown) * p], axis=1))

    def state(self):
        return State({"far_radius": self.radius_}, {"far.means": self.means_})

    def restore(self, state, labelled, device):
        means = state.arrays["far.means"]
        if len(means) != len(labelled.classes):
            raise ModelFileError("means and classes do not fit together")
        return self._with(means, float(state.header["far_radius"]))

    def _with(self, means, radius):
        fitted = clone(self)
        fitted.means_, fitted.radius_ = means, radius
        return fitted

    @staticmethod
    def _distance(X, means):
        return np.linalg.norm(X[:, None] - means, axis=2).min(1)


class BySign(DiscoveryStrategy):
    """Two groups: rows whose feature of the largest variance is below or above its mean."""

    def __init__(self, over_stream=False):
        self.over_stream = over_stream

    @property
    def takes(self):
        return "stream" if self.over_stream else "rejected"

    def discover(self, labelled, stream, rejection, count, run):
        known, rows = len(labelled.classes), stream.X
        feature = rows[:, rows.var(0).argmax()]
        labels = known + (feature > feature.mean()).astype(int)
        if self.over_stream:
            labels = np.where(stream.rejected, labels, stream.probabilities.argmax(1))
        found = Clustering(labels, np.zeros((known + 2, rows.shape[1])), 0.0, 0)
        return arrange(rows, labelled.classes, found, ClassNumberEstimate(known + 2, [], True, "", known + 2))


pytestmark = pytest.mark.usefixtures("one_thread")
OWN = Preset("mine", "logistic", "herding", rejection=FarFromMeans(), discovery=BySign())


def fitted(preset=OWN, **settings):
    return OpenWorldRecognizer(preset=preset, random_state=0, device="cpu", **settings).fit(X[KNOWN], Y[KNOWN])


def test_the_loop_with_parts_of_ones_own():
    recognizer = fitted().observe(X)
    rejected = recognizer.predict(X) == -1
    assert rejected[~KNOWN].all()
    assert not rejected[KNOWN].any()
    assert (recognizer.alpha_, recognizer.alpha_search_, recognizer.threshold_) == (None, None, None)
    assert not recognizer.adapts
    assert recognizer.discovers_from == "rejected"
    np.testing.assert_array_equal(recognizer.in_metric(X), X)
    found = recognizer.discover(X[rejected])
    assert found.k == 6
    assert {frozenset(Y[rejected][group.rows]) for group in found.groups} == {frozenset({4}), frozenset({5})}
    recognizer.learn(X[rejected], found.labels)
    assert recognizer.phase_ == 2
    assert not (recognizer.predict(X) == -1).any()


def test_a_strategy_of_ones_own_can_take_the_whole_stream():
    recognizer = fitted(dataclasses.replace(OWN, discovery=BySign(over_stream=True)))
    assert recognizer.discovers_from == "stream"
    found = recognizer.discover(X, rejected=recognizer.predict(X) == -1)
    np.testing.assert_array_equal(found.labels[KNOWN], Y[KNOWN])
    assert found.novel.sum() == 60


def test_the_second_round_needs_nothing_from_a_strategy():
    recognizer = fitted()
    rows, truth = X[~KNOWN], Y[~KNOWN]
    confirmed = np.where(np.arange(len(rows)) < 5, 50, -1)
    found = recognizer.discover(rows, confirmed=confirmed)
    assert (found.labels[:5] == 50).all()
    assert 50 in [group.label for group in found.groups]
    assert len(found.labels) == len(truth)


@pytest.mark.parametrize(
    ("rejection", "discovery"),
    [
        (FarFromMeans(2.0), KMeansDiscovery()),
        (UncertaintyRejection(alpha=2.0), BySign()),
        (NoveltyRejection(), BySign()),
    ],
)
def test_parts_of_ones_own_go_with_ours(rejection, discovery, tmp_path):
    preset = Preset("mixed", "logistic", "herding", rejection=rejection, discovery=discovery)
    recognizer = fitted(preset, memory_size=60)
    assert recognizer.discover(X[~KNOWN], k=6).k == 6
    recognizer.save(tmp_path)
    np.testing.assert_array_equal(
        OpenWorldRecognizer.load(tmp_path, preset=preset, device="cpu").recognize(X).probabilities,
        recognizer.recognize(X).probabilities,
    )


def test_saved_by_what_it_says_itself_and_given_again(tmp_path):
    recognizer = fitted()
    recognizer.save(tmp_path)
    with pytest.raises(ModelFileError, match=r"FarFromMeans, BySign.*pass load\(preset=\.\.\.\)"):
        OpenWorldRecognizer.load(tmp_path)
    loaded = OpenWorldRecognizer.load(tmp_path, preset=OWN, device="cpu")
    np.testing.assert_array_equal(loaded.recognize(X).probabilities, recognizer.recognize(X).probabilities)
    np.testing.assert_array_equal(loaded.discover(X[~KNOWN]).labels, recognizer.discover(X[~KNOWN]).labels)
    header = json.loads(next((tmp_path).glob("header-*")).read_bytes())
    assert header["far_radius"] == recognizer.unknown_score(recognizer.memory_.X).max()
    for each in (recognizer, loaded):
        each.learn(X[Y == 4], Y[Y == 4])
    np.testing.assert_array_equal(loaded.recognize(X).probabilities, recognizer.recognize(X).probabilities)


def test_damage_is_noticed_by_the_part_itself(tmp_path):
    class Careless(FarFromMeans):
        def state(self):
            header, arrays = super().state()
            return State(header, {"far.means": arrays["far.means"][:2]})

    preset = dataclasses.replace(OWN, rejection=Careless())
    fitted(preset).save(tmp_path)
    with pytest.raises(ModelFileError, match="means and classes do not fit together"):
        OpenWorldRecognizer.load(tmp_path, preset=preset)
    with pytest.raises(ValueError, match="Unknown preset"):
        OpenWorldRecognizer.load(tmp_path, preset="nope")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"rejection": FarFromMeans(2.0)},
            r"rejection was FarFromMeans\(factor=1.5\), not FarFromMeans\(factor=2.0\)\. Pass load\(preset=",
        ),
        ({"rejection": NoveltyRejection()}, r"rejection was FarFromMeans\(factor=1.5\), not novelty\(adapt=True, "),
        ({"discovery": BySign(over_stream=True)}, r"discovery was BySign\(over_stream=False\), not BySign\(over_str"),
        (
            {"classifier": "svm", "rank_once": True},
            "classifier was 'logistic', not 'svm'; rank_once was False, not True",
        ),
        ({"classifier": LogisticRegression(C=2)}, r"classifier was 'logistic', not LogisticRegression\(C=2, "),
        ({"classifier_settings": {"mlp": {"max_iter": 5}}}, "classifier_settings was {}, not {'mlp'"),
    ],
)
def test_another_preset_than_the_saved_one_is_refused(changes, message, tmp_path):
    fitted().save(tmp_path)
    with pytest.raises(ModelFileError, match=message):
        OpenWorldRecognizer.load(tmp_path, preset=dataclasses.replace(OWN, **changes))


def test_the_settings_of_ours_are_compared_too(tmp_path):
    preset = dataclasses.replace(OWN, rejection=UncertaintyRejection(alpha=2.0))
    fitted(preset).save(tmp_path)
    changed = dataclasses.replace(preset, rejection=UncertaintyRejection(alpha=3.0))
    with pytest.raises(ModelFileError, match=r"uncertainty\(alpha=2.0, .*\), not uncertainty\(alpha=3.0, "):
        OpenWorldRecognizer.load(tmp_path, preset=changed)
    OpenWorldRecognizer.load(tmp_path, preset=dataclasses.replace(preset, name="renamed"))


def test_a_preset_by_name_is_compared_too(tmp_path):
    fitted("best").save(tmp_path)
    assert OpenWorldRecognizer.load(tmp_path, preset=PRESETS["best"]).preset == PRESETS["best"]
    with pytest.raises(ModelFileError, match=r"rejection was novelty\(.*\), not uncertainty\("):
        OpenWorldRecognizer.load(tmp_path, preset="paper")


class Configurable(FarFromMeans):
    """Has settings that JSON cannot hold."""

    def __init__(self, factor=1.5, weights=None, metric=None, base=None):
        super().__init__(factor)
        self.weights, self.metric, self.base = weights, metric, base


def test_settings_of_any_type_are_saved_and_compared():
    def preset(**settings):
        return dataclasses.replace(OWN, rejection=Configurable(**settings), selector=len)

    settings = {
        "factor": np.float32(2),
        "weights": np.arange(2),
        "metric": np.linalg.norm,
        "base": LogisticRegression(),
    }
    given = preset(**settings)
    stored = json.loads(json.dumps(describe_preset(given)))
    assert stored["rejection"]["settings"]["weights"] == [0, 1]
    assert restore_preset(stored, given) is given
    for changes in ({"weights": np.arange(3)}, {"metric": np.linalg.det}, {"base": LogisticRegression(C=2)}):
        with pytest.raises(ModelFileError, match="rejection was Configurable"):
            restore_preset(stored, preset(**(settings | changes)))
    with pytest.raises(ModelFileError, match=r"Configurable, BySign, len\)"):
        restore_preset(stored, None)


def test_a_setting_that_a_class_has_got_since_is_no_difference():
    stored = describe_preset(dataclasses.replace(OWN, rejection=Configurable()))
    del stored["rejection"]["settings"]["metric"]
    restore_preset(stored, dataclasses.replace(OWN, rejection=Configurable(metric=np.linalg.norm)))
    stored["rejection"]["settings"]["radius"] = 1
    with pytest.raises(ModelFileError, match="radius=1"):
        restore_preset(stored, dataclasses.replace(OWN, rejection=Configurable()))


def test_a_class_derived_from_ours_must_be_given_again(tmp_path):
    class Mine(NoveltyRejection):
        pass

    preset = Preset("mine", rejection=Mine())
    fitted(preset).save(tmp_path)
    with pytest.raises(ModelFileError, match="Mine"):
        OpenWorldRecognizer.load(tmp_path)
    assert OpenWorldRecognizer.load(tmp_path, preset=preset).preset == preset


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": 1.0}, "'FarFromMeans' of preset 'mine' has no setting alpha; .* has it: paper, robust, authors"),
        ({"max_known_rejected": 0.1}, "'FarFromMeans' of preset 'mine' has no setting max_known_rejected; .*: best"),
    ],
)
def test_settings_that_a_preset_does_not_support_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        fitted(**settings)
    with pytest.raises(ValueError, match="'FarFromMeans' cannot limit the share"):
        fitted().limit_rejection(0.1)
    with pytest.raises(ValueError, match="'FarFromMeans' cannot limit the share"):
        fitted().threshold_for(0.1)


class Tuned(FarFromMeans):
    """Has a setting and a fitted parameter of the names that the recogniser knows."""

    def __init__(self, factor=1.5, alpha="search"):
        super().__init__(factor)
        self.alpha = alpha

    def check(self):
        if self.alpha != "search" and not 0 < self.alpha < 10:
            raise ValueError("alpha out of range")

    @property
    def fitted_parameters(self):
        return {"alpha": 5.0 if self.alpha == "search" else self.alpha}


def test_arguments_of_the_recogniser_are_settings_of_a_rejection_of_ones_own():
    preset = dataclasses.replace(OWN, rejection=Tuned())
    assert fitted(preset).alpha_ == 5.0
    assert fitted(preset, alpha=2.0).alpha_ == 2.0
    assert fitted(preset).alpha_search_ is None
    assert preset.rejection.alpha == "search"
    with pytest.raises(ValueError, match="alpha out of range"):
        fitted(preset, alpha=20.0)
    with pytest.raises(ValueError, match="Preset 'mine': alpha out of range"):
        dataclasses.replace(OWN, rejection=Tuned(alpha=20.0))


class Forgetful(FarFromMeans):
    """Says nothing of itself."""

    state, restore = Rejection.state, Rejection.restore


def test_a_rejection_that_cannot_be_saved_or_uses_a_name_that_is_taken(tmp_path):
    class Greedy(FarFromMeans):
        def state(self):
            return State({"classes": 1}, {"memory.X": np.zeros(1)})

    with pytest.raises(ValueError, match="Forgetful cannot be saved"):
        fitted(dataclasses.replace(OWN, rejection=Forgetful())).save(tmp_path)
    with pytest.raises(ValueError, match=r"names that are already taken: classes, memory.X;"):
        fitted(dataclasses.replace(OWN, rejection=Greedy())).save(tmp_path)
    assert not list(tmp_path.iterdir())
    with pytest.raises(ModelFileError, match="cannot be loaded"):
        Forgetful().restore(State({}, {}), None, "cpu")


# ---------------------------------------------------------------- presets


def test_fit_changes_no_preset():
    recognizer = fitted("best")
    assert not hasattr(PRESETS["best"].rejection, "score_")
    assert PRESETS["best"].rejection.threshold is None
    assert recognizer.threshold_ is not None


@pytest.mark.parametrize("name", PRESETS)
def test_a_composition_comes_back_from_what_is_saved_of_it(name):
    stored = json.loads(json.dumps(describe_preset(PRESETS[name])))
    assert restore_preset(stored, None) == PRESETS[name]
    assert restore_preset(name, None) == name


def test_a_preset_as_older_versions_stored_it():
    """One flat list of settings for all parts, whether a preset had them or not."""
    old = {
        "name": "mine", "classifier": "logistic", "selector": "herding", "rank_once": True, "rejection": "novelty",
        "discovery": "joint", "alpha_grid": [0.1, 1.0], "alpha_repeats": 5, "search": "size", "objective": "acc+sc",
        "n_init": 10, "max_iter": 200, "whiten": False, "neighbours": True, "adapt": False, "over_stream": False,
        "head": True, "classifier_settings": {"svm": {"C": 2.0}},
    }  # fmt: skip
    expected = Preset(
        "mine",
        "logistic",
        "herding",
        True,
        NoveltyRejection(whiten=False, adapt=False),
        JointDiscovery(search="size", over_stream=False),
        {"svm": {"C": 2.0}},
    )
    assert restore_preset(old, None) == expected
    old |= {"rejection": "uncertainty", "discovery": "kmeans", "search": "robust", "n_init": 4}
    with pytest.raises(ModelFileError, match=r"discovery was kmeans\(.*search='robust'\), not joint"):
        restore_preset(old, expected)
    again = restore_preset(old, None)
    assert restore_preset(old, again) is again
    assert again.rejection == UncertaintyRejection(alpha_grid=(0.1, 1.0))
    assert again.discovery == KMeansDiscovery(search="robust", n_init=4)


def test_a_folder_of_an_older_version_with_parts_of_ones_own(tmp_path):
    """The header then held the types of these parts and nothing of the others."""
    recognizer = fitted()
    recognizer.save(tmp_path)
    header, arrays, _ = read_model(tmp_path, "OpenWorldRecognizer")
    header["parameters"]["preset"] = {"name": "mine", "own": ["FarFromMeans", "BySign"]}
    write_model(tmp_path, header, arrays)
    loaded = OpenWorldRecognizer.load(tmp_path, preset=OWN, device="cpu")
    np.testing.assert_array_equal(loaded.recognize(X).probabilities, recognizer.recognize(X).probabilities)
    with pytest.raises(ModelFileError, match=r"FarFromMeans, BySign.*pass load\(preset=\.\.\.\)"):
        OpenWorldRecognizer.load(tmp_path)
    with pytest.raises(ModelFileError, match="it has no BySign"):
        OpenWorldRecognizer.load(tmp_path, preset=dataclasses.replace(OWN, discovery=KMeansDiscovery()))


def test_equal_names_of_settings_do_not_meet():
    class Searching(FarFromMeans):
        def __init__(self, search="far"):
            super().__init__()
            self.search = search

    stored = describe_preset(Preset("mine", rejection=Searching("near"), discovery=KMeansDiscovery(search="robust")))
    assert stored["rejection"]["settings"] == {"search": "near"}
    assert stored["discovery"]["settings"]["search"] == "robust"


def test_parts_are_compared_by_their_settings():
    assert NoveltyRejection() == NoveltyRejection()
    assert NoveltyRejection(whiten=False) != NoveltyRejection()
    assert FarFromMeans() != NoveltyRejection()
    assert len({NoveltyRejection(), NoveltyRejection()}) == 1


def test_probabilities_are_asked_for_only_where_they_are_needed():
    class Unable:
        def predict_proba(self, X):
            raise AssertionError("asked")

    labelled = Labelled(X[KNOWN], Y[KNOWN], np.arange(4), np.full(4, 30), model=Unable())
    stream = labelled.stream(X[:0], np.ones(0, dtype=bool))
    assert stream.probabilities.shape == (0, 4)
    with pytest.raises(AssertionError, match="asked"):
        _ = labelled.probabilities


# ---------------------------------------------------------------- the documentation


def test_the_parts_in_the_documentation_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "how-to" / "extend.md").read_text("utf-8"), re.DOTALL)
    assert "_internal" not in "".join(blocks)
    names = np.array(list("abcdef"))[Y]
    scope = {"X_known": X[KNOWN], "y_known": names[KNOWN], "X_stream": X}
    printed = io.StringIO()
    with redirect_stdout(printed):
        for block in blocks:
            exec(block, scope)
    recognizer, loaded, found = (scope[name] for name in ("recognizer", "loaded", "found"))
    np.testing.assert_array_equal(recognizer.predict(X) == "unknown", ~KNOWN)
    assert {frozenset(Y[~KNOWN][group.rows]) for group in found.groups} == {frozenset({4}), frozenset({5})}
    np.testing.assert_array_equal(loaded.recognize(X).probabilities, recognizer.recognize(X).probabilities)
    assert "rejection was FarFromMeans(factor=1.5), not FarFromMeans(factor=2.0)" in printed.getvalue()
