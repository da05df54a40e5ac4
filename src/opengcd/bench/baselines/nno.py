"""Nearest Non-Outlier (Bendale & Boult 2015): nearest class mean in a learnt metric, nothing beyond a radius."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from torch.nn import functional

from opengcd._internal import kernels
from opengcd._internal.progress import Progress
from opengcd._internal.randomness import Seed, as_int, derive
from opengcd._internal.validation import check_integer, check_positive
from opengcd.bench.baselines.baseline import TRAINING, Baseline, NearestToMean
from opengcd.bench.baselines.grid_search import SEARCH, Range
from opengcd.classify import Standardised

BATCH = 100
START = 0.1
"""Deviation of the entries of W before training."""


class NNO(Standardised, Baseline):
    r"""Score a class by the distance to its mean, and reject what lies :math:`\tau` or farther from every mean.

    .. math:: f_c(x) \propto 1 - \frac{\|W x - W \mu_c\|}{\tau}, \qquad \text{unknown if all } f_c \le 0

    :math:`W` minimises :math:`-\frac1n \sum_i \log \mathrm{softmax}_c(-\|W x_i - W \mu_c\|^2)` over the first classes
    and stays (Mensink et al. 2013); a new class only adds its mean, so no distance to an old class ever changes.
    Exemplars, the rows nearest the mean, serve discovery and the search for the radius.

    Parameters
    ----------
    dimensions, step, iterations : number or "search"
        Rows of W; step size and length of stochastic gradient descent.
    tau : float or "search"
        The radius.
    memory_size : int or None
        Number of exemplars; None keeps as many as ``fit`` is given.
    search_again : bool
        Whether the radius is searched again in each phase.
    max_classes : int
        Largest number of classes that ``discover`` tries.
    device, random_state
        As in :class:`opengcd.OpenWorldRecognizer`.

    """

    RANGES: ClassVar = {
        "step": Range(1e-3, (1e-4, 1e-3, 1e-2, 1e-1), check_positive),
        "dimensions": Range(128, (64, 128, 256, 512), check_integer),
        "iterations": Range(1000, (200, 1000, 3000), check_integer),
    }
    REJECTION = "tau"
    ARRAYS = ("mean_", "scale_", "metric_", "class_means_", "class_sizes_")

    def __init__(
        self,
        dimensions: int | str = SEARCH,
        step: float | str = SEARCH,
        iterations: int | str = SEARCH,
        tau: float | str = SEARCH,
        memory_size: int | None = None,
        search_again: bool = True,
        max_classes: int = 500,
        device: str = "auto",
        random_state: Seed = None,
    ) -> None:
        self.dimensions = dimensions
        self.step = step
        self.iterations = iterations
        self.tau = tau
        self.memory_size = memory_size
        self.search_again = search_again
        self.max_classes = max_classes
        self.device = device
        self.random_state = random_state

    def _learn(self, X: np.ndarray, codes: np.ndarray, progress: Progress) -> None:
        if self.phase_ == 1:
            self._fit_scale(X)
            self.class_means_, self.class_sizes_ = np.zeros((0, X.shape[1])), np.zeros(0)
        new = len(self.classes_) - len(self.class_means_)
        means, before = np.pad(self.class_means_, ((0, new), (0, 0))), np.pad(self.class_sizes_, (0, new))
        Z = self.standardised(X)
        for c in np.unique(codes):
            rows = Z[codes == c]
            means[c] = (before[c] * means[c] + rows.sum(0)) / (before[c] + len(rows))
        self.class_means_, self.class_sizes_ = means, before + np.bincount(codes, minlength=len(before))
        if self.phase_ == 1:
            self.metric_ = self._train(Z, codes)

    def _train(self, X: np.ndarray, codes: np.ndarray) -> np.ndarray:
        where = kernels.resolve_device(self.device)
        Z, means = (kernels.to_tensor(A.astype(np.float32), where) for A in (X, self.class_means_))
        targets = kernels.to_tensor(codes, where)
        rng = torch.Generator().manual_seed(as_int(derive(self._seed, TRAINING)))
        W = (START * torch.randn(self.settings_["dimensions"], Z.shape[1], generator=rng)).to(where).requires_grad_()
        batches = torch.randint(len(Z), (self.settings_["iterations"], BATCH), generator=rng).to(where)
        optimiser = torch.optim.SGD([W], lr=self.settings_["step"])
        with kernels.threads_for(W.numel()):
            for rows in batches:
                logits = -kernels.squared_distances(Z[rows] @ W.T, means @ W.T)
                optimiser.zero_grad()
                functional.cross_entropy(logits, targets[rows]).backward()
                optimiser.step()
        return W.detach().cpu().numpy()

    def _project(self, X: np.ndarray) -> np.ndarray:
        return self.standardised(X) @ self.metric_.T.astype(np.float64)

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Return minus the distance to each class mean in the learnt metric."""
        rows = kernels.to_tensor(self._project(X), self.device)
        means = kernels.to_tensor(self.class_means_ @ self.metric_.T.astype(np.float64), self.device)
        return -kernels.exact_distances(rows, means).cpu().numpy()

    def to_threshold(self, value: float) -> float:
        """Return minus the distance ``value``."""
        return -value

    def from_threshold(self, threshold: float) -> float:
        """Return the distance at a score."""
        return -threshold

    def _check_rejection(self, value: Any, name: str) -> float:
        return check_positive(value, name)

    def _selector(self) -> NearestToMean:
        return NearestToMean(self._project)
