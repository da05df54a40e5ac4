"""Learning to Accept Classes (Xu et al. 2019): a network that judges whether a row belongs with a class's examples."""

from __future__ import annotations

import copy
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from opengcd._internal import kernels
from opengcd._internal.progress import Progress
from opengcd._internal.randomness import Seed, as_int, derive
from opengcd._internal.unit_length import unit_tensor
from opengcd._internal.validation import check_integer, check_positive, check_share, encode
from opengcd.bench.baselines.baseline import TRAINING, Baseline
from opengcd.bench.baselines.grid_search import SEARCH, Range
from opengcd.classify import Standardised

HIDDEN = 512
DROPOUT = 0.5
EPOCHS = 50
GROUPS = 5_000
"""Groups, each a query and the examples of a class, that make an epoch; its queries are drawn again each time."""
VALIDATION_ROWS = 500
"""Rows of the validation classes that are used."""
BATCH = 256
"""Groups in a batch."""
VALIDATION = 4
"""One class in four is a validation class: training goes on while its rows rank it first among similar classes."""
NOISE = 0.02
"""Differences between validation accuracies up to this size are chance."""
PATIENCE = 10
"""Epochs without improvement after which training stops."""
PAIRS = {"cpu": 2**12, "cuda": 2**18}
"""Pairs of a query and an example that are compared at a time."""
TIES = 1e-9
"""Weight of the mean similarity before the sigmoid, which breaks ties where the sigmoid saturates."""
WEIGHTS = ("difference_", "sum_", "hidden_bias_", "similarity_", "recurrent_", "output_")


