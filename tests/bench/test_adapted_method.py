"""The method that adapts its network: what the network is trained on, when, and what is done with its features."""

import dataclasses
from itertools import groupby

import numpy as np
import pytest
from typer.testing import CliRunner

from opengcd import OpenWorldRecognizer
from opengcd._internal.unit_length import unit_rows
from opengcd.adapt import AdaptSettings, EpochPoint, Trained
from opengcd.bench import (
    AdaptedMethod,
    Cell,
    DatasetImages,
    ImageSource,
    OpenWorldMethod,
    RecognizerMethod,
    ResultsError,
    adapted_method,
    load_dataset,
    make_method,
    read_results,
    run_cells,
    run_protocol,
    takes_images,
)
from opengcd.bench.near_copies import NearCopies
from opengcd.bench.raw import in_few_bits
from opengcd.cli import app
from opengcd.presets import PRESETS
from tests.helpers.networks import save_vit
from tests.helpers.raw_images import write_cifar10

SETTINGS = {"max_classes": 16, "random_state": 0, "device": "cpu"}


class StandInImages(DatasetImages):
    """Images that hold nothing but their numbers, and a network that is the number of its trainings."""

    def load_network(self):
        return 0


def with_images(data):
    numbers = np.zeros((len(data.y), 1, 1, 3), dtype=np.uint8)
    numbers[:, 0, 0, 0], numbers[:, 0, 0, 1] = np.divmod(np.arange(len(data.y)), 256)
    return dataclasses.replace(data, images=StandInImages(numbers, "stand-in", ImageSource("stand-in", "0", "0")))


def numbers_of(crops):
    return crops[:, 0, 0, 0].astype(int) * 256 + crops[:, 0, 0, 1]


class Trainer:
    """Takes the place of training and embedding: each training rotates the features, and all of it is noted."""

    def __init__(self, data, events):
        self.data, self.events, self.trainings = data, events, []

    def turned(self, generation):
        turn = np.linalg.qr(np.random.default_rng(generation).normal(size=(self.data.X.shape[1],) * 2))[0]
        return (self.data.X @ turn).astype(np.float32)

    def features(self, generation):
        return unit_rows(in_few_bits(self.turned(generation)).astype(np.float32))

    def rows(self, X, generation):
        """The numbers of the images that features belong to."""
        place = {row.tobytes(): i for i, row in enumerate(self.features(generation))}
        return [place[row.tobytes()] for row in X]

    def train_network(self, backbone, images, settings, *, random_state, progress, on_epoch):
        assert backbone == len(self.trainings)  # the current network, not the first one
        assert numbers_of(images.crops).tolist() == list(images.keys)
        trained = (np.array(images.keys) % 4 != 0) & (images.codes >= 0)
        self.trainings.append((np.array(images.keys), images.codes, settings, random_state, trained))
        self.events.append(("train", backbone))
        return Trained(backbone + 1, trained, [EpochPoint(1, 0.5, 0.75)])

    def embed_crops(self, backbone, crops, progress):
        assert numbers_of(crops).tolist() == list(range(len(self.data.y)))
        return self.turned(backbone)


class Noting(OpenWorldRecognizer):
    """Notes which rows it is told the network was trained on."""

    def fit(self, X, y, *, trained=None, **rest):
        self.told_ = [("fit", X, trained)]
        return super().fit(X, y, trained=trained, **rest)

    def learn(self, X, y, *, trained=None, **rest):
        self.told_.append(("learn", X, trained))
        return super().learn(X, y, trained=trained, **rest)

    def reembed(self, X, *, trained=None, **rest):
        self.told_.append(("reembed", X, trained))
        return super().reembed(X, trained=trained, **rest)


def lead(blobs, monkeypatch, memory_size=60, **choices):
    """Lead a method through the protocol; return it, its trainings, the results, and the exemplars of each phase."""
    data, groups = with_images(blobs[0]), blobs[1]
    events = []
    trainer = Trainer(data, events)
    monkeypatch.setattr(adapted_method, "train_network", trainer.train_network)
    monkeypatch.setattr(adapted_method, "embed_crops", trainer.embed_crops)
    method = AdaptedMethod(Noting(memory_size=memory_size, **SETTINGS), **choices)
    recognize, discover = method.recognizer.recognize, method.recognizer.discover

    def noted_recognize(X, **rest):
        events.append(
            ("recognise", trainer.rows(np.atleast_2d(X)[:1], len(trainer.trainings)) and len(trainer.trainings))
        )
        return recognize(X, **rest)

    def noted_discover(X, **rest):
        trainer.rows(X, len(trainer.trainings))
        events.append(("discover", len(trainer.trainings)))
        return discover(X, **rest)

    monkeypatch.setattr(method.recognizer, "recognize", noted_recognize, raising=False)
    monkeypatch.setattr(method.recognizer, "discover", noted_discover, raising=False)
    results, exemplars, streams = [], [], []
    for result, detail in run_protocol(method, data, groups, random_state=0):
        results.append(result)
        exemplars.append(set(trainer.rows(method.recognizer.memory_.X, len(trainer.trainings))))
        streams.append(None if detail is None else detail.stream.row)
    return method, trainer, results, exemplars, streams


