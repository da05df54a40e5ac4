import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from opengcd import OpenWorldRecognizer
from opengcd._internal import kernels
from opengcd._internal.whitening import WithinClassWhitening
from opengcd.classify import fit_classifier, infer
from opengcd.memory import select_exemplars
from opengcd.osr import (
    NeighbourDistanceRatio,
    NoveltyScore,
    UnknownProfile,
    bounded_threshold,
    known_share,
    novelty,
    stream_threshold,
)
from opengcd.osr import neighbours as neighbours_module
from tests.helpers.devices import DEVICES


def classes(n=60, d=6, known=4, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n * known) % known
    return 4 * rng.normal(size=(known, d))[y] + rng.normal(size=(len(y), d)) * np.linspace(0.5, 2, d), y


# Whitening.


def test_whitened_classes_are_round():
    X, y = classes()
    metric = WithinClassWhitening(shrinkage=0.0, device="cpu").fit(X, y)
    Z = (X - metric.origin_) @ metric.map_
    rest = Z - np.stack([Z[y == c].mean(0) for c in range(4)])[y]
    np.testing.assert_allclose(rest.T @ rest / (len(X) - 4), np.eye(6), atol=1e-9)


@given(st.floats(0.01, 100), st.integers(0, 5))
def test_whitening_does_not_see_shift_and_scale(factor, seed):
    X, y = classes(seed=seed)
    a = WithinClassWhitening(device="cpu").fit(X, y).transform(X)
    b = WithinClassWhitening(device="cpu").fit(X * factor + 3, y).transform(X * factor + 3)
    np.testing.assert_allclose(a, b, atol=1e-4)
    np.testing.assert_allclose(np.linalg.norm(a, axis=1), 1, rtol=1e-5)


def test_whitening_of_points_and_of_fewer_rows_than_features():
    X = np.eye(3)
    alone = WithinClassWhitening(device="cpu").fit(X, np.arange(3)).transform(X)
    np.testing.assert_allclose(alone @ alone.T, [[1, -0.5, -0.5], [-0.5, 1, -0.5], [-0.5, -0.5, 1]], atol=1e-6)
    rng = np.random.default_rng(0)
    few = WithinClassWhitening(shrinkage=0.0, device="cpu").fit(rng.normal(size=(6, 20)), np.arange(6) % 2)
    assert np.isfinite(few.transform(rng.normal(size=(5, 20)))).all()


# Neighbours.


def at(*degrees):
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


@pytest.mark.parametrize("device", DEVICES)
def test_the_outlier_factor_by_hand(device):
    # Cosine distances from one to the next are 1/2, from the first to the last 3/2: they are 1, 1/2 and 1 alone.
    factor = NeighbourDistanceRatio(device).fit(at(0, 60, 120))
    # 2, 3/2 and 1/2 from them: on average 4/3, beside 5/6.
    np.testing.assert_allclose(factor(at(180)), [1.6], rtol=1e-5)
    # A known row is its own neighbour: 0, 1/2 and 1/2.
    np.testing.assert_allclose(factor(at(60)), [(1 / 3) / (5 / 6)], rtol=1e-5)
    assert factor(np.empty((0, 2))).shape == (0,)


def test_only_the_nearest_rows_count():
    near = at(*np.linspace(0, 10, 11))
    alone = NeighbourDistanceRatio("cpu").fit(near)
    beside = NeighbourDistanceRatio("cpu").fit(np.concatenate([near, at(*np.linspace(90, 100, 11))]))
    np.testing.assert_allclose(beside(at(-5, 3)), alone(at(-5, 3)), rtol=1e-4)


@given(st.integers(0, 1000), st.sampled_from([1e-200, 1e-30, 0.1, 1.0, 1e30, 1e200]))
def test_the_outlier_factor_sees_directions_and_no_lengths(seed, length):
    rng = np.random.default_rng(seed)
    X, U = rng.normal(size=(30, 5)), rng.normal(size=(4, 5))
    factor = NeighbourDistanceRatio("cpu").fit(X)(U)
    np.testing.assert_allclose(NeighbourDistanceRatio("cpu").fit(length * X)(U / length), factor, rtol=1e-4)
    order = rng.permutation(30)
    np.testing.assert_allclose(NeighbourDistanceRatio("cpu").fit(X[order])(U), factor, rtol=1e-4)


