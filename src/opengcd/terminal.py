"""What the command line shows: progress bars and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from opengcd.progress import Progress as Report

BOLD = "\x02"
"""Marks the begin and the end of bold text in a cell of a table."""
DAY = 24 * 3600.0
"""Time left is estimated from all steps of the last day: a step can take many minutes."""


@contextmanager
def progress_bar() -> Iterator[Report]:
    """Show a bar for each stage that reports, on standard error; a finished stage makes room for the next."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(),
               TimeRemainingColumn(compact=True))  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True, speed_estimate_period=DAY) as bars:
        tasks: dict[str, TaskID] = {}

        def report(stage: str, done: int, total: int, /) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage)
            finished = total > 0 and done >= total
            bars.update(tasks[stage], completed=done, total=total or None, visible=not finished)

        yield report


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table on standard output; what stands between two ``BOLD`` marks is shown in bold."""
    table = Table(title=title, box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for i, name in enumerate(header):
        width = max(len(word) for word in [*name.split(), *(row[i].replace(BOLD, "") for row in rows)])
        table.add_column(name, justify="right", min_width=width, max_width=width)
    for row in rows:
        table.add_row(*(_styled(cell) for cell in row))
    console = Console()
    # A file or a pipe has no width: leave the lines whole.
    (console if console.is_terminal else Console(width=10**4)).print(table)


def _styled(cell: str) -> Text:
    parts = cell.split(BOLD)
    return Text.assemble(*((part, "bold" if i % 2 else "") for i, part in enumerate(parts)))
