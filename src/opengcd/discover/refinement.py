"""Refinement head: prototypes trained so that neighbouring rows get the same label; an extension of the paper."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, log_softmax, softmax

from opengcd._internal import kernels
from opengcd._internal.randomness import Seed, as_int
from opengcd._internal.unit_length import unit_tensor

CANDIDATES = 20_000
"""Neighbours are searched among at most this many rows, so that time is linear in the number of rows."""
BATCH = 1024
TEMPERATURE, TARGET_TEMPERATURE = 0.1, 0.05
"""Temperatures of the predictions p, and of their targets q."""
BALANCE_WEIGHT = 2.0
LEARNING_RATE = 0.005


def refine(
    L: np.ndarray,
    codes: np.ndarray,
    U: np.ndarray,
    centers: np.ndarray,
    sizes: np.ndarray,
    *,
    neighbours: int = 10,
    steps: int = 200,
    random_state: Seed = None,
    device: str = "auto",
) -> np.ndarray:
    r"""Train prototypes on the unit sphere so that neighbours get the same label.

    For a row i and a random one j of its nearest neighbours, with :math:`p = \mathrm{softmax}(c \cdot z / \tau)` and
    the sharper targets :math:`q = \mathrm{softmax}(2\, c \cdot z / \tau)`, without gradient, Adam minimises

    .. math:: \tfrac12 \left[-\tfrac12 (q_i \log p_j + q_j \log p_i)
              + 2 \sum_{P} \bar p(P)\, \mathrm{KL}\big(\bar p(\cdot \mid P) \,\|\, t_P\big)\right]
              - \tfrac12 \log p_{y_l}(l)

    on batches of the stream (i, j) and of labelled rows (l). The sum keeps groups from collapsing: within the known
    classes, one part P, the mean prediction :math:`\bar p` should be even; within the novel groups, the other part, it
    should follow their ``sizes``. The ratio of the two parts is free, because the share of known rows in a stream can
    be anything, and new classes may be much larger in it than known ones.

    Parameters
    ----------
    L, codes : array
        Labelled unit vectors and their class numbers.
    U : array
        Unit vectors of the stream.
    centers, sizes : array
        (k, d) start of the prototypes, and (k,) expected number of rows, from the mixture.
    neighbours, steps : int
        Nearest neighbours from which j is drawn; steps of Adam.
    random_state, device
        Seed and torch device.

    Returns
    -------
    array of shape (n, k)
        Cosine of each row of the stream to each prototype.

    """
    where = kernels.resolve_device(device)
    rng = torch.Generator(device=where).manual_seed(as_int(random_state))
    rows, labelled = kernels.to_tensor(U, where), kernels.to_tensor(L, where)
    classes = kernels.to_tensor(codes, where).long()
    near = _neighbours(rows, min(neighbours, len(rows) - 1), rng)
    prototypes = kernels.to_tensor(centers, where).to(rows.dtype).clone().requires_grad_(True)
    optimiser = torch.optim.Adam([prototypes], lr=LEARNING_RATE, betas=(0.9, 0.99))
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    known = int(classes.max()) + 1
    novel = kernels.to_tensor(sizes, where).to(rows.dtype)[known:].clamp(min=1)
    target = torch.cat([rows.new_full((known,), 1 / known), novel / novel.sum()])
    # Labelled rows are drawn in proportion, up to two for each row of the stream.
    share = max(1, min(2 * BATCH, BATCH * len(L) // len(U)))

    def draw(high: int, size: int) -> Tensor:
        return torch.randint(high, (size,), generator=rng, device=where)

    with kernels.threads_for(BATCH * rows.shape[1]):
        for _ in range(steps):
            i = draw(len(rows), BATCH)
            j = near[i, draw(near.shape[1], BATCH)]
            l = draw(len(labelled), share)  # noqa: E741  the formula's letter
            c = unit_tensor(prototypes)
            of_i, of_j, of_l = rows[i] @ c.T, rows[j] @ c.T, labelled[l] @ c.T
            stream_loss = _stream_loss(of_i, of_j, target, known)
            loss = 0.5 * stream_loss + 0.5 * cross_entropy(of_l / TEMPERATURE, classes[l])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
    cosines: np.ndarray = (rows @ unit_tensor(prototypes.detach()).T).cpu().numpy()
    return cosines


def _stream_loss(of_i: Tensor, of_j: Tensor, target: Tensor, known: int) -> Tensor:
    """Return disagreement and imbalance of pairs of neighbours, given their cosines to the prototypes."""
    p_i, p_j = log_softmax(of_i / TEMPERATURE, 1), log_softmax(of_j / TEMPERATURE, 1)
    q_i, q_j = softmax(of_i.detach() / TARGET_TEMPERATURE, 1), softmax(of_j.detach() / TARGET_TEMPERATURE, 1)
    disagreement = -0.5 * ((q_i * p_j).sum(1) + (q_j * p_i).sum(1)).mean()
    mean = p_i.exp().sum(0) + p_j.exp().sum(0)
    return disagreement + BALANCE_WEIGHT * imbalance(mean / mean.sum(), target, known)


def imbalance(mean: Tensor, target: Tensor, known: int) -> Tensor:
    r"""Return the divergence of the mean prediction p from the target t within known classes and within novel groups.

    :math:`\sum_P p(P)\, \mathrm{KL}(p(\cdot \mid P) \,\|\, t_P)`, where P is the first ``known`` classes, or the rest.
    """
    parts = mean.split([known, len(mean) - known])
    expected = target * torch.cat([part.sum().expand(len(part)) for part in parts])
    return (mean * (mean.clamp(min=1e-9) / expected.clamp(min=1e-9)).log()).sum()


def _neighbours(rows: Tensor, number: int, rng: torch.Generator) -> Tensor:
    """Return the indices of the nearest rows of each row, without itself: (n, number)."""
    pool = torch.randperm(len(rows), generator=rng, device=rows.device)[:CANDIDATES]
    candidates = rows[pool].T
    found = torch.empty(len(rows), number, dtype=torch.long, device=rows.device)
    for block in kernels.row_blocks(rows, len(pool)):
        similarity = rows[block] @ candidates
        itself = torch.arange(len(rows), device=rows.device)[block, None] == pool
        similarity[itself] = -torch.inf
        found[block] = pool[similarity.topk(min(number, len(pool)), 1).indices]
    return found
