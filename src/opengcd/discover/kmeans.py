"""Semi-supervised k-means++ (Sec. 3.5.1; Yoder & Priebe 2016), all restarts at once.

scikit-learn's ``KMeans`` cannot keep the labels of some rows fixed, runs one restart after the other, and has no GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from opengcd._internal import kernels
from opengcd._internal.randomness import Seed, spawn
from opengcd._internal.validation import check_features, check_labels

TOLERANCE = 1e-4
TRIAL_STEPS = 5
"""Steps after which only the best restarts continue, if ``survivors`` is given."""


class Clustering(NamedTuple):
    """The best restart: labels of the unlabelled rows, centres, inertia, and number of steps."""

    labels: np.ndarray
    centers: np.ndarray
    inertia: float
    n_iter: int


class SemiSupervisedKMeans(BaseEstimator):
    r"""k-means in which some rows have a label that never changes.

    The centres of the known classes start at their class means; the others are drawn from the unlabelled rows by
    k-means++ with probability proportional to the squared distance to the nearest centre so far. Then, until
    :math:`(\sum_c \|\Delta\mu_c\|)^2 < \text{tol}`, every unlabelled row goes to its nearest centre *of any kind* (so
    a falsely rejected row can return to a known class) and every centre moves to the mean of its rows. The restart
    with the lowest inertia

    .. math:: \sum_{u \in U} \min_c \|u - \mu_c\|^2 + \sum_{(l, y) \in L} \|l - \mu_y\|^2

    is kept. Time :math:`O(\text{restarts} \cdot \text{steps} \cdot n k d)` in matrix products; memory :math:`O(nd)`.

    Parameters
    ----------
    n_clusters : int
        Known classes and novel groups together.
    n_init : int
        Restarts. Each has its own seed, so more restarts never give a larger inertia.
    max_iter, tol : int, float
        Largest number of steps, and the shift of the centres below which a restart has converged.
    random_state : int, Generator or None
        Seed.
    device : str
        ``"auto"``, ``"cpu"`` or ``"cuda"``.

    Attributes
    ----------
    classes_ : array
        The known classes, sorted.
    labels_ : array of int
        Of the unlabelled rows: below ``len(classes_)`` a known class in the order of ``classes_``, else a novel group.
    cluster_centers_, inertia_, n_iter_ : array, float, int

    Examples
    --------
    >>> import numpy as np
    >>> from opengcd.discover import SemiSupervisedKMeans
    >>> model = SemiSupervisedKMeans(n_clusters=2, random_state=0)
    >>> model.fit([[0.0], [1.0]], ["a", "a"], [[0.5], [9.0], [10.0]]).labels_.tolist()
    [0, 1, 1]

    """

    def __init__(
        self,
        n_clusters: int,
        n_init: int = 10,
        max_iter: int = 200,
        tol: float = TOLERANCE,
        random_state: Seed = None,
        device: str = "auto",
    ) -> None:
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.device = device

    def fit(self, X_labelled: Any, y_labelled: Any, X_unlabelled: Any) -> SemiSupervisedKMeans:
        """Cluster unlabelled rows together with labelled ones; there may be no labelled rows.

        Parameters
        ----------
        X_labelled : array-like of shape (m, d)
            Labelled rows.
        y_labelled : array-like of shape (m,)
            Their labels, integers or strings.
        X_unlabelled : array-like of shape (n, d)
            Rows to cluster, at least as many as there are novel groups.

        Returns
        -------
        SemiSupervisedKMeans
            The estimator itself.

        """
        U = check_features(X_unlabelled, name="X_unlabelled")
        if not len(X_labelled):
            X_labelled = np.empty((0, U.shape[1]), dtype=U.dtype)
        L = check_features(X_labelled, name="X_labelled", width=U.shape[1], min_rows=0)
        y = check_labels(y_labelled, len(L), name="y_labelled")
        self.classes_, codes = np.unique(y, return_inverse=True)
        found = ss_kmeans(
            L,
            codes,
            U,
            self.n_clusters,
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
            random_state=self.random_state,
            device=self.device,
        )
        self.labels_, self.cluster_centers_, self.inertia_, self.n_iter_ = found
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the nearest cluster of each row, numbered as in ``labels_``.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.

        Returns
        -------
        array of int, of shape (n,)

        """
        check_is_fitted(self)
        X = check_features(X, width=self.cluster_centers_.shape[1])
        origin = self.cluster_centers_.mean(0)  # rounding grows with the distance from the origin
        rows, centers = (kernels.to_tensor(A - origin, self.device) for A in (X, self.cluster_centers_))
        return kernels.squared_distances(rows.to(centers.dtype), centers).argmin(1).cpu().numpy()


