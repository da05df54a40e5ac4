"""Progress bars and tables of the command line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta

from rich import box
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table
from rich.text import Text

from opengcd._internal.progress import Progress as Report
from opengcd._internal.text import printable

BOLD = "\x02"
"""Marks the start and the end of bold text in a cell of a table."""


class TimeLeft(ProgressColumn):
    """Time left, from the average time per step so far; also correct if a step takes hours."""

    def render(self, task: Task) -> Text:
        """Return the time left, or nothing before the first step is done."""
        if not task.total or not task.completed or task.elapsed is None:
            return Text("")
        left = task.elapsed / task.completed * (task.total - task.completed)
        return Text(f"{timedelta(seconds=round(left))} left")


class Speed(ProgressColumn):
    """Images per second so far, for stages that count images."""

    def render(self, task: Task) -> Text:
        """Return the speed, or nothing for stages that count other things."""
        if "images" not in task.description or not task.completed or not task.elapsed:
            return Text("")
        return Text(f"{task.completed / task.elapsed:.1f} images/s")


@contextmanager
def progress_bar() -> Iterator[Report]:
    """Show a bar for each stage that reports, on standard error; the bar of a finished stage disappears."""
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(),
               TimeElapsedColumn(), TimeLeft(), Speed())  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def report(stage: str, done: int, total: int, /) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(printable(stage))
            finished = total > 0 and done >= total
            bars.update(tasks[stage], completed=done, total=total or None, visible=not finished)

        yield report


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table on standard output; text between two ``BOLD`` marks is bold."""
    table = Table(title=title, box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    rows = [[BOLD.join(map(printable, cell.split(BOLD))) for cell in row] for row in rows]
    for i, name in enumerate(header):
        width = max(len(word) for word in [*name.split(), *(row[i].replace(BOLD, "") for row in rows)])
        table.add_column(name, justify="right", min_width=width, max_width=width)
    for row in rows:
        table.add_row(*(_styled(cell) for cell in row))
    # As wide as needed: a terminal wraps lines that are too long, but rich would cut them.
    needed = Console(width=10**4).measure(table).maximum
    Console(width=max(Console().width, needed)).print(table, crop=False)


def _styled(cell: str) -> Text:
    parts = cell.split(BOLD)
    return Text.assemble(*((part, "bold" if i % 2 else "") for i, part in enumerate(parts)))
