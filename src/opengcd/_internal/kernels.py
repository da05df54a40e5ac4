"""Numerical kernels in torch, computed in blocks, with the same code for CPU and GPU.

scikit-learn and scipy have most of them for the CPU only. Here memory is bounded: no kernel holds a matrix of all pairs
of rows unless its name says so (:func:`distances`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

Result = TypeVar("Result")

BLOCK_BYTES = {"cpu": 4 * 2**20, "cuda": 256 * 2**20}
"""Largest size of a block of distances: it should fit in the cache of a CPU, and keep a GPU busy."""
SMALL = 2**19
"""Operations on at most this many numbers run on one thread."""


def resolve_device(device: str | torch.device = "auto") -> torch.device:
    """Return the torch device for ``device``; ``"auto"`` is the GPU where there is one, else the CPU."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        resolved = torch.device(device)
    except (RuntimeError, TypeError):
        resolved = None
    if resolved is None or resolved.type not in BLOCK_BYTES:
        raise ValueError(f"device={device!r} is not a device that can be used here; use 'auto', 'cpu' or 'cuda'.")
    if resolved.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device={device!r} was requested, but torch finds no GPU; use 'auto' or 'cpu'.")
    return resolved


def to_tensor(X: Any, device: str | torch.device = "auto") -> Tensor:
    """Move an array to the device, keeping its dtype."""
    if isinstance(X, np.ndarray):
        X = np.require(X, requirements="W")  # torch cannot share memory that must not be written
    return torch.as_tensor(X, device=resolve_device(device))


@contextmanager
def threads_for(numbers: int) -> Iterator[None]:
    """Use one thread for operations on at most :data:`SMALL` numbers.

    Splitting a small operation gains little on an idle machine. On a busy one the threads wait for each other, and it
    can take a hundred times longer.
    """
    before = torch.get_num_threads()
    if numbers <= SMALL:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def run_each(step: Callable[[Any], Result], tiles: Iterable[Any], device: torch.device) -> list[Result]:
    """Run a step on every tile: in parallel on a CPU, one thread per tile, so that a tile stays in that core's cache.

    Steps must not write to the same memory. Results are in the order of the tiles.
    """
    work = list(tiles)
    if device.type != "cpu" or len(work) == 1 or torch.get_num_threads() == 1:
        return [step(tile) for tile in work]
    return list(_workers(torch.get_num_threads()).map(step, work))  # the list raises what a step raised


@cache
def _workers(number: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(number, "opengcd", initializer=torch.set_num_threads, initargs=(1,))


def squared_norms(A: Tensor) -> Tensor:
    """Return the squared norm of every row."""
    return (A * A).sum(1)


def squared_distances(A: Tensor, B: Tensor, b_norms: Tensor | None = None, a_norms: Tensor | None = None) -> Tensor:
    r"""Return all :math:`\|a_i - b_j\|^2` by one matrix product: :math:`\|a\|^2 + \|b\|^2 - 2 a \cdot b`.

    Rounding errors grow with the norms, so centre data that are far from the origin. Squared norms can be passed if
    they have been computed already.
    """
    b_norms = squared_norms(B) if b_norms is None else b_norms
    a_norms = squared_norms(A) if a_norms is None else a_norms
    return torch.addmm(b_norms, A, B.T, alpha=-2).add_(a_norms[:, None]).clamp_(min=0)


def exact_distances(A: Tensor, B: Tensor) -> Tensor:
    """Return all Euclidean distances, each computed by itself: slower, but independent of the other rows."""
    return torch.cdist(A, B, compute_mode="donot_use_mm_for_euclid_dist")


def distances(X: Tensor) -> Tensor:
    """Return the full matrix of Euclidean distances between the rows, with a diagonal of exact zeros."""
    X = X - X.mean(0)
    return squared_distances(X, X).sqrt_().fill_diagonal_(0)


def class_sums(X: Tensor, codes: Tensor, n_classes: int) -> Tensor:
    """Return the sum of the rows of each class, by a matrix product, which is reproducible to the bit on a GPU."""
    return torch.nn.functional.one_hot(codes, n_classes).to(X.dtype).T @ X


def class_means(X: Tensor, codes: Tensor, n_classes: int) -> Tensor:
    """Return the mean of the rows of each class."""
    return class_sums(X, codes, n_classes) / torch.bincount(codes, minlength=n_classes).clamp(min=1)[:, None]


def row_blocks(X: Tensor, columns: int) -> Iterator[slice]:
    """Yield slices of the rows of ``X`` such that rows × ``columns`` numbers fit in a block."""
    rows = max(1, BLOCK_BYTES[X.device.type] // (max(1, columns) * X.element_size()))
    for start in range(0, len(X), rows):
        yield slice(start, start + rows)


def silhouette_values(X: np.ndarray, labels: np.ndarray, device: str | torch.device = "auto") -> np.ndarray:
    r"""Return the silhouette :math:`(b_i - a_i) / \max(a_i, b_i)` of every row; ``labels`` are integers from 0.

    Rows are sorted by cluster, so that each square block of distances contains few clusters; a block above the diagonal
    is used for both its rows and its columns. Time :math:`O(n^2 d / 2)`, memory :math:`O(n (d + k))`.
    """
    order = np.argsort(labels, kind="stable")
    Z = to_tensor(X[order], device).to(torch.float64)
    Z -= Z.mean(0)
    codes = to_tensor(labels[order], device).long()
    n, size = len(Z), torch.bincount(codes)
    sums = torch.zeros(n, len(size), dtype=torch.float64, device=Z.device)
    side = int((BLOCK_BYTES[Z.device.type] // Z.element_size()) ** 0.5)
    starts = range(0, n, side)
    norms = squared_norms(Z)
    for i in starts:
        rows = slice(i, i + side)
        for j in starts[i // side :]:
            columns = slice(j, j + side)
            D = squared_distances(Z[rows], Z[columns], norms[columns]).sqrt_()
            if i == j:
                D.fill_diagonal_(0)
            else:
                _add_cluster_sums(sums[columns], D.T, codes[rows])
            _add_cluster_sums(sums[rows], D, codes[columns])
    return _silhouette_from_sums(sums, codes, size).cpu().numpy()[np.argsort(order)]


def silhouette_from_distances(D: Tensor, labels: Tensor) -> Tensor:
    """Return the silhouette of every row from its distances ``D``: cheap for many labellings of the same rows."""
    size = torch.bincount(labels)
    members = torch.nn.functional.one_hot(labels, len(size)).to(D.dtype)
    return _silhouette_from_sums(D @ members, labels, size)


def _add_cluster_sums(sums: Tensor, D: Tensor, codes: Tensor) -> None:
    """Add the distances of ``D`` (rows × members of some clusters) to the sum of each member's cluster."""
    first, last = int(codes[0]), int(codes[-1])
    members = torch.nn.functional.one_hot(codes - first, last - first + 1).to(D.dtype)
    sums[:, first : last + 1] += D @ members


def _silhouette_from_sums(sums: Tensor, labels: Tensor, size: Tensor) -> Tensor:
    own = labels[:, None]
    a = sums.gather(1, own).squeeze(1) / (size[labels] - 1).clamp(min=1)
    means = sums / size.clamp(min=1)
    means[:, size == 0] = torch.inf
    b = means.scatter_(1, own, torch.inf).amin(1)
    values = (b - a) / torch.maximum(a, b)
    # By convention a singleton scores 0; so does a row that coincides with two clusters (0/0).
    return torch.where(size[labels] > 1, values, 0).nan_to_num_(0)
