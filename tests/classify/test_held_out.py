"""Held-out judgements, and the labels that they make doubtful."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from opengcd import OpenWorldRecognizer
from opengcd.classify import Refitting, held_out_probabilities, hidden_class_probabilities, suspect_labels

NEAREST = KNeighborsClassifier(1)


def rows(X, codes, classifier=NEAREST):
    return Refitting(np.asarray(X, dtype=np.float64), np.asarray(codes), classifier, None, "cpu")


def test_no_row_is_judged_by_a_classifier_that_knows_it():
    # Two pairs: each row's nearest other row has the other label.
    X, codes = [[0.0], [0.1], [5.0], [5.1]], [0, 1, 0, 1]
    p = held_out_probabilities(rows(X, codes), folds=2, random_state=0)
    for seed in range(4):
        p = held_out_probabilities(rows(X, codes), folds=4, random_state=seed)
        np.testing.assert_array_equal(p.sum(1), 1)
    alone = held_out_probabilities(rows([[0.0], [0.1], [5.0], [5.1], [9.0]], [0, 0, 1, 1, 2]), random_state=0)
    assert np.isnan(alone[4]).all()  # its class has no other row
    np.testing.assert_array_equal(alone[:4], [[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0]])


def test_copies_are_held_out_together():
    # Rows 0 and 1 are copies in the region of class 1; only a copy would give them class 0.
    X, codes = [[5.0], [5.0], [0.0], [0.1], [5.2], [5.3], [5.4], [4.8]], [0, 0, 0, 0, 1, 1, 1, 1]
    together = np.array([0, 0, 2, 3, 4, 5, 6, 7])
    for seed in range(5):
        p = held_out_probabilities(rows(X, codes), folds=2, together=together, random_state=seed)
        np.testing.assert_array_equal(p[:2, 1], 1)


def test_suspects_by_hand():
    p = np.array([[0.9, 0.1, 0.0], [0.8, 0.2, 0.0], [0.75, 0.1, 0.15], [0.1, 0.3, 0.6], [0.2, 0.45, 0.35],
                  [0.0, 1.0, 0.0], [np.nan] * 3])  # fmt: skip
    codes = np.array([0, 0, 0, 0, 0, 2, 1])
    found = suspect_labels(p, codes)
    np.testing.assert_allclose(np.exp(found.doubt[:5]), [1 / 9, 1 / 4, 1 / 5, 6, 2.25])
    assert found.other[:6].tolist() == [1, 1, 2, 2, 1, 1]
    # The classifier agrees with three labels by odds of 9, 4 and 5: the limit is the root of 5, which is 2.236.
    assert found.suspect.tolist() == [False, False, False, True, True, True, False]
    assert np.isfinite(found.doubt).all()
    p[4] = [0.2, 0.44, 0.36]
    assert not suspect_labels(p, codes).suspect[4]


def test_where_the_classifier_agrees_with_no_label_none_is_suspect():
    assert not suspect_labels(np.array([[0.1, 0.9], [0.9, 0.1]]), np.array([0, 1])).suspect.any()


def test_the_recogniser_judges_its_exemplars_and_finds_flipped_labels():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 40)
    X = rng.normal(size=(160, 6)) * 0.3 + np.eye(6)[y] * 3
    wrong = rng.choice(160, 8, replace=False)
    flipped = y.copy()
    flipped[wrong] = (y[wrong] + 1) % 4
    recognizer = OpenWorldRecognizer("logistic", random_state=0, device="cpu").fit(X, flipped)
    p = recognizer.held_out(folds=4)
    assert p.shape == (160, 4)
    kept = recognizer.memory_.kept
    found = suspect_labels(p, recognizer.memory_.y)
    assert set(kept[found.suspect].tolist()) == set(wrong.tolist())
    np.testing.assert_array_equal(recognizer.classes_[found.other][found.suspect], y[kept][found.suspect])
    np.testing.assert_array_equal(recognizer.held_out(folds=4), p)
    with pytest.raises(ValueError, match="at least 2"):
        recognizer.held_out(folds=1)


def test_a_class_is_judged_by_classifiers_that_do_not_know_it():
    X, codes = np.repeat(np.arange(6.0), 5)[:, None] * 10, np.repeat(np.arange(6), 5)
    p = hidden_class_probabilities(rows(X, codes), folds=6, random_state=0)
    assert (p[np.arange(30), codes] == 0).all()
    np.testing.assert_array_equal(p.sum(1), 1)
    # The nearest of the other classes is one of its two neighbours.
    assert (abs(p.argmax(1) - codes) <= 2).all()
    assert np.isnan(hidden_class_probabilities(rows(X[:15], codes[:15]))).all()  # three classes are too few
