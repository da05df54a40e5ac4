"""Discovery over a whole stream at once: metric, number of classes, mixture, head, labels: beyond the paper."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax, softmax

from opengcd._internal import kernels
from opengcd._internal.progress import Progress, silent
from opengcd._internal.randomness import Seed, derive, seed_sequence
from opengcd.discover.class_number import ClassNumberEstimate
from opengcd.discover.discovery import Discovery, arrange
from opengcd.discover.kmeans import Clustering
from opengcd.discover.mixture import Mixture, joint_mixture
from opengcd.discover.refinement import SHARP, refine
from opengcd.discover.rehearsal import estimate_by_rehearsal
from opengcd.osr import NoveltyRejection, Share, known_share

CONCENTRATION = 15.0
REJECTS_DOUBT = 0.15
"""How far the share of known rows among rejected ones may be off."""
ROWS_OF_A_GROUP = 3
FEW = 20
"""With fewer rows there are no neighbours worth learning from, and the head is left out."""
LEAST_KEPT = 0.5
"""A head that leaves fewer of the novel rows of the mixture is not followed: nothing holds it to a share of known rows,
and where neighbours tell too little, it may empty the novel groups."""


class Labelled(NamedTuple):
    """Labelled rows, and what the classifier that was fitted on them says."""

    X: np.ndarray
    codes: np.ndarray
    p: np.ndarray
    seen: np.ndarray
    """(C,) Number of labelled rows that each class ever had, more perhaps than are kept."""


def discover_jointly(
    labelled: Labelled,
    X: np.ndarray,
    p: np.ndarray,
    rejected: np.ndarray,
    rejection: NoveltyRejection,
    classes: np.ndarray,
    *,
    k: int | None = None,
    by_size: bool = False,
    head: bool = True,
    max_classes: int = 500,
    random_state: Seed = None,
    device: str = "auto",
    progress: Progress = silent,
) -> Discovery:
    r"""Decide of all rows together which are of known classes, and group the others.

    In the metric of the rejection's score (:class:`~opengcd._internal.whitening.WithinClassWhitening`), with the number
    of classes from :func:`estimate_by_rehearsal` unless ``k`` is given: :func:`joint_mixture`, then :func:`refine`.
    A row nearest to a novel prototype joins its group; any other gets the known class with the largest
    :math:`\log p_c + \log \mathrm{softmax}_c(\mu \cdot z / \tau)`, classifier and prototypes together.

    ``rejected`` says which rows of ``X`` were rejected. If all were, ``X`` is no whole stream, and known rows among
    them are those that look like the rejected ones of the labelled rows.
    """
    seed, known, n = seed_sequence(random_state), len(classes), len(X)
    if k is not None and k < known:
        raise ValueError(f"k={k} is less than the {known} known classes; raise it.")
    score, threshold = rejection.score, rejection.threshold.value
    metric, means, _ = score.witnesses_
    L, U = metric.transform(labelled.X), metric.transform(X)
    scores = score(X, p, U) if n else np.empty(0)
    share = _known_share(rejection, scores, rejected)
    if k is None:
        estimate, reality = estimate_by_rehearsal(
            labelled.X,
            labelled.codes,
            labelled.p,
            labelled.seen,
            L,
            U,
            rejected,
            share,
            score=score,
            threshold=threshold,
            max_classes=max_classes,
            by_size=by_size,
            random_state=derive(seed, 0),
            device=device,
            progress=progress,
        )
    else:
        estimate, reality = ClassNumberEstimate(k, [], True, "", k, (k, k)), None
    progress("grouping", 0, 2)
    novel = estimate.k - known
    if not n or novel < 1:
        # There are no new classes: every row gets the known class that its classifier says.
        return arrange(U, classes, Clustering(p.argmax(1), means, 0.0, 0), estimate, p.max(1, initial=0.0))
    if rejected.sum() < ROWS_OF_A_GROUP * novel:  # too few to start from: the most unknown rows join them
        rejected = rejected.copy()
        rejected[np.argsort(-scores, kind="stable")[: ROWS_OF_A_GROUP * novel]] = True
    # In the sizes of classes, labelled rows count as much as makes a known class as large as a new one.
    lacking = ((1 - share.value) / novel - share.value / known) * n
    found = joint_mixture(
        L,
        labelled.codes,
        U,
        rejected,
        estimate.k,
        concentration=CONCENTRATION,
        label_weight=float(np.clip(lacking / (len(L) / known), 0.02, 1.0)),
        random_state=derive(seed, 1),
        device=device,
    )
    progress("grouping", 1, 2)
    refined = None
    if head and n >= FEW:
        refined = refine(L, labelled.codes, U, found.centers, found.sizes, random_state=derive(seed, 2), device=device)
    labels, probabilities = _join(U, p, found, refined)
    progress("grouping", 2, 2)
    real = None if reality is None else reality(found.recurrence)
    centers = _centers(U, labels, found.centers)
    return arrange(U, classes, Clustering(labels, centers, 0.0, 0), estimate, probabilities, real)


def _join(U: np.ndarray, p: np.ndarray, found: Mixture, refined: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Which class or group each row joins, and how probably; ``refined``: its cosines to the prototypes of the head."""
    known = p.shape[1]
    nearest = found.labels if refined is None else refined.argmax(1)
    if refined is None or (nearest >= known).sum() < LEAST_KEPT * (found.labels >= known).sum():
        cosines, sharpness = U @ found.centers.T, CONCENTRATION
        labels, probabilities = found.labels.copy(), found.probabilities.copy()
    else:
        cosines, sharpness = refined, 1 / SHARP
        labels, probabilities = nearest, softmax(refined / SHARP, axis=1).max(1)
    of_known = labels < known
    fused = np.log(p[of_known] + 1e-12) + log_softmax(sharpness * cosines[of_known, :known], axis=1)
    labels[of_known] = fused.argmax(1)
    # Being of a known class at all, and of this one.
    at_all = softmax(sharpness * cosines[of_known], axis=1)[:, :known].sum(1)
    probabilities[of_known] = at_all * softmax(fused, axis=1).max(1, initial=0.0)
    return labels, np.asarray(probabilities, dtype=np.float64)


def _known_share(rejection: NoveltyRejection, scores: np.ndarray, rejected: np.ndarray) -> Share:
    """Share of known rows in a whole stream, or among rejected rows alone.

    The latter follows from what the threshold does to known and unknown rows, and their shares in the stream that was
    observed; even shares if none was.
    """
    if not len(scores):
        return Share(0.0, 0.0)
    score, threshold = rejection.score, rejection.threshold
    if not rejected.all():
        return known_share(score.known_scores_, scores, score.unknown_)
    profile = score.unknown_
    aus = 1 - float(np.interp(1 - threshold.known_rejected, profile.known_accepted, profile.accepted))
    share = 0.5 if threshold.known_share is None else threshold.known_share
    known, unknown = share * threshold.known_rejected, (1 - share) * aus
    return Share(known / max(known + unknown, 1e-9), REJECTS_DOUBT)


def _centers(U: np.ndarray, labels: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Mean of the rows of each class or group; the start for one without rows."""
    rows, codes = kernels.to_tensor(U, "cpu"), kernels.to_tensor(labels, "cpu")
    means = kernels.class_means(rows, codes, len(start)).numpy()
    centers: np.ndarray = np.where(np.bincount(labels, minlength=len(start))[:, None] > 0, means, start)
    return centers
