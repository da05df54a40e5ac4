"""What DeepNNO and B-DOC share: a linear head on frozen features, class means that follow it, and distillation."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from opengcd._internal import kernels
from opengcd._internal.progress import Progress
from opengcd._internal.randomness import as_int, derive
from opengcd._internal.validation import encode
from opengcd.bench.baselines.baseline import TRAINING, Baseline, NearestToMean
from opengcd.classify import Standardised

EPOCHS = 12
"""In the first phase; later phases have epochs in proportion to their number of new classes."""
BATCH = 128
MOMENTUM = 0.9
DECAY_FROM, DECAY = 0.8, 0.1
"""After the first share of the epochs the learning rate is multiplied by the second number."""
REPLAY = 0.4
"""Weight of all exemplars together in drawing rows, relative to that of all rows."""
BATCH_WEIGHT = 0.1
"""Weight of a batch in a running average."""


class Rows(NamedTuple):
    """What a phase trains on."""

    Z: Tensor
    """Standardised features."""
    codes: Tensor
    weights: Tensor
    """How often a row is drawn."""


class TrainedHead(Standardised, Baseline):
    r"""A linear head :math:`g(x) = W \tilde x` on standardised features that starts as a multiple of the identity.

    The distillation loss :math:`\|g(x) - g_{old}(x)\|^2 / D` keeps it near the head of the previous phase.
    """

    BETWEEN_PHASES: ClassVar[tuple[str, ...]] = ("distillation",)
    PAIRED: ClassVar[bool] = False
    """Whether rows are drawn in pairs of one class."""

    head_: np.ndarray
    class_means_: np.ndarray
    running_means: Tensor
    """The class means while they are trained."""

    def _learn(self, X: np.ndarray, codes: np.ndarray, progress: Progress) -> None:
        where = kernels.resolve_device(self.device)
        if self.phase_ == 1:
            self._fit_scale(X)
            self.first_classes_ = np.array(len(self.classes_))
        n_old = len(self.memory_)
        if n_old:
            X = np.concatenate([self.memory_.X, X])
            codes = np.concatenate([encode(self.memory_.y, self.classes_), codes])
        weights = np.ones(len(X))
        if n_old:
            weights[:n_old] = REPLAY * len(X) / n_old
        held_out = self.held_out(codes)
        used = ~held_out
        Z = kernels.to_tensor(self.standardised(X[used]).astype(np.float32), where)
        rows = Rows(Z, kernels.to_tensor(codes[used], where), torch.from_numpy(weights[used]))
        if self.phase_ == 1:
            self.head_ = self._initial_head(rows).cpu().numpy()
        self._train(rows, progress)
        self._calibrate(rows, self.standardised(X[held_out]), codes[held_out])

    def _train(self, rows: Rows, progress: Progress) -> None:
        where, settings = rows.Z.device, self.settings_
        rng = torch.Generator().manual_seed(as_int(derive(self._seed, self.phase_, TRAINING)))
        W = kernels.to_tensor(self.head_, where).clone().requires_grad_()
        before = W.detach().clone() if self.phase_ > 1 else None
        self._prepare(rows, W.detach())
        optimiser = torch.optim.SGD([W], settings["learning_rate"], MOMENTUM, weight_decay=settings["weight_decay"])
        epochs = EPOCHS
        if before is not None:
            new = len(self.classes_) - len(self.class_means_)
            epochs = max(1, EPOCHS * new // int(self.first_classes_))
        with kernels.threads_for(W.numel()):
            for epoch in range(epochs):
                for group in optimiser.param_groups:
                    group["lr"] = settings["learning_rate"] * (DECAY if epoch >= DECAY_FROM * epochs else 1)
                for batch in self._draw(rows, rng):
                    x = rows.Z[batch]
                    z = functional.linear(x, W)
                    loss = self.loss(z, rows.codes[batch])
                    if before is not None:
                        loss = loss + settings["distillation"] * (z - functional.linear(x, before)).square().mean()
                    optimiser.zero_grad()
                    loss.backward()
                    optimiser.step()
        self.head_ = W.detach().cpu().numpy()
        self.class_means_ = self.running_means.cpu().numpy()
        del self.running_means

    def _draw(self, rows: Rows, rng: torch.Generator) -> tuple[Tensor, ...]:
        """Return the batches of an epoch: all rows in random order, or drawn by weight where exemplars are replayed."""
        n = len(rows.Z)
        if bool((rows.weights == 1).all()):
            drawn = torch.randperm(n, generator=rng)
        else:
            drawn = torch.multinomial(rows.weights, n, replacement=True, generator=rng)
        if not self.PAIRED:
            return drawn.to(rows.Z.device).split(BATCH)
        drawn = drawn[: -(-n // 2)]
        codes = rows.codes.cpu()
        order, sizes = codes.argsort(stable=True), torch.bincount(codes)
        own = codes[drawn]
        place = (torch.rand(len(drawn), generator=rng, dtype=torch.float64) * sizes[own]).long()
        partners = order[sizes.cumsum(0)[own] - sizes[own] + place]
        return torch.stack([drawn, partners], 1).flatten().to(rows.Z.device).split(BATCH)

    def _follow(self, z: Tensor, codes: Tensor) -> None:
        """Move the means of the classes in a batch towards it."""
        sizes = torch.bincount(codes, minlength=len(self.running_means))
        means = kernels.class_means(z, codes, len(self.running_means))
        self.running_means = torch.where(
            (sizes > 0)[:, None], torch.lerp(self.running_means, means, BATCH_WEIGHT), self.running_means
        )

    def _embed(self, X: np.ndarray) -> np.ndarray:
        return self.standardised(X) @ self.head_.T.astype(np.float64)

    def _distances(self, X: np.ndarray) -> np.ndarray:
        """Distances of rows to the class means, in the head's space."""
        A, B = (kernels.to_tensor(A.astype(np.float64), self.device) for A in (self._embed(X), self.class_means_))
        return kernels.exact_distances(A, B).cpu().numpy()

    def _selector(self) -> NearestToMean:
        return NearestToMean(self._embed)

    def held_out(self, codes: np.ndarray) -> np.ndarray:
        """Return which rows are held out of training; none by default.

        Parameters
        ----------
        codes : int array of shape (n,)
            The class of each row.

        Returns
        -------
        bool array of shape (n,)

        """
        return np.zeros(len(codes), dtype=bool)

    @abstractmethod
    def _initial_head(self, rows: Rows) -> Tensor:
        """Return the head before any training."""

    @abstractmethod
    def _prepare(self, rows: Rows, W: Tensor) -> None:
        """Initialise the running averages, such as the class means ``running_means``."""

    @abstractmethod
    def loss(self, z: Tensor, codes: Tensor) -> Tensor:
        """Return the loss of a batch in the head's space, and update the running averages.

        Parameters
        ----------
        z : tensor of shape (b, d)
            Rows in the head's space.
        codes : int tensor of shape (b,)
            The class of each row.

        Returns
        -------
        tensor
            One number, to be minimised.

        """

    def _calibrate(self, rows: Rows, Z: np.ndarray, codes: np.ndarray) -> None:
        """Calibrate on held-out rows after training; nothing by default."""
