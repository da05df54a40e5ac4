"""Rejection by novelty: what is rejected of a stream of known rows, of few rows and of rows that say nothing."""

import numpy as np
import pytest

from tests.helpers.streams import fitted, open_world

pytestmark = pytest.mark.usefixtures("one_thread")


def test_classes_of_one_row_each():
    X, y, stream, _ = open_world()
    first = np.unique(y, return_index=True)[1]
    with pytest.raises(ValueError, match="none can be held out; add rows"):
        fitted(X[first], y[first])
    some = np.append(first, 1)  # one class with two rows is enough
    assert len(fitted(X[some], y[some]).predict(stream)) == len(stream)


def test_known_rows_alone_are_not_thrown_away():
    for seed in range(4):
        X, y, stream, _ = open_world(novel=0, of_known=40, seed=seed)
        recognizer = fitted(X, y).observe(stream)
        assert recognizer.threshold_.known_rejected < 0.1
        assert (recognizer.predict(stream) == -1).mean() < 0.15


def test_features_without_information():
    recognizer = fitted(np.ones((40, 3)), np.arange(40) % 4)
    assert recognizer.threshold_.known_rejected < 0.1
    assert np.isfinite(recognizer.threshold_.value)
