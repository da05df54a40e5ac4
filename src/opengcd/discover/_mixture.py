"""A mixture over known classes and novel groups at once, on unit vectors: beyond the paper."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from opengcd import kernels
from opengcd.discover._kmeans import ss_kmeans
from opengcd.randomness import Seed, derive, seed_sequence


class Mixture(NamedTuple):
    """Where each row belongs, and the groups themselves; known classes come first."""

    labels: np.ndarray
    """(n,) The most likely class or group."""
    probabilities: np.ndarray
    """(n,) How likely it is."""
    centers: np.ndarray
    """(k, d) Unit vectors."""
    sizes: np.ndarray
    """(k,) Expected number of rows."""
    recurrence: np.ndarray
    """(k,) How well each class or group was found again by the other restarts: mean of the largest Jaccard index."""


def joint_mixture(
    L: np.ndarray,
    codes: np.ndarray,
    U: np.ndarray,
    rejected: np.ndarray,
    k: int,
    *,
    concentration: float = 15.0,
    balance: float = 1.0,
    label_weight: float = 1.0,
    steps: int = 20,
    restarts: int = 6,
    tries: int = 2,
    start_steps: int = 30,
    random_state: Seed = None,
    device: str = "auto",
) -> Mixture:
    r"""Decide of all rows of a stream together which are of known classes, and group the others.

    A von Mises-Fisher mixture on unit vectors, with one component for each known class and each of the ``k`` - C novel
    groups. Known ones start at their class means, novel ones at k-means on the ``rejected`` rows alone: no novel row
    shall fall to a known class before it had a chance. Then EM:

    .. math:: r_{ij} \propto \exp(\kappa\, c_j \cdot u_i - \beta \log \tfrac{n_j}{\sum n}), \qquad
              c_j \propto \sum_{l: y_l = j} l + \sum_i r_{ij} u_i, \qquad
              n_j = \omega\, |\{l: y_l = j\}| + \sum_i r_{ij}

    with the concentration :math:`\kappa`, and a *charge* for size, :math:`\beta` (``balance``): at 1 it evens out
    groups, where a mixture proper has -1. :math:`\omega` (``label_weight``) says how much a labelled row counts in the
    size of its class; with more labelled rows than the stream has of a class, less than 1. Of the restarts the one is
    kept whose groups the others find again best: the most likely one may be a loner.
    Time :math:`O(\text{restarts} \cdot \text{steps} \cdot n k d)`, memory :math:`O(n d)`.
    """
    known = int(codes.max()) + 1 if len(codes) else 0
    novel = k - known
    if novel < 1:
        raise ValueError(f"k={k} leaves no novel group beside {known} known classes; raise it.")
    if novel > int(rejected.sum()):
        raise ValueError(f"k={k} asks for {novel} novel groups among {int(rejected.sum())} rejected rows; lower it.")
    seed, where = seed_sequence(random_state), kernels.resolve_device(device)
    rows = kernels.to_tensor(U, where)
    labelled, classes = kernels.to_tensor(L, where), kernels.to_tensor(codes, where).long()
    fixed = kernels.class_sums(labelled, classes, k) if len(L) else torch.zeros(k, U.shape[1], device=where)
    counts = label_weight * torch.bincount(classes, minlength=k).to(rows.dtype)
    empty = L[:0], codes[:0]
    ends: list[tuple[Tensor, Tensor]] = []
    for r in range(restarts):
        start = ss_kmeans(
            *empty, U[rejected], novel, n_init=tries, max_iter=start_steps, random_state=derive(seed, r), device=device
        ).centers
        centers = normalize(torch.cat([fixed[:known], kernels.to_tensor(start, where).to(rows.dtype)]), dim=1)
        charge = torch.zeros(k, dtype=rows.dtype, device=where)
        with kernels.threads_for(rows.numel()):
            for _ in range(steps):
                sums, sizes = fixed.clone(), counts.clone()
                for block, logits in _logits(rows, centers, charge, concentration):
                    R = torch.softmax(logits, 1)
                    sums += R.T @ block
                    sizes += R.sum(0)
                centers = normalize(sums, dim=1)
                charge = balance * torch.log(sizes.clamp(min=1e-6) / sizes.sum())
        ends.append((centers, charge))
    found = [_decide(rows, *end, concentration) for end in ends]
    again = [[jaccard(one.labels, other.labels, k) for other in found if other is not one] for one in found]
    recurrence = [np.mean(a, axis=0) if a else np.ones(k) for a in again]
    best = int(
        np.argmax([r[known:] @ m.sizes[known:] / m.sizes[known:].sum() for r, m in zip(recurrence, found, strict=True)])
    )
    return found[best]._replace(recurrence=recurrence[best])


def jaccard(labels: np.ndarray, others: np.ndarray, k: int) -> np.ndarray:
    """Return for each of ``k`` groups its largest Jaccard index with a group of another grouping of the same rows."""
    shared = np.bincount(labels * k + others, minlength=k * k).reshape(k, k)
    union = shared.sum(1, keepdims=True) + shared.sum(0) - shared
    best: np.ndarray = (shared / np.maximum(union, 1)).max(1)
    return best


def _logits(rows: Tensor, centers: Tensor, charge: Tensor, concentration: float) -> Iterator[tuple[Tensor, Tensor]]:
    """Blocks of rows, each with how well every class and group fits them."""
    for block in kernels.row_blocks(rows, len(centers)):
        yield rows[block], concentration * rows[block] @ centers.T - charge


def _decide(rows: Tensor, centers: Tensor, charge: Tensor, concentration: float) -> Mixture:
    labels, probabilities = [], []
    sizes = torch.zeros(len(centers), dtype=rows.dtype, device=rows.device)
    for _, logits in _logits(rows, centers, charge, concentration):
        R = torch.softmax(logits, 1)
        top, which = R.max(1)
        labels.append(which)
        probabilities.append(top)
        sizes += R.sum(0)
    return Mixture(
        torch.cat(labels).cpu().numpy(),
        torch.cat(probabilities).double().cpu().numpy(),
        centers.cpu().numpy(),
        sizes.double().cpu().numpy(),
        np.ones(len(centers)),
    )
