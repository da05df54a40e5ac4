"""One mixture over known classes and novel groups, on unit vectors; an extension of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from opengcd._internal import kernels
from opengcd._internal.randomness import Seed, derive, seed_sequence
from opengcd._internal.unit_length import unit_tensor
from opengcd.discover.kmeans import kmeans_centers

CONCENTRATION = 15.0
r"""The concentration :math:`\kappa` of every component, in whitened features."""


class Mixture(NamedTuple):
    """Assignment of each row, and the components of the mixture; those of known classes come first."""

    labels: np.ndarray
    """(n,) The most likely class or group."""
    probabilities: np.ndarray
    """(n,) Its probability."""
    centers: np.ndarray
    """(k, d) Unit vectors."""
    sizes: np.ndarray
    """(k,) Expected number of rows."""
    stability: np.ndarray
    """(k,) Cluster stability (Hennig 2007): the largest Jaccard index with a group of another restart, on average."""
    concentration: float
    r""":math:`\kappa` of every component."""


class MixtureSettings(NamedTuple):
    r"""Settings of :func:`joint_mixture`."""

    label_weight: float = 1.0
    r""":math:`\omega`, the weight of a labelled row in the size of its class."""
    steps: int = 60
    """EM steps."""
    tries: int = 2
    """Restarts of the k-means that EM starts from."""
    start_steps: int = 30
    """Steps of that k-means."""
    concentration: float = CONCENTRATION
    r""":math:`\kappa`."""
    balance: float = 1.0
    r""":math:`\beta`, the penalty on size."""


DEFAULTS = MixtureSettings()


class LabelledClasses(NamedTuple):
    """Sufficient statistics of the labelled rows."""

    sums: Tensor
    """(C, d) Sum of the rows of each known class."""
    counts: Tensor
    """(C,) Their number."""


class StreamTensors(NamedTuple):
    """Unlabelled rows on the device."""

    rows: Tensor
    """(n, d) Unit vectors."""
    rejected: Tensor
    """(n,) Whether a row was rejected."""
    part: Tensor | None = None
    """(P, n) Which rows belong to each of P mixtures; None: all of them to all."""


def joint_mixture(
    L: np.ndarray,
    codes: np.ndarray,
    U: np.ndarray,
    rejected: np.ndarray,
    k: int,
    *,
    settings: MixtureSettings = DEFAULTS,
    restarts: int = 6,
    random_state: Seed = None,
    device: str = "auto",
) -> Mixture:
    r"""Assign all rows of a stream to known classes or novel groups, by one mixture over both.

    A von Mises-Fisher mixture on unit vectors, with one component for each known class and each of the ``k`` - C novel
    groups. Known components start at their class means, novel ones at the centres of k-means on the ``rejected`` rows
    alone, so that novel rows do not strengthen a known class in the first steps. Then EM:

    .. math:: r_{ij} \propto \exp(\kappa\, c_j \cdot u_i - \beta \log \tfrac{n_j}{\sum n}), \qquad
              c_j \propto \sum_{l: y_l = j} l + \sum_i r_{ij} u_i, \qquad
              n_j = \omega\, |\{l: y_l = j\}| + \sum_i r_{ij}

    with the concentration :math:`\kappa` and a penalty on size, :math:`\beta` (``balance``): 1 evens out group sizes,
    while a standard mixture has -1. :math:`\omega` (``label_weight``) is the weight of a labelled row in the size of
    its class; choose less than 1 if a class has more labelled rows than rows in the stream. Of all restarts, keep the
    one whose groups agree best with those of the other restarts; the most likely restart is often an outlier.
    Time :math:`O(\text{restarts} \cdot \text{steps} \cdot n k d)`, memory :math:`O(n d)`.

    Parameters
    ----------
    L, codes : array
        Labelled unit vectors and their class numbers.
    U, rejected : array
        Unit vectors of the stream, and which of them were rejected.
    k : int
        Number of known classes and novel groups together.
    settings : MixtureSettings
        :math:`\omega`, :math:`\kappa`, :math:`\beta`, and the numbers of steps.
    restarts : int
        Restarts of EM.
    random_state, device
        Seed and torch device.

    Returns
    -------
    Mixture

    """
    known = int(codes.max()) + 1 if len(codes) else 0
    novel = k - known
    if novel < 1:
        raise ValueError(f"k={k} leaves no new group beside the {known} known classes; raise k.")
    if novel > int(rejected.sum()):
        raise ValueError(f"k={k} would make {novel} new groups of {int(rejected.sum())} rejected rows; lower k.")
    seed = seed_sequence(random_state)
    rows = kernels.to_tensor(U, device)
    centers, penalties = mixtures(
        labelled_classes(L, codes, device),
        StreamTensors(rows, kernels.to_tensor(rejected, device)),
        novel,
        [derive(seed, r) for r in range(restarts)],
        settings,
    )
    found = [assign_rows(rows, *end, settings.concentration) for end in zip(centers, penalties, strict=True)]
    agreement = [[jaccard(one.labels, other.labels, k) for other in found if other is not one] for one in found]
    stability = [np.mean(a, axis=0) if a else np.ones(k) for a in agreement]
    best = int(
        np.argmax([s[known:] @ m.sizes[known:] / m.sizes[known:].sum() for s, m in zip(stability, found, strict=True)])
    )
    return found[best]._replace(stability=stability[best])


def labelled_classes(L: np.ndarray, codes: np.ndarray, device: str = "auto") -> LabelledClasses:
    """Return sums and counts of the labelled rows of each class, on the device."""
    rows, classes = kernels.to_tensor(L, device), kernels.to_tensor(codes, device).long()
    known = int(codes.max()) + 1 if len(codes) else 0
    return LabelledClasses(kernels.class_sums(rows, classes, known), torch.bincount(classes, minlength=known))


def mixtures(
    labelled: LabelledClasses, stream: StreamTensors, novel: int, seeds: Sequence[Seed], settings: MixtureSettings
) -> tuple[Tensor, Tensor]:
    """Run EM of :func:`joint_mixture` from each of P seeds; return centres, (P, k, d), and size penalties, (P, k).

    All P mixtures share their matrix products.
    """
    rows, rejected, part = stream
    label_weight, steps, tries, start_steps, concentration, balance = settings
    P, k, d = len(seeds), len(labelled.counts) + novel, rows.shape[1]
    started = None if part is None else part[:, rejected]
    starts = kmeans_centers(rows[rejected], novel, seeds, part=started, tries=tries, max_iter=start_steps)
    centers = unit_tensor(torch.cat([labelled.sums.expand(P, -1, -1), starts], 1))
    penalties = rows.new_zeros(P, k)
    fixed = torch.cat([labelled.sums, rows.new_zeros(novel, d)])
    counts = torch.cat([label_weight * labelled.counts, rows.new_zeros(novel)])
    with kernels.threads_for(P * rows.numel()):
        for _ in range(steps):
            sums, sizes = fixed.repeat(P, 1, 1), counts.repeat(P, 1)
            for block in kernels.row_blocks(rows, P * k):
                R = torch.softmax(_logits(rows[block], centers, penalties, concentration), 2)
                if part is not None:
                    R *= part[:, block].T[:, :, None]
                sums += (R.view(-1, P * k).T @ rows[block]).view(P, k, d)
                sizes += R.sum(0)
            centers = unit_tensor(sums)
            penalties = balance * torch.log(sizes.clamp(min=1e-6) / sizes.sum(1, keepdim=True))
    return centers, penalties


def jaccard(labels: np.ndarray, others: np.ndarray, k: int) -> np.ndarray:
    """Return the largest Jaccard index of each of ``k`` groups with a group of another grouping of the same rows."""
    shared = np.bincount(labels * k + others, minlength=k * k).reshape(k, k)
    union = shared.sum(1, keepdims=True) + shared.sum(0) - shared
    best: np.ndarray = (shared / np.maximum(union, 1)).max(1)
    return best


def _logits(rows: Tensor, centers: Tensor, penalties: Tensor, concentration: float) -> Tensor:
    """Return the unnormalised log-probability of each component of P mixtures for each row: (n, P, k)."""
    fit = torch.addmm(-penalties.flatten(), rows, centers.flatten(0, 1).T, alpha=concentration)
    return fit.view(-1, *penalties.shape)


def assign_rows(rows: Tensor, centers: Tensor, penalty: Tensor, concentration: float) -> Mixture:
    """Return the most likely component of each row, and the expected size of each component."""
    labels, probabilities = [], []
    sizes = torch.zeros(len(centers), dtype=rows.dtype, device=rows.device)
    for block in kernels.row_blocks(rows, len(centers)):
        R = torch.softmax(_logits(rows[block], centers[None], penalty[None], concentration)[:, 0], 1)
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
        concentration,
    )
