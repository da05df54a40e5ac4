"""Joint discovery over a whole stream by a mixture and a refinement head; an extension of the paper."""

from __future__ import annotations

import copy

import numpy as np
from scipy.special import log_softmax, softmax

from opengcd._internal import kernels
from opengcd._internal.run import NUMBER, Run
from opengcd._internal.validation import check_choice
from opengcd.classify import Labelled, Stream
from opengcd.discover.class_number import ClassNumberEstimate
from opengcd.discover.counting import LEAST_KNOWN, LEAST_STREAM, count_by_merging
from opengcd.discover.discovery import Discovery, arrange
from opengcd.discover.kmeans import Clustering
from opengcd.discover.mixture import Mixture, MixtureSettings, joint_mixture
from opengcd.discover.refinement import TEMPERATURE, refine
from opengcd.discover.rehearsal import RehearsedNumber, estimate_by_rehearsal
from opengcd.discover.simulation import RowsInMetric
from opengcd.discover.strategy import ClassCount, DiscoveryStrategy
from opengcd.osr import Rejection, ScoredRejection, Share, known_share

REJECTED_SHARE_DEVIATION = 0.15
"""Standard deviation of the estimated share of known rows among rejected ones."""
ROWS_OF_A_GROUP = 3
FEW = 20
"""In a shorter stream, neighbours are not informative, and the refinement head is not used."""
LEAST_KEPT = 0.5
"""If the head keeps a smaller share of the mixture's novel rows as novel, the mixture is used instead. The head is free
to change the share of known rows, so uninformative neighbours can make it empty the novel groups."""


class JointDiscovery(DiscoveryStrategy):
    r"""Assign all rows of a stream together: to known classes, or to novel groups.

    In the metric of the rejection, a :class:`~opengcd.osr.ScoredRejection`: :func:`joint_mixture`, then
    :func:`refine`. Unless k is given, the number of classes is estimated, see ``search``.
    A row nearest to a novel prototype joins its group; any other gets the known class with the largest
    :math:`\log p_c + \log \mathrm{softmax}_c(\mu \cdot z / \tau)`, classifier and prototypes together.

    Parameters
    ----------
    search : str
        How the number of classes is estimated. ``"merging"`` reads it off the stream, without assuming that classes are
        of equal size; with fewer than twenty known classes it falls back to ``"rehearsal"``
        (:func:`estimate_by_rehearsal`), which expects new classes to be about as large as known ones. ``"size"`` uses
        these sizes alone.
    over_stream : bool
        Whether to assign the whole stream, or the rejected rows only.
    head : bool
        Whether the refinement head follows the mixture.

    """

    name = "joint"
    refits = True

    def __init__(self, search: str = "merging", over_stream: bool = True, head: bool = True) -> None:
        self.search = search
        self.over_stream = over_stream
        self.head = head

    @property
    def takes(self) -> str:
        """``"stream"`` or ``"rejected"``."""
        return "stream" if self.over_stream else "rejected"

    def check(self, rejection: Rejection) -> None:
        """Raise an error if the search is unknown, or the rejection is not a :class:`~opengcd.osr.ScoredRejection`."""
        check_choice(self.search, "search of joint discovery", ("rehearsal", "merging", "size"))
        _scored(rejection)

    def discover(
        self, labelled: Labelled, stream: Stream, rejection: Rejection, count: ClassCount, run: Run
    ) -> Discovery:
        """Group the rows of a stream.

        If all of them were rejected, they are not a whole stream: the share of known rows among them then follows from
        the share of known rows that the threshold rejects.
        """
        run, known, n = run.at(NUMBER), len(labelled.classes), len(stream.X)
        if count.k is not None and count.k < known:
            raise ValueError(f"k={count.k} is less than the {known} known classes; raise k.")
        scored = copy.copy(_scored(rejection))  # another thread may call observe meanwhile
        L, U = scored.transform(labelled.X), scored.transform(stream.X)
        p, rejected = stream.probabilities, stream.rejected
        scores = scored.judge(stream.X, p).score if n else np.empty(0)
        rows = RowsInMetric(L, U, scores, rejected, _known_share(scored, scores, rejected))
        (estimate, calibration), rows = self._count(labelled, rows, scored, count, run)
        run.progress("grouping", 0, 2)
        novel = estimate.k - known
        if not n or novel < 1:
            # There are no new classes: every row gets the known class that the classifier predicts.
            everything = Clustering(p.argmax(1), U[:0], 0.0, 0)
            return arrange(U, labelled.classes, everything, estimate, p.max(1, initial=0.0))
        if rejected.sum() < ROWS_OF_A_GROUP * novel:  # too few to start from: add the rows with the largest scores
            rejected = rejected.copy()
            rejected[np.argsort(-scores, kind="stable")[: ROWS_OF_A_GROUP * novel]] = True
        found = joint_mixture(
            L,
            labelled.codes,
            U,
            rejected,
            estimate.k,
            settings=MixtureSettings(label_weight=_label_weight(rows, known, novel)),
            random_state=run.at(1).seed,
            device=run.device,
        )
        run.progress("grouping", 1, 2)
        refined = None
        if self.head and n >= FEW:
            refined = refine(
                L, labelled.codes, U, found.centers, found.sizes, random_state=run.at(2).seed, device=run.device
            )
        labels, probabilities = _assign(U, p, found, refined)
        run.progress("grouping", 2, 2)
        class_probabilities = None if calibration is None else calibration(found.stability)
        clusters = Clustering(labels, _centers(U, labels, found.centers), 0.0, 0)
        return arrange(U, labelled.classes, clusters, estimate, probabilities, class_probabilities)

    def _count(
        self, labelled: Labelled, rows: RowsInMetric, rejection: ScoredRejection, count: ClassCount, run: Run
    ) -> tuple[RehearsedNumber | tuple[ClassNumberEstimate, None], RowsInMetric]:
        """Return the number of classes, and the rows with the share of known ones as counting estimates it.

        If the number was estimated, the calibration of the probability that a group is a class comes with it.
        """
        if count.k is not None:
            return (ClassNumberEstimate(count.k, [], True, "", count.k, (count.k, count.k)), None), rows
        read = None
        if self.search == "merging" and len(labelled.classes) >= LEAST_KNOWN and len(rows.U) >= LEAST_STREAM:
            counted = count_by_merging(labelled, rows, rejection, run.at(3))
            if counted.evident:
                read, rows = counted.number, rows._replace(known_share=counted.known_share)
        by_size = self.search == "size"
        return estimate_by_rehearsal(labelled, rows, rejection, count.most, run.at(0), read=read, by_size=by_size), rows