class L2AC(Standardised, Baseline):
    r"""Compare a row with the k most similar examples of a class, and let a network say whether it belongs there.

    .. math::
        h_i = \mathrm{relu}(W [\,|x - a_i|,\; x + a_i\,] + b), \quad s_i = \sigma(v \cdot h_i), \quad
        p(c \mid x) = \sigma(u \cdot \mathrm{BiLSTM}(s_1, \dots, s_k))

    with :math:`a_1 \dots a_k` the examples of class c most similar to x (cosine), the most similar last. The LSTM has
    one unit in each direction; with k = 1 there is none, and :math:`p = \sigma(v \cdot h)`. The network is trained
    once, on the first classes: each row is to accept its own class and to refuse the ``negatives`` classes whose means
    are most similar to it. The number of epochs is found by early stopping on a quarter of the classes, held out in a
    first training: the share of their rows that rank their own class first. A new class only adds its examples.

    Parameters
    ----------
    neighbours, negatives, learning_rate : number or "search"
        k, the classes a row learns to refuse, and Adam's step.
    threshold : float or "search"
        A row is unknown if no :math:`p(c \mid x)` is above it; 0.5 in the original.
    memory_size, search_again, max_classes, device, random_state
        See :class:`NNO`. Exemplars, the examples themselves, are drawn at random.

    """

    RANGES: ClassVar = {
        "learning_rate": Range(1e-3, (1e-3,), check_positive),
        "neighbours": Range(5, (1, 3, 5), check_integer),
        "negatives": Range(9, (3, 9, 19), check_integer),
    }
    REJECTION = "threshold"
    SEARCH_ROWS = 2_400
    ARRAYS = ("mean_", "scale_", *WEIGHTS)

    def __init__(
        self,
        neighbours: int | str = SEARCH,
        negatives: int | str = SEARCH,
        learning_rate: float | str = SEARCH,
        threshold: float | str = SEARCH,
        memory_size: int | None = None,
        search_again: bool = True,
        max_classes: int = 500,
        device: str = "auto",
        random_state: Seed = None,
    ) -> None:
        self.neighbours = neighbours
        self.negatives = negatives
        self.learning_rate = learning_rate
        self.threshold = threshold
        self.memory_size = memory_size
        self.search_again = search_again
        self.max_classes = max_classes
        self.device = device
        self.random_state = random_state

    def _learn(self, X: np.ndarray, codes: np.ndarray, progress: Progress) -> None:
        if self.phase_ == 1:
            self._fit_scale(X)
            self._train(X, codes)

    def _train(self, X: np.ndarray, codes: np.ndarray) -> None:
        """Find the number of epochs by early stopping on a quarter of the classes; then train on all."""
        where = kernels.resolve_device(self.device)
        seed = as_int(derive(self._seed, TRAINING))
        order = np.argsort(codes, kind="stable")
        Z = kernels.to_tensor(self.standardised(X[order]).astype(np.float32), where)
        unit = unit_tensor(kernels.to_tensor(X[order], where).float())
        targets, n = kernels.to_tensor(codes[order], where), int(codes.max()) + 1
        validation = torch.randperm(n, generator=torch.Generator().manual_seed(seed))[: n // VALIDATION].to(where)
        epochs = EPOCHS
        if len(validation):
            _, epochs = self.train_network(Z, unit, targets, validation, EPOCHS, seed)
        network, _ = self.train_network(Z, unit, targets, validation[:0], epochs, seed)
        for name, weights in zip(WEIGHTS, network, strict=True):
            setattr(self, name, weights.detach().cpu().numpy())

    def train_network(
        self, Z: Tensor, unit: Tensor, targets: Tensor, validation: Tensor, epochs: int, seed: int
    ) -> tuple[list[Tensor], int]:
        """Train a network.

        Parameters
        ----------
        Z : tensor of shape (n, d)
            Standardised rows, sorted by class.
        unit : tensor of shape (n, d)
            The same rows at unit length, to find neighbours.
        targets : int tensor of shape (n,)
            The class of each row.
        validation : int tensor
            Validation classes, which are not trained on; without any there is no early stopping.
        epochs : int
            Largest number of epochs.
        seed : int

        Returns
        -------
        network : list of tensor
            The weights.
        epochs : int
            Number of epochs until the accuracy on the validation classes falls; all of them if there are none.

        """
        rng, drops = torch.Generator().manual_seed(seed), torch.Generator(Z.device).manual_seed(seed)
        n = int(targets.max()) + 1
        negatives = min(self.settings_["negatives"], n - len(validation) - 1)
        groups = example_groups(unit, targets, self.settings_["neighbours"], negatives, validation)
        judges = torch.isin(targets, validation)
        accompanied = torch.bincount(targets)[targets] > 1  # a row alone in its class has no example but itself
        asking, judging = (torch.nonzero(part & accompanied)[:, 0] for part in (~judges, judges))
        judging = judging[torch.randperm(len(judging), generator=rng)[:VALIDATION_ROWS].to(Z.device)]
        answers = functional.one_hot(torch.zeros(1, dtype=torch.long, device=Z.device), 1 + negatives).float()
        # The own class weighs as much as all negatives together.
        weight = torch.where(answers > 0, negatives / (1 + negatives), 1 / (1 + negatives))
        network = [start.to(Z.device).requires_grad_() for start in self._initial(Z.shape[1], rng)]
        optimiser = torch.optim.Adam(network, lr=self.settings_["learning_rate"])
        best, after = 0.0, 0
        for epoch in range(1, epochs + 1 if len(asking) else 1):
            drawn = asking[torch.randperm(len(asking), generator=rng)[: GROUPS // (1 + negatives)].to(Z.device)]
            for rows in drawn.split(max(1, BATCH // (1 + negatives))):
                logits = self._group_logits(network, Z, rows, groups[rows], drops)
                loss = functional.binary_cross_entropy_with_logits(logits, answers.expand_as(logits), weight)
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
            if not len(judging):
                after = epoch
                continue
            with torch.no_grad():
                logits = torch.cat([self._group_logits(network, Z, r, groups[r], None) for r in judging.split(BATCH)])
            right = float((logits[:, 0] > logits[:, 1:].amax(1)).double().mean())
            best = max(best, right)
            if right >= best - NOISE:
                after = epoch
            elif epoch - after >= PATIENCE:
                break
        return network, after

    def _initial(self, width: int, rng: torch.Generator) -> list[Tensor]:
        """Return starting weights: Glorot's, no offsets but that of the forget gate, as is usual."""

        def uniform(*shape: int, fans: int) -> Tensor:
            return torch.empty(shape).uniform_(-1, 1, generator=rng) * (6 / fans) ** 0.5

        offsets = torch.tensor([0.0, 1.0, 0.0, 0.0]).expand(2, 1, 4)
        return [
            uniform(HIDDEN, width, fans=2 * width + HIDDEN),
            uniform(HIDDEN, width, fans=2 * width + HIDDEN),
            torch.zeros(HIDDEN),
            torch.cat([uniform(HIDDEN, fans=HIDDEN + 1), torch.zeros(1)]),
            torch.cat([uniform(2, 2, 4, fans=5), offsets], 1),
            torch.cat([uniform(2, fans=3), torch.zeros(1)]),
        ]

    def _acceptance_logits(
        self, network: list[Tensor], x: Tensor, a: Tensor, sums: Tensor, rng: torch.Generator | None = None
    ) -> Tensor:
        """Return logits of acceptance from (n, 1, 1, D) queries, (n, groups, k, D) examples, and what W makes of x + a.

        With ``rng`` units are dropped, as in training.
        """
        difference, _, _, similarity, recurrent, output = network
        hidden = (functional.linear((x - a).abs(), difference) + sums).relu()
        if rng is not None:
            kept = torch.rand(hidden.shape, generator=rng, device=hidden.device) > DROPOUT
            hidden = hidden * kept / (1 - DROPOUT)
        s = hidden @ similarity[:-1] + similarity[-1]
        if s.shape[-1] == 1:
            return s[..., 0]
        before = s
        if rng is None:  # what is left of small differences, close to 0 and 1, decides which class comes first
            s, recurrent, output = s.double(), recurrent.double(), output.double()
        s = s.sigmoid()
        ends = [lstm(s, recurrent[0]), lstm(s.flip(-1), recurrent[1])]
        logits = torch.stack(ends, -1) @ output[:-1] + output[-1]
        return logits if rng is not None else logits + TIES * before.mean(-1)

    def _group_logits(
        self, network: list[Tensor], Z: Tensor, rows: Tensor, groups: Tensor, rng: torch.Generator | None
    ) -> Tensor:
        x, a = Z[rows][:, None, None], Z[groups]
        return self._acceptance_logits(network, x, a, functional.linear(x + a, network[1], network[2]), rng)

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Logits of p(c | x), in blocks; of a class with fewer than k examples the least similar one is repeated."""
        where = kernels.resolve_device(self.device)
        network = [kernels.to_tensor(getattr(self, name), where) for name in WEIGHTS]
        codes = encode(self.memory_.y, self.classes_)
        order = np.argsort(codes, kind="stable")
        sizes = np.bincount(codes, minlength=len(self.classes_)).tolist()
        memory = self.memory_.X[order]
        queries, examples = (kernels.to_tensor(self.standardised(A).astype(np.float32), where) for A in (X, memory))
        unit, others = (unit_tensor(kernels.to_tensor(A, where).float()) for A in (X, memory))
        k = self.settings_["neighbours"]
        scores = []
        with torch.no_grad():
            # W (x + a) is a sum of two, each computed once.
            own, theirs = functional.linear(queries, network[1]), functional.linear(examples, network[1], network[2])
            for rows in torch.arange(len(X), device=where).split(max(1, PAIRS[where.type] // (len(sizes) * k))):
                groups = most_similar(unit[rows] @ others.T, sizes, k)
                sums = theirs[groups].add_(own[rows][:, None, None])
                scores.append(
                    self._acceptance_logits(network, queries[rows][:, None, None], examples[groups], sums).double()
                )
        return torch.cat(scores).cpu().numpy()

    def open_world_model(self, X: np.ndarray, codes: np.ndarray, seed: Seed) -> Self:
        """Train a network that has not seen the classes that are treated as unknown; later phases train none."""
        return super().open_world_model(X, codes, seed) if self.phase_ == 1 else self._refitted(X, codes, seed)

    def _refitted(self, X: np.ndarray, codes: np.ndarray, seed: Seed) -> Self:
        """Keep the network, since logits of another have another scale, and change the examples."""
        model = copy.copy(self)
        model.classes_, model.memory_ = np.arange(int(codes.max()) + 1), copy.copy(self.memory_)
        model.memory_.X, model.memory_.y = X, codes
        return model

    def to_threshold(self, value: float) -> float:
        """Return the logit of the probability ``value``."""
        with np.errstate(divide="ignore"):
            return float(np.log(value) - np.log1p(-value))

    def from_threshold(self, threshold: float) -> float:
        """Return the probability of a logit."""
        return float(1 / (1 + np.exp(-threshold)))

    def _check_rejection(self, value: Any, name: str) -> float:
        return check_share(value, name)

    def _selector(self) -> str:
        return "random"


def most_similar(similarity: Tensor, sizes: list[int], k: int) -> Tensor:
    """Return (n, C, k) numbers of the examples of each class most similar to each row, the most similar last."""
    groups = []
    for part, first in zip(similarity.split(sizes, 1), np.cumsum([0, *sizes]).tolist(), strict=False):
        best = part.topk(min(k, part.shape[1])).indices.flip(1) + first
        groups.append(torch.cat([best[:, :1].expand(-1, k - best.shape[1]), best], 1))
    return torch.stack(groups, 1)


def example_groups(unit: Tensor, codes: Tensor, k: int, negatives: int, validation: Tensor) -> Tensor:
    """Return (n, 1 + negatives, k) examples for each row: of its own class without itself, then of similar classes.

    Rows of training classes are compared with training classes only, rows of validation classes with all.
    """
    n = int(codes.max()) + 1
    means = unit_tensor(kernels.class_means(unit, codes, n))
    sizes = torch.bincount(codes, minlength=n).tolist()
    closed = torch.zeros(n, dtype=torch.bool, device=unit.device)
    closed[validation] = True
    groups = []
    for rows in kernels.row_blocks(unit, len(unit)):
        own = codes[rows]
        similarity = unit[rows] @ unit.T
        itself = torch.arange(len(unit), device=unit.device)[rows]
        similarity[torch.arange(len(own), device=unit.device), itself] = -2.0
        near = unit[rows] @ means.T
        near[~closed[own][:, None] & closed] = -torch.inf
        near[torch.arange(len(own), device=unit.device), own] = torch.inf
        classes = near.topk(1 + negatives).indices
        chosen = most_similar(similarity, sizes, k)
        groups.append(chosen.gather(1, classes[:, :, None].expand(-1, -1, k)))
    return torch.cat(groups)


def lstm(s: Tensor, weights: Tensor) -> Tensor:
    """Run an LSTM of one unit over the last axis; rows of ``weights``: of the input, of the state, offset."""
    state = cell = torch.zeros_like(s[..., 0])
    for i in range(s.shape[-1]):
        gates = s[..., i, None] * weights[0] + state[..., None] * weights[1] + weights[2]
        enter, forget, leave = gates[..., :3].sigmoid().unbind(-1)
        cell = forget * cell + enter * gates[..., 3].tanh()
        state = leave * cell.tanh()
    return state