def test_far_from_the_origin_one_row_is_judged_as_in_a_batch():
    rng = np.random.default_rng(0)
    X, U = rng.normal(size=(300, 16)) + 3000, rng.normal(size=(20, 16)) + 3000
    factor = NeighbourDistanceRatio("cpu").fit(X)
    np.testing.assert_allclose([factor(row[None])[0] for row in U], factor(U), rtol=1e-4)


def test_copies_and_zeros_among_known_rows_do_no_harm():
    copies = np.concatenate([np.repeat(at(0), 30, axis=0), at(40, 60, 80, 100)])
    factor = NeighbourDistanceRatio("cpu").fit(copies)(np.concatenate([at(0, 5, 180), [[0.0, 0.0]]]))
    assert np.isfinite(factor).all()
    assert factor[0] < factor[1] < factor[2]
    assert np.isfinite(NeighbourDistanceRatio("cpu").fit(np.ones((5, 2)))(at(0, 45))).all()


def test_of_very_many_rows_some_are_looked_at(monkeypatch):
    X, y = classes(n=100)
    X = X[np.argsort(y)]
    monkeypatch.setattr(neighbours_module, "MOST_ROWS", 100)
    some = NeighbourDistanceRatio("cpu").fit(X)
    strangers = np.random.default_rng(1).normal(size=(40, 6)) * 4
    # Rows of every class are among them, so none becomes a stranger.
    assert (np.median(some(X).reshape(4, -1), axis=1) < np.median(some(strangers))).all()


def test_blocks_change_nothing(monkeypatch):
    X, _ = classes()
    whole = NeighbourDistanceRatio("cpu").fit(X)(X + 0.5)
    monkeypatch.setitem(kernels.BLOCK_BYTES, "cpu", 4 * 7 * len(X))
    np.testing.assert_allclose(NeighbourDistanceRatio("cpu").fit(X)(X + 0.5), whole, rtol=1e-4)


# The score.


@pytest.mark.parametrize("neighbours", [True, False])
def test_unknown_rows_score_higher_than_known_ones(neighbours):
    X, y = classes()
    rng = np.random.default_rng(1)
    strangers = rng.normal(size=(50, 6)) + 4 * np.array([-3, 3, -3, 3, -3, 3])
    score = NoveltyScore(neighbours=neighbours, random_state=0, device="cpu").fit(X, y, "logistic")
    model = fit_classifier("logistic", X, y, 0, "cpu")
    unknown = score(strangers, infer(model, strangers).probabilities)
    assert np.quantile(score.known_scores_, 0.99) < np.median(unknown)
    assert score.known_scores_.mean() == pytest.approx(0, abs=0.3)  # but for what held-out rows would have taught
    assert NoveltyScore(folds=3, random_state=0, device="cpu").fit(X, y, "logistic").known_scores_.mean() == (
        pytest.approx(0, abs=1e-9)
    )
    assert score.known_right_.mean() > 0.95
    again = NoveltyScore(neighbours=neighbours, random_state=0, device="cpu").fit(X, y, "logistic")
    np.testing.assert_array_equal(score.known_scores_, again.known_scores_)


