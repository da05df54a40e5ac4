"""Progress reports of long computations: a callback with the stage, the steps done and their total."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """``progress("searching alpha", 2, 5)`` says that two of five steps are done."""

    def __call__(self, stage: str, done: int, total: int, /) -> None:
        """Report that ``done`` of ``total`` steps of a stage are done; a total of 0 means it is not known."""


def silent(stage: str, done: int, total: int, /) -> None:
    """Report nothing."""
