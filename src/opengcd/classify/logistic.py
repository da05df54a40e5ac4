"""Multinomial logistic regression, a linear classifier for the frozen features of a backbone.

scikit-learn's ``LogisticRegression`` minimises the same loss, but on the CPU only, and without a preconditioner, which
saves steps on the correlated features of a backbone.
"""

from __future__ import annotations

import warnings

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor

from opengcd._internal import kernels
from opengcd._internal.class_statistics import ClassStatistics
from opengcd._internal.randomness import Seed
from opengcd.classify.classifier import ArrayClassifier, Inference, softmax_inference
from opengcd.classify.discriminant import fit_discriminant

CURVATURE = 0.005
"""Typical curvature of a row's loss when most rows are classified with confidence; at the start it is up to 1/2."""
LEAST_RIDGE = 1e-6
"""Added to the diagonal of the preconditioner: keeps it invertible for constant features without a penalty."""
PULL = 0.5
"""Penalty on the squared distance from the discriminant, divided by the mean number of rows of a class: the weights of
a class are mostly corrected by its own rows, and few rows should correct them less than many."""


class Logistic(ArrayClassifier):
    r"""Minimise :math:`-\frac1n \sum_i \log p_{y_i}(x_i) + \lambda \|W - W_0\|^2` by L-BFGS; offsets are not penalised.

    :math:`W_0 = 0`, unless statistics of the classes are given, which may be of many more rows: then :math:`W_0` is
    their scaled discriminant (:func:`~opengcd.classify.discriminant.fit_discriminant`), and
    :math:`\lambda = 0.5\,C / n`: the more rows a class has, the further its weights may move away from it.

    Features are centred and divided by *one* standard deviation, that of all entries: the features of a backbone share
    a scale, and directions of small variance carry more noise than signal. The problem is convex: no seed is needed.

    Computed in float64, in the coordinates :math:`A = W L` with :math:`L L^\top = h Z^\top Z / n + 2 \lambda I`, an
    approximation of the Hessian of one class for :math:`h` the curvature of a typical row's loss; L-BFGS needs fewer
    steps there. Once the gradient is below ``tol``, sums in another order, on another processor or with another number
    of threads, change probabilities by less than 1e-8.

    Parameters
    ----------
    penalty : float
        :math:`\lambda`, if no statistics are given.
    max_iter : int
        Largest number of L-BFGS steps; a :class:`~sklearn.exceptions.ConvergenceWarning` says if it was too small.
    tol : float
        Stop when no entry of the gradient with respect to :math:`A` is larger. The loss has a relative precision of
        1e-16, so a value much below 1e-7 cannot be reached.
    random_state
        Not used.
    device : str
        Torch device.

    """

    ARRAYS = ("mean_", "scale_", "weight_", "bias_")
    takes_statistics = True

    def __init__(
        self,
        penalty: float = 1e-3,
        max_iter: int = 1000,
        tol: float = 1e-4,
        random_state: Seed = None,
        device: str = "auto",
    ) -> None:
        self.penalty = penalty
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.device = device

    def fit(self, X: np.ndarray, y: np.ndarray, statistics: ClassStatistics | None = None) -> Logistic:
        """Train from scratch.

        Parameters
        ----------
        X : array of shape (n, d)
            Feature vectors.
        y : int array of shape (n,)
            Their classes, numbered from 0 without gaps.
        statistics : ClassStatistics or None
            Statistics of the same classes, each with at least one row; the rows ``X`` are included in them.

        Returns
        -------
        Logistic
            This object.

        """
        X = X.astype(np.float64)
        self.mean_ = X.mean(0)
        deviation = (X - self.mean_).std()
        self.scale_ = np.array(deviation if deviation > 0 else 1.0)
        where = kernels.resolve_device(self.device)
        Z, targets = kernels.to_tensor(self.standardised(X), where), kernels.to_tensor(y, where).long()
        classes = int(y.max()) + 1
        start, penalty = Z.new_zeros(classes, X.shape[1] + 1), self.penalty
        if statistics is not None:
            (weight, bias), penalty = fit_discriminant(statistics, X, y), PULL * classes / len(X)
            bias = bias + weight @ self.mean_  # of centred and scaled features
            start = kernels.to_tensor(np.column_stack([weight * self.scale_, bias - bias.mean()]), where)
        with kernels.threads_for(Z.numel()):
            W, b = self._minimise(Z, targets, start, penalty)
        self.weight_, self.bias_ = W.cpu().numpy(), b.cpu().numpy()
        return self

    def _minimise(self, Z: Tensor, targets: Tensor, start: Tensor, penalty: float) -> tuple[Tensor, Tensor]:
        """Return the optimal weights, (C, d), and offsets, (C,); ``start`` has those to start from side by side."""
        n, d = Z.shape
        scatter = CURVATURE * (Z.T @ Z) / n
        scatter.diagonal().add_(2 * penalty + LEAST_RIDGE)
        root = torch.linalg.cholesky(scatter)
        inverse = torch.linalg.solve_triangular(root, torch.eye(d, dtype=Z.dtype, device=Z.device), upper=False)
        # The offsets are the weights of a constant feature.
        rows = torch.cat([Z @ inverse.T, Z.new_full((n, 1), CURVATURE**-0.5)], 1)
        metric = inverse @ inverse.T  # for the squared norm of W
        origin = start[:, :-1] @ root
        A = torch.cat([origin, start[:, -1:] * CURVATURE**0.5], 1)
        optimiser = torch.optim.LBFGS(
            [A],
            max_iter=self.max_iter,
            max_eval=2 * self.max_iter,
            tolerance_grad=self.tol,
            tolerance_change=0.0,
            history_size=20,
            line_search_fn="strong_wolfe",
        )

        def loss() -> Tensor:
            value, A.grad = _mean_loss(A, rows, targets)
            moved = A[:, :-1] - origin
            penalised = penalty * moved @ metric
            A.grad[:, :-1] += 2 * penalised
            return value + (moved * penalised).sum()

        optimiser.step(loss)
        largest = float(A.grad.abs().max()) if A.grad is not None else np.inf
        if not largest <= self.tol:
            warnings.warn(
                f"Logistic regression stopped at a gradient with an entry of {largest:.1e}, above tol={self.tol:g}; "
                "raise max_iter, penalty or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return A[:, :-1] @ inverse, A[:, -1] * CURVATURE**-0.5

    def infer(self, X: np.ndarray) -> Inference:
        """Return labels and probabilities, in float64."""
        return softmax_inference(self.standardised(X) @ self.weight_.T.astype(np.float64) + self.bias_)


def _mean_loss(A: Tensor, rows: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean cross-entropy and its gradient; rows are summed in the same order for any number of threads.

    Logits are (C, n): with classes first, the products take half the time on a CPU.
    """

    def of_block(block: slice) -> tuple[Tensor, Tensor]:
        part, correct = rows[block], targets[None, block]
        logits = A @ part.T
        logits -= logits.amax(0)
        of_correct = logits.gather(0, correct).sum()
        p = logits.exp_()
        total = p.sum(0)
        p /= total
        p.scatter_add_(0, correct, p.new_full(correct.shape, -1.0))
        return total.log().sum() - of_correct, p @ part

    losses, gradients = zip(
        *kernels.run_each(of_block, kernels.row_blocks(rows, sum(A.shape)), rows.device), strict=True
    )
    return torch.stack(losses).sum() / len(rows), torch.stack(gradients).sum(0) / len(rows)
