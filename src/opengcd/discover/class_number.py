"""Estimate the number of classes by hiding some of the known ones (Sec. 3.5.3)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from opengcd._internal import kernels
from opengcd._internal.progress import Progress, silent
from opengcd._internal.randomness import Seed, derive, generator, seed_sequence
from opengcd._internal.run import Run
from opengcd._internal.splits import choose_hidden_classes, renumber
from opengcd._internal.validation import check_features, check_integer, check_labels
from opengcd.discover.kmeans import ss_kmeans
from opengcd.metrics import clustering_accuracy

SILHOUETTE_ROWS = 5000
"""Above this many rows the silhouette is computed on a random sample of this size; its standard error is below 0.01."""
SCAN_POINTS = 12
SURVIVORS = 2
"""Restarts of k-means that run until they converge; the others would rarely reach a lower inertia, and take most of the
time."""
NOISE = 0.02
"""Typical difference between the scores of the same k with two seeds; smaller differences are not significant."""

PLATEAU = 0.01
"""Largest decrease of the score that still counts as a plateau."""


class CurvePoint(NamedTuple):
    """One evaluated k: its score, and the two indices whose sum it is.

    For an estimate by rehearsal, the log-probability relative to the most likely k, the agreement of two groupings
    with k, and the mean agreement in the rehearsals.
    """

    k: int
    score: float
    validation: float
    cohesion: float


class ClassNumberEstimate(NamedTuple):
    """Estimated number of classes, known ones included, and how far it can be trusted."""

    k: int
    curve: list[CurvePoint]
    """Every k evaluated, in the order of the search."""
    trusted: bool
    reason: str
    """Why the estimate should not be trusted; empty if it can be."""
    k_raw: int
    """The best k tried; ``k`` is never less than the number of known classes."""
    interval: tuple[int, int] | None = None
    """90 % credible interval of the number; None if the search gives none."""


def estimate_class_number(
    X_labelled: Any,
    y_labelled: Any,
    X_unlabelled: Any,
    max_classes: int = 500,
    objective: str = "acc+sc",
    search: str = "paper",
    random_state: Seed = None,
    *,
    n_init: int = 10,
    max_iter: int = 200,
    device: str = "auto",
    progress: Progress = silent,
) -> ClassNumberEstimate:
    r"""Estimate the number of known and novel classes among labelled and unlabelled rows together.

    A random third of the known classes is hidden. The others are *anchors* and keep their labels; the *validation* rows
    of the hidden classes join the unlabelled rows. For a candidate k, semi-supervised k-means++ clusters all rows, and
    the score is

    .. math:: \mathrm{ACC}(\text{validation rows}) + \mathrm{SC}(\text{unlabelled rows}).

    Each k is evaluated once, with its own seed, so the score is a function of k. The k with the best score is returned.

    Parameters
    ----------
    X_labelled, y_labelled : array
        Rows of at least two known classes, and their labels.
    X_unlabelled : array
        Rows of known and novel classes.
    max_classes : int
        Largest k tried.
    objective : str
        ``"acc+sc"`` (Eqs. 4, 5). ``"fmi+db"`` is what the authors' code maximises: Fowlkes-Mallows plus Davies-Bouldin,
        although the latter is better when lower; ``"fmi-db"`` subtracts it.
    search : str
        ``"paper"``: bounded Brent on (number of anchors, ``max_classes``], one random split of the classes. Its first
        probes are far apart, and with a large bound it can converge to a distant local maximum.
        ``"robust"``: a scan of twelve values of k, log-spaced from the number of known classes, then Brent between the
        neighbours of the best, then k is raised while the score does not decrease. Scores are averaged over three
        splits, such that every known class is hidden once.
        ``"authors"``: as ``"paper"``, from the number of known classes + 1.
    n_init, max_iter : int
        Passed to :func:`ss_kmeans`.
    random_state, device, progress
        Seed, torch device and progress callback.

    Returns
    -------
    ClassNumberEstimate

    """
    U = check_features(X_unlabelled, name="X_unlabelled", min_rows=0)
    L = check_features(X_labelled, name="X_labelled", width=U.shape[1])
    classes, codes = np.unique(check_labels(y_labelled, len(L), name="y_labelled"), return_inverse=True)
    known = len(classes)
    if known < 2:
        raise ValueError(
            "The number of classes cannot be estimated with a single known class; give rows of at least two."
        )
    check_search(search, objective)
    if check_integer(max_classes, "max_classes") < known:
        raise ValueError(f"max_classes={max_classes} is less than the {known} known classes; raise it.")
    if len(U) < 2:
        return ClassNumberEstimate(known, [], True, "", known)

    run = Run(seed_sequence(random_state), device, progress)
    rng = generator(derive(run.seed, 0))
    hidden = choose_hidden_classes(known, 3 if search == "robust" else 1, rng)
    sample = np.sort(rng.permutation(len(U))[:SILHOUETTE_ROWS])
    splits = [_Split(L, codes, U, part) for part in hidden]
    score = _Score(splits, _Objective(objective, U, sample, device), run, n_init=n_init, max_iter=max_iter)
    low = {"paper": score.splits[0].anchors + 1, "robust": known, "authors": known + 1}[search]
    high = min(max_classes, known + len(U))
    low = min(low, high)
    if search == "robust":
        scan = np.unique(np.geomspace(low, high, SCAN_POINTS).round().astype(int))
        best = int(np.argmax([score(int(k)) for k in scan]))
        _brent(score, int(scan[max(best - 1, 0)]), int(scan[min(best + 1, len(scan) - 1)]))
    else:
        _brent(score, low, high)
    best_point = max(score.curve, key=lambda point: (point.score, point.k))
    if search == "robust":
        best_point = _right_end_of_plateau(score, best_point, high)
    reason = _reason_for_distrust(score, best_point, known, high)
    progress("estimating the number of classes", len(score.curve), len(score.curve))
    return ClassNumberEstimate(max(best_point.k, known), score.curve, not reason, reason, best_point.k)


def check_search(search: str, objective: str) -> None:
    """Raise an error if the search or the objective is unknown."""
    if objective not in OBJECTIVES:
        raise ValueError(f"Unknown objective {objective!r}; choose from {', '.join(OBJECTIVES)}.")
    if search not in SEARCHES:
        raise ValueError(f"Unknown search {search!r}; choose 'paper', 'robust' or 'authors'.")


class _Objective:
    """The two indices whose sum is the score of a clustering."""

    def __init__(self, name: str, U: np.ndarray, sample: np.ndarray, device: str) -> None:
        self.validation, cohesion = OBJECTIVES[name]
        self.sample, self.cohesion = sample, cohesion(U[sample], device)

    def __call__(self, truth: np.ndarray, hidden: np.ndarray, stream: np.ndarray) -> tuple[float, float]:
        """Return the validation index of the hidden rows, given their classes, and the cohesion index of the stream."""
        groups = np.unique(stream[self.sample], return_inverse=True)[1]
        cohesion = -1.0
        if 2 <= groups.max() + 1 <= len(groups) - 1:
            cohesion = self.cohesion(groups)
        return self.validation(truth, hidden), cohesion


class _Score:
    """The objective as a function of k: averaged over the splits, and evaluated once for each k."""

    def __init__(self, splits: list[_Split], objective: _Objective, run: Run, **kmeans: Any) -> None:
        self.splits, self.objective, self.run, self.kmeans = splits, objective, run, kmeans
        self.curve: list[CurvePoint] = []

    def __call__(self, k: int) -> float:
        for point in self.curve:
            if point.k == k:
                return point.score
        self.run.progress("estimating the number of classes", len(self.curve), 0)
        parts = [self._evaluate(split, k, self.run.at(1, k, i)) for i, split in enumerate(self.splits)]
        validation, cohesion = np.mean(parts, axis=0)
        self.curve.append(CurvePoint(k, float(validation + cohesion), float(validation), float(cohesion)))
        return self.curve[-1].score

    def _evaluate(self, split: _Split, k: int, run: Run) -> tuple[float, float]:
        found = ss_kmeans(
            split.L,
            split.codes,
            split.rows,
            k,
            survivors=SURVIVORS,
            random_state=run.seed,
            device=run.device,
            **self.kmeans,
        )
        return self.objective(split.truth, found.labels[: len(split.truth)], found.labels[len(split.truth) :])


class _Split:
    """Known classes split into anchors, which keep their labels, and hidden ones, which join the unlabelled rows."""

    def __init__(self, L: np.ndarray, codes: np.ndarray, U: np.ndarray, hidden: np.ndarray) -> None:
        known = int(codes.max()) + 1
        anchors = np.setdiff1d(np.arange(known), hidden)
        number = renumber(known, anchors)
        is_anchor = number[codes] >= 0
        self.anchors, self.hidden = len(anchors), len(hidden)
        self.L, self.codes = L[is_anchor], number[codes[is_anchor]]
        self.truth = codes[~is_anchor]
        self.rows = np.concatenate([L[~is_anchor], U])


def _brent(score: _Score, low: int, high: int) -> None:
    """Maximise by bounded Brent on the rounded k; ``score.curve`` records what was evaluated."""
    if high - low < 4:
        for k in range(low, high + 1):
            score(k)
    else:
        minimize_scalar(lambda x: -score(round(x)), bounds=(low, high), method="bounded", options={"xatol": 0.5})


def _right_end_of_plateau(score: _Score, best: CurvePoint, high: int) -> CurvePoint:
    """Raise k as long as the score does not decrease.

    The score does not depend on whether a novel class shares the cluster of an anchor, because the silhouette is that
    of unlabelled rows only. So a k slightly below the true one can score as well; just above it, the score decreases.
    """
    k = best.k
    while k < high and score(k + 1) >= best.score - PLATEAU:
        k += 1
    return next(point for point in score.curve if point.k == k)


def _reason_for_distrust(score: _Score, best: CurvePoint, known: int, high: int) -> str:
    """Return why the estimate should not be trusted; empty if it can be."""
    if best.k < known:
        return f"the best k tried, {best.k}, is less than the {known} known classes"
    if all(split.hidden < 2 for split in score.splits):
        return "only one class at a time could be hidden, and its accuracy shows only whether it was split"
    if best.k == high:
        return f"the best k tried is the largest one allowed, {high}"
    looked_at = sorted({known, high, *(p.k for p in score.curve if p.k >= known)})
    for a, b in pairwise(looked_at):
        if b > max(2 * a, a + 2) and a <= best.k:
            return f"no k between {a} and {b} was tried"
    rivals = [p.k for p in score.curve if p.score > best.score - NOISE and abs(p.k - best.k) > 0.2 * best.k]
    if rivals:
        return f"k = {', '.join(map(str, sorted(rivals)))} scored as well as {best.k} within the noise"
    return ""


def _silhouette(X: np.ndarray, device: str) -> CohesionIndex:
    # The distances do not depend on k: computed once, each k costs one matrix product.
    D = kernels.distances(kernels.to_tensor(X, device))
    return lambda groups: float(kernels.silhouette_from_distances(D, kernels.to_tensor(groups, D.device)).mean())


def _davies_bouldin(X: np.ndarray, device: str) -> CohesionIndex:
    from sklearn.metrics import davies_bouldin_score

    return lambda groups: float(davies_bouldin_score(X, groups))


def _separation(X: np.ndarray, device: str) -> CohesionIndex:
    davies_bouldin = _davies_bouldin(X, device)
    return lambda groups: -davies_bouldin(groups)


def _fowlkes_mallows(truth: np.ndarray, clusters: np.ndarray) -> float:
    from sklearn.metrics import fowlkes_mallows_score

    return float(fowlkes_mallows_score(truth, clusters))


CohesionIndex = Callable[[np.ndarray], float]
"""Cohesion index of rows, as a function of their groups."""
SEARCHES = ("paper", "robust", "authors")
OBJECTIVES: dict[str, tuple[Callable[[np.ndarray, np.ndarray], float], Callable[[np.ndarray, str], CohesionIndex]]] = {
    "acc+sc": (clustering_accuracy, _silhouette),
    "fmi+db": (_fowlkes_mallows, _davies_bouldin),
    "fmi-db": (_fowlkes_mallows, _separation),
}
