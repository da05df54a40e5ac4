"""Textbook versions of our steps, for comparison.

They are plain and correct, and nothing is slowed down on purpose. Each uses the same start and the same random numbers
as ours, so both do the same work and reach the same result, except for rounding.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

CHUNK_ROWS = 1024
"""Rows whose (rows, k, d) differences are formed at once; for all rows they would not fit in memory."""


def kmeans(
    L: Tensor, codes: Tensor, U: Tensor, k: int, uniforms: np.ndarray, max_iter: int = 200, tol: float = 1e-4
) -> tuple[Tensor, float, list[int]]:
    """Semi-supervised k-means++, one restart after another: labels of ``U`` and inertia of the best, all step counts.

    Row r of ``uniforms`` holds the random numbers of restart r, one for each novel centre.
    """
    X = torch.cat([L, U])
    known = torch.stack([L[codes == c].mean(0) for c in range(int(codes.max()) + 1)])
    best, least, steps = torch.empty(0), float("inf"), []
    for draws in uniforms:
        centers = kmeans_seeds(U, known, draws)
        steps.append(0)
        for _ in range(max_iter):
            steps[-1] += 1
            labels = torch.cat([codes, nearest_center(U, centers)[0]])
            new = torch.stack([X[labels == c].mean(0) if (labels == c).any() else centers[c] for c in range(k)])
            shift = (new - centers).norm(dim=1).sum() ** 2
            centers = new
            if shift < tol:
                break
        labels, gap = nearest_center(U, centers)
        inertia = float(gap.double().sum() + (L - centers[codes]).double().square().sum())
        if inertia < least:
            best, least = labels, inertia
    return best, least, steps


def kmeans_seeds(U: Tensor, centers: Tensor, draws: np.ndarray) -> Tensor:
    """Add one row of ``U`` to ``centers`` a draw, with a chance proportional to the squared distance to the nearest."""
    for draw in draws:
        if len(centers):
            mass = nearest_center(U, centers)[1].double().cumsum(0)
        else:
            mass = torch.arange(1, len(U) + 1, dtype=torch.float64)
        chosen = torch.searchsorted(mass, float(draw) * mass[-1], right=True)
        centers = torch.cat([centers, U[chosen][None]])
    return centers


def nearest_center(X: Tensor, centers: Tensor) -> tuple[Tensor, Tensor]:
    """Nearest centre of each row and its squared distance, through all the differences."""
    labels, gaps = [], []
    for chunk in X.split(CHUNK_ROWS):
        gap, label = (chunk[:, None] - centers[None]).square_().sum(2).min(1)
        labels.append(label)
        gaps.append(gap)
    return torch.cat(labels), torch.cat(gaps)


def ds3_iteration(
    D: np.ndarray, C: np.ndarray, W: np.ndarray, lam: float, penalty: float, relaxation: float
) -> tuple[np.ndarray, np.ndarray]:
    """One ADMM step of DS3, line by line: the proximal step of every row, then the projection of every column."""
    Y = np.maximum(C - W - D / penalty, 0)
    Z = np.empty_like(Y)
    for i in range(len(Y)):
        Z[i] = prox_max(Y[i], lam / penalty)
    V = relaxation * Z + (1 - relaxation) * C + W
    new = np.empty_like(C)
    for j in range(V.shape[1]):
        new[:, j] = project_simplex(V[:, j])
    return new, V - new


def prox_max(y: np.ndarray, radius: float) -> np.ndarray:
    """Proximal step of ``radius`` · max z on z ≥ 0, for y ≥ 0: cut y off where the parts above sum to ``radius``."""
    if y.sum() <= radius:
        return np.zeros_like(y)
    return np.minimum(y, _cut(y, radius))


def project_simplex(v: np.ndarray) -> np.ndarray:
    """Nearest point with non-negative entries of sum 1 (Duchi et al. 2008)."""
    return np.maximum(v - _cut(v, 1.0), 0)


def _cut(v: np.ndarray, radius: float) -> float:
    """Solve Σ max(v - theta, 0) = radius by sorting."""
    high = np.sort(v)[::-1]
    theta = (np.cumsum(high) - radius) / np.arange(1, len(v) + 1)
    return float(theta[np.flatnonzero(high > theta)[-1]])


def greedy(X: Tensor, k: int) -> list[int]:
    """Facility location by greedy choice, with the gain of every row computed again for every pick."""
    D = torch.cdist(X, X)
    cost = D.max().expand(len(X))
    picks: list[int] = []
    for _ in range(k):
        gain = (cost - D).clamp_(min=0).sum(1)
        gain[picks] = -1
        picks.append(int(gain.argmax()))
        cost = torch.minimum(cost, D[picks[-1]])
    return picks
