"""Estimate the number of new classes from rehearsals; an extension of the paper.

A rehearsal hides some known classes, simulates a stream with them, and runs discovery on it. It is not the rehearsal of
incremental learning, which is the replay of exemplars.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score
from torch import Tensor

from opengcd._internal import kernels
from opengcd._internal.randomness import Seed, derive, generator, seed_sequence
from opengcd._internal.run import Run
from opengcd.classify import Labelled
from opengcd.discover.class_number import ClassNumberEstimate, CurvePoint
from opengcd.discover.class_sizes import expected_number, matched_sample
from opengcd.discover.counting import Reading
from opengcd.discover.mixture import (
    LabelledClasses,
    MixtureSettings,
    StreamTensors,
    joint_mixture,
    labelled_classes,
    mixtures,
)
from opengcd.discover.simulation import RowsInMetric, hide_and_score
from opengcd.osr import ScoredRejection

STREAM_ROWS, STREAM_ROWS_OF_FEW = 6000, 3000
"""The agreement of two groupings is measured on at most this many rows of the stream."""
REHEARSALS, REHEARSALS_OF_FEW, FEW_CLASSES = 4, 8, 10
REPEATS, REPEATS_OF_FEW = 3, 9
QUICK = MixtureSettings(label_weight=0.1, steps=12, tries=4, start_steps=15)
"""Settings of the mixtures whose agreement is measured: there are about a hundred of them."""
SIZE_DEVIATION = 0.4
"""Standard deviation of the log-ratio of the sizes of new and known classes: a factor of 1.5."""
OTHER_SIZES, OTHER_SHARE = 1.5, 0.5
"""The same in streams whose new classes are far smaller or larger than known ones, a factor of 4.5, and how often such
streams are expected where the number of classes is also read from the stream."""
AGREEMENT_DEVIATION = 0.16
"""Standard deviation of the agreement between samples of classes, however many rehearsals there are.

