"""Extreme Value Machine (Rudd et al. 2018): Weibull distributions of the margins around the points of each class."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from opengcd._internal import kernels
from opengcd._internal.progress import Progress
from opengcd._internal.randomness import Seed
from opengcd._internal.unit_length import unit_tensor
from opengcd._internal.validation import check_choice, check_integer, check_positive, check_share, encode
from opengcd.bench.baselines.baseline import Baseline
from opengcd.bench.baselines.grid_search import SEARCH, Range
from opengcd.bench.baselines.weibull import Weibull, fit_weibull

FORMS = ("paper", "libmr")
DISTANCES = ("euclidean", "cosine")
NEAR_ZERO = 1e-6
"""libMR's function ends at a finite distance; from here on its logarithm goes on as a straight line. The square of this
is the least distance: a copy of a point is finitely certain."""


class EVM(Baseline):
    r"""Give each point a probability of inclusion that falls off where the nearest points of other classes begin.

    .. math:: \Psi_i(x) = \exp\left(-(\|x - x_i\| / \lambda_i)^{k_i}\right), \quad P(c | x) = \max_{i \in c} \Psi_i(x)

    The Weibull distribution of :math:`x_i` is fitted to the smallest of its half margins :math:`s \|x_i - x_j\|` to
    points of other classes. Of each class only points are kept that a greedy set cover needs (a point covers what it
    includes with probability ``cover``): the extreme vectors. A row is unknown if no :math:`P(c \mid x)` reaches
    :math:`\delta`.

    In many dimensions distances are alike, k is large, and all :math:`P` underflow together; so classes are ranked, and
    rows rejected, by :math:`-\ln(-\ln P) = -k \ln(d/\lambda)`, which is the same order without the underflow.

    Parameters
    ----------
    tail : float or "search"
        Share of the margins that is fitted, from the smallest; all points have as many as one of the largest class.
    fuse : int or "search"
        How many of the best :math:`\Psi_i` of a class are averaged (in the domain of ranking) instead of the maximum.
    distance, scale : name and number, or "search"
        ``"euclidean"`` or ``"cosine"``, and s.
    cover : float or "search"
        Level of the set cover; 1 keeps all points.
    delta : float or "search"
        The least probability of a known row.
    form : str
        ``"paper"``, or ``"libmr"`` for the reversed tail that public codes fit: with :math:`t = 1 + m - d` and m the
        largest margin of the tail, :math:`\Psi = 1 - \exp(-(t/\lambda)^k)`.
    memory_size, search_again, max_classes, device, random_state
        See :class:`NNO`. Exemplars are chosen by DS3, as the paper does for this baseline.

    """

    RANGES: ClassVar = {
        "distance": Range("cosine", DISTANCES, lambda value, name: check_choice(value, name, DISTANCES)),
        "tail": Range(0.25, (0.01, 0.05, 0.1, 0.25, 0.5), check_share),
        "fuse": Range(4, (1, 4), check_integer),
        "scale": Range(0.5, (0.4, 0.5, 0.55), check_positive),
        "cover": Range(0.5, (0.5, 0.7, 0.9, 1.0), check_share),
    }
    REJECTION = "delta"
    STRICT = False
    SEARCH_ROWS = 5_000
    ARRAYS = ("vectors_", "vector_codes_", "shapes_", "scales_", "ends_")

    def __init__(
        self,
        tail: float | str = SEARCH,
        fuse: int | str = SEARCH,
        cover: float | str = SEARCH,
        distance: str = SEARCH,
        scale: float | str = SEARCH,
        delta: float | str = SEARCH,
        form: str = "paper",
        memory_size: int | None = None,
        search_again: bool = True,
        max_classes: int = 500,
        device: str = "auto",
        random_state: Seed = None,
    ) -> None:
        self.tail = tail
        self.fuse = fuse
        self.cover = cover
        self.distance = distance
        self.scale = scale
        self.delta = delta
        self.form = form
        self.memory_size = memory_size
        self.search_again = search_again
        self.max_classes = max_classes
        self.device = device
        self.random_state = random_state

    def _learn(self, X: np.ndarray, codes: np.ndarray, progress: Progress) -> None:
        """Do nothing: the model is fitted on the exemplars, in :meth:`_after_selection`."""

    def _check_settings(self) -> None:
        check_choice(self.form, "form", FORMS)
        super()._check_settings()

    def _after_selection(self) -> None:
        """Fit the model on the exemplars."""
        codes = encode(self.memory_.y, self.classes_)
        order = np.argsort(codes, kind="stable")
        codes = codes[order]
        X = self.memory_.X[order]
        Z, c = self._points(X), kernels.to_tensor(codes, self.device)
        weibull, ends = self._fit_margins(Z, c)
        kept = torch.cat([rows[self._cover(Z[rows], weibull, ends, rows)] for rows in _runs(c)])
        self.shapes_, self.scales_, self.ends_ = (
            values[kept].cpu().numpy() for values in (weibull.shape, weibull.scale, ends)
        )
        self.vectors_, self.vector_codes_ = X[kept.cpu().numpy()], codes[kept.cpu().numpy()]

    def _points(self, X: np.ndarray) -> Tensor:
        Z = kernels.to_tensor(X, self.device)
        if self.settings_["distance"] == "cosine":
            return unit_tensor(Z)
        return Z

    def _distances(self, A: Tensor, B: Tensor) -> Tensor:
        squared = kernels.squared_distances(A, B).double()
        return squared / 2 if self.settings_["distance"] == "cosine" else squared.sqrt()

    def _fit_margins(self, Z: Tensor, codes: Tensor) -> tuple[Weibull, Tensor]:
        """Fit a Weibull to each point's smallest margins; also return the upper end of the support in libMR's form."""
        others = len(Z) - int(torch.bincount(codes).max())
        size = max(1, min(others, round(self.settings_["tail"] * others)))
        shapes, scales, ends = (Z.new_empty(len(Z), dtype=torch.float64) for _ in range(3))
        for rows in kernels.row_blocks(Z, 2 * len(Z)):
            D = self._distances(Z[rows], Z)
            D[codes[rows, None] == codes] = torch.inf
            margins = self.settings_["scale"] * D.topk(size, largest=False, sorted=False).values
            ends[rows] = 1 + margins.amax(1)
            shapes[rows], scales[rows] = fit_weibull(ends[rows, None] - margins if self.form == "libmr" else margins)
        return Weibull(shapes, scales), ends

    def _inclusion(self, D: Tensor, weibull: Weibull, ends: Tensor) -> Tensor:
        """Return -ln(-ln Ψ), or ln(-ln(1 - Ψ)) of libMR's form: both grow with Ψ."""
        if self.form == "paper":
            return -weibull.shape * (D.clamp(min=NEAR_ZERO**2) / weibull.scale).log()
        t = ends - D
        logs = torch.where(t > NEAR_ZERO, t.clamp(min=NEAR_ZERO).log(), np.log(NEAR_ZERO) + t / NEAR_ZERO - 1)
        return weibull.shape * (logs - weibull.scale.log())

    def _cover(self, Z: Tensor, weibull: Weibull, ends: Tensor, rows: Tensor) -> Tensor:
        """Return the points of a class that cover it, each time the one that covers most of what is left."""
        if self.settings_["cover"] >= 1:
            return torch.arange(len(Z), device=Z.device)
        own = Weibull(weibull.shape[rows, None], weibull.scale[rows, None])
        covers = self._inclusion(self._distances(Z, Z), own, ends[rows, None]) >= self.to_threshold(
            self.settings_["cover"]
        )
        covers.fill_diagonal_(True)  # despite rounding
        gains, picks = covers.sum(1), []
        open_ = torch.ones(len(Z), dtype=torch.bool, device=Z.device)
        while bool(open_.any()):
            best = int(gains.argmax())
            picks.append(best)
            fresh = covers[best] & open_
            gains -= covers[:, fresh].sum(1)
            open_ &= ~fresh
        return torch.tensor(picks, device=Z.device).sort().values

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Return how well each class includes a row, on the scale of :meth:`to_threshold`: a mean over vectors."""
        where = kernels.resolve_device(self.device)
        Z, V = self._points(X), self._points(self.vectors_)
        shapes, scales, ends = (kernels.to_tensor(a, where) for a in (self.shapes_, self.scales_, self.ends_))
        fuse = self.settings_["fuse"]
        # The vectors of a class stand together.
        sizes = np.bincount(self.vector_codes_, minlength=len(self.classes_)).tolist()
        scores = torch.empty((len(Z), len(sizes)), dtype=torch.float64, device=where)
        for rows in kernels.row_blocks(Z, 2 * len(V)):
            included = self._inclusion(self._distances(Z[rows], V), Weibull(shapes, scales), ends)
            parts = included.split(sizes, 1)
            scores[rows] = torch.stack([part.topk(min(fuse, part.shape[1])).values.mean(1) for part in parts], 1)
        return scores.cpu().numpy()

    def to_threshold(self, value: float) -> float:
        """Return the score at which the probability of inclusion is ``value``."""
        with np.errstate(divide="ignore"):
            odds = np.log(-np.log1p(-value)) if self.form == "libmr" else -np.log(-np.log(value))
        return float(odds)

    def from_threshold(self, threshold: float) -> float:
        """Return the probability of inclusion at a score."""
        with np.errstate(over="ignore"):
            value = -np.expm1(-np.exp(threshold)) if self.form == "libmr" else np.exp(-np.exp(-threshold))
        return float(value)

    def _check_rejection(self, value: Any, name: str) -> float:
        return check_share(value, name)

    def _selector(self) -> str:
        return "ds3"


def _runs(codes: Tensor) -> list[Tensor]:
    """Return the rows of each class; they stand together."""
    return list(torch.arange(len(codes), device=codes.device).split(torch.bincount(codes).tolist()))
