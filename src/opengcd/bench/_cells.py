"""Cells of the benchmark: one method on one dataset with one seed, each in a file of its own.

A cell is written when it is finished and not before, so an interruption loses at most the cell under way, and a second
run does what is missing.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from opengcd import __version__, metrics
from opengcd.bench._datasets import load_dataset, plan_for
from opengcd.bench._methods import make_method, method_factory
from opengcd.bench._protocol import PhaseResult, class_groups, run_protocol
from opengcd.progress import Progress, silent
from opengcd.randomness import derive
from opengcd.storage import replace_file

FORMAT = "opengcd-results"
FORMAT_VERSION = 1
HEADER = "results.json"


class ResultsError(ValueError):
    """A results folder is of another version, or not one of ours."""


@dataclasses.dataclass(frozen=True)
class Cell:
    """What is run."""

    dataset: str
    method: str
    seed: int
    learn: str = "discovered"

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{re.sub(r'[^A-Za-z0-9.-]+', '_', f'{self.dataset}--{self.method}--{self.learn}--{self.seed}')}.json"


def make_cells(datasets: Sequence[str], methods: Sequence[str], seeds: Sequence[int], learn: str) -> list[Cell]:
    """Return every combination, after checking the methods' names."""
    for method in methods:
        method_factory(method)
    return [Cell(d, m, s, learn) for d, m, s in itertools.product(datasets, methods, seeds)]


def parse_seeds(text: str) -> list[int]:
    """Read ``"0-4"``, ``"0,2,5"`` or a mixture.

    >>> parse_seeds("0-2,7")
    [0, 1, 2, 7]
    """
    seeds: list[int] = []
    for part in text.split(","):
        bounds = re.fullmatch(r"\s*(\d+)(?:-(\d+))?\s*", part)
        if bounds is None:
            raise ValueError(f"{text!r} names no seeds; write 0-4 or 0,2,5.")
        seeds += range(int(bounds[1]), int(bounds[2] or bounds[1]) + 1)
    return seeds


def run_cells(cells: Iterable[Cell], features: Path, out: Path, progress: Progress = silent) -> Iterator[Cell]:
    """Run the cells that have no file yet, and yield each as it is done."""
    open_results(out, create=True)
    todo = [cell for cell in cells if not (out / cell.file).exists()]
    for i, cell in enumerate(todo):
        progress("cells", i, len(todo))
        result = run_cell(cell, features, progress)
        replace_file(out / cell.file, json.dumps(result, indent=1).encode())
        yield cell
    progress("cells", len(todo), len(todo))


def run_cell(cell: Cell, features: Path, progress: Progress = silent) -> dict[str, Any]:
    """Lead one method through the phases; return all that was measured, ready for JSON.

    The class order depends on the seed alone, so all methods meet the same classes in the same phases.
    """
    data = load_dataset(features, cell.dataset)
    plan = plan_for(data)
    groups = class_groups(len(data.class_names), plan.sizes, derive(cell.seed, 0))
    method = make_method(cell.method, memory_size=plan.memory, random_state=cell.seed)
    phases = run_protocol(method, data, groups, learn=cell.learn, random_state=derive(cell.seed, 1), progress=progress)
    results = [result for result, _ in phases]
    history = [result.accuracy for result in results]
    return {
        "cell": dataclasses.asdict(cell),
        "opengcd_version": __version__,
        "phases": [_plain(result) for result in results],
        "forgetting": metrics.forgetting(history),
        "final_average_accuracy": metrics.final_average_accuracy(history),
    }


def read_results(out: Path) -> list[dict[str, Any]]:
    """Read every finished cell of a results folder."""
    open_results(out)
    return [json.loads(file.read_text()) for file in sorted(out.glob("*--*.json"))]


def open_results(out: Path, *, create: bool = False) -> None:
    """Check that a folder holds results of this version; with ``create``, make an empty one if there is none."""
    header = out / HEADER
    if create and (not out.exists() or (out.is_dir() and not any(out.iterdir()))):
        out.mkdir(parents=True, exist_ok=True)
        replace_file(header, json.dumps({"format": FORMAT, "format_version": FORMAT_VERSION}).encode())
    try:
        document = json.loads(header.read_text())
    except (OSError, ValueError):
        raise ResultsError(f"{out} is no folder of results; choose a new or an empty one.") from None
    if document.get("format") != FORMAT or document.get("format_version") != FORMAT_VERSION:
        raise ResultsError(f"{out} holds results of another version; nothing was changed. Choose another folder.")


def _plain(result: PhaseResult) -> dict[str, Any]:
    plain = dataclasses.asdict(result)
    for name in ("osr_parts", "gcd_parts"):
        found = getattr(result, name)
        plain[name] = None if found is None else found._asdict()
    return {k: v.item() if isinstance(v, np.generic) else v for k, v in plain.items()}
