"""The decision by a threshold, and the search for it and for the parameters of learning."""

import numpy as np
import pytest

from opengcd.bench.baselines.grid_search import (
    SEARCH,
    OpenTrial,
    Range,
    coordinate_search,
    decide,
    judge_thresholds,
    thresholds_at,
)

pytestmark = pytest.mark.usefixtures("one_thread")


def test_a_decision_by_hand():
    scores = np.array([[3.0, 2.0], [1.0, 0.5], [0.0, 1.5]])
    found = decide(scores, 1.0, strict=True)
    assert found.codes.tolist() == [0, -1, 1]
    assert found.closed.tolist() == [0, 0, 1]
    assert found.unknown_score.tolist() == [-3, -1, -1.5]
    assert decide(scores, 1.0, strict=False).codes.tolist() == [0, 0, 1]
    # With a threshold each, the best of those that accept wins, and what the nearest lacks is the score.
    found = decide(scores, np.array([4.0, 1.0]), strict=True)
    assert found.codes.tolist() == [1, -1, 1]
    assert found.unknown_score.tolist() == [-1, 0.5, -0.5]


def test_one_parameter_is_tuned_after_the_other():
    ranges = {"a": Range(1, (0, 1, 2), int), "b": Range(5, (5, 6), int), "c": Range(0, (0, 1), int)}
    asked = []

    def score(settings, name):
        asked.append((name, dict(settings)))
        return {0: 0.2, 1: 0.5, 2: 0.7}[settings["a"]] + 0.1 * (settings["b"] == 5)

    found, tried = coordinate_search(ranges, {"a": SEARCH, "b": SEARCH, "c": 1}, score)
    assert found == {"a": 2, "b": 5, "c": 1}
    assert [t[:2] for t in tried] == [("a", 1), ("a", 0), ("a", 2), ("b", 5), ("b", 6)]
    assert asked[0] == ("a", {"a": 1, "b": 5, "c": 1})
    assert asked[-1] == ("b", {"a": 2, "b": 6, "c": 1})


def test_the_best_threshold_by_hand():
    # Known rows score 1 to 4 for their class, unknown ones 0 and 2.5 at best.
    known = np.array([[1.0, 0], [2.0, 0], [3.0, 0], [4.0, 0]])
    game = OpenTrial(known, np.zeros(4, dtype=int), np.array([[0.0, -1], [2.5, 1]]))
    best, scores, criterion = judge_thresholds([game], [[-1.0, 0.5, 2.6]], strict=True)
    assert criterion == "HNA"
    np.testing.assert_allclose(scores, [0, 2 * 1 * 0.5 / 1.5, 2 * 0.5 * 1 / 1.5])
    assert best == 1  # of equals the one that rejects less
    # Without unknown rows, what keeps 95 % of the right ones.
    best, scores, criterion = judge_thresholds([game._replace(unknown=known[:0])], [[-1.0, 0.5, 2.6]], strict=True)
    assert (best, scores.tolist(), criterion) == (1, [1, 1, 0.5], "AKS")


def test_thresholds_reject_the_shares_they_are_asked_for():
    scores = np.random.default_rng(0).normal(size=(1001, 3))
    for share, theta in zip((0.0, 0.25, 1.0), thresholds_at(scores, (0.0, 0.25, 1.0)), strict=True):
        assert (scores.max(1) < theta).mean() == pytest.approx(share, abs=1e-3)
