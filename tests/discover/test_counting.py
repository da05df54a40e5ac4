"""The number of new classes, read off what is left after merging."""

import dataclasses

import numpy as np
import pytest

from opengcd import OpenWorldRecognizer
from opengcd.discover import JointDiscovery
from opengcd.discover.counting import Count, Reading, combine, plan_sample, read_number
from opengcd.discover.rehearsal import SizePrior, sharpen
from opengcd.osr import Share
from opengcd.presets import PRESETS

pytestmark = pytest.mark.usefixtures("one_thread")


def test_the_number_is_read_off_a_law_that_rehearsals_show():
    numbers = np.array([2, 4, 8, 16, 32])
    left = np.stack([2 * numbers, 3 * numbers], axis=1)
    read = read_number(left, numbers, np.array([[20, 30], [20, 30]]))
    assert read.number == pytest.approx(10, rel=0.02)
    assert read.deviation == pytest.approx(0.1, abs=0.02)  # what no rehearsal can show
    # Of herded exemplars half was kept: classes of the stream look like twice as many.
    assert read_number(left, numbers, np.array([[20, 30]]), kept=0.5).number == pytest.approx(5, rel=0.02)


def test_noise_between_samples_and_rehearsals_makes_the_number_less_certain():
    numbers = np.array([2, 4, 8, 16, 32, 3, 6, 12, 24])
    exact = np.stack([2 * numbers, 3 * numbers], axis=1)
    noisy = np.round(exact * np.exp(np.random.default_rng(0).normal(0, 0.4, exact.shape)))
    stream = np.array([[20, 30], [20, 30]])
    assert read_number(noisy, numbers, stream).deviation > 0.15
    assert read_number(exact, numbers, np.array([[14, 21], [28, 42]])).deviation > 0.3


def test_a_reading_is_not_drawn_towards_the_mean_of_the_rehearsals():
    # Noise makes regression predict too little for many classes and too much for few; the reading does not.
    rng = np.random.default_rng(0)
    numbers = np.round(np.geomspace(4, 64, 400)).astype(int)

    def noisy(n):
        return n[:, None] * np.exp(rng.normal(0, 1.0, (len(n), 1)))

    many = read_number(noisy(numbers), numbers, noisy(np.full(400, 64)))
    few = read_number(noisy(numbers), numbers, noisy(np.full(400, 4)))
    assert many.number == pytest.approx(64, rel=0.25)
    assert few.number == pytest.approx(4, rel=0.25)
    assert many.deviation > 1.0  # that of a single sample


def test_groups_that_tell_nothing_give_a_reading_that_says_so():
    rng = np.random.default_rng(0)
    numbers = np.round(np.geomspace(4, 64, 40)).astype(int)
    left = rng.integers(5, 50, (40, 3))
    assert read_number(left, numbers, left[:4]).deviation > 1.5


def test_readings_are_weighted_by_their_precision():
    both = combine([Reading(10.0, 0.5), Reading(40.0, 0.5)])
    assert both == pytest.approx((20.0, 0.5 / np.sqrt(2)))
    # Weights 1 and 4: exp((ln 10 + 4 ln 40) / 5).
    assert combine([Reading(10.0, 1.0), Reading(40.0, 0.5)]).number == pytest.approx(30.314, abs=1e-3)


def test_sizes_count_if_a_reading_is_close_to_what_they_suggest():
    # Both have a deviation of 0.5: the number lies half-way, but for the other sizes that are possible too.
    close = sharpen(SizePrior(20.0, 0.5, 100), Reading(30.0, 0.5))
    assert np.sqrt(20 * 30) < close.expected < 26
    # By hand: weights 0.5 N(0.405; 0.707) = 0.239 and 0.5 N(0.405; 1.581) = 0.122; means ln 24.49 and ln 28.81.
    assert close.expected == pytest.approx(np.exp((0.2394 * np.log(24.49) + 0.1221 * np.log(28.81)) / 0.3615), rel=1e-3)