@pytest.mark.usefixtures("one_thread")
class TestWhatIsTrainedOn:
    def test_neither_test_rows_nor_rows_that_the_memory_has_thrown_away(self, blobs, monkeypatch):
        data, groups = blobs
        method, trainer, results, exemplars, _ = lead(blobs, monkeypatch)
        (first, *_), (second, *_), (third, *_) = trainer.trainings
        assert set(first) == set(data.train_rows(groups[0]))
        learnt = [data.train_rows(group) for group in groups[1:]]
        for t, keys in enumerate((second, third)):
            new = set(keys) - exemplars[t]
            assert exemplars[t] <= set(keys)
            assert len(exemplars[t]) == 60 < len(first)
            assert new <= set(learnt[t])
            assert len(new) == round(results[t].learnt_share * len(learnt[t])) > 0
        n_train = len(data.y_train)
        for keys, codes, settings, _, _ in trainer.trainings:
            assert keys.max() < n_train
            assert len(keys) == len(set(keys.tolist()))
            assert codes.min() == 0
            classes = np.unique(data.y[keys])
            np.testing.assert_array_equal(classes[codes], data.y[keys])
            assert settings == AdaptSettings()
        assert len({seed for *_, seed, _ in trainer.trainings}) == 3
        assert method.recognizer.phase_ == 3

    def test_the_recogniser_is_told_what_was_trained_on(self, blobs, monkeypatch):
        method, trainer, *_ = lead(blobs, monkeypatch)
        trained = set()
        told = iter(method.recognizer.told_)
        generation = 0
        for step, X, mask in told:
            if step in ("fit", "reembed"):  # after a training
                keys, *_, on = trainer.trainings[generation]
                trained |= set(keys[on].tolist())
                generation += 1
            rows = trainer.rows(X, generation)
            assert mask.tolist() == [row in trained for row in rows]
            assert step == "learn" or 0 < mask.sum() < len(mask)
            assert step != "learn" or not mask.any()
        assert [step for step, *_ in method.recognizer.told_] == ["fit", "learn", "reembed", "learn", "reembed"]

    def test_a_naive_one_is_not_told(self, blobs, monkeypatch):
        method, *_ = lead(blobs, monkeypatch, calibrates_on_all=True)
        assert [mask for *_, mask in method.recognizer.told_] == [None] * 5

    def test_once_is_in_the_first_phase(self, blobs, monkeypatch):
        method, trainer, *_ = lead(blobs, monkeypatch, again=False)
        assert len(trainer.trainings) == 1
        assert [step for step, *_ in method.recognizer.told_] == ["fit", "learn", "learn"]

    def test_the_stream_is_used_after_it_was_recognised_and_before_discovery(self, blobs, monkeypatch):
        data = blobs[0]
        method, trainer, results, _, streams = lead(blobs, monkeypatch, uses_stream=True)
        order = [event for event, _ in groupby(trainer.events)]
        assert order == [
            ("train", 0),
            ("recognise", 1), ("train", 1), ("recognise", 2), ("discover", 2),
            ("train", 2),
            ("recognise", 3), ("train", 3), ("recognise", 4), ("discover", 4),
            ("train", 4),
        ]  # fmt: skip
        for t, training in enumerate(trainer.trainings):
            keys, codes, settings, *_ = training
            assert settings.unlabelled == (t % 2 == 1)
            assert set(keys[codes < 0]) == (set(streams[t // 2]) if settings.unlabelled else set())
            assert keys[codes >= 0].max() < len(data.y_train)
        # What was learnt had been trained on without its label, which does not draw it to its class.
        assert not next(mask for step, _, mask in method.recognizer.told_ if step == "learn").any()
        assert results[0].hca > 0.5

    def test_costs_and_settings_are_recorded(self, blobs, monkeypatch):
        _, _, results, *_ = lead(blobs, monkeypatch, settings=AdaptSettings(method="blocks"))
        for result in results:
            assert {"fit", "adapt", "embed"} <= result.seconds.keys()
        settings = results[1].settings
        assert settings["adaptation"]["method"] == "blocks"
        assert (settings["again"], settings["uses_stream"], settings["calibrates_on_all"]) == (True, False, False)
        assert settings["trainings"][0] == {"labelled": 120, "unlabelled": 0, "epoch": 1, "loss": 0.5, "accuracy": 0.75}
        assert len(settings["trainings"]) == 2


class Looking(OpenWorldMethod):
    """Looks up features by the numbers of rows, and passes them on."""

    takes_images = True

    def __init__(self, method, X):
        self.method, self.X, self.opened = method, X, None

    def open_images(self, images):
        self.opened = images

    def fit(self, X, y, *, progress):
        self.method.fit(self.X[X], y, progress=progress)
        self.unknown_label_ = self.method.unknown_label_

    def learn(self, X, y, *, progress):
        self.method.learn(self.X[X], y, progress=progress)

    def recognize(self, X):
        return self.method.recognize(self.X[X])

    def discover(self, X, *, progress):
        return self.method.discover(self.X[X], progress=progress)

    def discover_in_stream(self, X, rejected, *, progress):
        return self.method.discover_in_stream(self.X[X], rejected, progress=progress)

    adapts = property(lambda self: self.method.adapts)

    def observe(self, X):
        self.method.observe(self.X[X])

    def in_metric(self, X):
        return self.method.in_metric(self.X[X])

    def question_rows(self, X):
        return self.method.question_rows(self.X[X])


@pytest.mark.usefixtures("one_thread")
def test_a_training_that_changes_nothing_changes_no_result(blobs, monkeypatch):
    data, groups = with_images(blobs[0]), blobs[1]
    trainer = Trainer(data, [])
    monkeypatch.setattr(adapted_method, "train_network", trainer.train_network)
    monkeypatch.setattr(adapted_method, "embed_crops", lambda *_: trainer.turned(0))
    x_train, x_test = np.split(trainer.features(0), [len(data.y_train)])
    frozen = dataclasses.replace(data, x_train=x_train, x_test=x_test)
    found = []
    # Statistics of features that another network computed are those of the exemplars, so they would differ.
    preset = dataclasses.replace(PRESETS["best"], keep_statistics=False)
    for kind, given, choices in ((AdaptedMethod, data, {"calibrates_on_all": True}), (RecognizerMethod, frozen, {})):
        method = kind(OpenWorldRecognizer(memory_size=60, preset=preset, **SETTINGS), **choices)
        results = [result for result, _ in run_protocol(method, given, groups, random_state=0)]
        found.append([dataclasses.replace(one, seconds={}, peak_mb={}, settings={}) for one in results])
    assert len(trainer.trainings) == 3
    assert found[0] == found[1]


@pytest.mark.usefixtures("one_thread")
def test_a_method_that_is_given_numbers_of_rows_fares_as_one_that_is_given_features(blobs):
    data, groups = with_images(blobs[0]), blobs[1]
    found = []
    for wrap in (lambda method: method, lambda method: Looking(method, data.X)):
        method = wrap(RecognizerMethod(OpenWorldRecognizer(memory_size=60, **SETTINGS)))
        results = [result for result, _ in run_protocol(method, data, groups, random_state=0)]
        found.append([dataclasses.replace(result, seconds={}, peak_mb={}) for result in results])
    assert found[0] == found[1]
    assert method.opened is data.images


def test_a_method_that_takes_images_needs_some(blobs):
    method = AdaptedMethod(OpenWorldRecognizer(**SETTINGS))
    with pytest.raises(ValueError, match="takes images, but there are none of 'blobs'; give --raw and --embedder"):
        next(run_protocol(method, *blobs))


def test_methods_by_name():
    variants = {
        "best-adapted": {},
        "best-adapted-once": {"again": False},
        "best-adapted-stream": {"uses_stream": True},
        "best-adapted-blocks": {"settings": AdaptSettings(method="blocks")},
        "best-adapted-naive": {"calibrates_on_all": True},
    }
    usual = {"again": True, "uses_stream": False, "calibrates_on_all": False, "settings": AdaptSettings()}
    for name, changed in variants.items():
        method = make_method(name, dataset="cub", memory_size=7, random_state=3)
        assert {key: getattr(method, key) for key in usual} == usual | changed
        assert (method.recognizer.memory_size, method.recognizer.random_state) == (7, 3)
        assert method.recognizer.preset == "best"
        assert takes_images(name)
    assert takes_images("tests.bench.test_adapted_method:Looking")
    assert not any(map(takes_images, ("best", "opengcd-svm", "nno", "opengcd.bench.baselines:NNO")))


@pytest.mark.usefixtures("one_thread")
def test_near_copies_are_embedded_recognised_and_forgotten(blobs, monkeypatch):
    data, trained_on = with_images(blobs[0]), []

    def train_network(backbone, images, *_, **__):
        trained_on.append(numbers_of(images.crops))
        return Trained(backbone + 1, np.zeros(len(images.codes), dtype=bool), [])

    monkeypatch.setattr(adapted_method, "train_network", train_network)
    monkeypatch.setattr(
        adapted_method,
        "embed_crops",
        lambda _, crops, progress: data.X[numbers_of(crops[np.arange(len(crops))])].astype(np.float32),
    )
    method = AdaptedMethod(OpenWorldRecognizer(memory_size=60, **SETTINGS), uses_stream=True)
    method.open_images(data.images)
    known, new = data.train_rows(np.arange(4)), data.train_rows(np.arange(4, 6))
    method.fit(known, data.y[known])
    original = data.test_rows(np.arange(6))
    method.add_copies(NearCopies(data.images.crops, original, np.zeros((len(original), 4))))
    copies = len(data.y) + np.arange(len(original))
    for mine, theirs in zip(method.recognize(copies), method.recognize(original), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    stream = np.concatenate([new, copies])
    method.discover_in_stream(stream, method.recognize(stream).labels == method.unknown_label_)
    assert set(trained_on[-1]) >= set(new) | set(original), "copies count as their originals"
    method.learn(new, data.y[new])
    with pytest.raises(IndexError):
        method.recognize(copies)


# The whole command.


@pytest.fixture
def place(tmp_path):
    write_cifar10(tmp_path / "raw")
    save_vit(tmp_path / "tiny")
    return tmp_path


def invoke(place, *more, methods="best,best-adapted", network="tiny", folder="raw"):
    command = ["bench", "run", "--raw", str(place / folder), "--network", str(place / network), "--datasets", "cifar10"]
    return CliRunner().invoke(app, [*command, "--out", str(place / "results"), "--methods", methods, *more])


def files_below(folder):
    return {file: file.stat().st_mtime_ns for file in folder.rglob("*") if file.is_file()}


def test_images_to_results_and_tables(place):
    done = invoke(place)
    assert done.exit_code == 0, done.output
    results = {result.cell.method: result for result in read_results(place / "results")}
    assert results.keys() == {"best", "best-adapted"}
    (features,) = (place / "results-features").iterdir()
    assert sorted(file.name for file in features.iterdir()) == [
        "cifar10.images.json", "cifar10.images.npy", "cifar10.npz"]  # fmt: skip
    adapted = results["best-adapted"]
    assert features.name == adapted.images.network_fingerprint[:16]
    assert (adapted.images.network, results["best"].images) == ("tiny", None)
    assert adapted.features == results["best"].features
    for phase in adapted.phases:
        assert phase.accuracy_all > 0.2
        assert ("adapt" in phase.seconds) == (phase.phase == 1 or adapted.phases[phase.phase - 2].learnt_share > 0)
    assert adapted.phases[0].settings["trainings"][0]["labelled"] == 100
    assert all(0 <= phase.best_hna <= 1 for result in results.values() for phase in result.phases[:-1])
    assert load_dataset(features, "cifar10").images is None

    before = files_below(place)
    again = invoke(place)
    assert (again.exit_code, again.output.strip()) == (0, "")
    assert files_below(place) == before

    table = CliRunner().invoke(app, ["bench", "table", str(place / "results"), "--format", "markdown"]).output
    assert "--methods best,best-adapted --seeds 0 --protocol paper --raw raw --embedder tiny --out results" in table
    assert "| best HNA |" in table
    assert "| new k off |" in table
    assert "| adapt, s | embed, s |" in table

    write_cifar10(place / "others", seed=2)
    for file in features.glob("*.images.*"):
        file.unlink()
    refused = invoke(place, folder="others")
    assert refused.exit_code == 1
    assert "was made from other images, or with another network; nothing was changed" in " ".join(
        refused.output.split()
    )
    with pytest.raises(ResultsError, match="other images"):
        list(run_cells([Cell("cifar10", "best-adapted", 5)], features, place / "results", network=str(place / "tiny")))


def test_what_is_missing_is_said_before_anything_is_computed(place):
    for arguments, message in [
        ({"network": "raw"}, "does not contain a usable network"),
        ({"folder": "nowhere"}, "There is no cifar10 in"),
        ({"methods": "nope"}, "Unknown method"),
    ]:
        failed = invoke(place, **arguments)
        assert failed.exit_code == 1
        assert message in failed.output
    base = ["bench", "run", "--datasets", "cifar10", "--out", str(place / "results"), "--methods", "best-adapted"]
    for more, message in [
        ([], "Give --features, a folder of feature files, or --raw"),
        (["--raw", str(place / "raw"), "--embedder", "pixels"], "pixels"),
    ]:
        failed = CliRunner().invoke(app, [*base, *more])
        assert failed.exit_code == 1
        assert message in failed.output
    assert not (place / "results").exists()
