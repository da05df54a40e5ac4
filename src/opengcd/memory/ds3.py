r"""Dissimilarity-based sparse subset selection (Elhamifar, Sapiro & Sastry 2016), the paper's exemplar selection.

For dissimilarities :math:`D` between the rows of one class, DS3 solves

.. math:: \min_Z \; \lambda \sum_i \|Z_{i,:}\|_\infty + \sum_{ij} D_{ij} Z_{ij}
          \quad\text{s.t. } Z \ge 0,\; \mathbf 1^\top Z = \mathbf 1^\top .

Row :math:`i` of :math:`Z` is non-zero where item :math:`i` represents others. ADMM splits the program into a
row-wise proximal step and a column-wise projection on the simplex. Both reduce to one scalar equation per row or
column, :math:`\sum_j \max(v_j - \theta, 0) = r`, which Newton's method solves without sorting. Started from the
:math:`\theta` of the last iteration, most of them converge in two passes; only the others continue.

Classes are solved together as a batch of matrices: smaller classes are padded with isolated points that represent
themselves at no cost.

There is no maintained Python package for DS3, and a general linear-programming solver takes one class at a time, on
the CPU, without a start from the solution for the last lambda.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from opengcd._internal import kernels
from opengcd.memory.greedy_selection import greedy

PENALTY = 1.0
"""ADMM penalty, for dissimilarities scaled to at most 1; residual balancing was slower."""
RELAXATION = 1.6
CHECK_EVERY = 20
REPRESENTATIVE = 0.1
"""A row is a representative if its largest entry is at least this share of the largest of all (as in the original)."""
BATCH_BYTES = 256 * 2**20
DOUBLE_ROWS = 512
"""Above this many rows memory bandwidth limits a step, and float32 is used; its rounding is far below ``tol``."""
SAME_LAMBDA = 1.001
"""Bisection ends when its bounds differ by no more than this factor."""
FAR = 2.0
"""Dissimilarity between a padding point and any other, where the largest real one is 1."""


class DS3Solution(NamedTuple):
    """A feasible ``Z``; a dual certificate shows that its objective is within ``gap`` (relative) of the optimum."""

    Z: np.ndarray
    objective: float
    gap: float
    n_iter: int


def solve_ds3(D: np.ndarray, lam: float, *, tol: float = 1e-6, max_iter: int = 50_000) -> DS3Solution:
    r"""Solve the program for one matrix of dissimilarities.

    Parameters
    ----------
    D : array of shape (n, n)
        Non-negative dissimilarities.
    lam : float
        :math:`\lambda > 0`; larger values select fewer representatives.
    tol : float
        Relative duality gap at which to stop.
    max_iter : int
        Largest number of ADMM steps.

    Returns
    -------
    DS3Solution

    """
    D = np.asarray(D, dtype=np.float64)
    if D.ndim != 2 or D.shape[0] != D.shape[1] or not np.isfinite(D).all() or (D < 0).any():
        raise ValueError("D must be a square matrix of finite, non-negative dissimilarities.")
    if not lam > 0:
        raise ValueError(f"lam must be positive, not {lam}.")
    scale = D.max() or 1.0
    batch = DS3Batch(torch.as_tensor(D / scale)[None], torch.ones(1, len(D), dtype=torch.bool))
    batch.set_lambda(np.array([lam / scale]))
    batch.start([np.array([D.sum(1).argmin()])])
    steps = batch.solve(tol, max_iter)
    objective, bound = (float(value[0]) * scale for value in batch.bounds())
    return DS3Solution(batch.C[0].T.numpy(), objective, (objective - bound) / max(objective, 1e-300), steps)


def lambda_max(D: np.ndarray) -> float:
    r"""Return the least :math:`\lambda` that leaves only the medoid m: :math:`\max_{i \ne m} \|D_i - D_m\|_1 / 2`.

    Parameters
    ----------
    D : array of shape (n, n)
        Non-negative dissimilarities.

    Returns
    -------
    float

    """
    return float(np.abs(D - D[D.sum(1).argmin()]).sum(1).max() / 2)


def select_ds3(
    Xs: Sequence[np.ndarray], ks: Sequence[int], device: str = "auto", *, tol: float = 1e-4, rounds: int = 16
) -> list[np.ndarray]:
    """Select exactly ``k`` representatives of each class (``k`` below its number of rows), most important first.

    Lambda is found by bisection for every class. Often several representatives appear or vanish together, and no lambda
    gives exactly k. The solution nearest to k is then trimmed by ascending row norm, or filled by the largest decrease
    of the cost.
    """
    all_searches = [_LambdaSearch(X, k, device) for X, k in zip(Xs, ks, strict=True)]
    # A class with no more than k different rows keeps them all, and the greedy order puts duplicates last.
    chosen = [search.picks[: search.k] for search in all_searches]
    for members in _batches({c: len(Xs[c]) for c, search in enumerate(all_searches) if search.distinct > search.k}):
        searches = [all_searches[c] for c in members]
        batch, scales = _pad([Xs[c] for c in members], device)
        batch.set_lambda(np.array([s.lam for s in searches]) / scales)
        batch.start([s.picks[: s.k] for s in searches])
        running = np.arange(len(searches))
        for _ in range(rounds):
            with kernels.threads_for(batch.D.numel()):
                batch.solve(tol, max_iter=3000)
            weights = batch.weights()
            searching = np.array([searches[r].step(weights[i]) for i, r in enumerate(running)])
            if not searching.any():
                break
            running = running[searching]
            batch = batch.subset(torch.as_tensor(searching, device=batch.D.device))
            batch.set_lambda(np.array([searches[r].lam / scales[r] for r in running]))
        for c, search in zip(members, searches, strict=True):
            chosen[c] = search.chosen()
    return chosen


def authors_row_sums(X: np.ndarray, device: str = "auto") -> np.ndarray:
    """Return the row sums of C after ten plain ADMM steps on unscaled D with lambda 0.05, as in the authors' code."""
    lam, penalty = 0.05, 0.1
    D = kernels.distances(kernels.to_tensor(X, device).double())
    C, multipliers = torch.zeros_like(D), torch.zeros_like(D)
    C[int(D.sum(1).argmin())] = 1
    for _ in range(10):
        Y = C - (multipliers + D) / penalty
        Z = Y.sign() * prox_max(Y.abs(), lam / penalty)
        C = project_simplex((Z + multipliers / penalty).T).T
        multipliers += penalty * (Z - C)
    return C.sum(1).cpu().numpy()