def ss_kmeans(
    L: np.ndarray,
    codes: np.ndarray,
    U: np.ndarray,
    k: int,
    *,
    n_init: int = 10,
    max_iter: int = 200,
    tol: float = TOLERANCE,
    survivors: int | None = None,
    random_state: Seed = None,
    device: str = "auto",
) -> Clustering:
    """:class:`SemiSupervisedKMeans` as a function; ``codes`` number the known classes of ``L`` from 0.

    Parameters
    ----------
    L, codes : array
        Labelled rows and their class numbers.
    U : array
        Unlabelled rows.
    k : int
        Number of clusters, known classes included.
    n_init, max_iter, tol, random_state, device
        As in the class.
    survivors : int or None
        Number of restarts, those of lowest inertia, that continue after five steps; None continues all. The others
        rarely have the lowest inertia in the end (``make bench`` measures how rarely).

    Returns
    -------
    Clustering

    """
    known = int(codes.max()) + 1 if len(codes) else 0
    novel = k - known
    if novel < 0:
        raise ValueError(f"n_clusters={k} is less than the {known} known classes; raise it.")
    if novel > len(U):
        raise ValueError(f"n_clusters={k} would make {novel} new groups of {len(U)} unlabelled rows; lower it.")
    if k < 1 or n_init < 1 or max_iter < 1 or (survivors is not None and survivors < 1):
        raise ValueError("n_clusters, n_init, max_iter and survivors must be at least 1.")
    run = Restarts(L, codes, U, k, kernels.resolve_device(device))
    uniforms = np.stack([rng.random(novel) for rng in spawn(random_state, n_init)])
    with kernels.threads_for(max(n_init * k, U.shape[1]) * len(U)):
        run.seed(uniforms)
        run.iterate(max_iter, tol, survivors or n_init)
        return run.best()


def kmeans_centers(
    rows: Tensor, k: int, seeds: Sequence[Seed], *, part: Tensor | None = None, tries: int = 2, max_iter: int = 30
) -> Tensor:
    """Return the centres that k-means finds from each of P seeds, the best of several tries: (P, k, d).

    All P runs share their matrix products. ``part``, (P, n), selects the rows of each run; None means all.
    """
    run = Restarts(
        rows[:0],
        rows.new_empty(0, dtype=torch.long),
        rows,
        k,
        rows.device,
        None if part is None else part.repeat_interleave(tries, 0),
    )
    uniforms = np.stack([rng.random(k) for seed in seeds for rng in spawn(seed, tries)])
    with kernels.threads_for(max(len(uniforms) * k, rows.shape[1]) * len(rows)):
        run.seed(uniforms)
        run.iterate(max_iter, TOLERANCE, len(uniforms))
        return run.best_centers(tries)


