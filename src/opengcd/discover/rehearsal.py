"""How many new classes are there? Estimated by rehearsing discovery on known classes: beyond the paper."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score
from torch import Tensor

from opengcd._internal import kernels
from opengcd._internal.progress import Progress, silent
from opengcd._internal.randomness import Seed, derive, generator, seed_sequence
from opengcd.discover.class_number import ClassNumberEstimate, CurvePoint
from opengcd.discover.mixture import LabelledClasses, joint_mixture, labelled_classes, mixtures
from opengcd.osr import NoveltyScore, Share

STREAM_ROWS, STREAM_ROWS_OF_FEW = 6000, 3000
"""The agreement of two groupings is measured on at most this many rows of the stream."""
REHEARSALS, REHEARSALS_OF_FEW, FEW_CLASSES = 4, 8, 10
REPEATS, REPEATS_OF_FEW = 3, 9
LABEL_WEIGHT = 0.1
SIZE_DOUBT = 0.4
"""How far, in logarithms, new classes may be from the size of known ones: by a factor of 1.5 in two cases of three."""
AGREEMENT_DOUBT = 0.16
"""Agreement differs by this much from one sample of classes to another, however many rehearsals there are.

Both doubts were chosen in random worlds of three datasets, like those of ``benchmarks/class_numbers.py``, as a middle
between what counted best with few and with many new classes."""
SPAN, POINTS = 6.0, 10
"""Numbers of new classes from a sixth to six times the one expected from sizes, so many of them, are looked at."""
MOMENT = 8.0
"""A stream in which known classes have less than an eighth of all of their rows shows a moment, not whole classes."""
WIDE = 1.5
"""An estimate is not trusted if the numbers of new classes at either end are further off than this factor."""


class Rehearsal(NamedTuple):
    """What was seen when known classes played new ones and their number was right."""

    agreement: float
    """Adjusted Rand index of two groupings, each found from one half of the rows."""
    beyond: float
    """The same with one group too many; nan where many new classes are expected."""
    recurrence: np.ndarray
    """For each group, how well other restarts found it again."""
    real: np.ndarray
    """Whether most of its rows were of one hidden class."""


class RehearsedNumber(NamedTuple):
    """The number of classes, and how much a group's recurrence says about whether it is real."""

    estimate: ClassNumberEstimate
    reality: Callable[[np.ndarray], np.ndarray]


