"""The paper's multilayer perceptron: scikit-learn's defaults, trained by torch so that it runs on a GPU too."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from opengcd._internal import kernels
from opengcd._internal.randomness import Seed, as_int
from opengcd.classify.classifier import ArrayClassifier, Inference, softmax_inference


class MLP(ArrayClassifier):
    """One hidden layer of ReLU units, softmax output, Adam on shuffled batches.

    All defaults are those of ``sklearn.neural_network.MLPClassifier``, as in the paper.

    Parameters
    ----------
    hidden : int
        Number of hidden units.
    learning_rate, batch_size : float, int
        Of Adam.
    alpha : float
        L2 penalty: a batch of m rows adds ``alpha / 2m`` times the sum of the squared weights to its loss.
    max_iter : int
        Largest number of epochs.
    tol, patience : float, int
        Stop when the mean loss of an epoch has not been lower than the best one by ``tol`` for ``patience`` epochs.
    random_state, device
        Seed and torch device.

    """

    ARRAYS = ("mean_", "scale_", "hidden_weight_", "hidden_bias_", "output_weight_", "output_bias_")

    def __init__(
        self,
        hidden: int = 100,
        learning_rate: float = 1e-3,
        batch_size: int = 200,
        alpha: float = 1e-4,
        max_iter: int = 200,
        tol: float = 1e-4,
        patience: int = 10,
        random_state: Seed = None,
        device: str = "auto",
    ) -> None:
        self.hidden = hidden
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol
        self.patience = patience
        self.random_state = random_state
        self.device = device

    def fit(self, X: np.ndarray, y: np.ndarray) -> MLP:
        """Train from scratch.

        Parameters
        ----------
        X : array of shape (n, d)
            Feature vectors.
        y : int array of shape (n,)
            Their classes, numbered from 0 without gaps.

        Returns
        -------
        MLP
            This object.

        """
        self._fit_scale(X)
        where = kernels.resolve_device(self.device)
        Z = kernels.to_tensor(self.standardised(X).astype(np.float32), where)
        targets = kernels.to_tensor(y, where).long()
        rng = torch.Generator().manual_seed(as_int(self.random_state))
        W1, b1, W2, b2 = parameters = _initial_parameters((Z.shape[1], self.hidden, int(y.max()) + 1), rng, where)
        optimiser = torch.optim.Adam(parameters, lr=self.learning_rate, fused=True)
        best, stale = np.inf, 0
        for _ in range(self.max_iter):
            total = 0.0
            for rows in torch.randperm(len(Z), generator=rng).to(where).split(self.batch_size):
                logits = functional.linear(functional.linear(Z[rows], W1, b1).relu(), W2, b2)
                penalty = self.alpha / (2 * len(rows)) * (W1.square().sum() + W2.square().sum())
                loss = functional.cross_entropy(logits, targets[rows]) + penalty
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                total += float(loss.detach()) * len(rows)
            loss_of_epoch = total / len(Z)
            stale = 0 if loss_of_epoch < best - self.tol else stale + 1
            best = min(best, loss_of_epoch)
            if stale > self.patience:
                break
        self.hidden_weight_, self.hidden_bias_, self.output_weight_, self.output_bias_ = (
            p.detach().cpu().numpy() for p in parameters
        )
        return self

    def infer(self, X: np.ndarray) -> Inference:
        """Return labels and probabilities by a forward pass in float64."""
        hidden = np.maximum(self.standardised(X) @ self.hidden_weight_.T.astype(np.float64) + self.hidden_bias_, 0)
        logits = hidden @ self.output_weight_.T.astype(np.float64) + self.output_bias_
        return softmax_inference(logits)


def _initial_parameters(sizes: Sequence[int], rng: torch.Generator, device: torch.device) -> list[Tensor]:
    """Draw weight and bias of each layer by Glorot's uniform rule."""
    parameters = []
    for fan_in, fan_out in pairwise(sizes):
        bound = (6 / (fan_in + fan_out)) ** 0.5
        for shape in ((fan_out, fan_in), (fan_out,)):
            start = torch.empty(shape).uniform_(-bound, bound, generator=rng)
            parameters.append(start.to(device).requires_grad_())
    return parameters
