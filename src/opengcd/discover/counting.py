"""Estimate the number of new classes from how many groups are left after merging; an extension of the paper.

Hidden classes are counted in rehearsals, so that the number can be read off what is left of the groups of the stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import RidgeCV

from opengcd._internal.randomness import Seed, derive, generator
from opengcd._internal.run import Run
from opengcd._internal.splits import shuffled_rows
from opengcd.classify import Labelled
from opengcd.discover.merging import MergingRows, groups_left
from opengcd.discover.simulation import hide_and_score
from opengcd.osr import ScoredRejection

LEAST_KNOWN = 20
"""With fewer known classes, too few can be hidden to learn from."""
LEAST_STREAM = 50
"""A shorter stream is not read."""
REHEARSALS, DRAWS = 24, 4
"""In each of the two rounds, the number of rehearsals and of samples of the stream."""
FIRST = 1 / 4
"""The number of new classes that the first round is prepared for, as a share of the known ones."""
RANGE = 5.0
"""Rehearsals of the second round have a fifth to five times as many hidden classes as the first round found."""
FEWEST, MOST_HIDDEN = 1 / 16, 0.7
"""Share of the known classes that is hidden: the smallest in the first round, and the largest."""
SPREADS = (0.0, 0.5, 1.0)
"""Standard deviations of the logarithm of the sizes of hidden classes, in turn."""
SAMPLED = 2000
"""Largest number of new rows in a sample."""
LEAST_SAMPLED = 200
"""Smallest number of rows in a sample, if the stream has as many."""
CLASS_ROWS = (100, 300)
"""Labelled rows of a class that rehearsals use at most: usually, and where streams need many known rows."""
KEPT_EXPONENT = 0.5
"""Exemplars chosen by herding are more alike than all rows of their class. If a share s was kept, classes of the stream
look like 1 / √s classes; measured on other seeds of two datasets than those reported."""
DEVIATION = 0.1
"""Standard deviation of the logarithm that is not due to the choice of hidden classes."""
NEAR = 0.5
"""The error is that of rehearsals with about as many classes: standard deviation of the logarithm of their number."""
PENALTIES = np.logspace(-1, 3, 20)


class StreamScores(NamedTuple):
    """A stream in the metric of the rejection, with its scores."""

    U: np.ndarray
    scores: np.ndarray
    known_share: float


class Reading(NamedTuple):
    """A number of new classes, and the standard deviation of its logarithm."""

    number: float
    deviation: float


class Sample(NamedTuple):
    """How much is used of the stream and of the labelled rows, so that both kinds of classes can be of one size."""

    rows: int
    """Rows of the stream."""
    new: float
    """Rows of new classes among them."""
    of_class: int
    """Labelled rows of a class, at most."""
    known_share: float
    """Share of known rows in the stream."""


def count_by_merging(
    labelled: Labelled, L: np.ndarray, stream: StreamScores, rejection: ScoredRejection, run: Run
) -> Reading:
    r"""Estimate the number of new classes in a stream without any assumption about their sizes.

    In each rehearsal another number h of known classes is hidden, of equal or of very different sizes, and makes a
    simulated stream with rows of the other classes, as large as a sample of the true stream and with the same share of
    known rows. :func:`groups_left` at thirteen thresholds describes each of them; ridge regression learns
    :math:`\log h` from that, and reads the number off several samples of the true stream. This is done twice, because
    the sample should have about as many rows of a new class as a known class has labelled rows, so that it depends on
    the number; the result is the mean of both readings, weighted by their precision.

    Parameters
    ----------
    labelled : Labelled
        Labelled rows with their classifier.
    L : array of shape (m, d)
        The same rows in the metric.
    stream : StreamScores
    rejection : ScoredRejection
        As it was fitted on the labelled rows.
    run : Run
        Seed, device, progress callback.

    Returns
    -------
    Reading

    """
    known = int(labelled.codes.max()) + 1
    most = MOST_HIDDEN * known
    first = _read(labelled, L, stream, rejection, FIRST * known, (max(2.0, FEWEST * known), most), run.at(0))
    expected = float(np.clip(first.number, 2, most))
    hidden = expected / RANGE, min(most, expected * RANGE)
    return combine([first, _read(labelled, L, stream, rejection, expected, hidden, run.at(1))])


def combine(readings: Sequence[Reading]) -> Reading:
    """Return the mean of the logarithms of several readings, weighted by their precision.

    Parameters
    ----------
    readings : sequence of Reading

    Returns
    -------
    Reading

    """
    weights = np.array([reading.deviation for reading in readings]) ** -2.0
    mean = np.average(np.log([reading.number for reading in readings]), weights=weights)
    return Reading(float(np.exp(mean)), float(weights.sum() ** -0.5))


def _read(
    labelled: Labelled,
    L: np.ndarray,
    stream: StreamScores,
    rejection: ScoredRejection,
    expected: float,
    hidden: tuple[float, float],
    run: Run,
) -> Reading:
    """Read the number of classes off samples that suit an expected one, after rehearsals in a range of numbers."""
    assert rejection.threshold is not None  # it is fitted
    sample = plan_sample(len(stream.U), stream.known_share, labelled.codes, expected)
    some, kept = _thinned(labelled, sample.of_class, run)
    numbers = np.maximum(1, np.round(np.geomspace(*hidden, REHEARSALS))).astype(int)
    left, of_stream = [], []
    for r, number in enumerate(numbers.tolist()):
        run.progress("counting classes", r, REHEARSALS + DRAWS)
        left.append(_rehearse(some, rejection, number, SPREADS[r % len(SPREADS)], sample, run.at(0, r)))
    for draw in range(DRAWS):
        run.progress("counting classes", REHEARSALS + draw, REHEARSALS + DRAWS)
        chosen = generator(derive(run.seed, 1, draw)).permutation(len(stream.U))[: sample.rows]
        rows = MergingRows(
            L[kept], some.codes, _trained(some), stream.U[chosen], stream.scores[chosen], rejection.threshold.value
        )
        of_stream.append(_description(rows, derive(run.seed, 2, draw), run))
    run.progress("counting classes", REHEARSALS + DRAWS, REHEARSALS + DRAWS)
    return read_number(np.array(left), numbers, np.array(of_stream), labelled.kept)


def read_number(left: np.ndarray, numbers: np.ndarray, of_stream: np.ndarray, kept: float = 1.0) -> Reading:
    """Learn the number of classes from the groups left in rehearsals, and read it off those left in a stream.

    Parameters
    ----------
    left : array of shape (rehearsals, columns)
        Groups left in each rehearsal at several thresholds, and anything else that the number may depend on.
    numbers : array of shape (rehearsals,)
        Number of hidden classes.
    of_stream : array of shape (draws, columns)
        The same of samples of the stream.
    kept : float
        Share of the labelled rows that the memory has kept.

    Returns
    -------
    Reading

    """
    X, S = (np.log(np.maximum(counts, 0.5)) for counts in (left, of_stream))
    center, scale = X.mean(0), np.maximum(X.std(0), 1e-6)
    model = RidgeCV(PENALTIES, store_cv_results=True).fit((X - center) / scale, np.log(numbers))
    read = model.predict((S - center) / scale)
    near = np.exp(-((np.log(numbers) - read.mean()) ** 2) / (2 * NEAR**2)) + 1e-6
    error = np.average(model.cv_results_[:, model.cv_results_.mean(0).argmin()], weights=near)
    deviation = float(np.sqrt(error + read.var() + DEVIATION**2))
    return Reading(float(np.exp(read.mean()) * kept**KEPT_EXPONENT), deviation)


def plan_sample(n: int, known_share: float, codes: np.ndarray, expected: float) -> Sample:
    """Return how much to use of a stream and of the labelled rows, so that rehearsals can be like the stream.

    If there are as many new classes as expected, each has as many rows in the sample as a known class has labelled
    ones, or fewer: half of the labelled rows of the other classes must suffice for the known rows of the sample.

    Parameters
    ----------
    n : int
        Rows of the stream.
    known_share : float
        Share of known rows in it.
    codes : int array
        Class numbers of the labelled rows.
    expected : float
        Expected number of new classes.

    Returns
    -------
    Sample

    """
    labelled, others = int(np.median(np.bincount(codes))), max(1.0, int(codes.max()) + 1 - expected)
    ratio = known_share / (1 - known_share)
    new = min((1 - known_share) * n, expected * labelled, SAMPLED)
    usual, most = CLASS_ROWS
    of_class = min(labelled, int(np.clip(2 * new * ratio / others, usual, most)))
    new = min(new, expected * of_class, others * (of_class // 2) / max(ratio, 1e-9))
    return Sample(min(n, max(LEAST_SAMPLED, round(new / (1 - known_share)))), new, of_class, known_share)


def _rehearse(
    labelled: Labelled, rejection: ScoredRejection, hidden: int, spread: float, sample: Sample, run: Run
) -> np.ndarray:
    """Return the groups left of a simulated stream with hidden classes."""
    rng = generator(derive(run.seed, 0))
    shares = np.exp(spread * rng.normal(size=hidden))
    sizes = np.clip(np.round(shares / shares.sum() * sample.new), 2, sample.of_class).astype(int)
    world = hide_and_score(labelled, rejection, hidden, sizes, sample.known_share, rng)
    assert rejection.threshold is not None  # it is fitted
    trained = _trained(labelled)[world.fitting]
    rows = MergingRows(world.L, world.codes, trained, world.U, world.scores, rejection.threshold.value)
    return _description(rows, derive(run.seed, 1), run)


def _description(rows: MergingRows, seed: Seed, run: Run) -> np.ndarray:
    """Return what the number of classes is read off: the groups left at each threshold, and the rows of the stream."""
    return np.append(groups_left(rows, seed, run.device), len(rows.U))


def _thinned(labelled: Labelled, most: int, run: Run) -> tuple[Labelled, np.ndarray]:
    """Return at most so many rows of each class, and which these are."""
    parts = shuffled_rows(labelled.codes, range(int(labelled.codes.max()) + 1), generator(derive(run.seed, 3)))
    kept = np.sort(np.concatenate([part[:most] for part in parts]))
    trained, found = (None if mask is None else mask[kept] for mask in (labelled.trained, labelled.found))
    return replace(labelled, X=labelled.X[kept], codes=labelled.codes[kept], trained=trained, found=found), kept


def _trained(labelled: Labelled) -> np.ndarray:
    return np.zeros(len(labelled.codes), dtype=bool) if labelled.trained is None else labelled.trained
