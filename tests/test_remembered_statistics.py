"""Statistics of classes in the memory: over phases, when saved and loaded, with another network, and their effect."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opengcd import ModelFileError, OpenWorldRecognizer
from opengcd._internal.model_folder import read_model, write_model
from opengcd.memory import ClassStatistics, ExemplarMemory
from opengcd.osr import NoveltyRejection
from opengcd.presets import PRESETS
from tests.helpers.streams import fitted, open_world

pytestmark = pytest.mark.usefixtures("one_thread")
REMEMBERING = PRESETS["best"]


def remembering(size=12):
    return ExemplarMemory(size, "herding", 0, "cpu", rank_once=True, keep_statistics=True)


def assert_close(found, expected):
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


@given(st.integers(0, 2**32), st.permutations(range(6)))
@settings(max_examples=30)
def test_over_phases_they_are_those_of_all_rows_in_any_order(seed, order):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, 3)), np.array(list("dabcdb"))[np.arange(60) // 10]
    memory = remembering()
    for part in order:
        memory.update(X[10 * part : 10 * part + 10], y[10 * part : 10 * part + 10])
    classes, codes = np.unique(y, return_inverse=True)
    assert_close(memory.statistics, ClassStatistics.of(X, codes, 4))
    assert len(memory) == 12
    assert_close(memory.statistics_of(classes[::-1]), ClassStatistics.of(X, 3 - codes, 4))


def test_the_presets_of_the_paper_keep_exemplars_alone():
    memory = ExemplarMemory(12)
    memory.update(np.eye(3), [0, 1, 2])
    assert memory.statistics is memory.statistics_of(np.arange(3)) is None
    assert [name for name, preset in PRESETS.items() if preset.keep_statistics] == ["best"]


def test_another_network_leaves_those_of_the_exemplars():
    X = np.random.default_rng(0).normal(size=(40, 3))
    memory = remembering()
    memory.update(X, np.arange(40) % 4)
    changed = memory.with_features(memory.X[:, :2] * 2, memory.trained)
    assert_close(changed.statistics, ClassStatistics.of(memory.X[:, :2] * 2, memory.y, 4))
    assert memory.statistics.counts.tolist() == [10] * 4


@pytest.fixture(scope="module")
def learnt():
    """A recogniser in its second phase, of which classes 8 to 11 are new."""
    X, y, stream, truth = open_world()
    recognizer = fitted(X, y, memory_size=96, preset=REMEMBERING)
    return recognizer.learn(stream[truth >= 8], truth[truth >= 8]), stream


def test_saved_and_loaded_they_are_the_same(learnt, tmp_path):
    recognizer, stream = learnt
    recognizer.save(tmp_path / "model")
    loaded = OpenWorldRecognizer.load(tmp_path / "model", device="cpu")
    for before, after in zip(recognizer.memory_.statistics, loaded.memory_.statistics, strict=True):
        np.testing.assert_array_equal(before, after)
    np.testing.assert_array_equal(recognizer.predict_proba(stream), loaded.predict_proba(stream))
    assert recognizer.memory_.statistics.counts.tolist() == [40] * 8 + [60] * 4


def test_a_model_of_an_earlier_version_goes_on_from_its_exemplars(learnt, tmp_path):
    recognizer, stream = learnt
    recognizer.save(tmp_path / "model")
    header, arrays, _ = read_model(tmp_path / "model", "OpenWorldRecognizer")
    for name in ClassStatistics._fields:
        del arrays[f"memory.{name}"]
    write_model(tmp_path / "model", header, arrays)
    loaded = OpenWorldRecognizer.load(tmp_path / "model", device="cpu")
    assert loaded.memory_.statistics is None
    np.testing.assert_array_equal(recognizer.predict_proba(stream), loaded.predict_proba(stream))
    loaded.learn(stream[:5], [0] * 5)
    assert loaded.memory_.statistics.counts.tolist() == [8 + 5] + [8] * 11


def test_a_preset_of_an_earlier_version_is_still_the_same(learnt, tmp_path):
    X, y, *_ = open_world()
    preset = dataclasses.replace(
        PRESETS["best"], rejection=NoveltyRejection(neighbours=False), keep_statistics=False, stack_copies=False
    )
    fitted(X, y, preset=preset).save(tmp_path / "model")
    header, arrays, _ = read_model(tmp_path / "model", "OpenWorldRecognizer")
    del header["parameters"]["preset"]["keep_statistics"]
    write_model(tmp_path / "model", header, arrays)
    assert not OpenWorldRecognizer.load(tmp_path / "model", device="cpu").preset.keep_statistics
    assert OpenWorldRecognizer.load(tmp_path / "model", device="cpu", preset=preset).preset == preset


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("counts", lambda array: array * 0),
        ("counts", lambda array: array.astype(np.float64)),
        ("means", lambda array: array[:, 1:]),
        ("scatter", lambda array: array * np.nan),
    ],
)
def test_damage_is_said(learnt, name, damage, tmp_path):
    learnt[0].save(tmp_path / "model")
    header, arrays, _ = read_model(tmp_path / "model", "OpenWorldRecognizer")
    arrays[f"memory.{name}"] = damage(arrays[f"memory.{name}"])
    write_model(tmp_path / "model", header, arrays)
    with pytest.raises(ModelFileError, match="statistics of its classes do not fit"):
        OpenWorldRecognizer.load(tmp_path / "model", device="cpu")


def test_another_network_and_a_second_round_go_on(learnt, tmp_path):
    recognizer, stream = learnt
    recognizer.save(tmp_path / "model")
    other = OpenWorldRecognizer.load(tmp_path / "model", device="cpu")
    other.reembed(other.memory_.X[:, ::-1] * 3)
    assert other.memory_.statistics.counts.tolist() == [8] * 12
    confirmed = np.where(np.arange(60) < 20, 50, other.unknown_label_)
    found = other.discover(stream[:60, ::-1] * 3 + 1, 13, confirmed=confirmed)
    assert (found.labels[:20] == 50).all()


def test_old_classes_are_remembered_better_with_than_without():
    # Forty rows of each class were seen and four are kept, of twelve classes that overlap.
    rng = np.random.default_rng(0)
    means = 0.7 * rng.normal(size=(12, 16))
    scale = np.geomspace(2.0, 0.3, 16)

    def rows(classes, each):
        y = np.repeat(classes, each)
        return means[y] + scale * rng.normal(size=(len(y), 16)), y

    phases = [rows(np.arange(start, start + 4), 40) for start in (0, 4, 8)]
    later, truth = rows(np.arange(4), 200)
    right = []
    for preset in (dataclasses.replace(REMEMBERING, keep_statistics=False), REMEMBERING):
        recognizer = OpenWorldRecognizer(memory_size=48, preset=preset, random_state=0, device="cpu").fit(*phases[0])
        for phase in phases[1:]:
            recognizer.learn(*phase)
        assert len(recognizer.memory_) == 48
        right.append((recognizer.predict_closed(later) == truth).mean())
    assert right[1] > right[0] + 0.05
