"""Training of a network epoch by epoch: with checkpoints, early stop, and smaller batches where memory runs out."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from opengcd._internal.progress import Progress, silent
from opengcd._internal.randomness import derive, generator
from opengcd.adapt.checkpoints import read_checkpoint, write_checkpoint
from opengcd.adapt.losses import (
    CLASSIFIER_WEIGHT,
    LABEL_WEIGHT,
    VIEW_WEIGHT,
    cosine_cross_entropy,
    supervised_contrastive,
    view_contrastive,
)
from opengcd.adapt.reports import EpochPoint, OnEpoch, no_report
from opengcd.adapt.settings import AdaptError, AdaptSettings
from opengcd.adapt.sources import ViewSource
from opengcd.adapt.trainable import TrainableNetwork

HEAD_RATE = 1e-3
"""Learning rate of the parts that are discarded after training: the projection and the prototypes."""
WEIGHT_DECAY = 0.01
WARM_UP = 50
"""Steps in which the learning rate rises; at most a tenth of all."""
LARGEST_GRADIENT = 3.0
HIDDEN, PROJECTED = 1024, 256
"""Widths of the projection whose output the contrastive losses compare."""
LEAST_BATCH = 4
STAGE = "training the network"
BETTER = 1e-3
"""A loss on kept-out images must be lower by this share to count as better."""


class TrainingRows(NamedTuple):
    """What the rows of the source are used for."""

    labelled: np.ndarray
    """Rows whose labels are trained on."""
    codes: np.ndarray
    """Class number of each of them."""
    kept_out: np.ndarray
    """Labelled rows whose labels are not trained on."""
    kept_out_codes: np.ndarray
    unlabelled: np.ndarray
    """Rows that are trained on without a label."""


@dataclass
class _State:
    """All that a checkpoint keeps beside the tensors."""

    epoch: int = 0
    step: int = 0
    batch: int = 0
    steps: int = 0
    best: float = math.inf
    best_epoch: int = 0
    curve: list[list[float]] = field(default_factory=list)


class Trainer:
    r"""Trains a network on labelled rows, and on rows without a label if there are any.

    .. math:: L = \tfrac12 L_\text{classifier} + 0.35\, L_\text{labels} + 0.65\, L_\text{views}

    with the losses of :mod:`opengcd.adapt.losses`; the first two on labelled rows alone. The same seed on the same
    device gives the same weights, even after an interruption: every epoch has a seed of its own.

    Parameters
    ----------
    network : TrainableNetwork
    source : ViewSource
        Of the same network.
    rows : TrainingRows
    settings : AdaptSettings
    seed : int
    checkpoint : Path or None
        The file from which an interrupted training goes on.

    """

    def __init__(
        self,
        network: TrainableNetwork,
        source: ViewSource,
        rows: TrainingRows,
        settings: AdaptSettings,
        *,
        seed: int = 0,
        checkpoint: Path | None = None,
    ) -> None:
        self.network = network
        self.source = source
        self.rows = rows
        self.settings = settings
        self.seed = seed
        self.checkpoint = checkpoint
        self.epochs = settings.epochs_for(len(rows.labelled))

    def run(self, progress: Progress = silent, on_epoch: OnEpoch = no_report) -> list[EpochPoint]:
        """Train, and leave the network as it was after its best epoch.

        Parameters
        ----------
        progress : callable
            Called with a stage, the steps done and their total.
        on_epoch : callable
            Called after each epoch.

        Returns
        -------
        list of EpochPoint

        """
        with _reproducible(self.network.backbone.device):
            return self._run(progress, on_epoch)

    def _run(self, progress: Progress, on_epoch: OnEpoch) -> list[EpochPoint]:
        head = self._head()
        trained = self.network.parameters() | {f"head.{name}": p for name, p in head.named_parameters()}
        optimizer = self._optimizer(trained)
        state = _State(batch=self.settings.batch_for(len(self.rows.labelled)))
        state.steps = self._steps(state.batch)
        best = _copied(trained)
        if self.checkpoint is not None and (found := read_checkpoint(self.checkpoint)) is not None:
            state, best = _State(**found.state), found.restore(trained, optimizer)
        while state.epoch < self.epochs and state.epoch - state.best_epoch < self.settings.patience:
            before = _copied(trained)
            moments = _moments(optimizer, trained)
            try:
                loss = self._epoch(head, optimizer, state, progress)
            except torch.OutOfMemoryError:
                # The pass failed part of the way: back to the start of the epoch, with half the batch.
                if state.batch // 2 < LEAST_BATCH:
                    raise AdaptError(
                        "The network needs more memory than there is, even with a batch of "
                        f"{state.batch}; train fewer blocks (blocks=2), or use another device."
                    ) from None
                _restore(trained, before)
                _restore_moments(optimizer, trained, moments)
                torch.cuda.empty_cache()
                state.batch //= 2
                state.steps = state.step + self._steps(state.batch) * (self.epochs - state.epoch) // self.epochs
                continue
            state.epoch += 1
            accuracy, kept_out_loss = self.evaluate(head.prototypes)
            point = EpochPoint(state.epoch, loss, accuracy)
            state.curve.append(list(point))
            if not kept_out_loss >= state.best * (1 - BETTER):  # also where there is nothing to evaluate on: nan
                state.best, state.best_epoch, best = kept_out_loss, state.epoch, _copied(trained)
            if self.checkpoint is not None:
                write_checkpoint(self.checkpoint, state.__dict__, trained, best, optimizer)
            on_epoch(point)
        _restore(trained, best)
        progress(STAGE, 1, 1)
        return [EpochPoint(int(epoch), *rest) for epoch, *rest in state.curve]

    def _epoch(self, head: _Head, optimizer: Any, state: _State, progress: Progress) -> float:
        """Pass over the labelled rows once; return the mean loss."""
        rng = generator(derive(self.seed, 1, state.epoch))
        views = torch.Generator(self._view_device).manual_seed(int(rng.integers(2**62)))
        device = self.network.backbone.device
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        losses: list[Tensor] = []
        step = state.step
        per_epoch = max(1, -(-state.steps // self.epochs))
        total = self.epochs * per_epoch
        for labelled, others in self._batches(state.batch, rng):
            progress(STAGE, min(state.epoch * per_epoch + len(losses), total), total)
            for group in optimizer.param_groups:
                group["lr"] = group["base"] * _schedule(step, max(state.steps, step + 1))
            codes = torch.from_numpy(self.rows.codes[labelled]).to(device)
            rows = np.concatenate([self.rows.labelled[labelled], others])
            features = functional.normalize(self.source.pairs(rows, views), dim=1)
            loss = head.loss(features, codes, len(rows))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(parameters, LARGEST_GRADIENT)
            optimizer.step()
            losses.append(loss.detach())
            step += 1
        state.step = step
        mean = float(torch.stack(losses).mean())
        if not math.isfinite(mean):
            raise AdaptError("The training diverged: its loss is not a finite number. Use a lower learning_rate.")
        return mean

    def _batches(self, size: int, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield numbers of labelled rows, and rows without a label; each takes half of a batch if there are both."""
        n, unlabelled = len(self.rows.labelled), self.rows.unlabelled
        number = max(1, (n + len(unlabelled)) // size)
        share = size // 2 if len(unlabelled) else size
        labelled = _repeated(n, number * share, rng)
        others = unlabelled[_repeated(len(unlabelled), number * (size - share), rng)] if len(unlabelled) else unlabelled
        for b in range(number):
            yield labelled[b * share : (b + 1) * share], others[b * (size - share) : (b + 1) * (size - share)]

    def _steps(self, batch: int) -> int:
        return self.epochs * max(1, (len(self.rows.labelled) + len(self.rows.unlabelled)) // batch)

    @property
    def _view_device(self) -> torch.device:
        return self.network.backbone.device

    def _head(self) -> _Head:
        """Return a classifier that starts at the class means, and a random projection."""
        device = self.network.backbone.device
        features = functional.normalize(self.source.plain(self.rows.labelled), dim=1)
        codes = torch.from_numpy(self.rows.codes).to(device)
        means = torch.zeros(int(codes.max()) + 1, features.shape[1], device=device).index_add_(0, codes, features)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            return _Head(functional.normalize(means, dim=1)).to(device)

    def _optimizer(self, trained: dict[str, nn.Parameter]) -> torch.optim.AdamW:
        rates = {False: self.settings.rate, True: HEAD_RATE}
        groups = [
            {
                "params": [p for name, p in trained.items() if name.startswith("head.") == is_head],
                "lr": rate,
                "base": rate,
            }
            for is_head, rate in rates.items()
        ]
        return torch.optim.AdamW(groups, weight_decay=WEIGHT_DECAY)

    @torch.no_grad()
    def evaluate(self, prototypes: Tensor) -> tuple[float, float]:
        """Return accuracy and loss of a cosine classifier on the rows kept out; nan without any.

        Parameters
        ----------
        prototypes : Tensor of shape (C, d)

        Returns
        -------
        float
            Accuracy.
        float
            Loss.

        """
        if not len(self.rows.kept_out):
            return math.nan, math.nan
        features = functional.normalize(self.source.plain(self.rows.kept_out), dim=1)
        codes = torch.from_numpy(self.rows.kept_out_codes).to(features.device)
        right = (features @ functional.normalize(prototypes, dim=1).T).argmax(1) == codes
        return float(right.float().mean()), float(cosine_cross_entropy(features, prototypes, codes))


class _Head(nn.Module):
    """What is trained beside the network and discarded: prototypes of the classes, and a projection."""

    def __init__(self, means: Tensor) -> None:
        super().__init__()
        self.prototypes = nn.Parameter(means.clone())
        self.projection = nn.Sequential(nn.Linear(means.shape[1], HIDDEN), nn.GELU(), nn.Linear(HIDDEN, PROJECTED))

    def loss(self, features: Tensor, codes: Tensor, rows: int) -> Tensor:
        """Return the weighted sum of the losses; the features are of two views of all rows, labelled ones first."""
        z = functional.normalize(self.projection(features), dim=1)
        n = len(codes)
        with_label = torch.cat([torch.arange(n), torch.arange(rows, rows + n)]).to(features.device)
        both = torch.cat([codes, codes])
        return (
            CLASSIFIER_WEIGHT * cosine_cross_entropy(features[with_label], self.prototypes, both)
            + LABEL_WEIGHT * supervised_contrastive(z[with_label], both)
            + VIEW_WEIGHT * view_contrastive(z[:rows], z[rows:])
        )


def _schedule(step: int, steps: int) -> float:
    """Return the factor of the learning rate: it rises for some steps, and falls to 0 along half a cosine."""
    warm_up = max(1, min(WARM_UP, steps // 10))
    return min(1.0, (step + 1) / warm_up) * 0.5 * (1 + math.cos(math.pi * step / steps))


def _repeated(n: int, number: int, rng: np.random.Generator) -> np.ndarray:
    """Return ``number`` numbers below n: random orders of all of them, one after the other."""
    return np.concatenate([rng.permutation(n) for _ in range(-(-number // n))])[:number]


def _copied(trained: dict[str, nn.Parameter]) -> dict[str, Tensor]:
    return {name: p.detach().clone() for name, p in trained.items()}


@torch.no_grad()
def _restore(trained: dict[str, nn.Parameter], values: dict[str, Tensor]) -> None:
    for name, parameter in trained.items():
        parameter.copy_(values[name])


def _moments(optimizer: torch.optim.AdamW, trained: dict[str, nn.Parameter]) -> dict[str, dict[str, Tensor]]:
    return {
        name: {key: value.clone() for key, value in optimizer.state[p].items()}
        for name, p in trained.items()
        if p in optimizer.state
    }


def _restore_moments(
    optimizer: torch.optim.AdamW, trained: dict[str, nn.Parameter], moments: dict[str, dict[str, Tensor]]
) -> None:
    optimizer.state.clear()
    for name, values in moments.items():
        optimizer.state[trained[name]] = values


@contextmanager
def _reproducible(device: torch.device) -> Iterator[None]:
    """Let a GPU compute the same result each time; some of its fastest kernels add numbers in any order."""
    if device.type != "cuda":
        yield
        return
    from torch.nn.attention import SDPBackend, sdpa_kernel

    before, warns = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # torch asks for it
    torch.use_deterministic_algorithms(True)
    try:
        with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
            yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=warns)
