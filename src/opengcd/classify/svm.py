r"""The paper's support vector machine: RBF kernel, one against one, with coupled pairwise probabilities.

scikit-learn deprecates ``SVC(probability=True)``, and the proposed replacement calibrates one class against the rest,
which changes every probability. So the original scheme is implemented here on ``SVC`` without probabilities: five-fold
held-out decision values of each pair of classes, a sigmoid for each pair (Platt 1999; Lin, Lin & Weng 2007), and the
second coupling method of Wu, Lin & Weng (2004), solved exactly.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache

import numpy as np
import torch
from sklearn.svm import SVC
from torch import Tensor

from opengcd._internal import kernels
from opengcd._internal.randomness import Seed, generator
from opengcd._internal.splits import assign_folds
from opengcd.classify.classifier import ArrayClassifier, Inference

GRAM_ROWS = 12_000
"""Up to this many rows a kernel matrix (8 n² bytes) is formed by matrix product and shared by the fits."""
CLIP = 1e-7
"""Pairwise probabilities stay this far from 0 and 1, as in libsvm."""


class SVM(ArrayClassifier):
    r"""C-support vector classification with kernel :math:`e^{-\gamma \|x-z\|^2}`, :math:`\gamma = 1/(d \cdot Var)`.

    Labels come from the votes of the pairs, as in ``SVC.predict``, not from the largest probability: coupled
    probabilities separate similar classes less well.

    Parameters
    ----------
    C : float
        Penalty of the error term.
    folds : int
        Folds in which decision values are held out to fit the sigmoids.
    random_state, device
        Seed of the folds, and torch device of the kernel matrices.

    """

    ARRAYS = (
        "mean_",
        "scale_",
        "gamma_",
        "support_vectors_",
        "n_support_",
        "dual_coef_",
        "intercept_",
        "slope_",
        "offset_",
    )

    def __init__(self, C: float = 1.0, folds: int = 5, random_state: Seed = None, device: str = "auto") -> None:
        self.C = C
        self.folds = folds
        self.random_state = random_state
        self.device = device

    def fit(self, X: np.ndarray, y: np.ndarray) -> SVM:
        """Fit the support vector machine on all rows, and the sigmoids on held-out decision values.

        Parameters
        ----------
        X : array of shape (n, d)
            Feature vectors.
        y : int array of shape (n,)
            Their classes, numbered from 0 without gaps.

        Returns
        -------
        SVM
            This object.

        """
        self._fit_scale(X)
        Z = self.standardised(X)
        n_classes = int(y.max()) + 1
        variance = Z.var()
        self.gamma_ = np.array(1.0 / (Z.shape[1] * variance) if variance > 0 else 1.0)
        fold = assign_folds(y, lambda n: self.folds, generator(self.random_state))
        fit_machines = self._fit_together if len(Z) <= GRAM_ROWS else self._fit_apart
        with warnings.catch_warnings():
            # With one or two rows per class scikit-learn suspects a regression problem.
            warnings.filterwarnings("ignore", message="The number of unique classes", category=UserWarning)
            held_out, rows = fit_machines(Z, y, fold, n_classes)
        self.support_vectors_ = Z[rows]
        self.n_support_ = np.bincount(y[rows], minlength=n_classes)
        self.slope_, self.offset_ = fit_sigmoids(held_out, y)
        return self

    def _fit_together(
        self, Z: np.ndarray, y: np.ndarray, fold: np.ndarray, n_classes: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Fit all pairs of classes on one kernel matrix.

        Returns the held-out decision value of each row against each other class, positive for the first class of the
        pair, (n, C); and the rows that became support vectors, by class.
        """
        gram = self._kernel(Z, Z)
        first, second = _pairs(n_classes)
        pair = np.zeros((n_classes, n_classes), dtype=np.int64)
        pair[first, second] = pair[second, first] = np.arange(len(first))
        held_out = np.zeros((len(Z), n_classes))
        for f in np.unique(fold):
            train, test = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
            present = np.bincount(y[train], minlength=n_classes) > 0
            # A pair with one side missing from the fold decides for the other, as in libsvm.
            scores = np.tile(present[first].astype(float) - present[second], (len(test), 1))
            if present.sum() >= 2:
                machine = _fit_precomputed(gram[np.ix_(train, train)], y[train], self.C)
                scores[:, present[first] & present[second]] = _decide(machine, gram[np.ix_(test, train)])
            held_out[test] = np.take_along_axis(scores, pair[y[test]], 1)
        machine = _fit_precomputed(gram, y, self.C)
        # scikit-learn turns the sign of a two-class machine; here the first class of a pair is always positive.
        sign = -1.0 if n_classes == 2 else 1.0
        self.dual_coef_ = sign * machine.dual_coef_
        self.intercept_ = sign * machine.intercept_
        return held_out, machine.support_

    def _fit_apart(
        self, Z: np.ndarray, y: np.ndarray, fold: np.ndarray, n_classes: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Fit each pair of classes on its own kernel matrix, in parallel: the same machines, but no n × n matrix.

        Returns what :meth:`_fit_together` does.
        """
        of_class = [np.flatnonzero(y == c) for c in range(n_classes)]
        pairs = list(zip(*_pairs(n_classes), strict=True))
        held_out = np.zeros((len(Z), n_classes))
        dual = np.zeros((n_classes - 1, len(Z)))
        intercept = np.zeros(len(pairs))

        def fit_pair(p: int) -> None:
            i, j = pairs[p]
            rows = np.concatenate([of_class[i], of_class[j]])
            sides = np.repeat([0, 1], [len(of_class[i]), len(of_class[j])])
            other = np.where(sides == 0, j, i)
            gram = self._kernel(Z[rows], Z[rows]) if len(rows) <= GRAM_ROWS else None
            for f in np.unique(fold[rows]):
                train, test = np.flatnonzero(fold[rows] != f), np.flatnonzero(fold[rows] == f)
                present = np.bincount(sides[train], minlength=2) > 0
                if not present.all():
                    scores = np.full((len(test), 1), float(present[0]) - present[1])
                elif gram is None:
                    scores = _decide(self._fit_features(Z[rows[train]], sides[train]), Z[rows[test]])
                else:
                    machine = _fit_precomputed(gram[np.ix_(train, train)], sides[train], self.C)
                    scores = _decide(machine, gram[np.ix_(test, train)])
                held_out[rows[test], other[test]] = scores[:, 0]
            machine = self._fit_features(Z[rows], sides) if gram is None else _fit_precomputed(gram, sides, self.C)
            found = machine.support_
            dual[np.where(sides[found] == 0, j - 1, i), rows[found]] = -machine.dual_coef_[0]
            intercept[p] = -machine.intercept_[0]

        kernels.run_each(fit_pair, range(len(pairs)), torch.device("cpu"))
        support = np.flatnonzero(dual.any(0))
        support = support[np.argsort(y[support], kind="stable")]
        self.dual_coef_, self.intercept_ = dual[:, support], intercept
        return held_out, support

    def _fit_features(self, Z: np.ndarray, y: np.ndarray) -> SVC:
        """Fit a machine whose kernel matrix would be too large for memory."""
        return SVC(C=self.C, gamma=float(self.gamma_), cache_size=1000).fit(Z, y)

    def infer(self, X: np.ndarray) -> Inference:
        """Return labels by vote, and coupled probabilities, in float64."""
        n_classes = len(self.n_support_)
        parts = [
            (_votes(scores, n_classes), couple(sigmoid(scores, self.slope_, self.offset_), n_classes))
            for scores in self._blocks_of_scores(X)
        ]
        labels, probabilities = zip(*parts, strict=True)
        return Inference(np.concatenate(labels), np.concatenate(probabilities))

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return labels by vote, without coupling, which takes most of the time with many classes."""
        return np.concatenate([_votes(scores, len(self.n_support_)) for scores in self._blocks_of_scores(X)])

    def _blocks_of_scores(self, X: np.ndarray) -> Iterator[np.ndarray]:
        step = max(1, 2**24 // max(len(self.support_vectors_), (len(self.n_support_) + 1) ** 2))
        for start in range(0, len(X), step):
            yield self.scores(self.standardised(X[start : start + step]))

    def scores(self, Z: np.ndarray) -> np.ndarray:
        """Return the decision value of every pair of classes.

        Parameters
        ----------
        Z : array of shape (n, d)
            Standardised features.

        Returns
        -------
        array of shape (n, C(C-1)/2)
            Pairs in the order (0, 1), (0, 2), ... (1, 2), ...; positive where the first class of the pair wins.

        """
        n_classes = len(self.n_support_)
        first, second = _pairs(n_classes)
        D = kernels.squared_distances(kernels.to_tensor(Z, self.device), *self._support())
        K = self._from_distances(D)
        stops = np.cumsum(self.n_support_)
        parts = np.stack(
            [K[:, b - m : b] @ self.dual_coef_[:, b - m : b].T for b, m in zip(stops, self.n_support_, strict=True)], 1
        )
        # libsvm keeps the coefficients of class i against j in row j - 1 if i < j, else in row j.
        return parts[:, first, second - 1] + parts[:, second, first] + self.intercept_

    def _support(self) -> tuple[Tensor, Tensor]:
        """Return support vectors and their squared norms, cached: they dominate the time of a small batch."""
        known: tuple[np.ndarray, Tensor, Tensor] | None = getattr(self, "_known_support", None)
        if known is None or known[0] is not self.support_vectors_:
            vectors = kernels.to_tensor(self.support_vectors_, self.device)
            known = self._known_support = self.support_vectors_, vectors, (vectors * vectors).sum(1)
        return known[1:]

    def _kernel(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        D = kernels.squared_distances(kernels.to_tensor(A, self.device), kernels.to_tensor(B, self.device))
        return self._from_distances(D)

    def _from_distances(self, D: Tensor) -> np.ndarray:
        return D.mul_(-float(self.gamma_)).exp_().cpu().numpy()


@cache
def _pairs(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    return np.triu_indices(n_classes, 1)


def _votes(scores: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the class that wins most of its pairs; on a tie, the first."""
    first, second = _pairs(n_classes)
    votes = np.zeros((len(scores), n_classes, n_classes), dtype=bool)
    votes[:, first, second] = wins = scores > 0
    votes[:, second, first] = ~wins
    return votes.sum(2).argmax(1)


def _fit_precomputed(gram: np.ndarray, y: np.ndarray, C: float) -> SVC:
    return SVC(C=C, kernel="precomputed", decision_function_shape="ovo").fit(gram, y)


def _decide(machine: SVC, rows: np.ndarray) -> np.ndarray:
    """Return decision values of every pair, positive for its first class; ``rows`` are features or kernel rows."""
    scores = machine.decision_function(rows)
    return -scores[:, None] if scores.ndim == 1 else scores


def sigmoid(scores: np.ndarray, slope: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Return the probability of the first class of each pair, 1 / (1 + exp(slope · score + offset)), clipped."""
    p = 0.5 - 0.5 * np.tanh(0.5 * (slope * scores + offset))
    return np.clip(p, CLIP, 1 - CLIP)


def fit_sigmoids(scores: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""Fit slope A and offset B of every pair by Newton's method with backtracking (Lin, Lin & Weng 2007).

    Minimises :math:`-\sum t \log p + (1-t) \log(1-p)` with :math:`p = 1/(1+e^{As+B})` and Platt's targets
    :math:`t_+ = (N_+ + 1)/(N_+ + 2)`, :math:`t_- = 1/(N_- + 2)`. All pairs are fitted together. ``scores`` holds the
    decision value of each row against each other class.
    """
    of_class = [scores[y == c] for c in range(int(y.max()) + 1)]
    size = np.array([len(rows) for rows in of_class])
    first, second = _pairs(len(size))
    s = np.concatenate([v for i, j in zip(first, second, strict=True) for v in (of_class[i][:, j], of_class[j][:, i])])
    ends = np.cumsum(size[first] + size[second])
    starts = ends - size[first] - size[second]
    pair = np.repeat(np.arange(len(first)), ends - starts)
    positive = np.arange(len(s)) - starts[pair] < size[first][pair]
    t = np.where(positive, ((size[first] + 1) / (size[first] + 2))[pair], (1 / (size[second] + 2))[pair])

    def total(values: np.ndarray) -> np.ndarray:
        return np.add.reduceat(values, starts)

    def loss(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        f = A[pair] * s + B[pair]
        return total(t * f + np.logaddexp(0, -f))

    A = np.zeros(len(first))
    B = np.log((size[second] + 1.0) / (size[first] + 1.0))
    value = loss(A, B)
    for _ in range(100):
        f = A[pair] * s + B[pair]
        p = 0.5 - 0.5 * np.tanh(0.5 * f)
        d1, d2 = t - p, p * (1 - p)
        gA, gB = total(s * d1), total(d1)
        hAA, hAB, hBB = total(s * s * d2) + 1e-12, total(s * d2), total(d2) + 1e-12
        active = (np.abs(gA) >= 1e-5) | (np.abs(gB) >= 1e-5)
        if not active.any():
            break
        det = hAA * hBB - hAB * hAB
        dA, dB = -(hBB * gA - hAB * gB) / det, -(hAA * gB - hAB * gA) / det
        slope = gA * dA + gB * dB
        step = active.astype(float)
        for _ in range(34):
            new = loss(A + step * dA, B + step * dB)
            worse = active & ~(new < value + 1e-4 * step * slope) & (step > 0)
            if not worse.any():
                break
            step[worse] /= 2
        moved = active & (new < value)
        if not moved.any():
            break
        A, B = np.where(moved, A + step * dA, A), np.where(moved, B + step * dB, B)
        value = np.where(moved, new, value)
    return A, B


def couple(r: np.ndarray, n_classes: int) -> np.ndarray:
    r"""Return class probabilities from pairwise ones: :math:`\min_p \sum_i \sum_{j \ne i} (r_{ji} p_i - r_{ij} p_j)^2`.

    With :math:`Q_{ii} = \sum_{j \ne i} r_{ji}^2` and :math:`Q_{ij} = -r_{ji} r_{ij}` the minimum under
    :math:`\sum p = 1` is proportional to the solution of the bordered system, solved directly.
    """
    first, second = _pairs(n_classes)
    R = np.zeros((len(r), n_classes, n_classes))
    R[:, first, second], R[:, second, first] = r, 1 - r
    system = np.zeros((len(r), n_classes + 1, n_classes + 1))
    system[:, :n_classes, :n_classes] = -R * R.transpose(0, 2, 1)
    diagonal = np.arange(n_classes)
    system[:, diagonal, diagonal] = (R * R).sum(1)
    system[:, :n_classes, n_classes] = system[:, n_classes, :n_classes] = 1
    right = np.zeros((n_classes + 1, 1))
    right[n_classes] = 1
    # By numpy: torch 2.11 with oneMKL never returns from a batch of systems with more than about 150 unknowns.
    solution = np.linalg.solve(system, right)[..., 0]
    p = np.clip(solution[:, :n_classes], 0, None)
    return p / p.sum(1, keepdims=True)
