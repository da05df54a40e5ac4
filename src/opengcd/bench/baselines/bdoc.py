"""B-DOC (Fontanel et al. 2020): clusters learnt globally and locally, and a learnt radius for each class."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from opengcd._internal import kernels
from opengcd._internal.progress import Progress
from opengcd._internal.randomness import Seed, derive, generator
from opengcd._internal.validation import check_not_negative, check_positive
from opengcd.bench.baselines.baseline import NearestToMean
from opengcd.bench.baselines.grid_search import SEARCH, Range
from opengcd.bench.baselines.trained_head import BATCH_WEIGHT, MOMENTUM, Rows, TrainedHead

EVERY = 5
"""One in this many rows of each class is held out from training, for the radii."""
RADIUS_EPOCHS, RADIUS_BATCH = 20, 64
RADII = 6
"""The step of the seed for the order of held-out rows, after those of all baselines."""


class NearestWithHeldOut(NearestToMean):
    """Rows of a class nearest its mean, where every fifth place belongs to a row that is held out."""

    def __call__(self, X: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
        """Return k rows; every fifth is one that was held out, so that the same rows are held out again."""
        order = super().__call__(X, len(X), rng)
        held_out = _every_fifth(np.zeros(len(X), dtype=np.int64))
        chosen = np.empty(len(X), dtype=np.int64)
        chosen[held_out], chosen[~held_out] = order[held_out[order]], order[~held_out[order]]
        return chosen[:k]


class BDOC(TrainedHead):
    r"""Accept a row for a class within its radius :math:`\Delta_c`, and take the nearest of the classes that accept.

    With :math:`z = g(x) / \sigma`, :math:`\sigma` the deviation of all entries (of the batch in training, its running
    average later), the head minimises

    .. math::
        w_G\, \mathrm{CE}\left(\mathrm{softmax}_c(-\|z - \mu_c\|)\right) - w_L\, \mathrm{mean}_i \log
        \frac{\sum_{j \ne i,\, y_j = y_i} e^{-\|z_i - z_j\|}}{\sum_{j \ne i} e^{-\|z_i - z_j\|}}

    plus the distillation loss from the second phase on; the means :math:`\mu_c` are running averages. Each radius
    starts at the mean distance of the class's rows. Then, on rows that were held out and are named right,

    .. math:: \mathrm{mean}_i \sum_c \mathrm{relu}\left((-1)^{[y_i = c]} (\Delta_c - \|z_i - \mu_c\|)\right)

    is minimised by gradient descent: rows of the class push its radius out, others push it in. Radii are learnt as
    multiples of their start, since in many dimensions distances are large and alike.

    Parameters
    ----------
    learning_rate, weight_decay, global_weight, local_weight, distillation : float or "search"
        Of stochastic gradient descent, and the weights of the three losses.
    radius_rate : float or "search"
        Step size for the radii.
    memory_size, search_again, max_classes, device, random_state
        See :class:`NNO`. Exemplars are the rows nearest the class mean in the head's space; one in five is held out.

    """

    RANGES: ClassVar = {
        "learning_rate": Range(0.1, (0.01, 0.1, 1.0), check_positive),
        "weight_decay": Range(1e-3, (1e-5, 1e-4, 1e-3), check_not_negative),
        "global_weight": Range(1.0, (0.001, 0.01, 0.1, 1.0), check_positive),
        "local_weight": Range(0.1, (0.01, 0.1, 1.0), check_not_negative),
        "distillation": Range(1.0, (0.01, 0.1, 1.0), check_not_negative),
    }
    REJECTION = "radius_rate"
    REJECTION_VALUES = (0.01, 0.1, 0.2, 0.3, 1.0)
    STRICT = False
    PAIRED = True
    ARRAYS = ("mean_", "scale_", "head_", "class_means_", "first_classes_", "sigma_", "rates_", "radii_")

    sigma_: np.ndarray
    radii_: np.ndarray
    running_sigma: Tensor

    def __init__(
        self,
        learning_rate: float | str = SEARCH,
        weight_decay: float | str = SEARCH,
        global_weight: float | str = SEARCH,
        local_weight: float | str = SEARCH,
        distillation: float | str = SEARCH,
        radius_rate: float | str = SEARCH,
        memory_size: int | None = None,
        search_again: bool = True,
        max_classes: int = 500,
        device: str = "auto",
        random_state: Seed = None,
    ) -> None:
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.global_weight = global_weight
        self.local_weight = local_weight
        self.distillation = distillation
        self.radius_rate = radius_rate
        self.memory_size = memory_size
        self.search_again = search_again
        self.max_classes = max_classes
        self.device = device
        self.random_state = random_state

    def _initial_head(self, rows: Rows) -> Tensor:
        return torch.eye(rows.Z.shape[1], device=rows.Z.device)

    def _prepare(self, rows: Rows, W: Tensor) -> None:
        z = functional.linear(rows.Z, W)
        self.running_sigma = z.std() if self.phase_ == 1 else kernels.to_tensor(self.sigma_, W.device)
        self.running_means = kernels.class_means(z / self.running_sigma, rows.codes, len(self.classes_))

    def _train(self, rows: Rows, progress: Progress) -> None:
        super()._train(rows, progress)
        self.sigma_ = self.running_sigma.cpu().numpy()
        del self.running_sigma

    def loss(self, z: Tensor, codes: Tensor) -> Tensor:
        """Return the clustering losses of a batch, global and local; update the running averages."""
        sigma = z.std()
        z = z / sigma
        distances = kernels.squared_distances(z, self.running_means).clamp(min=1e-12).sqrt()
        with torch.no_grad():
            self._follow(z, codes)
            self.running_sigma = torch.lerp(self.running_sigma, sigma, BATCH_WEIGHT)
        settings = self.settings_
        clusters = functional.cross_entropy(-distances, codes)
        return settings["global_weight"] * clusters + settings["local_weight"] * neighbour_loss(z, codes)

    def _embed(self, X: np.ndarray) -> np.ndarray:
        return super()._embed(X) / self.sigma_

    def _calibrate(self, rows: Rows, Z: np.ndarray, codes: np.ndarray) -> None:
        """Set the radii."""
        centres = kernels.to_tensor(self.class_means_.astype(np.float64), rows.Z.device)
        head = kernels.to_tensor(self.head_.astype(np.float64) / self.sigma_, rows.Z.device)
        gaps = (functional.linear(rows.Z.double(), head) - centres[rows.codes]).norm(dim=1)
        members = functional.one_hot(rows.codes, len(centres)).double()
        sizes = members.sum(0)
        # The distance of a single row to its mean is 0.
        start = torch.where(sizes > 1, gaps @ members / sizes.clamp(min=1), gaps.mean()).cpu().numpy()
        self.rates_ = np.array(self.REJECTION_VALUES if self.radius_rate == SEARCH else [self.radius_rate])
        self.radii_ = np.tile(start, (len(self.rates_), 1))
        if len(Z):
            distances = kernels.exact_distances(
                functional.linear(kernels.to_tensor(Z.astype(np.float64), head.device), head), centres
            )
            rng = generator(derive(self._seed, self.phase_, RADII))
            self.radii_ = start * learn_radii(distances.cpu().numpy() / start, codes, self.rates_, rng)

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Return minus the distance to each class mean, in units of the scale sigma."""
        return -self._distances(X)

    def to_threshold(self, value: float) -> np.ndarray:
        """Return minus the radius of each class, as learnt with this rate."""
        return -self.radii_[self.rates_ == value][0]

    def _check_rejection(self, value: Any, name: str) -> float:
        return check_positive(value, name)

    def held_out(self, codes: np.ndarray) -> np.ndarray:
        """Return every fifth row of each class: the radii are learnt on rows that the network is not trained on."""
        return _every_fifth(codes)

    def _selector(self) -> NearestToMean:
        return NearestWithHeldOut(self._embed)