def project_simplex(V: Tensor) -> Tensor:
    """Project every row onto the simplex: max(v − theta, 0) with a sum of 1."""
    above = torch.empty_like(V)
    threshold(V, V.new_ones(1, 1), V.amax(1, keepdim=True) - 1, above, torch.empty_like(V))
    return above


def prox_max(Y: Tensor, radius: float) -> Tensor:
    r"""Apply the proximal operator of :math:`r \max_j z_j` to every row of ``Y`` ≥ 0: cut at theta, by a sum of r.

    A row whose sum is at most r becomes zero.
    """
    above = torch.empty_like(Y)
    threshold(Y, Y.new_full((1, 1), radius), Y.new_zeros(len(Y), 1), above, torch.empty_like(Y))
    return torch.where(Y.sum(1, keepdim=True) > radius, Y - above, 0)


class _LambdaSearch:
    """Bisection on lambda for one class, started where the greedy solution changes from k to k + 1 representatives."""

    def __init__(self, X: np.ndarray, k: int, device: str) -> None:
        self.k = k
        # The weight of identical rows is arbitrarily divided among them: count them as one, the first.
        _, first, group = np.unique(X, axis=0, return_index=True, return_inverse=True)
        self.first, self.distinct = first[group.reshape(-1)], len(first)
        self.picks, gains = greedy(X, k + 1, device)
        self.lam = max(float(gains[k - 1] + gains[k]) / 2, 1e-9)
        self.low, self.high = 0.0, np.inf
        self.stride = 1.2
        self.best: np.ndarray = np.zeros(0)
        self.rank: tuple[float, bool] = (np.inf, True)

    def step(self, weights: np.ndarray) -> bool:
        """Update the bounds by the row weights found at ``lam``; return whether to try another lambda."""
        weights = np.bincount(self.first, weights=weights[: len(self.first)], minlength=len(self.first))
        excess = _count(weights) - self.k
        # Of two counts equally near to k, prefer the larger: trimming is better than filling.
        rank = (abs(excess), excess < 0)
        if rank < self.rank:
            self.best, self.rank = weights, rank
        if excess > 0:
            self.low = self.lam
        else:
            self.high = self.lam
        if self.low > 0 and self.high < np.inf:
            self.lam = (self.low * self.high) ** 0.5
        else:
            self.lam = self.lam * self.stride if excess > 0 else self.lam / self.stride
            self.stride **= 1.5
        return excess != 0 and self.high > SAME_LAMBDA * self.low

    def chosen(self) -> np.ndarray:
        """Return exactly k rows: the largest weights first, ties by index; filled up by gain."""
        ranked = np.lexsort((np.arange(len(self.best)), -self.best))
        ranked = ranked[: min(self.k, _count(self.best))]
        if len(ranked) < self.k:
            others = self.picks[~np.isin(self.first[self.picks], ranked)]
            others = np.concatenate([others, np.setdiff1d(self.picks, np.concatenate([others, ranked]))])
            ranked = np.concatenate([ranked, others])[: self.k]
        return ranked


