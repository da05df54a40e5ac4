"""Estimate the number of new classes from the number of groups after merging; an extension of the paper.

In rehearsals the number of hidden classes is known, so that the relation between both numbers can be learnt.
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
from opengcd.discover.grouped_share import Rates, mean_by_precision, rate, share_by_rates
from opengcd.discover.merging import MergingRows, merge_groups
from opengcd.discover.simulation import RowsInMetric, hide_and_score
from opengcd.osr import ScoredRejection, Share

LEAST_KNOWN = 20
"""With fewer known classes, too few can be hidden for the regression."""
LEAST_STREAM = 50
"""In a shorter stream, classes are not counted by merging."""
REHEARSALS, DRAWS = 36, 8
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
DEVIATION = 0.1
"""Standard deviation of the logarithm that is not due to the choice of hidden classes."""
EVIDENT = 3.0
"""The number is used only if the share of new rows is this many times its standard deviation: where hardly any row is
new, groups of known rows are counted."""
NEAR = 0.5
"""The error is that of rehearsals with about as many classes: standard deviation of the logarithm of their number."""
PENALTIES = np.logspace(-1, 3, 20)
LEAST_CORRELATION, NOTHING = 0.3, 2.0
"""If predictions and truth correlate less, the number is not known, and its logarithm has this standard deviation."""


class Reading(NamedTuple):
    """A number of new classes, and the standard deviation of its logarithm."""

    number: float
    deviation: float


class Sample(NamedTuple):
    """How many rows of the stream and of each labelled class are used, so that the sizes of classes match."""

    rows: int
    """Rows of the stream."""
    new: float
    """Rows of new classes among them."""
    of_class: int
    """Labelled rows of a class, at most."""
    known_share: float
    """Share of known rows in the stream."""


class Count(NamedTuple):
    """The result of counting by merging on a stream."""

    number: Reading
    """Of new classes."""
    known_share: Share
    """Of rows of known classes."""

    @property
    def evident(self) -> bool:
        """Whether the stream clearly holds new rows."""
        return 1 - self.known_share.value >= EVIDENT * self.known_share.deviation


class Round(NamedTuple):
    """The result of one round of rehearsals."""

    number: Reading
    known_share: Share | None
    """None if groups of known and of new rows were too alike."""


def count_by_merging(labelled: Labelled, rows: RowsInMetric, rejection: ScoredRejection, run: Run) -> Count:
    r"""Estimate the number of new classes in a stream without any assumption about their sizes.

    In each rehearsal another number h of known classes is hidden, of equal or of very different sizes, and makes a
    simulated stream with rows of the other classes, as large as a sample of the true stream and with the same share of
    known rows. The groups left at thirteen thresholds (:func:`merge_groups`) describe each of them; how they depend on
    :math:`\log h` is learnt by ridge regression, and the number is read off several samples of the true stream. This is
    done twice, because the sample should have about as many rows of a new class as a known class has labelled rows, so
    that it depends on the number; the result is the mean of both readings, weighted by their precision. The groups
    also give the share of known rows (:func:`share_by_rates`), which the second round starts from.

    Parameters
    ----------
    labelled : Labelled
        Labelled rows with their classifier.
    rows : RowsInMetric
        The same rows and the stream, in the metric.
    rejection : ScoredRejection
        As it was fitted on the labelled rows.
    run : Run
        Seed, device, progress callback.

    Returns
    -------
    Count

    """
    known = int(labelled.codes.max()) + 1
    most = MOST_HIDDEN * known
    first = _read(labelled, rows, rejection, FIRST * known, (max(2.0, FEWEST * known), most), run.at(0))
    rows = rows._replace(known_share=_with_groups(rows, first.known_share))
    expected = float(np.clip(first.number.number, 2, most))
    hidden = expected / RANGE, min(most, expected * RANGE)
    second = _read(labelled, rows, rejection, expected, hidden, run.at(1))
    return Count(combine([first.number, second.number]), rows.known_share)


def _with_groups(rows: RowsInMetric, grouped: Share | None) -> Share:
    """Return the share of known rows by scores and by groups; rejected rows alone are grouped otherwise."""
    if grouped is None or rows.rejected.all():
        return rows.known_share
    return Share(*mean_by_precision(*zip(rows.known_share, grouped, strict=True)))


def combine(readings: Sequence[Reading]) -> Reading:
    """Return the mean of the logarithms of several readings, weighted by their precision.

    Parameters
    ----------
    readings : sequence of Reading

    Returns
    -------
    Reading

    """
    mean, deviation = mean_by_precision([np.log(one.number) for one in readings], [one.deviation for one in readings])
    return Reading(float(np.exp(mean)), deviation)


def _read(
    labelled: Labelled,
    rows: RowsInMetric,
    rejection: ScoredRejection,
    expected: float,
    hidden: tuple[float, float],
    run: Run,
) -> Round:
    """Read the number of classes off samples that suit an expected one, after rehearsals in a range of numbers."""
    assert rejection.threshold is not None  # it is fitted
    n = len(rows.U)
    sample = plan_sample(n, rows.known_share.value, labelled.codes, expected)
    some, kept = _thinned(labelled, sample.of_class, run)
    numbers = np.maximum(1, np.round(np.geomspace(*hidden, REHEARSALS))).astype(int)
    left, rates, of_stream, assigned = [], [], [], []
    for r, number in enumerate(numbers.tolist()):
        run.progress("counting classes", r, REHEARSALS + DRAWS)
        described, rated = _rehearse(some, rejection, number, SPREADS[r % len(SPREADS)], sample, run.at(0, r))
        left.append(described)
        rates += [] if rated is None else [rated]
    for draw in range(DRAWS):
        run.progress("counting classes", REHEARSALS + draw, REHEARSALS + DRAWS)
        chosen = generator(derive(run.seed, 1, draw)).permutation(n)[: sample.rows]
        parts = MergingRows(
            rows.L[kept], some.codes, _trained(some), rows.U[chosen], rows.scores[chosen], rejection.threshold.value
        )
        described, of_known = _describe(parts, derive(run.seed, 2, draw), run)
        of_stream.append(described)
        assigned.append(of_known.mean())
    run.progress("counting classes", REHEARSALS + DRAWS, REHEARSALS + DRAWS)
    number = read_number(np.array(left), numbers, np.array(of_stream), labelled.kept)
    return Round(number, share_by_rates(float(np.mean(assigned)), rates, sample.rows))


def read_number(left: np.ndarray, numbers: np.ndarray, of_stream: np.ndarray, kept: float = 1.0) -> Reading:
    r"""Learn the number of classes from the groups left in rehearsals, and read it off those left in a stream.

    Regression shrinks its predictions towards the mean of the rehearsals, the more, the less informative the groups
    are. With
    predictions :math:`f \approx \alpha + \beta \log h` for rehearsals that were left out, the reading is therefore
    :math:`(f - \alpha) / \beta`.

    Parameters
    ----------
    left : array of shape (rehearsals, columns)
        Groups left in each rehearsal at several thresholds, and anything else that the number may depend on.
    numbers : array of shape (rehearsals,)
        Number of hidden classes.
    of_stream : array of shape (draws, columns)
        The same of samples of the stream.
    kept : float
        Share s of the labelled rows that the memory has kept. Exemplars chosen by herding are more alike than all rows
        of their class, so that n classes of the stream look like n / s; measured on other seeds of two datasets than
        those reported.

    Returns
    -------
    Reading

    """
    X, S = (np.log(np.maximum(counts, 0.5)) for counts in (left, of_stream))
    center, scale = X.mean(0), np.maximum(X.std(0), 1e-6)
    X, S, y = (X - center) / scale, (S - center) / scale, np.log(numbers)
    model = RidgeCV(PENALTIES).fit(X, y)
    # Predictions for each rehearsal from the others, in closed form.
    influence = X @ np.linalg.solve(X.T @ X + model.alpha_ * np.eye(X.shape[1]), X.T) + 1 / len(y)
    left_out = y - (y - model.predict(X)) / (1 - np.diag(influence))
    if not np.corrcoef(y, left_out)[0, 1] > LEAST_CORRELATION:
        return Reading(float(np.exp(y.mean())), NOTHING)
    slope = float(np.cov(y, left_out)[0, 1] / y.var(ddof=1))
    offset = left_out.mean() - slope * y.mean()
    read = (model.predict(S) - offset) / slope
    errors = ((left_out - offset) / slope - y) ** 2
    near = np.exp(-((y - read.mean()) ** 2) / (2 * NEAR**2)) + 1e-6
    deviation = float(np.sqrt(np.average(errors, weights=near) + read.var() + DEVIATION**2))
    return Reading(float(np.exp(read.mean()) * kept), deviation)


def plan_sample(n: int, known_share: float, codes: np.ndarray, expected: float) -> Sample:
    """Return how many rows of the stream and of each labelled class to use, so that rehearsals resemble the stream.

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
) -> tuple[np.ndarray, Rates | None]:
    """Return the description of a simulated stream with hidden classes, and how its rows were assigned."""
    rng = generator(derive(run.seed, 0))
    shares = np.exp(spread * rng.normal(size=hidden))
    sizes = np.clip(np.round(shares / shares.sum() * sample.new), 2, sample.of_class).astype(int)
    world = hide_and_score(labelled, rejection, hidden, sizes, sample.known_share, rng)
    assert rejection.threshold is not None  # it is fitted
    trained = _trained(labelled)[world.fitting]
    rows = MergingRows(world.L, world.codes, trained, world.U, world.scores, rejection.threshold.value)
    described, of_known = _describe(rows, derive(run.seed, 1), run)
    return described, rate(labelled, world, of_known)


def _describe(rows: MergingRows, seed: Seed, run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers that tell the number of classes, and which rows are assigned to a known class.

    The former are the groups left at each threshold, and the rows of the stream.
    """
    merged = merge_groups(rows, seed, run.device)
    return np.append(merged.left, len(rows.U)), merged.of_known


def _thinned(labelled: Labelled, most: int, run: Run) -> tuple[Labelled, np.ndarray]:
    """Return at most a given number of rows of each class, and their indices."""
    parts = shuffled_rows(labelled.codes, range(int(labelled.codes.max()) + 1), generator(derive(run.seed, 3)))
    kept = np.sort(np.concatenate([part[:most] for part in parts]))
    trained, found = (None if mask is None else mask[kept] for mask in (labelled.trained, labelled.found))
    return replace(labelled, X=labelled.X[kept], codes=labelled.codes[kept], trained=trained, found=found), kept


def _trained(labelled: Labelled) -> np.ndarray:
    return np.zeros(len(labelled.codes), dtype=bool) if labelled.trained is None else labelled.trained
