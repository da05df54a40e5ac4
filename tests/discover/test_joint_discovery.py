"""Discovery over the stream: few rows, many, none of the known, and a number of classes that is given."""

import dataclasses

import numpy as np
import pytest

from opengcd import metrics
from opengcd.discover import JointDiscovery, joint_discovery
from opengcd.presets import PRESETS
from tests.helpers.streams import draw, fitted, open_world

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.parametrize("novel", [0, 1, 8])
def test_none_one_and_as_many_new_classes_as_known(novel):
    X, y, stream, truth = open_world(novel=novel)
    recognizer = fitted(X, y).observe(stream)
    found = recognizer.discover(stream, rejected=recognizer.predict(stream) == -1)
    assert abs(found.k - 8 - novel) <= 1
    known = truth < 8
    assert (found.labels[known] == truth[known]).mean() > 0.9


def test_a_short_stream_after_much_was_labelled():
    X, y, stream, truth = open_world(labelled=200, of_known=8, of_novel=8)  # by size in all, 0.15 new classes
    recognizer = fitted(X, y).observe(stream)
    found = recognizer.discover(stream, rejected=recognizer.predict(stream) == -1)
    assert abs(found.k - 12) <= 1
    assert metrics.hca(truth, found.labels, range(8)) > 0.75


def test_a_stream_without_any_known_row():
    X, y, stream, truth = open_world()
    novel = stream[truth >= 8]
    recognizer = fitted(X, y).observe(novel)
    found = recognizer.discover(novel, rejected=recognizer.predict(novel) == -1)
    assert abs(found.k - 12) <= 1
    assert found.novel.mean() > 0.95


def test_duplicates_do_no_harm():
    X, y, stream, _ = open_world()
    twice = np.repeat(stream, 2, axis=0)
    recognizer = fitted(X, y).observe(twice)
    found = recognizer.discover(twice, rejected=recognizer.predict(twice) == -1)
    assert (found.labels[::2] == found.labels[1::2]).mean() > 0.99


def test_a_long_tail():
    X, y, _, _ = open_world()
    rng = np.random.default_rng(5)
    sizes = np.geomspace(200, 20, 4).astype(int)
    truth = np.concatenate([np.repeat(np.arange(8), 20), np.repeat(np.arange(8, 12), sizes)])
    stream = draw(truth, rng)
    recognizer = fitted(X, y).observe(stream)
    found = recognizer.discover(stream, rejected=recognizer.predict(stream) == -1)
    assert abs(found.k - 12) <= 2
    assert metrics.hca(truth, found.labels, range(8)) > 0.7


@pytest.mark.parametrize("rows", [1, 3, 12])
def test_a_handful_of_rows(rows):
    X, y, stream, truth = open_world()
    few = stream[truth >= 8][:rows]
    found = fitted(X, y).discover(few)
    assert len(found.labels) == rows
    assert found.k in range(8, 8 + rows + 1)


def test_a_head_that_empties_the_new_groups_is_not_followed(monkeypatch):
    X, y, stream, _ = open_world()
    headless = dataclasses.replace(PRESETS["best"], discovery=JointDiscovery(head=False))
    without = fitted(X, y, preset=headless).discover(stream, 12).labels

    def emptying(L, codes, U, centers, sizes, **_):
        return np.tile(-np.arange(len(centers)), (len(U), 1))  # the first known class wins every row

    monkeypatch.setattr(joint_discovery, "refine", emptying)
    np.testing.assert_array_equal(fitted(X, y).discover(stream, 12).labels, without)


def test_a_batch_much_smaller_than_what_was_labelled():
    X, y, _, _ = open_world(labelled=200)
    rng = np.random.default_rng(3)
    truth = np.repeat(np.arange(8, 12), 20)
    batch = draw(truth, rng)
    found = fitted(X, y).discover(batch)
    assert found.k > 8
    assert found.novel.mean() > 0.9


def test_a_given_number_is_kept_though_hardly_anything_was_rejected():
    X, y, stream, truth = open_world()
    found = fitted(X, y).discover(stream, k=12, rejected=np.zeros(len(stream), dtype=bool))
    assert metrics.hca(truth, found.labels, range(8)) > 0.8
