"""Seed, device and progress callback of a computation."""

from __future__ import annotations

from typing import NamedTuple

from opengcd._internal.progress import Progress, silent
from opengcd._internal.randomness import Seed, derive

MEMORY, CLASSIFIER, ALPHA, NUMBER, GROUPS, NOVELTY, HELD_OUT = range(7)
"""The random steps of a phase. Each has its own seed, so that a change in one does not affect another."""


class Run(NamedTuple):
    """Seed, device and progress callback, which every step of a phase needs together."""

    seed: Seed = None
    device: str = "auto"
    progress: Progress = silent

    def at(self, *step: int) -> Run:
        """Return the same with the seed of one step, which depends on this seed and the step's numbers only.

        Parameters
        ----------
        *step : int
            Number of the step; further numbers are those of a step within it.

        Returns
        -------
        Run

        """
        return self._replace(seed=derive(self.seed, *step))
