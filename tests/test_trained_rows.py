"""Rows that look too well known, because the network was trained on them or discovery found them, and new features."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opengcd import ModelFileError, OpenWorldRecognizer
from opengcd._internal.model_folder import read_index_file
from opengcd.memory import ExemplarMemory
from opengcd.osr import novelty
from opengcd.osr.novelty import typical
from opengcd.presets import PRESETS

pytestmark = pytest.mark.usefixtures("one_thread")
CLASSES, ROWS, WIDTH = 8, 40, 12
WITHOUT_STATISTICS = dataclasses.replace(PRESETS["best"], keep_statistics=False)
"""Statistics of the rows of another network are only those of the exemplars."""


def world(seed=0, pull=0.4):
    """Return labelled rows, which of them the network was trained on, and rows of the stream.

    Training has drawn rows to the mean of their class: ``pull`` times as far away as others.
    """
    rng = np.random.default_rng(seed)
    means = 2.5 * rng.normal(size=(CLASSES + 4, WIDTH))
    y = np.repeat(np.arange(CLASSES), ROWS)
    trained = rng.random(len(y)) < 0.75
    noise = rng.normal(size=(len(y), WIDTH)) * np.where(trained, pull, 1.0)[:, None]
    stream_y = np.repeat(np.arange(CLASSES + 4), 30)
    stream = means[stream_y] + rng.normal(size=(len(stream_y), WIDTH))
    return means[y] + noise, y, trained, stream, stream_y


def best(**more):
    return OpenWorldRecognizer(random_state=0, device="cpu", **more)


def share_rejected(recognizer, X):
    return (recognizer.recognize(X).unknown_score > recognizer.threshold_.value).mean()


@pytest.mark.parametrize("seed", range(3))
def test_a_limit_holds_on_the_stream_if_calibrated_on_other_rows(seed):
    X, y, trained, stream, stream_y = world(seed)
    known = stream[stream_y < CLASSES]
    naive = best(max_known_rejected=0.1).fit(X, y)
    honest = best(max_known_rejected=0.1).fit(X, y, trained=trained)
    assert share_rejected(naive, known) > 0.3, "trained rows make all others look strange"
    assert share_rejected(honest, known) < 0.2


def test_the_share_of_known_rows_is_closer_to_the_truth():
    X, y, trained, stream, stream_y = world()
    truth = (stream_y < CLASSES).mean()
    naive = best().fit(X, y).observe(stream).threshold_.known_share
    honest = best().fit(X, y, trained=trained).observe(stream).threshold_.known_share
    assert abs(honest - truth) < abs(naive - truth)


def test_no_trained_row_is_no_information():
    X, y, _, stream, _ = world()
    one, other = best().fit(X, y), best().fit(X, y, trained=np.zeros(len(X), dtype=bool))
    assert np.array_equal(one.unknown_score(stream), other.unknown_score(stream))


def test_with_too_few_other_rows_all_are_scored():
    held_out = np.ones(100, dtype=bool)
    few = np.arange(100) >= novelty.LEAST_SCORED - 1
    enough = np.arange(100) >= novelty.LEAST_SCORED
    none = np.zeros(100, dtype=bool)
    assert np.array_equal(typical(held_out, none, none), held_out)
    assert np.array_equal(typical(held_out, few, none), held_out)
    assert np.array_equal(typical(held_out, enough, none), ~enough)


def test_found_rows_are_not_scored_beside_a_trained_network():
    rows = np.arange(100)
    held_out, none = np.ones(100, dtype=bool), np.zeros(100, dtype=bool)
    trained, found = rows < 20, rows >= 60
    assert np.array_equal(typical(held_out, trained, found), (rows >= 20) & (rows < 60))
    assert np.array_equal(typical(held_out, trained, rows >= 40), rows >= 20), "20 others are too few"
    assert np.array_equal(typical(held_out, none, found), held_out), "without a trained network all are scored"


@pytest.mark.parametrize("seed", range(3))
def test_a_limit_holds_although_easy_rows_of_new_classes_were_learnt(seed):
    X, y, trained, _, _ = world(seed)
    rng = np.random.default_rng(seed)
    means = 2.5 * rng.normal(size=(4, WIDTH)) + 4
    new = np.repeat(np.arange(4), 60)
    rows = means[new] + rng.normal(size=(len(new), WIDTH))
    easy = np.linalg.norm(rows - means[new], axis=1) < 3  # discovery finds those near the middle of their class

    def rejected(**found):
        recognizer = best(preset=WITHOUT_STATISTICS, max_known_rejected=0.1).fit(X, y, trained=trained)
        recognizer.learn(rows[easy], CLASSES + new[easy], **found)
        return share_rejected(recognizer, rows)

    assert rejected() < rejected(found=np.zeros(easy.sum(), dtype=bool))


def test_the_network_may_have_been_trained_on_whole_classes():
    # Three new classes have rows that no network was trained on; all others were.
    X, y, _, stream, _ = world()
    recognizer = best().fit(X, y, trained=y < 5)
    assert np.isfinite(recognizer.observe(stream).unknown_score(stream)).all()


@given(st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_what_was_trained_on_follows_the_row_into_the_memory(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 4
    trained = rng.random(60) < 0.5
    memory = ExemplarMemory(24, "herding", 0, "cpu")
    of = {tuple(row): flag for row, flag in zip(X, trained, strict=True)}
    for part in (slice(0, 40), slice(40, 60)):
        memory.update(X[part], y[part], trained[part], found=~trained[part])
    memory.keep_only(np.arange(len(memory)) % 2 == 0)
    assert [of[tuple(row)] for row in memory.X] == memory.trained.tolist() == (~memory.found).tolist()


def test_it_is_saved_and_loaded(tmp_path):
    X, y, trained, stream, _ = world()
    recognizer = best(memory_size=120).fit(X, y, trained=trained)
    recognizer.learn(X[:40] + 60, np.full(40, 98), found=np.arange(40) % 2 == 0)
    recognizer.save(tmp_path / "model")
    loaded = OpenWorldRecognizer.load(tmp_path / "model", device="cpu")
    for marks in ("trained", "found"):
        assert np.array_equal(getattr(loaded.memory_, marks), getattr(recognizer.memory_, marks))
        assert getattr(recognizer.memory_, marks).any()
    for one in (recognizer, loaded):
        one.learn(X[:40] + 30, np.full(40, 99))
    assert np.array_equal(recognizer.unknown_score(stream), loaded.unknown_score(stream))


def test_without_trained_rows_a_model_is_saved_as_before(tmp_path):
    X, y, *_ = world()
    best().fit(X, y).save(tmp_path / "model")
    assert b"memory.trained" not in read_index_file(tmp_path / "model")
    assert not OpenWorldRecognizer.load(tmp_path / "model", device="cpu").memory_.trained.any()


@pytest.mark.parametrize("wrong", [[True], np.ones(320), np.ones((320, 1), dtype=bool)])
def test_a_mask_that_does_not_fit(wrong):
    X, y, *_ = world()
    with pytest.raises(ValueError, match="trained must be one truth value for each of 320 rows"):
        best().fit(X, y, trained=wrong)


# Features of another network.


def rotation(width=WIDTH):
    return np.linalg.qr(np.random.default_rng(7).normal(size=(width, width)))[0]


def test_another_network_changes_the_features_and_nothing_else():
    X, y, _, stream, _ = world()
    recognizer = best(preset=WITHOUT_STATISTICS, memory_size=160).fit(X, y).learn(X[:40] + 30, np.full(40, 99))
    before = recognizer.predict_closed(stream)
    exemplars, labels, phase = recognizer.memory_.X.copy(), recognizer.memory_.y.copy(), recognizer.phase_
    seen = dict(recognizer.memory_.seen)
    assert recognizer.reembed(exemplars @ rotation()) is recognizer
    assert np.array_equal(recognizer.memory_.y, labels)
    assert (recognizer.phase_, recognizer.memory_.seen) == (phase, seen)
    # A rotation changes no distance, so nearly every row keeps its class.
    assert (recognizer.predict_closed(stream @ rotation()) == before).mean() > 0.98


def test_another_network_may_have_another_width():
    X, y, _, stream, _ = world()
    recognizer = best().fit(X, y)
    wide = np.concatenate([recognizer.memory_.X, recognizer.memory_.X], axis=1)
    recognizer.reembed(wide)
    assert recognizer.n_features_in_ == 2 * WIDTH
    assert len(recognizer.predict(np.concatenate([stream, stream], axis=1))) == len(stream)


def test_the_stream_seen_before_is_forgotten():
    X, y, _, stream, _ = world()
    recognizer = best().fit(X, y).observe(stream)
    assert recognizer.threshold_.source == "stream"
    assert recognizer.reembed(recognizer.memory_.X).threshold_.source == "labelled"


def test_rows_that_do_not_fit_change_nothing():
    X, y, _, stream, _ = world()
    recognizer = best().fit(X, y)
    before = recognizer.unknown_score(stream)
    with pytest.raises(ValueError, match="320 exemplars, but X has 3 rows"):
        recognizer.reembed(X[:3])
    with pytest.raises(ValueError, match="trained must be"):
        recognizer.reembed(X, trained=[True])
    assert np.array_equal(recognizer.unknown_score(stream), before)


@pytest.mark.parametrize("name", ["memory.trained", "memory.found"])
def test_a_damaged_mask_is_said(tmp_path, name):
    from safetensors.numpy import load_file, save_file

    X, y, trained, *_ = world()
    best().fit(X, y, trained=trained).learn(X[:40] + 60, np.full(40, 98)).save(tmp_path / "model")
    (file,) = (f for f in (tmp_path / "model").glob("*.safetensors") if name in load_file(f))
    arrays = load_file(file)
    save_file(arrays | {name: arrays[name][:3]}, file)
    with pytest.raises(ModelFileError):
        OpenWorldRecognizer.load(tmp_path / "model", device="cpu")