def test_neighbours_see_what_the_others_overlook():
    # Every class is a ring, and strangers sit in the middle of one: nothing is nearer to the mean of a class.
    rng = np.random.default_rng(0)
    y, angles = np.arange(400) % 2, rng.uniform(0, 2 * np.pi, 400)
    ring = np.column_stack([np.full(400, 10.0), 3 * np.cos(angles), 3 * np.sin(angles)]) + 0.2 * rng.normal(
        size=(400, 3)
    )
    X = np.where(y[:, None], ring, ring[:, [1, 0, 2]])
    strangers = np.array([[0.0, 10.0, 0.0]]) + 0.2 * rng.normal(size=(50, 3))
    p = infer(fit_classifier("logistic", X, y, 0, "cpu"), strangers).probabilities

    def rejected(neighbours):
        score = NoveltyScore(neighbours=neighbours, random_state=0, device="cpu").fit(X, y, "logistic")
        return (score(strangers, p) > np.quantile(score.known_scores_, 0.95)).mean()

    assert rejected(neighbours=True) > 0.9
    assert rejected(neighbours=False) < 0.1


def test_a_class_with_one_row_is_fitted_but_not_held_out():
    X, y = classes()
    X, y = np.concatenate([X, [[50.0] * 6]]), np.append(y, 4)
    score = NoveltyScore(random_state=0, device="cpu").fit(X, y, "logistic")
    assert len(score.known_scores_) == len(X) - 1
    with pytest.raises(ValueError, match="none can be held out"):
        NoveltyScore(device="cpu").fit(X[:3], np.arange(3), "logistic")


def test_extrapolation_of_scores_to_all_rows_by_hand():
    # Scores of 1 + 3 / n where a class has n = 8 rows: seven are left, or four; then as if 8, or 16 of which it has 8.
    held_out, by_halves = np.full(10, 1 + 3 / 7), np.full(10, 1 + 3 / 4)
    np.testing.assert_allclose(novelty.extrapolate(held_out, by_halves), 1 + 3 / 8)
    np.testing.assert_allclose(novelty.extrapolate(held_out, by_halves, kept=0.5), 1 + 3 / 16)


def test_exemplars_look_stranger_than_rows_to_come_unless_it_is_told_how_they_were_chosen():
    def off(seed, kept):
        """How far scores of held-out exemplars lie above those of new rows of their classes, and the known share."""
        rng = np.random.default_rng(seed)
        means = 0.9 * rng.normal(size=(40, 24))
        known, had = np.arange(30), np.repeat(np.arange(30), 40)
        X = (means[had] + rng.normal(size=(len(had), 24))).reshape(30, 40, 24)
        X = np.concatenate([rows[select_exemplars(rows, 12, "herding", device="cpu")] for rows in X])
        y = np.repeat(known, 12)
        stream = np.concatenate([np.repeat(known, 50), np.repeat(np.arange(30, 40), 150)])
        rows = means[stream] + rng.normal(size=(len(stream), 24))
        score = NoveltyScore(random_state=0, device="cpu").fit(X, y, "logistic", kept=kept)
        found = score(rows, infer(fit_classifier("logistic", X, y, 0, "cpu"), rows).probabilities)
        return (
            score.known_scores_.mean() - found[stream < 30].mean(),
            known_share(score.known_scores_, found, score.unknown_).value - 0.5,
        )

    unaware, aware = (np.mean([off(seed, kept) for seed in range(5)], axis=0) for kept in (1.0, 12 / 40))
    assert unaware[0] > 0.15
    assert abs(aware[0]) < 0.05
    assert 2 * abs(aware[1]) < unaware[1]


def test_share_of_exemplars_is_passed_only_if_the_selector_keeps_the_mean(monkeypatch):
    X, y = classes()
    told, fit = [], NoveltyScore.fit

    def noted(self, *rows, kept, **rest):
        told.append(kept)
        return fit(self, *rows, kept=kept, **rest)

    monkeypatch.setattr(NoveltyScore, "fit", noted)
    recognizer = OpenWorldRecognizer(memory_size=120, random_state=0, device="cpu").fit(X, y)
    recognizer.learn(X[:40], y[:40])
    # In a second round, with the exemplars: all of the rows that a person has confirmed.
    recognizer.discover(X[:30] + 9, 5, confirmed=np.where(np.arange(30) < 20, 4, recognizer.unknown_label_))
    OpenWorldRecognizer(memory_size=120, selector="random", random_state=0, device="cpu").fit(X, y)

    def own(rows, k, rng):
        return np.arange(k)

    OpenWorldRecognizer(memory_size=120, selector=own, random_state=0, device="cpu").fit(X, y)
    own.keeps_mean = True
    OpenWorldRecognizer(memory_size=120, selector=own, random_state=0, device="cpu").fit(X, y)
    assert told == [120 / 240, 120 / 280, 140 / 300, 1.0, 1.0, 120 / 240]