def _scored(rejection: Rejection) -> ScoredRejection:
    if not isinstance(rejection, ScoredRejection):
        raise ValueError(
            f"Joint discovery needs a rejection by a score with a threshold (a ScoredRejection, such as "
            f"NoveltyRejection), not {rejection.title()!r}."
        )
    return rejection


def _label_weight(rows: RowsInMetric, known: int, novel: int) -> float:
    """Return the weight of a labelled row that makes a known class as large as a new one, in [0.02, 1]."""
    share = rows.known_share.value
    lacking = ((1 - share) / novel - share / known) * len(rows.U)
    return float(np.clip(lacking / (len(rows.L) / known), 0.02, 1.0))


def _assign(U: np.ndarray, p: np.ndarray, found: Mixture, refined: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the class or group of each row and its probability; ``refined``: cosines to the prototypes of the head."""
    known = p.shape[1]
    nearest = found.labels if refined is None else refined.argmax(1)
    if refined is None or (nearest >= known).sum() < LEAST_KEPT * (found.labels >= known).sum():
        cosines, sharpness = U @ found.centers.T, found.concentration
        labels, probabilities = found.labels.copy(), found.probabilities.copy()
    else:
        cosines, sharpness = refined, 1 / TEMPERATURE
        labels, probabilities = nearest, softmax(refined / TEMPERATURE, axis=1).max(1)
    of_known = labels < known
    fused = np.log(p[of_known] + 1e-12) + log_softmax(sharpness * cosines[of_known, :known], axis=1)
    labels[of_known] = fused.argmax(1)
    # The probability of any known class, times that of this one among them.
    any_known = softmax(sharpness * cosines[of_known], axis=1)[:, :known].sum(1)
    probabilities[of_known] = any_known * softmax(fused, axis=1).max(1, initial=0.0)
    return labels, np.asarray(probabilities, dtype=np.float64)


def _known_share(rejection: ScoredRejection, scores: np.ndarray, rejected: np.ndarray) -> Share:
    """Return the share of known rows in a whole stream, or among rejected rows only.

    The latter follows from the shares of known and of unknown rows that the threshold rejects, and from the share of
    known rows in the stream that was observed; one half if none was.
    """
    if not len(scores):
        return Share(0.0, 0.0)
    known, profile = rejection.held_out
    if not rejected.all():
        return known_share(known, scores, profile)
    threshold = rejection.threshold
    assert threshold is not None  # it is fitted
    aus = 1 - float(np.interp(1 - threshold.known_rejected, profile.known_accepted, profile.accepted))
    share = 0.5 if threshold.known_share is None else threshold.known_share
    rejected_known, rejected_unknown = share * threshold.known_rejected, (1 - share) * aus
    return Share(rejected_known / max(rejected_known + rejected_unknown, 1e-9), REJECTED_SHARE_DEVIATION)


def _centers(U: np.ndarray, labels: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return the mean of the rows of each class or group; ``start`` for one without rows."""
    rows, codes = kernels.to_tensor(U, "cpu"), kernels.to_tensor(labels, "cpu")
    means = kernels.class_means(rows, codes, len(start)).numpy()
    centers: np.ndarray = np.where(np.bincount(labels, minlength=len(start))[:, None] > 0, means, start)
    return centers
