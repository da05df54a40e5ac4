"""The threshold of a fitted recogniser: from labelled rows, from the stream, or by a bound."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from opengcd.osr import Share, UnknownProfile, evident_share, known_share, stream_threshold
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


# Scores of known rows are N(0, 1), those of unknown rows N(1.2, 1): by symmetry HNA is best at 0.6, where
# 1 - Phi(0.6) = 27 % of the known rows are rejected.
ACCEPTED = np.linspace(0, 1, 101)
PROFILE = UnknownProfile(ACCEPTED, norm.cdf(norm.ppf(ACCEPTED) - 1.2), np.full(101, 0.03))
KNOWN = norm.ppf((np.arange(4000) + 0.5) / 4000)


def overlapping(known, unknown, seed=0):
    """Return scores of a stream, in a random order."""
    rng = np.random.default_rng(seed)
    return rng.permutation(np.append(rng.normal(size=known), 1.2 + rng.normal(size=unknown)))


def adapted(*parts):
    return stream_threshold(KNOWN, np.ones(len(KNOWN), dtype=bool), np.concatenate(parts), PROFILE)


def test_a_share_within_its_error_is_hardly_evident():
    assert evident_share(Share(0.7, 0.0)) == pytest.approx(0.3)
    assert evident_share(Share(0.9, 0.1)) == pytest.approx(0.05)  # 0.1 * 0.01 / (0.01 + 0.01)
    assert evident_share(Share(0.98, 0.06)) == pytest.approx(0.002)  # 0.02 * 0.0004 / (0.0004 + 0.0036)
    assert evident_share(Share(1.0, 0.1)) == 0
    assert evident_share(Share(1.0, 0.0)) == 0


def test_the_more_unknown_rows_the_more_known_ones_may_be_rejected():
    rejected = [adapted(overlapping(3000, new)).known_rejected for new in (0, 90, 150, 330, 750, 3000)]
    assert rejected[0] == pytest.approx(0.05, abs=0.02)
    assert all(after > before - 0.01 for before, after in pairwise(rejected))
    assert rejected[1] < 0.15
    assert rejected[-1] == pytest.approx(0.27, abs=0.03)
    assert rejected[-2] == pytest.approx(0.27, abs=0.03), "a fifth of the stream is enough"


def test_where_many_rows_are_unknown_the_limit_changes_nothing(monkeypatch):
    streams = [overlapping(2000, new, seed) for seed, new in enumerate((1000, 2000, 4000))]
    limited = [adapted(stream) for stream in streams]
    monkeypatch.setattr("opengcd.osr.threshold.ALWAYS_REJECTED", 1.0)
    assert [adapted(stream) for stream in streams] == limited


def test_new_rows_that_appear_late_lift_the_limit():
    quiet = overlapping(20_000, 0)
    assert adapted(quiet).known_rejected < 0.07
    late = adapted(quiet, overlapping(700, 300, seed=1))
    assert late.known_share > 0.95
    assert late.known_rejected > 0.22


def test_where_no_threshold_keeps_to_the_limit_the_fewest_rows_are_rejected():
    # Thresholds are sought among all scores, and hardly any of them is that of a labelled row.
    known, stream = np.arange(1.0, 101.0), np.linspace(-3, -1, 100_000)
    found = stream_threshold(known, np.ones(100, dtype=bool), stream, PROFILE)
    assert (stream > found.value).mean() < 0.01


@settings(max_examples=25, deadline=None)
@given(known=st.integers(100, 2000), unknown=st.integers(0, 400), seed=st.integers(0, 99))
def test_beyond_five_percent_ten_known_rows_are_rejected_for_an_unknown_one_at_most(known, unknown, seed):
    stream = overlapping(known, unknown, seed)
    found = adapted(stream)
    evident = max(evident_share(known_share(KNOWN, part, PROFILE)) for part in (stream, stream[-1000:]))
    assert (1 - evident) * (found.known_rejected - 0.05) <= 10 * evident + 1e-9
    assert found.known_rejected <= 0.6


def test_a_quiet_stream_is_left_in_peace_and_new_classes_are_noticed_when_they_come():
    hard = {"known": 8, "spread": 1.0, "labelled": 60}
    X, y, quiet, _ = open_world(novel=0, of_known=60, **hard)
    recognizer = fitted(X, y)
    at_first = recognizer.threshold_.known_rejected
    assert at_first > 0.15, "classes overlap, so that the best HNA costs many known rows"
    recognizer.observe(quiet)
    assert (recognizer.predict(quiet) == -1).mean() < 0.12
    _, _, lively, truth = open_world(novel=4, of_known=60, of_novel=60, seed=1, **hard)
    before = (recognizer.predict(lively[truth >= 8]) == -1).mean()
    after = (recognizer.observe(lively).predict(lively[truth >= 8]) == -1).mean()
    assert after > before + 0.1
    assert after > 0.5


def test_a_limit_of_the_user_overrides_the_default_of_a_quiet_stream():
    X, y, stream, _ = open_world(novel=0, of_known=60, labelled=60, spread=1.0)
    assert fitted(X, y).observe(stream).threshold_.known_rejected < 0.12
    limited = fitted(X, y, max_known_rejected=0.3).observe(stream)
    assert limited.threshold_.source == "bound"
    assert limited.threshold_.known_rejected == pytest.approx(0.3, abs=0.01)