def test_sizes_hardly_count_if_a_reading_is_far_from_what_they_suggest():
    far = sharpen(SizePrior(4.0, 0.4, 100), Reading(40.0, 0.25))
    # Only the wide distribution of sizes explains the reading; weights 1 / 1.5^2 and 1 / 0.25^2.
    assert far.expected == pytest.approx(np.exp((np.log(4) / 2.25 + 16 * np.log(40)) / (1 / 2.25 + 16)), rel=1e-3)
    assert far.deviation == pytest.approx((1 / 2.25 + 16) ** -0.5, rel=1e-2)
    assert sharpen(SizePrior(4.0, 0.4, 10), Reading(40.0, 0.25)).expected == 10.0


def test_a_number_counts_only_where_there_are_clearly_new_rows():
    assert Count(Reading(20.0, 0.3), Share(0.7, 0.1)).evident  # 0.3 of the rows, three times the error
    assert not Count(Reading(20.0, 0.3), Share(0.75, 0.1)).evident


def test_a_stream_without_new_classes_has_none():
    X, y, stream = rare_world(3, known=24, new=1, rows_of_new=1)
    assert found("merging", (X, y, stream)).k <= 24 + 2


@pytest.mark.parametrize(
    ("n", "share", "rows", "new"),
    [
        (4000, 0.5, 1200, 600),  # as many new rows as 20 classes have labelled ones
        (400, 0.5, 400, 200),  # all of a short stream
        (4000, 0.9, 1000, 100),  # 60 other classes have 15 rows each for the stream: 900 known rows
    ],
)
def test_samples_are_such_that_rehearsals_can_be_like_them(n, share, rows, new):
    sample = plan_sample(n, share, np.repeat(np.arange(80), 30), 20.0)
    assert (sample.rows, sample.new, sample.of_class) == (rows, pytest.approx(new), 30)


def rare_world(seed, known, new, rows_of_new):
    """Known classes with 24 labelled rows and 8 in the stream, and new ones with few rows."""
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(known + new, 32))
    sizes = [32] * known + [rows_of_new] * new
    y = np.repeat(np.arange(known + new), sizes)
    X = means[y] + 0.7 * rng.normal(size=(len(y), 32))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    labelled = np.concatenate([np.flatnonzero(y == c)[:24] for c in range(known)])
    stream = rng.permutation(np.setdiff1d(np.arange(len(y)), labelled))
    return X[labelled], y[labelled], X[stream]


def found(search, world, seed=0):
    X, y, stream = world
    preset = dataclasses.replace(PRESETS["best"], discovery=JointDiscovery(search=search))
    recognizer = OpenWorldRecognizer(preset=preset, random_state=seed, device="cpu").fit(X, y)
    recognizer.observe(stream)
    rejected = recognizer.predict(stream) == recognizer.unknown_label_
    return recognizer.discover(stream, rejected=rejected)


def test_rare_classes_are_counted_where_sizes_mislead():
    world = rare_world(0, known=24, new=12, rows_of_new=8)
    by_size, by_merging = found("rehearsal", world), found("merging", world)
    assert by_size.k - 24 <= 8  # 96 rows are three classes of the usual size
    assert 10 <= by_merging.k - 24 <= 15
    low, high = by_merging.k_interval
    assert low <= 24 + 12 <= high
    again = found("merging", world)
    assert (again.k, again.labels.tolist()) == (by_merging.k, by_merging.labels.tolist())


def test_with_few_known_classes_agreement_and_sizes_decide():
    world = rare_world(1, known=8, new=3, rows_of_new=30)
    by_agreement, by_merging = found("rehearsal", world), found("merging", world)
    assert by_merging.k == by_agreement.k
    assert by_merging.labels.tolist() == by_agreement.labels.tolist()


@pytest.mark.parametrize("rows", [1, 5, 60])
def test_a_short_stream_can_be_discovered_too(rows):
    X, y, stream = rare_world(2, known=24, new=6, rows_of_new=8)
    discovery = found("merging", (X, y, stream[:rows]))
    assert len(discovery.labels) == rows
    assert discovery.k >= 24