def neighbour_loss(z: Tensor, codes: Tensor) -> Tensor:
    """Soft nearest-neighbour loss; a row without another of its class counts as 0."""
    logits = -kernels.squared_distances(z, z).clamp(min=1e-12).sqrt()
    logits = logits.masked_fill(torch.eye(len(z), dtype=torch.bool, device=z.device), -torch.inf)
    same = codes[:, None] == codes
    accompanied = same.sum(1) > 1
    own = logits.masked_fill(~same, -torch.inf)[accompanied].logsumexp(1)
    return (logits[accompanied].logsumexp(1) - own).sum() / len(z)


def radius_gradient(distances: np.ndarray, own: np.ndarray, radii: np.ndarray) -> np.ndarray:
    r"""Gradient of :math:`\mathrm{mean}_i \sum_c \mathrm{relu}(\pm(\Delta_c - d_{ic}))` for each row of ``radii``."""
    outside = own & (distances > radii[:, None])
    inside = ~own & (distances < radii[:, None])
    return (inside.astype(np.float64) - outside).mean(1)


def learn_radii(distances: np.ndarray, codes: np.ndarray, rates: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return radii, one row per learning rate, starting at 1 and learnt on rows nearest to their own class."""
    right = distances.argmin(1) == codes
    distances, own = distances[right], codes[right, None] == np.arange(distances.shape[1])
    radii = np.ones((len(rates), distances.shape[1]))
    speed = np.zeros_like(radii)
    for _ in range(RADIUS_EPOCHS):
        order = rng.permutation(len(distances))
        for rows in np.split(order, range(RADIUS_BATCH, len(order), RADIUS_BATCH)):
            if len(rows):
                speed = MOMENTUM * speed + radius_gradient(distances[rows], own[rows], radii)
                radii = np.maximum(radii - rates[:, None] * speed, 0)
    return radii


def _every_fifth(codes: np.ndarray) -> np.ndarray:
    """Return which rows are every fifth of their class, in the order in which they stand."""
    held_out = np.zeros(len(codes), dtype=bool)
    for c in np.unique(codes):
        held_out[np.flatnonzero(codes == c)[EVERY - 1 :: EVERY]] = True
    return held_out
