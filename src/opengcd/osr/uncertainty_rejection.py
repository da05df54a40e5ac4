"""Rejection by the paper's rule: the classifier's uncertainty against its largest probability (Sec. 3.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from opengcd._internal.part import State
from opengcd._internal.run import ALPHA, Run
from opengcd.classify import Labelled
from opengcd.osr.alpha_search import DECADES, AlphaSearch, search_alpha
from opengcd.osr.rejection import Judgement, Rejection, StoredHeader
from opengcd.osr.rule import UncertaintyRule, check_alpha, critical_alpha


class UncertaintyRejection(Rejection):
    """Reject by :class:`UncertaintyRule`, Eqs. 1 to 3; it does not adapt to the stream.

    Parameters
    ----------
    alpha : float or "search"
        Weight of uncertainty; by default :func:`search_alpha` finds it in each phase.
    alpha_grid : sequence of float
        Values that the search tries.
    alpha_repeats : int
        Random splits of the classes over which the search averages.

    """

    name = "uncertainty"

    def __init__(
        self, alpha: float | str = "search", alpha_grid: Sequence[float] = DECADES, alpha_repeats: int = 5
    ) -> None:
        self.alpha = alpha
        self.alpha_grid = alpha_grid
        self.alpha_repeats = alpha_repeats

    def check(self) -> None:
        """Raise an error if alpha is neither a number from 0 nor ``"search"``."""
        if self.alpha != "search":
            check_alpha(self.alpha)

    def fit(self, labelled: Labelled, classifier: Any, run: Run) -> Self:
        """Return a copy with the given alpha, or with the one that the search finds."""
        if self.alpha != "search":
            return self._with_rule(check_alpha(self.alpha), None)
        step = run.at(ALPHA)
        search = search_alpha(
            labelled.X,
            labelled.codes,
            classifier,
            grid=self.alpha_grid,
            repeats=self.alpha_repeats,
            random_state=step.seed,
            device=step.device,
            progress=step.progress,
        )
        return self._with_rule(search.alpha, search)

    def judge(self, X: np.ndarray, p: np.ndarray) -> Judgement:
        """Reject by uncertainty alone; the unknown score is u of Eq. 1."""
        return Judgement(self.rule_.rejects(p), 1 / (1 + critical_alpha(p)), self.rule_.probabilities(p))

    @property
    def fitted_parameters(self) -> Mapping[str, Any]:
        """``alpha`` in use, and ``alpha_search``, the search that found it; None if alpha was given."""
        return {"alpha": self.rule_.alpha, "alpha_search": self.search_}

    def state(self) -> State:
        """Return alpha and the curve of its search."""
        search = self.search_
        if search is None:
            return State(StoredHeader(alpha=self.rule_.alpha)._asdict(), {})
        header = StoredHeader(alpha=self.rule_.alpha, alpha_criterion=search.criterion)
        return State(header._asdict(), {"alpha.grid": search.grid, "alpha.scores": search.scores})

    def restore(self, state: State, labelled: Labelled, device: str) -> Self:
        """Return a copy with the stored alpha, and with the curve of its search if there was one."""
        stored = StoredHeader.read(state.header)
        alpha, criterion = check_alpha(stored.alpha), stored.alpha_criterion
        search = None
        if criterion is not None:
            search = AlphaSearch(alpha, state.arrays["alpha.grid"], state.arrays["alpha.scores"], str(criterion))
        return self._with_rule(alpha, search)

    def _with_rule(self, alpha: float, search: AlphaSearch | None) -> Self:
        fitted = clone(self)
        fitted.rule_, fitted.search_ = UncertaintyRule(alpha), search
        return fitted