def estimate_by_rehearsal(
    X: np.ndarray,
    codes: np.ndarray,
    p: np.ndarray,
    seen: np.ndarray,
    L: np.ndarray,
    U: np.ndarray,
    rejected: np.ndarray,
    known_share: Share,
    *,
    score: NoveltyScore,
    threshold: float,
    max_classes: int,
    by_size: bool = False,
    random_state: Seed = None,
    device: str = "auto",
    progress: Progress = silent,
) -> RehearsedNumber:
    r"""Estimate how many classes a stream holds, and learn to tell real groups from chance ones.

    *Rehearsal*: some known classes are hidden, their rows and some of the others make a stream, and discovery runs on
    it with the right number of groups. Two groupings, each from one half of the rows, then agree to some degree,
    :math:`A`, that tells how well classes of this kind can be told apart at all. In the true stream the agreement
    :math:`A(q)` falls as the number q of new groups is raised beyond what is there. The probability of q is

    .. math:: \log P(q) = -\frac{\max(\bar A - A(q), 0)^2}{2 \sigma_A^2}
              + \log \Phi\left(\frac{\bar A - \max_{r > q} A(r)}{\sigma_A}\right)
              - \frac{(\log q - \log q_0)^2}{2 \sigma_0^2} - \log q + \text{const}, \qquad
              q_0 = \frac{(1 - \pi)\, n}{\bar m + \pi n / C}

    The agreement is as good as rehearsed, and no larger number agrees as well: classes that lie well apart can be
    merged without disagreement. :math:`q_0` is the number of new classes if they were as large as known ones are,
    labelled rows (:math:`\bar m` on average) and those in the stream taken together; in the stream alone if it shows
    only a moment (:data:`MOMENT`). Neither is enough alone: where classes overlap, A says little, and a size is only a
    habit. The estimate is the median of P; its interval leaves
    out 5 % on either side.

    Where few new classes are expected, being off by one matters and there is time to look closer: rehearsals also
    tell the agreement :math:`\bar A_+` with one group too many, and :math:`-(A(q + 1) - \bar A_+)^2 / 2 \sigma_+^2`
    joins the sum. The estimate is then the likeliest q or, if :math:`P(q + 1) \sqrt{(q + 1) / q}` exceeds P(q), the
    one after it: a group too many is merged by one act, one too few has to be taken apart.

    ``by_size`` leaves rehearsals and agreement out: sizes alone decide, at once.

    ``X``, ``codes``, ``p`` are labelled rows with their classifier's probabilities, ``seen`` the number of labelled
    rows that each class ever had, ``L`` the same rows in the metric, ``U`` the stream in it.
    """
    known, n, seed = int(codes.max()) + 1, len(U), seed_sequence(random_state)
    share, share_doubt = known_share
    novel_rows, rows_of_known = (1 - share) * n, share * n / known
    rows_of_class = seen.mean() + rows_of_known
    if rows_of_class > MOMENT * rows_of_known and share > 2 * share_doubt:
        rows_of_class = rows_of_known  # new classes can hardly be that much more frequent
    expected = novel_rows / rows_of_class
    most = max(0, min(max_classes - known, max(int(rejected.sum()) // 4, min(1, int(rejected.sum())))))
    if most < 1 or (expected < 0.5 and 1 - share < 2 * share_doubt):
        reason = "hardly any row is of a new class" if most else "no row was rejected, or max_classes is reached"
        return RehearsedNumber(
            ClassNumberEstimate(known, [], False, reason, known, (known, known + min(1, most))), _chance
        )
    # A stream much smaller than what was labelled says nothing about the size of its classes.
    size_doubt = np.hypot(SIZE_DOUBT if expected >= 1 else 2 * SIZE_DOUBT, share_doubt / (1 - share))
    expected = max(expected, 1.0)
    few = expected < FEW_CLASSES
    repeats = REPEATS_OF_FEW if few else REPEATS
    most_rows = min(n, STREAM_ROWS_OF_FEW if few else STREAM_ROWS)
    sample, size = _matched_sample(n, most_rows, novel_rows / expected, int(np.median(np.bincount(codes))))
    rows = generator(derive(seed, 0)).permutation(n)[:sample]
    candidates = np.geomspace(expected / SPAN, expected * SPAN, POINTS)
    if few:  # every number counts
        candidates = np.append(candidates, expected + np.arange(-2, 3))
    grid = sorted({int(np.clip(round(q), 1, most)) for q in candidates})
    number = REHEARSALS_OF_FEW if known <= FEW_CLASSES else REHEARSALS
    if by_size or known < 4:  # too few to hide some of them
        number, grid = 0, []
    total, hidden = len(grid) + number, int(np.clip(round(expected), 2, max(2, known // 2)))
    rehearsals = []
    for r in range(number):
        progress("rehearsing discovery", r, total)
        rehearsals.append(
            rehearse(X, codes, p, score, threshold, hidden, size, share, few, derive(seed, 1, r), device=device)
        )
    agreements = []
    labelled = labelled_classes(L, codes, device)
    stream, doubtful = (kernels.to_tensor(part[rows], device) for part in (U, rejected))
    for i, q in enumerate(grid):
        progress("rehearsing discovery", number + i, total)
        agreements.append(agreement(labelled, stream, doubtful, q, repeats, derive(seed, 2, q)))
    progress("rehearsing discovery", total, total)
    estimate = _weigh(
        known,
        grid,
        np.array(agreements),
        rehearsals,
        expected,
        float(size_doubt),
        most,
    )
    return RehearsedNumber(estimate, _reality(rehearsals))


def agreement(labelled: LabelledClasses, U: Tensor, rejected: Tensor, novel: int, repeats: int, seed: Seed) -> float:
    """Return how well two groupings of all rows agree, each found from a half of them; nan if it has too few rows."""
    known = len(labelled.counts)
    chances = np.stack([generator(derive(seed, r)).random(len(U)) for r in range(repeats)])
    halves = kernels.to_tensor(np.stack([chances < 0.5, chances >= 0.5], 1).reshape(2 * repeats, -1), U.device)
    seeds = [derive(seed, r, s, 0) for r in range(repeats) for s in range(2)]
    if int((halves & rejected).sum(1).min()) < novel:
        return float("nan")
    group = partial(mixtures, labelled, label_weight=LABEL_WEIGHT, steps=12, tries=4, start_steps=15)
    if U.device.type == "cuda":  # time goes by launches there: all halves at once
        centers = group(U, rejected, novel, seeds, part=halves)[0]
    else:  # rows that take no part would cost as much as those that do

        def one(i: int) -> Tensor:
            return group(U[halves[i]], rejected[halves[i]], novel, [seeds[i]])[0]

        centers = torch.cat(kernels.run_each(one, range(len(seeds)), U.device))
    groupings = (U @ centers.flatten(0, 1).T).view(len(U), *centers.shape[:2]).argmax(2).T.cpu().numpy()
    values = []
    for a, b in groupings.reshape(repeats, 2, -1):
        both, either = (a >= known) & (b >= known), (a >= known) | (b >= known)
        if not both.any():
            values.append(0.0)
        elif novel == 1:  # one group always agrees with one group, but not on what belongs to it
            values.append(both.sum() / either.sum())
        else:
            values.append(adjusted_rand_score(a[both], b[both]))
    return float(np.median(values))  # one unlucky start should not count


def rehearse(
    X: np.ndarray,
    codes: np.ndarray,
    p: np.ndarray,
    score: NoveltyScore,
    threshold: float,
    hidden: int,
    size: int,
    known_share: float,
    few: bool,
    seed: Seed,
    *,
    device: str = "auto",
) -> Rehearsal:
    """Hide some classes, make a stream of ``size`` rows of each and a share of rows of the others, and discover."""
    rng = generator(derive(seed, 0))
    order = rng.permutation(int(codes.max()) + 1)
    anchors = np.sort(order[hidden:])
    of_class = {c: rng.permutation(np.flatnonzero(codes == c)) for c in order.tolist()}
    drawn = [of_class[c][:size] for c in order[:hidden].tolist()]
    # As many known rows as in the true stream, but half of each class must stay to be known by.
    number = round(known_share / (1 - known_share) * sum(map(len, drawn)) / len(anchors))
    spared = [of_class[c][: min(number, len(of_class[c]) // 2)] for c in anchors.tolist()]
    stream = np.concatenate(drawn + spared)
    labelled = np.setdiff1d(np.flatnonzero(np.isin(codes, anchors)), stream)
    renumbered = np.searchsorted(anchors, codes[labelled])
    witnesses, L = score.fit_witnesses(X[labelled], renumbered)
    U = witnesses.metric.transform(X[stream])
    rejected = score.among(anchors, witnesses, X[stream], p[stream], U) > threshold
    if rejected.sum() < 2 * hidden:
        return Rehearsal(float("nan"), float("nan"), np.empty(0), np.empty(0, dtype=bool))
    repeats = REPEATS_OF_FEW if few else REPEATS
    seen = (labelled_classes(L, renumbered, device), kernels.to_tensor(U, device), kernels.to_tensor(rejected, device))
    agreed = agreement(*seen, hidden, repeats, derive(seed, 1))
    beyond = agreement(*seen, hidden + 1, repeats, derive(seed, 3)) if few else float("nan")
    found = joint_mixture(
        L,
        renumbered,
        U,
        rejected,
        len(anchors) + hidden,
        label_weight=LABEL_WEIGHT,
        steps=12,
        restarts=3,
        start_steps=15,
        random_state=derive(seed, 2),
        device=device,
    )
    recurrence, real = [], []
    for group in range(len(anchors), len(anchors) + hidden):
        classes, counts = np.unique(codes[stream[found.labels == group]], return_counts=True)
        if len(classes):
            recurrence.append(found.recurrence[group])
            real.append(not np.isin(classes[counts.argmax()], anchors) and 2 * counts.max() > counts.sum())
    return Rehearsal(agreed, beyond, np.array(recurrence), np.array(real, dtype=bool))


def _matched_sample(n: int, sample: int, size: float, labelled: int) -> tuple[int, int]:
    """How many rows of the stream to take, and of each hidden class, so that hidden and new classes are of one size.

    Agreement grows with the number of rows. Where labelled rows are fewer than what new classes bring, the stream is
    thinned out.
    """
    of_class = size * sample / n
    if of_class > labelled:
        sample = int(np.clip(sample * labelled / of_class, min(n, 200), sample))
    return sample, int(np.clip(round(size * sample / n), 4, labelled))


def _weigh(
    known: int,
    grid: list[int],
    agreements: np.ndarray,
    rehearsals: list[Rehearsal],
    expected: float,
    size_doubt: float,
    most: int,
) -> ClassNumberEstimate:
    """Combine agreement and size to a distribution over the number of new classes."""
    few = expected < FEW_CLASSES
    grouped = np.isfinite(agreements)
    grid, agreements = [q for q, could in zip(grid, grouped, strict=True) if could], agreements[grouped]
    numbers = np.arange(1, min(most, round(2 * SPAN * expected) + 1) + 1)
    at = np.interp(np.log(numbers), np.log(grid), agreements) if grid else np.zeros(len(numbers))
    log_p = -((np.log(numbers) - np.log(expected)) ** 2) / (2 * size_doubt**2) - np.log(numbers)
    rehearsed, beyond = _spread([r.agreement for r in rehearsals]), _spread([r.beyond for r in rehearsals])
    if grid and rehearsed:
        larger = np.append(np.maximum.accumulate(at[::-1])[::-1][1:], 0.0)
        log_p -= np.maximum(rehearsed.mean - at, 0.0) ** 2 / (2 * rehearsed.doubt**2)
        log_p += norm.logcdf((rehearsed.mean - larger) / rehearsed.doubt)
        if beyond:
            log_p -= (np.append(at[1:], at[-1]) - beyond.mean) ** 2 / (2 * beyond.doubt**2)
    weight = np.exp(log_p - log_p.max())
    share = np.cumsum(weight) / weight.sum()
    low, middle, high = (known + int(numbers[np.searchsorted(share, s)]) for s in (0.05, 0.5, 0.95))
    if few:
        first = int(weight.argmax())
        better = int((weight * np.sqrt(numbers))[first : first + 2].argmax())
        middle = int(np.clip(known + int(numbers[first + better]), low, high))
    curve = [CurvePoint(known + q, float(log_p[q - 1] - log_p.max()), float(a), rehearsed.mean if rehearsed else 0.0)
             for q, a in zip(grid, agreements.tolist(), strict=True) if q <= len(numbers)]  # fmt: skip
    wide = (high - known) > WIDE**2 * max(1, low - known) and high > low + 2
    reason = f"the stream fits any number of classes from {low} to {high}" if wide else ""
    return ClassNumberEstimate(middle, curve, not wide, reason, middle, (low, high))


class _Spread(NamedTuple):
    """Mean of agreements, and how far one more may be from it."""

    mean: float
    doubt: float


def _spread(agreements: list[float]) -> _Spread | None:
    heard = np.array([a for a in agreements if np.isfinite(a)])
    if not len(heard):
        return None
    variance = heard.var(ddof=1) * (1 + 1 / len(heard)) if len(heard) > 1 else 0.0
    return _Spread(float(heard.mean()), float(np.sqrt(variance + AGREEMENT_DOUBT**2)))


def _reality(rehearsals: list[Rehearsal]) -> Callable[[np.ndarray], np.ndarray]:
    """Learn from rehearsals how likely a group is real, given how well it was found again."""
    heard = [r for r in rehearsals if len(r.real)]
    if not heard:
        return _chance
    recurrence, real = (np.concatenate(parts) for parts in zip(*[(r.recurrence, r.real) for r in heard], strict=True))
    if real.all() or not real.any():
        share = (real.sum() + 1) / (len(real) + 2)
        return lambda values: np.full(len(values), share)
    model = LogisticRegression(C=10.0).fit(recurrence[:, None], real)
    return lambda values: model.predict_proba(values[:, None])[:, 1] if len(values) else np.empty(0)


def _chance(values: np.ndarray) -> np.ndarray:
    """Without a rehearsal nothing is known."""
    return np.full(len(values), 0.5)
