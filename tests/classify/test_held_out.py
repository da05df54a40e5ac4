"""Rows are judged by classifiers that have not seen them."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.neighbors import KNeighborsClassifier

from opengcd import OpenWorldRecognizer
from opengcd._internal.run import Run
from opengcd.classify import Labelled, hold_out_classes, hold_out_rows

NEAREST = KNeighborsClassifier(1)
"""Recognises every row that it was fitted on."""


def rows(X, y):
    y = np.asarray(y)
    classes = np.unique(y)
    return Labelled(np.asarray(X, dtype=np.float32), np.searchsorted(classes, y), classes, np.bincount(y))


def test_a_row_does_not_vote_for_itself():
    """On a line, each row has a neighbour of the other class next to it, so that it is wrong without itself."""
    X = [[0.0], [0.1], [5.0], [5.1], [10.0], [10.1], [15.0], [15.1]]
    found = hold_out_rows(rows(X, [0, 1, 0, 1, 0, 1, 0, 1]), NEAREST, Run(0))
    assert found.rows.tolist() == list(range(8))
    assert found.probabilities[np.arange(8), [0, 1] * 4].sum() < 8


def test_the_only_row_of_a_class_is_left_out():
    found = hold_out_rows(rows([[0.0], [1.0], [9.0]], [0, 0, 1]), NEAREST, Run(0))
    assert found.rows.tolist() == [0, 1]


def test_a_hidden_class_has_no_probability():
    X, y = make_blobs(60, centers=6, random_state=0)
    found = hold_out_classes(rows(X, y), "logistic", Run(0, "cpu"))
    assert len(found.rows) == 60
    assert (found.probabilities[np.arange(60), y] == 0).all()
    np.testing.assert_allclose(found.probabilities.sum(1), 1)


def test_three_classes_are_too_few_to_hide_one():
    X, y = make_blobs(30, centers=3, random_state=0)
    assert len(hold_out_classes(rows(X, y), "logistic", Run(0, "cpu")).rows) == 0


@pytest.mark.parametrize("hide_classes", [False, True])
def test_a_recogniser_gives_the_same_again_and_leaves_out_what_its_network_was_trained_on(hide_classes):
    X, y = make_blobs(120, n_features=6, centers=6, random_state=0)
    trained = np.arange(120) % 2 == 0
    recognizer = OpenWorldRecognizer(random_state=3, device="cpu").fit(X, y, trained=trained)
    first, second = (recognizer.held_out(hide_classes=hide_classes) for _ in range(2))
    np.testing.assert_array_equal(first.probabilities, second.probabilities)
    assert len(first.rows) == 60
    assert not recognizer.memory_.trained[first.rows].any()
