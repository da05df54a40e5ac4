"""DeepNNO (Mancini et al. 2019): class means that follow a trained network, and one threshold that follows them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from opengcd._internal import kernels
from opengcd._internal.progress import Progress
from opengcd._internal.randomness import Seed
from opengcd._internal.validation import check_not_negative, check_positive
from opengcd.bench.baselines.grid_search import SEARCH, Range
from opengcd.bench.baselines.trained_head import BATCH_WEIGHT, Rows, TrainedHead

FIRST_TAU = 0.5
LEAST = 1e-6
"""Least squared distance and least threshold: their logarithms are needed."""


class DeepNNO(TrainedHead):
    r"""Score a class by :math:`s_c(x) = \exp(-\|g(x) - \mu_c\|^2 / 2)`, and reject what no class scores above tau.

    The head g is trained with the binary cross-entropy between :math:`s_c` and "is of class c", the mean over rows and
    classes, plus the distillation loss from the second phase on. The means :math:`\mu_c` are running averages over
    batches, and so is the threshold. With s the scores of the rows of a class in a batch for their own class,

    .. math::
        \tau \leftarrow 0.9\,\tau + 0.1\,\mathrm{mean}_c\,
        \frac{\sum s + \eta \sum_{s < \tau} s}{N_c + \eta N_c^{s < \tau}}

    so that rows that would be wrongly rejected weigh more.

    Parameters
    ----------
    learning_rate, weight_decay, classification, distillation : float or "search"
        Of stochastic gradient descent, and the weights of the two losses.
    eta : float or "search"
        Weight of wrongly rejected rows in the threshold.
    pulled_down : bool
        The published code adds eta to the denominator even if no row is wrongly rejected, which pulls the threshold
        down; True does the same.
    memory_size, search_again, max_classes, device, random_state
        See :class:`NNO`. Exemplars are the rows nearest the class mean in the head's space.

    """

    RANGES: ClassVar = {
        "learning_rate": Range(0.1, (0.01, 0.1, 1.0), check_positive),
        "weight_decay": Range(1e-5, (1e-5, 1e-4, 1e-3), check_not_negative),
        "classification": Range(1.0, (0.01, 0.1, 1.0), check_positive),
        "distillation": Range(1.0, (0.01, 0.1, 1.0), check_not_negative),
    }
    REJECTION = "eta"
    REJECTION_VALUES = (1.0, 2.0, 3.0)
    ARRAYS = ("mean_", "scale_", "head_", "class_means_", "first_classes_", "etas_", "taus_")

    def __init__(
        self,
        learning_rate: float | str = SEARCH,
        weight_decay: float | str = SEARCH,
        classification: float | str = SEARCH,
        distillation: float | str = SEARCH,
        eta: float | str = SEARCH,
        pulled_down: bool = False,
        memory_size: int | None = None,
        search_again: bool = True,
        max_classes: int = 500,
        device: str = "auto",
        random_state: Seed = None,
    ) -> None:
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.classification = classification
        self.distillation = distillation
        self.eta = eta
        self.pulled_down = pulled_down
        self.memory_size = memory_size
        self.search_again = search_again
        self.max_classes = max_classes
        self.device = device
        self.random_state = random_state

    def _learn(self, X: np.ndarray, codes: np.ndarray, progress: Progress) -> None:
        if self.phase_ == 1:
            # The threshold takes no part in training, so every eta has one, and the search needs no other run.
            self.etas_ = np.array(self.REJECTION_VALUES if self.eta == SEARCH else [self.eta])
            self.taus_ = np.full(len(self.etas_), FIRST_TAU)
        super()._learn(X, codes, progress)

    def _initial_head(self, rows: Rows) -> Tensor:
        """Scale the identity so that rows lie at a squared distance of 1 from their class mean."""
        means = kernels.class_means(rows.Z, rows.codes, len(self.classes_))
        spread = (rows.Z - means[rows.codes]).square().sum(1).mean().clamp(min=LEAST)
        return torch.eye(rows.Z.shape[1], device=rows.Z.device) / spread.sqrt()

    def _prepare(self, rows: Rows, W: Tensor) -> None:
        self.running_means = kernels.class_means(functional.linear(rows.Z, W), rows.codes, len(self.classes_))
        self._etas, self._taus = (kernels.to_tensor(a, W.device) for a in (self.etas_, self.taus_))

    def _train(self, rows: Rows, progress: Progress) -> None:
        super()._train(rows, progress)
        self.taus_ = self._taus.cpu().numpy()
        del self._etas, self._taus

    def loss(self, z: Tensor, codes: Tensor) -> Tensor:
        """Return the binary cross-entropy of exp(-d²/2); update the running averages and the threshold."""
        logs = -kernels.squared_distances(z, self.running_means).clamp(min=LEAST) / 2
        own = functional.one_hot(codes, len(self.running_means)).bool()
        with torch.no_grad():
            self._follow(z, codes)
            scores = logs[own].exp().double()
            self._taus = follow_threshold(self._taus, scores, codes, self._etas, self.pulled_down)
        # ln(1 - s) without the loss of digits near s = 1.
        losses = torch.where(own, -logs, -torch.log(-torch.expm1(logs)))
        return self.settings_["classification"] * losses.mean()

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Return minus half the squared distance to each class mean: the logarithm of DeepNNO's score."""
        return -np.square(self._distances(X)) / 2

    def to_threshold(self, value: float) -> float:
        """Return the logarithm of the threshold tau that this eta led to in training."""
        if value not in self.etas_:
            raise ValueError(
                "eta was changed after fit, and the threshold was learnt for other values; call fit again."
            )
        return float(np.log(max(self.taus_[self.etas_ == value][0], LEAST**2)))

    def _check_rejection(self, value: Any, name: str) -> float:
        return check_positive(value, name)


def follow_threshold(taus: Tensor, scores: Tensor, codes: Tensor, etas: Tensor, pulled_down: bool = False) -> Tensor:
    """Return the thresholds, one for each eta, after a batch of own-class scores."""
    wrong = (scores < taus[:, None]).to(scores.dtype)
    members = functional.one_hot(codes).to(scores.dtype)
    members = members[:, members.sum(0) > 0]
    number = wrong @ members
    weight = etas[:, None] * (number.clamp(min=1) if pulled_down else number)
    means = (scores @ members + etas[:, None] * ((wrong * scores) @ members)) / (members.sum(0) + weight)
    return torch.lerp(taus, means.mean(1), BATCH_WEIGHT)
