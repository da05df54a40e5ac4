"""Cells of the benchmark: one method on one dataset with one seed, each in a file of its own.

A cell is written when it is finished and not before, so an interruption loses at most the cell under way, and a second
run does what is missing.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import multiprocessing
import os
import platform
import re
import signal
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from opengcd import metrics
from opengcd.bench._datasets import feature_file, load_dataset, plan_for
from opengcd.bench._methods import make_method, method_factory
from opengcd.bench._protocol import PhaseResult, class_groups, run_protocol
from opengcd.progress import Progress, silent
from opengcd.randomness import derive
from opengcd.storage import replace_file

FORMAT = "opengcd-results"
FORMAT_VERSION = 2
HEADER = "results.json"
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class ResultsError(ValueError):
    """A results folder is of another version, or not one of ours."""


@dataclasses.dataclass(frozen=True)
class Cell:
    """What is run."""

    dataset: str
    method: str
    seed: int
    protocol: str = "paper"
    learn: str = "discovered"
    memory: int | None = None
    """Number of exemplars; None is the paper's number for the dataset."""

    def __str__(self) -> str:
        words = [self.dataset, self.method]
        words += [self.protocol] * (self.protocol != "paper") + ["learns all"] * (self.learn == "all")
        words += [f"memory {self.memory}"] * (self.memory is not None)
        return " ".join([*words, "seed", str(self.seed)])

    @property
    def file(self) -> str:
        """The name of its file."""
        parts = (self.dataset, self.method, self.protocol, self.learn, self.memory or "full", self.seed)
        return "--".join(re.sub(r"[^A-Za-z0-9.-]+", "_", str(part)) for part in parts) + ".json"


class Outcome(NamedTuple):
    """A cell that was run, and why it failed (empty if it did not)."""

    cell: Cell
    error: str


def make_cells(
    datasets: Sequence[str],
    methods: Sequence[str],
    seeds: Sequence[int],
    protocol: str = "paper",
    learn: str = "discovered",
    memories: Sequence[int | None] = (None,),
) -> list[Cell]:
    """Return every combination, after checking the methods' names."""
    for method in methods:
        method_factory(method)
    choices = itertools.product(datasets, memories, methods, seeds)
    return [Cell(d, m, s, protocol, learn, memory) for d, memory, m, s in choices]


def parse_numbers(text: str, name: str) -> list[int]:
    """Read ``"0-4"``, ``"0,2,5"`` or a mixture.

    >>> parse_numbers("0-2,7", "seeds")
    [0, 1, 2, 7]
    """
    numbers: list[int] = []
    for part in text.split(","):
        bounds = re.fullmatch(r"\s*(\d+)(?:-(\d+))?\s*", part)
        if bounds is None:
            raise ValueError(f"{text!r} names no {name}; write 0-4 or 0,2,5.")
        numbers += range(int(bounds[1]), int(bounds[2] or bounds[1]) + 1)
    return numbers


def run_cells(
    cells: Iterable[Cell],
    features: Path,
    out: Path,
    *,
    jobs: int = 1,
    threads: int = 1,
    progress: Progress = silent,
) -> Iterator[Outcome]:
    """Run the cells that have no file yet in ``jobs`` processes, and yield each as it is done.

    A cell that fails is reported and leaves no file; the others go on. Each process computes with ``threads`` threads.
    Sums are rounded in another order with another number of threads, and small differences grow from phase to phase;
    so the numbers depend on ``threads``, but not on ``jobs``.
    """
    open_results(out, create=True)
    cells = list(cells)
    prints = {name: fingerprint(feature_file(features, name)) for name in {cell.dataset for cell in cells}}
    todo = [cell for cell in cells if not _is_done(out / cell.file, prints[cell.dataset])]
    progress("cells", 0, len(todo))
    if not todo:
        return
    context = multiprocessing.get_context("spawn")
    reports = context.Queue()
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(min(jobs, len(todo)), context, _start_worker, (threads, reports))
    listener = threading.Thread(target=_listen, args=(reports, progress), daemon=True)
    listener.start()
    try:
        with _environment(dict.fromkeys(THREAD_VARIABLES, str(threads)) | {"OMP_WAIT_POLICY": "PASSIVE"}):
            running = {pool.submit(_run_and_write, cell, features, out): cell for cell in todo}
        for i, future in enumerate(as_completed(running), 1):
            error = future.exception()
            if isinstance(error, BrokenProcessPool):
                raise ResultsError(
                    "A process ended without a word, perhaps for lack of memory. What was finished is kept; "
                    "run the same command with fewer jobs to go on."
                )
            progress("cells", i, len(todo))
            yield Outcome(running[future], "" if error is None else f"{type(error).__name__}: {error}")
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in set(multiprocessing.active_children()) - others:
            worker.terminate()
        reports.put(None)
        listener.join()


