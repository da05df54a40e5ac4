"""Multinomial logistic regression: the linear classifier that frozen features of a good backbone ask for."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional

from opengcd import kernels
from opengcd.classify._base import ArrayClassifier, Inference, softmax_inference
from opengcd.randomness import Seed


class Logistic(ArrayClassifier):
    r"""Minimise :math:`-\frac1n \sum_i \log p_{y_i}(x_i) + \lambda \|W\|^2` by L-BFGS; the offsets are not penalised.

    Features are centred and divided by *one* deviation, that of all entries: features of a backbone share a scale, and
    the directions in which they vary little carry less signal than noise. The problem is convex, so there is no seed.
    """

    ARRAYS = ("mean_", "scale_", "weight_", "bias_")

    def __init__(
        self, penalty: float = 1e-4, max_iter: int = 100, random_state: Seed = None, device: str = "auto"
    ) -> None:
        self.penalty = penalty
        self.max_iter = max_iter
        self.random_state = random_state
        self.device = device

    def fit(self, X: np.ndarray, y: np.ndarray) -> Logistic:
        """Train from scratch on rows ``X`` of classes ``y``."""
        X = X.astype(np.float64)
        self.mean_ = X.mean(0)
        deviation = (X - self.mean_).std()
        self.scale_ = np.array(deviation if deviation > 0 else 1.0)
        where = kernels.resolve_device(self.device)
        Z = kernels.to_tensor(self._standardised(X).astype(np.float32), where)
        targets = kernels.to_tensor(y, where).long()
        W = torch.zeros(int(y.max()) + 1, Z.shape[1], device=where, requires_grad=True)
        b = torch.zeros(len(W), device=where, requires_grad=True)
        optimiser = torch.optim.LBFGS([W, b], max_iter=self.max_iter, history_size=10, line_search_fn="strong_wolfe")

        def loss() -> torch.Tensor:
            optimiser.zero_grad()
            value = functional.cross_entropy(functional.linear(Z, W, b), targets) + self.penalty * W.square().sum()
            value.backward()
            return value

        with kernels.threads_for(Z.numel()):
            optimiser.step(loss)
        self.weight_, self.bias_ = (p.detach().cpu().numpy() for p in (W, b))
        return self

    def infer(self, X: np.ndarray) -> Inference:
        """Labels and probabilities, in float64."""
        logits = self._standardised(X) @ self.weight_.T.astype(np.float64) + self.bias_
        return softmax_inference(logits)