# Thresholds.


def test_a_bound_by_hand():
    scores = np.arange(10.0)
    assert bounded_threshold(scores, 0.2)[:3] == (7.0, "bound", 0.2)
    assert bounded_threshold(scores, 0.0).value == 9.0
    assert bounded_threshold(scores, 1.0).known_rejected == 1
    with pytest.raises(ValueError, match="between 0 and 1"):
        bounded_threshold(scores, 5)


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=40), st.floats(0, 1))
def test_a_bound_is_kept(scores, share):
    found = bounded_threshold(np.array(scores), share)
    assert (np.array(scores) > found.value).mean() <= share + 1e-9


def profile(shift, doubt=0.02):
    """Scores of known rows are normal, those of unknown ones lie ``shift`` higher."""
    shares = np.linspace(0, 1, 101)
    return UnknownProfile(shares, norm.cdf(norm.ppf(shares) - shift), np.full(101, doubt))


def test_the_known_share_by_hand():
    # A quarter of the known rows lie below 1, no unknown one does, and an eighth of the stream: half of it is known.
    known = np.array([0.0, 2.0, 2.0, 2.0] * 10)
    stream = np.array([0.0] * 10 + [2.0] * 30 + [3.0] * 40)
    never = UnknownProfile(np.array([0.0, 0.999, 1.0]), np.array([0.0, 0.0, 1.0]), np.zeros(3))
    assert known_share(known, stream, never).value == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("shift", [1.0, 2.0])
def test_the_known_share_where_known_and_unknown_overlap(share, shift):
    rng = np.random.default_rng(0)
    known, n = rng.normal(size=20_000), 20_000
    stream = rng.normal(size=n) + shift * (rng.random(n) >= share)
    found = known_share(known, stream, profile(shift))
    assert found.value == pytest.approx(share, abs=0.05)
    assert 0 < found.deviation < 0.3


def test_the_known_share_where_nothing_tells_known_from_unknown():
    scores = np.random.default_rng(0).normal(size=1000)
    assert known_share(scores, scores, profile(0.0)).deviation >= 0.5


@pytest.mark.parametrize("known_share", [0.2, 0.5, 0.8])
def test_the_stream_gives_the_known_share_and_almost_the_best_threshold(known_share):
    rng = np.random.default_rng(0)
    held_out = rng.normal(size=20_000)
    right = rng.random(20_000) < np.where(held_out < 1, 0.95, 0.5)
    n = 20_000
    known = rng.random(n) < known_share
    stream = np.where(known, rng.normal(size=n), 3 + rng.normal(size=n))
    found = stream_threshold(held_out, right, stream, profile(3.0))
    assert found.known_share == pytest.approx(known_share, abs=0.06)

    def hna(t):
        aks, aus = (held_out[right] <= t).mean() * right.mean(), (stream[~known] > t).mean()
        return 2 * aks * aus / (aks + aus)

    best = max(hna(t) for t in np.linspace(-1, 4, 200))
    assert hna(found.value) > best - 0.01
    assert found.hna == pytest.approx(hna(found.value), abs=0.03)


def test_a_stream_of_known_rows_alone():
    rng = np.random.default_rng(0)
    found = stream_threshold(rng.normal(size=2000), np.ones(2000, bool), rng.normal(size=2000), profile(3.0))
    assert found.known_share > 0.85
    assert found.known_rejected < 0.1
    with pytest.raises(ValueError, match="stream is empty"):
        stream_threshold(np.zeros(3), np.ones(3, bool), np.empty(0), profile(1.0))
