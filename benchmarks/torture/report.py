"""What an attack reports, and how a report is printed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

MOST_SHOWN = 20
"""Failures that are printed in full."""


class Outcome(NamedTuple):
    """The outcome of one attack."""

    attack: str
    """What was tried, such as ``"kill -9 at a random time, SQLite"``."""
    tries: int
    figures: dict[str, str]
    """What was measured, such as ``{"lost edits": "0"}``."""
    failures: list[str]
    """Each broken promise, with what is needed to repeat it; empty if every promise held."""


class Setting(NamedTuple):
    """How an attack is run."""

    folder: Path
    """An empty folder of its own."""
    scale: float
    """1 runs for minutes; larger values run proportionally longer."""
    seed: int
    tell: Callable[[str], None]
    """Prints one line of progress."""

    def tries(self, number: int) -> int:
        """Return a number of tries at this scale, at least one."""
        return max(1, round(number * self.scale))


Attack = Callable[[Setting], Iterable[Outcome]]


def markdown(outcomes: Sequence[Outcome]) -> str:
    """Return the report as a Markdown table, followed by the failures."""
    lines = ["| attack | tries | measured | promises broken |", "| --- | ---: | --- | ---: |"]
    for one in outcomes:
        measured = "; ".join(f"{name} {value}" for name, value in one.figures.items())
        lines.append(f"| {one.attack} | {one.tries:,} | {measured} | {len(one.failures)} |")
    failed = [f"- {one.attack}: {failure}" for one in outcomes for failure in one.failures]
    if failed:
        lines += ["", *failed[:MOST_SHOWN]]
    if len(failed) > MOST_SHOWN:
        lines.append(f"- and {len(failed) - MOST_SHOWN} more")
    return "\n".join(lines)
