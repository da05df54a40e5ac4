"""The threshold of a fitted recogniser: from labelled rows, from the stream, or by a bound."""

import numpy as np
import pytest

from tests.helpers.streams import fitted, open_world

pytestmark = pytest.mark.usefixtures("one_thread")


def test_the_threshold_follows_the_stream_and_says_so():
    X, y, stream, _ = open_world()
    recognizer = fitted(X, y)
    assert recognizer.threshold_.source == "labelled"
    assert recognizer.adapts
    recognizer.observe(stream[:50])
    assert recognizer.threshold_.source == "labelled"  # 50 rows say little
    recognizer.observe(stream[50:])
    assert recognizer.threshold_.source == "stream"
    assert recognizer.threshold_.known_share == pytest.approx(0.4, abs=0.1)
    recognizer.learn(stream[:20], np.full(20, 8))
    assert recognizer.threshold_.source == "labelled"


def test_a_bound_is_kept_whatever_comes():
    X, y, stream, truth = open_world(of_known=200)
    recognizer = fitted(X, y, max_known_rejected=0.05)
    assert not recognizer.adapts
    recognizer.observe(stream)
    assert recognizer.threshold_.source == "bound"
    known = truth < 8
    assert (recognizer.predict(stream[known]) == recognizer.unknown_label_).mean() < 0.1
    with pytest.raises(ValueError, match="share from 0 to 1"):
        fitted(X, y, max_known_rejected=5)


def test_a_bound_can_be_set_and_lifted_after_fit():
    X, y, stream, _ = open_world(of_known=200)
    recognizer = fitted(X, y).observe(stream)
    free, scores = recognizer.threshold_, recognizer.unknown_score(stream)
    assert recognizer.threshold_for(0.05) == fitted(X, y, max_known_rejected=0.05).threshold_
    assert recognizer.threshold_ == free
    assert recognizer.limit_rejection(0.05).threshold_ == fitted(X, y, max_known_rejected=0.05).threshold_
    assert not recognizer.adapts
    assert recognizer.threshold_for(None, scores) == free
    assert recognizer.limit_rejection(None).recall(scores).threshold_ == free
    with pytest.raises(ValueError, match="share from 0 to 1"):
        recognizer.limit_rejection(-1)
    with pytest.raises(ValueError, match="cannot limit the share"):
        fitted(X, y, preset="paper", alpha=1.0).limit_rejection(0.1)