class Restarts:
    """``R`` restarts that share every matrix product: centres are (R, k, d), labels (R, n).

    ``part``, (R, n), selects the unlabelled rows of each restart; the others have no weight.
    """

    def __init__(
        self,
        L: np.ndarray | Tensor,
        codes: np.ndarray | Tensor,
        U: np.ndarray | Tensor,
        k: int,
        device: torch.device,
        part: Tensor | None = None,
    ) -> None:
        labelled, rows = kernels.to_tensor(L, device), kernels.to_tensor(U, device)
        dtype = torch.result_type(labelled, rows) if len(labelled) else rows.dtype
        # A shift does not change distances, but their rounding errors: centre on the common mean.
        sums = rows.sum(0, dtype=torch.float64) + labelled.sum(0, dtype=torch.float64)
        self.origin = sums / (len(rows) + len(labelled))
        self.U, self.L = ((each - self.origin).to(dtype) for each in (rows, labelled))
        self.norms = kernels.squared_norms(self.U)
        self.codes = kernels.to_tensor(codes, device).long()
        self.k, self.known = k, int(codes.max()) + 1 if len(codes) else 0
        self.part = rows.new_ones(1, len(rows), dtype=torch.bool) if part is None else part
        self.fixed_sums, self.fixed_counts = (each[0] for each in _cluster_sums(self.L, self.codes[None], k))

    def seed(self, uniforms: np.ndarray) -> None:
        """Draw the novel centres by k-means++; row r of ``uniforms`` holds the random numbers of restart r."""
        U, (R, novel) = self.U, uniforms.shape
        draws = kernels.to_tensor(uniforms, U.device)
        self.centers = torch.empty(R, self.k, U.shape[1], dtype=U.dtype, device=U.device)
        self.centers[:, : self.known] = (self.fixed_sums / self.fixed_counts[:, None])[: self.known].to(U.dtype)
        self.part = self.part.expand(R, -1)
        evenly = self.part.double().cumsum(1)
        nearest = self.part.to(U.dtype)
        if self.known:
            nearest = self._nearest_centers(self.centers[:1, : self.known])[1] * nearest
        for j in range(novel):
            mass = nearest.double().cumsum(1)
            # Where every row already coincides with a centre all weights are zero: draw uniformly.
            mass = torch.where(mass[:, -1:] > 0, mass, evenly)
            chosen = torch.searchsorted(mass, draws[:, j : j + 1] * mass[:, -1:], right=True).clamp_(max=len(U) - 1)
            self.centers[:, self.known + j] = U[chosen[:, 0]]
            # A running minimum makes all draws cost O(nkd) instead of O(nk²d).
            gap = kernels.squared_distances(U[chosen[:, 0]], U, self.norms).scatter_(1, chosen, 0)
            nearest = torch.minimum(nearest, gap) if j or self.known else gap * self.part

    def iterate(self, max_iter: int, tol: float, survivors: int) -> None:
        """Take Lloyd steps until each restart converges; converged restarts are left out of the matrix products."""
        R, n = len(self.centers), len(self.U)
        device = self.U.device
        self.labels = torch.zeros(R, n, dtype=torch.long, device=device)
        self.sums = self.fixed_sums.repeat(R, 1, 1)
        self.counts = self.fixed_counts.repeat(R, 1)
        self.steps = torch.zeros(R, dtype=torch.long, device=device)
        active = torch.arange(R, device=device)
        for step in range(1, max_iter + 1):
            labels, gaps = self._nearest_centers(self.centers[active])
            self._assign_rows(active, labels)
            gaps *= self.part[active]
            for i in (self.counts[active] == 0).any(1).nonzero()[:, 0].tolist():
                self._refill_empty(int(active[i]), gaps[i])
            filled = self.counts[active, :, None] > 0
            means = (self.sums[active] / self.counts[active, :, None].clamp(min=1)).to(self.centers.dtype)
            centers = torch.where(filled, means, self.centers[active])
            shift = (centers - self.centers[active]).norm(dim=2).sum(1) ** 2
            self.centers[active] = centers
            self.steps[active] += 1
            active = active[shift >= tol]
            if step == TRIAL_STEPS:
                active = active[torch.isin(active, self._relative_inertia().argsort(stable=True)[:survivors])]
            if not len(active):
                break
        self._assign_rows(torch.arange(R, device=device), self._nearest_centers(self.centers)[0])

    def best(self) -> Clustering:
        """Return the restart of lowest inertia."""
        r = int(self._relative_inertia().argmin())
        inertia = sum(
            float((rows - self.centers[r][codes]).double().square().sum())
            for rows, codes in ((self.U, self.labels[r]), (self.L, self.codes))
        )
        return Clustering(
            labels=self.labels[r].cpu().numpy(),
            centers=(self.centers[r].double() + self.origin).to(self.U.dtype).cpu().numpy(),
            inertia=inertia,
            n_iter=int(self.steps[r]),
        )

    def best_centers(self, tries: int) -> Tensor:
        """Return the centres of the restart of lowest inertia among every ``tries`` of them."""
        lowest = self._relative_inertia().view(-1, tries).argmin(1)
        centers = self.centers.view(-1, tries, *self.centers.shape[1:])[torch.arange(len(lowest)), lowest]
        return (centers.double() + self.origin).to(self.U.dtype)

    def _relative_inertia(self) -> Tensor:
        """Return the inertia of every restart up to the constant Σ‖x‖²: Σ_c (n_c‖μ_c‖² − 2 μ_c·S_c)."""
        centers = self.centers.double()
        return (self.counts * centers.square().sum(2) - 2 * (centers * self.sums).sum(2)).sum(1)

    def _nearest_centers(self, centers: Tensor) -> tuple[Tensor, Tensor]:
        """Return the nearest centre of every unlabelled row, and its squared distance, in each restart: both (R, n)."""
        R, k, d = centers.shape
        flat = centers.reshape(R * k, d)
        norms = kernels.squared_norms(flat)
        labels = torch.empty(R, len(self.U), dtype=torch.long, device=flat.device)
        gaps = torch.empty(R, len(self.U), dtype=flat.dtype, device=flat.device)
        for rows in kernels.row_blocks(self.U, R * k):
            D = kernels.squared_distances(self.U[rows], flat, norms, self.norms[rows]).view(-1, R, k)
            value, index = D.min(2)
            labels[:, rows], gaps[:, rows] = index.T, value.T
        return labels, gaps

    def _assign_rows(self, restarts: Tensor, labels: Tensor) -> None:
        """Assign the rows of these restarts to the clusters ``labels``."""
        sums, counts = _cluster_sums(self.U, labels.masked_fill(~self.part[restarts], self.k), self.k)
        self.labels[restarts] = labels
        self.sums[restarts] = self.fixed_sums + sums
        self.counts[restarts] = self.fixed_counts + counts

    def _refill_empty(self, r: int, gap: Tensor) -> None:
        """Move the row farthest from its centre to each empty cluster; if there is none, the cluster stays empty."""
        for empty in (self.counts[r] == 0).nonzero().squeeze(1).tolist():
            movable = torch.where(self.counts[r][self.labels[r]] > 1, gap, 0)
            farthest = int(movable.argmax())
            if movable[farthest] <= 0:
                return
            left, row = int(self.labels[r, farthest]), self.U[farthest].double()
            self.labels[r, farthest] = empty
            for cluster, sign in ((left, -1), (empty, 1)):
                self.sums[r, cluster] += sign * row
                self.counts[r, cluster] += sign


def _cluster_sums(rows: Tensor, labels: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return sum and number of the rows of each cluster in R labellings (R, n): (R, k, d) and (R, k) in float64.

    Rows with the label k are left out. A CPU adds row by row, :math:`O(Rnd)`. A GPU would add them in random order, so
    it uses a matrix product, which is reproducible to the bit.
    """
    R, d = len(labels), rows.shape[1]
    sums = torch.zeros(R, k + 1, d, dtype=torch.float64, device=rows.device)
    counts = torch.zeros(R, k + 1, dtype=torch.float64, device=rows.device)
    if rows.device.type == "cpu":
        for r, codes in enumerate(labels):
            counts[r] = torch.bincount(codes, minlength=k + 1)
            for block in kernels.row_blocks(rows, d):  # long sums in float32 lose precision
                sums[r] += rows.new_zeros(k + 1, d).index_add_(0, codes[block], rows[block])
    else:
        for block in kernels.row_blocks(rows, R * k):
            of_block = labels[:, None, block]
            members = rows.new_zeros(R, k + 1, of_block.shape[2]).scatter_(1, of_block, 1)
            sums += members @ rows[block]
            counts += members.sum(2)
    return sums[:, :k], counts[:, :k]