def _count(weights: np.ndarray) -> int:
    return int((weights >= REPRESENTATIVE * weights.max()).sum())


def _batches(sizes: dict[int, int]) -> Iterator[list[int]]:
    """Group classes of similar size so that the three n × n arrays of a group fit in ``BATCH_BYTES``."""
    group: list[int] = []
    for c in sorted(sizes, key=lambda c: sizes[c]):
        if group and (len(group) + 1) * sizes[c] ** 2 * 24 > BATCH_BYTES:
            yield group
            group = []
        group.append(c)
    if group:
        yield group


def _pad(Xs: list[np.ndarray], device: str) -> tuple[DS3Batch, np.ndarray]:
    """Stack the scaled distances of several classes, padded to the same size; return their scales too."""
    width = max(len(X) for X in Xs)
    where = kernels.resolve_device(device)
    dtype = torch.float64 if width <= DOUBLE_ROWS else torch.float32
    D = torch.full((len(Xs), width, width), FAR, dtype=dtype, device=where)
    D.diagonal(dim1=1, dim2=2).zero_()
    real = torch.zeros(len(Xs), width, dtype=torch.bool, device=where)
    scales = np.empty(len(Xs))
    for c, X in enumerate(Xs):
        own = kernels.distances(kernels.to_tensor(X, where).double())
        scales[c] = float(own.max()) or 1.0
        D[c, : len(X), : len(X)] = (own / scales[c]).to(dtype)
        real[c, : len(X)] = True
    return DS3Batch(D, real), scales