It and :data:`SIZE_DEVIATION` were tuned on random subsets of three datasets, like those of
``benchmarks/class_numbers.py``, as a compromise between the best values for few and for many new classes."""
SPAN, POINTS = 6.0, 10
"""Range of the candidates, 1/6 to 6 times the number of new classes expected from class sizes, and their number."""
WIDE = 1.5
"""An estimate is not trusted if the ends of its interval differ from it by more than this factor."""


class Plan(NamedTuple):
    """Settings of a rehearsal."""

    hidden: int
    """Number of known classes that are treated as new."""
    size: int
    """Rows of each of them in the stream."""
    known_share: float
    """Share of rows of the other classes in the stream."""
    few: bool
    """Whether few new classes are expected; discovery is then also run with one group too many."""
    agreement: bool = True
    """Whether the agreement of two groupings is measured."""


class Evidence(NamedTuple):
    """Measured agreements, from which the number of new classes is estimated together with the class sizes."""

    grid: list[int]
    """Candidate numbers of new classes."""
    agreements: np.ndarray
    """Agreement of two groupings of the stream with each of them; nan if there are too few rows."""
    rehearsals: list[Rehearsal]


class SizePrior(NamedTuple):
    """The number of new classes that follows from class sizes, or from these and what was read off the stream."""

    expected: float
    deviation: float
    """Standard deviation of its logarithm."""
    most: int
    """The largest number allowed."""


class Rehearsal(NamedTuple):
    """Result of discovery on hidden known classes with their true number."""

    agreement: float
    """Adjusted Rand index of two groupings, each found from one half of the rows."""
    beyond: float
    """The same with one group too many; nan where many new classes are expected."""
    stability: np.ndarray
    """Of each group, its agreement with the other restarts (:attr:`Mixture.stability`)."""
    is_class: np.ndarray
    """Of each group, whether most of its rows are of one hidden class."""


class RehearsedNumber(NamedTuple):
    """The number of classes, and the calibration of the probability that a group is a class."""

    estimate: ClassNumberEstimate
    calibration: Callable[[np.ndarray], np.ndarray]
    """Maps the stability of groups to the probability that each is a class."""


def estimate_by_rehearsal(
    labelled: Labelled,
    rows: RowsInMetric,
    rejection: ScoredRejection,
    max_classes: int,
    run: Run,
    *,
    read: Reading | None = None,
    by_size: bool = False,
) -> RehearsedNumber:
    r"""Estimate how many classes a stream contains, and calibrate the probability that a group is a class.

    *Rehearsal*: some known classes are hidden, their rows and some of the others make a stream, and discovery runs on
    it with the true number of groups. The agreement :math:`A` of two groupings, each found from one half of the rows,
    then shows how well classes of this kind can be separated at all. In the real stream the agreement :math:`A(q)`
    falls as the number q of new groups is raised beyond the number of new classes. The probability of q is

    .. math:: \log P(q) = -\frac{\max(\bar A - A(q), 0)^2}{2 \sigma_A^2}
              + \log \Phi\left(\frac{\bar A - \max_{r > q} A(r)}{\sigma_A}\right)
              - \frac{(\log q - \log q_0)^2}{2 \sigma_0^2} - \log q + \text{const}, \qquad
              q_0 = \frac{(1 - \pi)\, n}{\bar m + \pi n / C}

    First term: the agreement is as good as rehearsed. Second: no larger number agrees as well, because well separated
    classes can be merged without disagreement. :math:`q_0` is the number of new classes if they are as large as known
    ones, counting labelled rows (:math:`\bar m` on average) and those in the stream together; in the stream alone if it
    is only a short excerpt (:data:`SHORT_STREAM`). Both are needed: where classes overlap, A is not informative, and
    sizes alone are a weak prior. The estimate is the median of P; its interval leaves out 5 % on either side.

    Where few new classes are expected, an error of one matters and there is time for more: rehearsals also
    measure the agreement :math:`\bar A_+` with one group too many, and :math:`-(A(q + 1) - \bar A_+)^2 / 2 \sigma_+^2`
    is added. The estimate is then the most likely q or, if :math:`P(q + 1) \sqrt{(q + 1) / q}` exceeds P(q), the
    next one, but at least the median: a reviewer merges two groups in one action, but needs many to split one.

    Parameters
    ----------
    labelled : Labelled
        Labelled rows with their classifier.
    rows : RowsInMetric
        The same rows and the stream, in the metric.
    rejection : ScoredRejection
        As it was fitted on the labelled rows.
    max_classes : int
        Largest number of classes, known ones included.
    run : Run
        Seed, device, progress callback.
    read : Reading or None
        The number as :func:`count_by_merging` read it from the stream. It is then used instead of the agreement: the
        estimate follows from it and from sizes (:func:`sharpen`), unless only few new classes are expected.
    by_size : bool
        Whether the estimate follows from sizes alone, without rehearsals.

    Returns
    -------
    RehearsedNumber

    """
    run = run._replace(seed=seed_sequence(run.seed))
    known, n = int(labelled.codes.max()) + 1, len(rows.U)
    share, share_deviation = rows.known_share
    novel_rows, expected = (1 - share) * n, expected_number(labelled, n, rows.known_share)
    rejected = int(rows.rejected.sum())
    most = max(0, min(max_classes - known, max(rejected // 4, min(1, rejected))))
    if most < 1 or (expected < 0.5 and 1 - share < 2 * share_deviation):
        reason = "hardly any row is of a new class" if most else "no row was rejected, or max_classes is reached"
        interval = (known, known + min(1, most))
        return RehearsedNumber(ClassNumberEstimate(known, [], False, reason, known, interval), _one_half)
    # A stream much smaller than the labelled data carries little information about class sizes.
    deviation = np.hypot(SIZE_DEVIATION if expected >= 1 else 2 * SIZE_DEVIATION, share_deviation / (1 - share))
    prior = SizePrior(max(expected, 1.0), float(deviation), most)
    if by_size or known < 4:  # with so few classes none can be hidden
        evidence = Evidence([], np.empty(0), [])
        run.progress("rehearsing discovery", 0, 0)
    else:
        prior = prior if read is None else sharpen(prior, read)
        agreement = read is None or prior.expected < FEW_CLASSES
        evidence = _collect_evidence(labelled, rows, rejection, prior, novel_rows, agreement, run)
    return RehearsedNumber(weigh(known, evidence, prior), calibrate(evidence.rehearsals))


def sharpen(prior: SizePrior, read: Reading) -> SizePrior:
    r"""Combine the estimate from class sizes with the number that was read from the stream.

    Sizes usually fit, but are far off in some streams. So the prior of :math:`\log q` is a mixture of two normal
    distributions: one with the deviation of ``prior``, one with :data:`OTHER_SIZES`. A reading close to the estimate
    from sizes moves towards it; one far from it hardly changes.

    Parameters
    ----------
    prior : SizePrior
        From class sizes.
    read : Reading

    Returns
    -------
    SizePrior
        With the mean and the standard deviation of :math:`\log q` after the reading.

    """
    sizes, number = np.log(prior.expected), np.log(max(read.number, 1.0))
    variances = np.array([prior.deviation, max(prior.deviation, OTHER_SIZES)]) ** 2
    likelihoods = norm.pdf(number, sizes, np.sqrt(variances + read.deviation**2))
    weights = np.array([1 - OTHER_SHARE, OTHER_SHARE]) * likelihoods
    weights = weights / weights.sum() if weights.sum() > 0 else np.array([0.0, 1.0])
    after = 1 / (1 / variances + 1 / read.deviation**2)
    means = after * (sizes / variances + number / read.deviation**2)
    mean = weights @ means
    deviation = float(np.sqrt(weights @ (after + (means - mean) ** 2)))
    return SizePrior(float(np.clip(np.exp(mean), 1, prior.most)), deviation, prior.most)


def _collect_evidence(
    labelled: Labelled,
    rows: RowsInMetric,
    rejection: ScoredRejection,
    prior: SizePrior,
    novel_rows: float,
    measured: bool,
    run: Run,
) -> Evidence:
    """Rehearse discovery, and perhaps measure the agreement in the stream for candidate numbers of new classes."""
    expected, known, n = prior.expected, int(labelled.codes.max()) + 1, len(rows.U)
    few = expected < FEW_CLASSES
    most_rows = min(n, STREAM_ROWS_OF_FEW if few else STREAM_ROWS)
    labelled_size = int(np.median(np.bincount(labelled.codes)))
    sample, size = matched_sample(n, most_rows, novel_rows / expected, labelled_size)
    chosen = generator(derive(run.seed, 0)).permutation(n)[:sample]
    candidates = np.geomspace(expected / SPAN, expected * SPAN, POINTS)
    if few:  # an error of one matters
        candidates = np.append(candidates, expected + np.arange(-2, 3))
    grid = sorted({int(np.clip(round(q), 1, prior.most)) for q in candidates}) if measured else []
    number = REHEARSALS_OF_FEW if known <= FEW_CLASSES else REHEARSALS
    total, hidden = len(grid) + number, int(np.clip(round(expected), 2, max(2, known // 2)))
    plan = Plan(hidden, size, rows.known_share.value, few, measured)
    rehearsals, agreements = [], []
    for r in range(number):
        run.progress("rehearsing discovery", r, total)
        rehearsals.append(rehearse(labelled, rejection, plan, run.at(1, r)))
    classes = labelled_classes(rows.L, labelled.codes, run.device)
    stream = StreamTensors(*(kernels.to_tensor(part[chosen], run.device) for part in (rows.U, rows.rejected)))
    for i, q in enumerate(grid):
        run.progress("rehearsing discovery", number + i, total)
        agreements.append(agreement(classes, stream, q, _repeats(few), derive(run.seed, 2, q)))
    run.progress("rehearsing discovery", total, total)
    return Evidence(grid, np.array(agreements), rehearsals)


def _repeats(few: bool) -> int:
    return REPEATS_OF_FEW if few else REPEATS


def agreement(labelled: LabelledClasses, stream: StreamTensors, novel: int, repeats: int, seed: Seed) -> float:
    """Return the agreement of two groupings of all rows, each found from one half; nan if a half has too few rows.

    The adjusted Rand index on rows that are novel in both; with a single group, the Jaccard index of the two sets of
    novel rows. The median over ``repeats`` random halvings, to be robust against a bad start.
    """
    U, rejected = stream.rows, stream.rejected
    known = len(labelled.counts)
    uniforms = np.stack([generator(derive(seed, r)).random(len(U)) for r in range(repeats)])
    halves = kernels.to_tensor(np.stack([uniforms < 0.5, uniforms >= 0.5], 1).reshape(2 * repeats, -1), U.device)
    seeds = [derive(seed, r, s, 0) for r in range(repeats) for s in range(2)]
    if int((halves & rejected).sum(1).min()) < novel:
        return float("nan")
    if U.device.type == "cuda":  # kernel launches dominate the time there: all halves at once
        centers = mixtures(labelled, stream._replace(part=halves), novel, seeds, QUICK)[0]
    else:  # masked rows would cost as much as the others

        def one(i: int) -> Tensor:
            return mixtures(labelled, StreamTensors(U[halves[i]], rejected[halves[i]]), novel, [seeds[i]], QUICK)[0]

        centers = torch.cat(kernels.run_each(one, range(len(seeds)), U.device))
    groupings = (U @ centers.flatten(0, 1).T).view(len(U), *centers.shape[:2]).argmax(2).T.cpu().numpy()
    values = []
    for a, b in groupings.reshape(repeats, 2, -1):
        both, either = (a >= known) & (b >= known), (a >= known) | (b >= known)
        if not both.any():
            values.append(0.0)
        elif novel == 1:  # the Rand index of two single groups is always 1
            values.append(both.sum() / either.sum())
        else:
            values.append(adjusted_rand_score(a[both], b[both]))
    return float(np.median(values))


def rehearse(labelled: Labelled, rejection: ScoredRejection, plan: Plan, run: Run) -> Rehearsal:
    """Hide some known classes, simulate a stream, and run discovery on it with the true number of groups.

    Parameters
    ----------
    labelled : Labelled
        Labelled rows with their classifier.
    rejection : ScoredRejection
        As it was fitted on the labelled rows.
    plan : Plan
        Number and size of the hidden classes, and the share of known rows.
    run : Run
        Seed, device, progress callback.

    Returns
    -------
    Rehearsal

    """
    anchors, _, stream, renumbered, L, U, scores = hide_and_score(
        labelled, rejection, plan.hidden, plan.size, plan.known_share, generator(derive(run.seed, 0))
    )
    assert rejection.threshold is not None  # it is fitted
    rejected = scores > rejection.threshold.value
    if rejected.sum() < 2 * plan.hidden:
        return Rehearsal(float("nan"), float("nan"), np.empty(0), np.empty(0, dtype=bool))
    repeats = _repeats(plan.few)
    classes = labelled_classes(L, renumbered, run.device)
    rows = StreamTensors(kernels.to_tensor(U, run.device), kernels.to_tensor(rejected, run.device))
    agreed = beyond = float("nan")
    if plan.agreement:
        agreed = agreement(classes, rows, plan.hidden, repeats, derive(run.seed, 1))
    if plan.agreement and plan.few:
        beyond = agreement(classes, rows, plan.hidden + 1, repeats, derive(run.seed, 3))
    found = joint_mixture(
        L,
        renumbered,
        U,
        rejected,
        len(anchors) + plan.hidden,
        settings=QUICK._replace(tries=2),
        restarts=3,
        random_state=derive(run.seed, 2),
        device=run.device,
    )
    stability, is_class = [], []
    for group in range(len(anchors), len(anchors) + plan.hidden):
        present, counts = np.unique(labelled.codes[stream[found.labels == group]], return_counts=True)
        if len(present):
            stability.append(found.stability[group])
            is_class.append(not np.isin(present[counts.argmax()], anchors) and 2 * counts.max() > counts.sum())
    return Rehearsal(agreed, beyond, np.array(stability), np.array(is_class, dtype=bool))


def weigh(known: int, evidence: Evidence, prior: SizePrior) -> ClassNumberEstimate:
    """Combine agreement and sizes into a distribution over the number of new classes."""
    (grid, agreements, rehearsals), (expected, size_deviation, most) = evidence, prior
    few = expected < FEW_CLASSES
    measured = np.isfinite(agreements)
    grid, agreements = [q for q, could in zip(grid, measured, strict=True) if could], agreements[measured]
    numbers = np.arange(1, min(most, round(2 * SPAN * expected) + 1) + 1)
    at = np.interp(np.log(numbers), np.log(grid), agreements) if grid else np.zeros(len(numbers))
    log_p = -((np.log(numbers) - np.log(expected)) ** 2) / (2 * size_deviation**2) - np.log(numbers)
    rehearsed, beyond = _spread([r.agreement for r in rehearsals]), _spread([r.beyond for r in rehearsals])
    if grid and rehearsed:
        larger = np.append(np.maximum.accumulate(at[::-1])[::-1][1:], 0.0)
        log_p -= np.maximum(rehearsed.mean - at, 0.0) ** 2 / (2 * rehearsed.deviation**2)
        log_p += norm.logcdf((rehearsed.mean - larger) / rehearsed.deviation)
        if beyond:
            log_p -= (np.append(at[1:], at[-1]) - beyond.mean) ** 2 / (2 * beyond.deviation**2)
    weight = np.exp(log_p - log_p.max())
    share = np.cumsum(weight) / weight.sum()
    low, median, high = (known + int(numbers[np.searchsorted(share, s)]) for s in (0.05, 0.5, 0.95))
    if few:
        first = int(weight.argmax())
        better = int((weight * np.sqrt(numbers))[first : first + 2].argmax())
        median = max(median, int(np.clip(known + int(numbers[first + better]), low, high)))
    curve = [CurvePoint(known + q, float(log_p[q - 1] - log_p.max()), float(a), rehearsed.mean if rehearsed else 0.0)
             for q, a in zip(grid, agreements.tolist(), strict=True) if q <= len(numbers)]  # fmt: skip
    wide = (high - known) > WIDE**2 * max(1, low - known) and high > low + 2
    reason = f"the stream fits any number of classes from {low} to {high}" if wide else ""
    return ClassNumberEstimate(median, curve, not wide, reason, median, (low, high))


class _Spread(NamedTuple):
    """Mean of agreements, and the standard deviation of a future one."""

    mean: float
    deviation: float


def _spread(agreements: list[float]) -> _Spread | None:
    finite = np.array([a for a in agreements if np.isfinite(a)])
    if not len(finite):
        return None
    variance = finite.var(ddof=1) * (1 + 1 / len(finite)) if len(finite) > 1 else 0.0
    return _Spread(float(finite.mean()), float(np.sqrt(variance + AGREEMENT_DEVIATION**2)))


def calibrate(rehearsals: list[Rehearsal]) -> Callable[[np.ndarray], np.ndarray]:
    """Fit the probability that a group is a class, given its stability, on the groups of all rehearsals."""
    pairs = [(r.stability, r.is_class) for r in rehearsals if len(r.is_class)]
    if not pairs:
        return _one_half
    stability, is_class = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    if is_class.all() or not is_class.any():
        share = (is_class.sum() + 1) / (len(is_class) + 2)
        return lambda values: np.full(len(values), share)
    model = LogisticRegression(C=10.0).fit(stability[:, None], is_class)
    return lambda values: model.predict_proba(values[:, None])[:, 1] if len(values) else np.empty(0)


def _one_half(values: np.ndarray) -> np.ndarray:
    """Return one half for each group: without rehearsals there are no data to calibrate on."""
    return np.full(len(values), 0.5)