def run_cell(cell: Cell, features: Path, progress: Progress = silent) -> dict[str, Any]:
    """Lead one method through the phases; return all that was measured, ready for JSON.

    The class order depends on the seed alone, or is fixed, so all methods meet the same classes in the same phases.
    """
    start = time.perf_counter()
    data = load_dataset(features, cell.dataset)
    plan = plan_for(data)
    order = None
    if cell.protocol == "authors":
        order = np.arange(len(data.class_names)) if data.class_order is None else data.class_order
    groups = class_groups(len(data.class_names), plan.sizes, derive(cell.seed, 0), order)
    method = make_method(
        cell.method,
        dataset=cell.dataset,
        protocol=cell.protocol,
        memory_size=cell.memory or plan.memory,
        random_state=cell.seed,
    )
    phases = run_protocol(
        method,
        data,
        groups,
        protocol=cell.protocol,
        learn=cell.learn,
        random_state=derive(cell.seed, 1),
        progress=progress,
    )
    results = [result for result, _ in phases]
    return {
        "cell": dataclasses.asdict(cell),
        "features": fingerprint(feature_file(features, cell.dataset)),
        "environment": _describe_environment(),
        "seconds": time.perf_counter() - start,
        "final_average_accuracy": metrics.final_average_accuracy([result.accuracy for result in results]),
        "phases": [_plain(result) for result in results],
    }


def fingerprint(file: Path) -> str:
    """Return a digest of a file's content."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()[:16]


def read_results(out: Path) -> list[dict[str, Any]]:
    """Read every finished cell of a results folder."""
    open_results(out)
    return [_read_cell(file) for file in sorted(out.glob("*--*.json"))]


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


def _read_cell(file: Path) -> dict[str, Any]:
    try:
        result: dict[str, Any] = json.loads(file.read_text())
        Cell(**result["cell"])
    except (OSError, ValueError, KeyError, TypeError):
        raise ResultsError(f"{file} is no result of a cell; move it away to go on.") from None
    return result


def _is_done(file: Path, features: str) -> bool:
    """Whether there is a result already; raise if it was made from other features."""
    if not file.exists():
        return False
    if _read_cell(file)["features"] != features:
        raise ResultsError(f"{file} was made from other features; nothing was changed. Choose another folder.")
    return True


def _plain(result: PhaseResult) -> dict[str, Any]:
    plain = dataclasses.asdict(result)
    for name in ("osr_parts", "gcd_parts"):
        found = getattr(result, name)
        plain[name] = None if found is None else found._asdict()
    return {k: v.item() if isinstance(v, np.generic) else v for k, v in plain.items()}


def _describe_environment() -> dict[str, Any]:
    """What the numbers may depend on."""
    import torch

    packages = ("opengcd", "numpy", "scipy", "scikit-learn", "torch", "xgboost-cpu", "xgboost")
    versions = {}
    for package in packages:
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    return versions | {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        "threads": torch.get_num_threads(),
    }


# What runs in the processes.

_reports: Any = None
"""The queue to the parent, in a process that works for it."""


def _start_worker(threads: int, reports: Any) -> None:
    import torch

    global _reports
    torch.set_num_threads(threads)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it too, and ends its workers
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _reports = reports


def _end_with_parent() -> None:
    """A parent that was killed cannot end its workers, and nobody would wait for what they compute."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _run_and_write(cell: Cell, features: Path, out: Path) -> None:
    result = run_cell(cell, features, lambda stage, done, total: _reports.put((f"{cell}: {stage}", done, total)))
    replace_file(out / cell.file, json.dumps(result, indent=1).encode())


def _listen(reports: Any, progress: Progress) -> None:
    while (report := reports.get()) is not None:
        progress(*report)


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """Set environment variables for the processes that are started meanwhile."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