class DS3Batch:
    """ADMM on a batch of problems: ``Z`` for the rows, ``C`` for the columns, ``W`` the scaled multipliers.

    The cost of a step is memory traffic. So C and W are not stored, only their sum ``V``, the point projected onto the
    simplex: C = max(V − theta, 0) and W = min(V, theta). Matrices are transposed, (problem, item, representative), so
    that an item's column is contiguous in memory. Each step works on tiles that fit in the cache, in reused buffers,
    because allocating memory would cost more than the computation.
    """

    STATE = ("V", "row_theta", "column_theta")

    def __init__(self, D: Tensor, real: Tensor) -> None:
        B, n, _ = D.shape
        self.D, self.real = D.transpose(1, 2).contiguous(), real
        self.V = torch.zeros_like(self.D)
        self.row_theta, self.column_theta = D.new_zeros(B, n, 1), D.new_zeros(B, n, 1)
        self.lam = D.new_zeros(B, n, 1)
        self.buffers: dict[tuple[int, int], Tensor] = {}

    @property
    def C(self) -> Tensor:
        """The feasible solution, transposed."""
        return (self.V - self.column_theta).clamp_(min=0)

    @property
    def W(self) -> Tensor:
        """The multipliers over the penalty, transposed."""
        return torch.minimum(self.V, self.column_theta)

    def set_lambda(self, lam: np.ndarray) -> None:
        """Set lambda of each problem; it is 0 for padding points."""
        self.lam = torch.as_tensor(lam, dtype=self.D.dtype, device=self.D.device)[:, None, None] * self.real[..., None]

    def start(self, picks: Sequence[np.ndarray]) -> None:
        r"""Start from integral solutions: ``C`` assigns each item to its nearest pick.

        In the dual, column j offers :math:`v_j = D_{ij} + \lambda / |J_i|` when pick i serves the set :math:`J_i`;
        the multipliers are then :math:`\min(-v_j, -D_{ij})` over the penalty.
        """
        for b, chosen in enumerate(picks):
            D, size = self.D[b], int(self.real[b].sum())
            index = torch.as_tensor(chosen, device=D.device)
            server = D[:size, index].argmin(1)
            items = torch.arange(size, device=D.device)
            served = torch.bincount(server, minlength=len(index))
            offer = D.new_zeros(len(D), 1)
            offer[:size, 0] = D[items, index[server]] + self.lam[b, 0] / served[server]
            self.V[b] = -torch.maximum(offer, D) / PENALTY
            self.V[b, items, index[server]] += 1
            fill = torch.arange(size, len(D), device=D.device)
            self.V[b, fill, fill] += 1
            self.column_theta[b] = -offer / PENALTY

    def subset(self, mask: Tensor) -> DS3Batch:
        """Return a copy of some of the problems with their current state."""
        part = DS3Batch(self.D[mask].transpose(1, 2), self.real[mask])
        for name in ("lam", *self.STATE):
            setattr(part, name, getattr(self, name)[mask])
        return part

    def solve(self, tol: float, max_iter: int) -> int:
        """Iterate until every problem has a relative duality gap of ``tol``; return the number of iterations."""
        for step in range(1, max_iter + 1):
            self.iterate()
            if step % CHECK_EVERY == 0:
                objective, bound = self.bounds()
                unsolved = objective - bound > tol * objective
                if not unsolved.any():
                    return step
                if 2 * int(unsolved.sum()) <= len(unsolved):
                    part = self.subset(unsolved)
                    steps = part.solve(tol, max_iter - step)
                    for name in self.STATE:
                        getattr(self, name)[unsolved] = getattr(part, name)
                    return step + steps
        return max_iter

    def iterate(self) -> None:
        """Take one ADMM step on every problem."""
        kernels.run_each(self._row_step, self._tiles(), self.D.device)
        kernels.run_each(self._column_step, self._tiles(), self.D.device)

    def _row_step(self, tile: tuple[slice, slice]) -> None:
        """Take the proximal step of some rows, and set the next point to project: a Z + (1 − a) C + W, relaxed."""
        b, rows = tile
        V, theta, radius = self.V[b, :, rows], self.column_theta[b], self.lam[b, rows] / PENALTY
        Y, C = self._buffer(0, V.shape), self._buffer(1, V.shape)
        torch.clamp(torch.sub(V, theta, out=Y), min=0, out=C)
        # The step starts from C − W − D / penalty, and C − W = |V − theta| − theta.
        Y.abs_().sub_(theta).sub_(self.D[b, :, rows], alpha=1 / PENALTY).clamp_(min=0)
        V.sub_(C, alpha=RELAXATION)
        # Z is zero except in the live rows.
        live = Y.sum(1) > radius[..., 0]
        if live.any():
            lines = Y.transpose(1, 2)[live]
            found, above = self._threshold(lines, radius[live], self.row_theta[b, rows][live])
            self.row_theta[b, rows][live] = found
            V.transpose(1, 2)[live] += (lines - above).mul_(RELAXATION)

    def _column_step(self, tile: tuple[slice, slice]) -> None:
        """Project some columns onto the simplex: only their theta changes."""
        b, items = tile
        one = self.D.new_ones(1, 1, 1)
        self.column_theta[b, items] = self._threshold(self.V[b, items], one, self.column_theta[b, items])[0]

    def bounds(self) -> tuple[Tensor, Tensor]:
        r"""Return the objective of each ``C``, and a lower bound of the optimum.

        The dual is :math:`\max \sum_j v_j` subject to :math:`v_j \le D_{ij} + w_{ij}`, :math:`w \ge 0` and
        :math:`\sum_j w_{ij} \le \lambda`. The multipliers give a v; the w that it needs in row i is cut to its bound by
        a threshold, and :math:`v_j = \min_i (D_{ij} + w_{ij})` is then feasible.
        """
        C = self.C
        objective = (self.lam[..., 0] * C.amax(1)).sum(1) + (self.D * C).sum((1, 2))
        offer = torch.where(self.real[..., None], -PENALTY * self.column_theta, 0)
        feasible = torch.full_like(offer[..., 0], torch.inf)
        for b, rows in self._tiles():
            D, lam = self.D[b, :, rows], self.lam[b, rows]
            w = (offer[b] - D).transpose(1, 2)
            theta = self._threshold(w, lam, torch.zeros_like(lam))[0].clamp_(min=0)
            capped = (w - theta).clamp_(min=0).transpose(1, 2).add(D).amin(2)
            feasible[b] = torch.minimum(feasible[b], capped)
        return objective, (feasible * self.real).sum(1)

    def weights(self) -> np.ndarray:
        """Return the largest entry of every row: the weight of an item as a representative."""
        return self.C.amax(1).cpu().numpy()

    def _tiles(self) -> Iterator[tuple[slice, slice]]:
        B, n, _ = self.D.shape
        lines = max(1, kernels.BLOCK_BYTES[self.D.device.type] // (n * self.D.element_size()))
        problems = max(1, lines // n)
        for b in range(0, B, problems):
            for start in range(0, n, lines):
                yield slice(b, b + problems), slice(start, start + lines)

    def _threshold(self, V: Tensor, radius: Tensor, theta: Tensor) -> tuple[Tensor, Tensor]:
        above, sign = self._buffer(1, V.shape), self._buffer(2, V.shape)
        return threshold(V, radius, theta, above, sign), above

    def _buffer(self, number: int, shape: Sequence[int]) -> Tensor:
        key, size = (threading.get_ident(), number), int(np.prod(shape))
        if key not in self.buffers or len(self.buffers[key]) < size:
            self.buffers[key] = self.D.new_empty(size)
        return self.buffers[key][:size].view(*shape)


def threshold(V: Tensor, radius: Tensor, theta: Tensor, above: Tensor, sign: Tensor) -> Tensor:
    r"""Solve :math:`\sum_j \max(v_j - \theta, 0) = r` on every line of the last axis by Newton's method from ``theta``.

    The left side is convex and piecewise linear, so from the second step on theta only rises, and the method ends
    exactly when the set of entries above theta no longer changes. ``above`` receives max(V − theta, 0); ``sign`` is a
    work array of the same shape.
    """
    eps = 4 * torch.finfo(V.dtype).eps
    for _ in range(100):
        torch.sub(V, theta, out=above).clamp_(min=0)
        count = torch.sign(above, out=sign).sum(-1, keepdim=True)
        new = theta + (above.sum(-1, keepdim=True) - radius) / count.clamp(min=1)
        if bool((count == 0).any()):
            new = torch.where(count > 0, new, V.amax(-1, keepdim=True) - radius)
        moving = ((new - theta).abs() > eps * (new.abs() + 1))[..., 0]
        theta = new
        if not moving.any():
            return theta
        if 2 * int(moving.sum()) <= moving.numel():
            # Continue with the few lines that have not converged.
            lines = V[moving]
            rest, work = torch.empty_like(lines), torch.empty_like(lines)
            theta[moving] = threshold(lines, radius.expand(theta.shape)[moving], theta[moving], rest, work)
            above[moving] = rest
            return theta
    return theta
