"""Run cells of the benchmark in processes and write each to a file of its own.

A cell is written when it is finished, so an interruption loses only those that were running. A second run computes
them.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import multiprocessing
import os
import platform
import queue
import re
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from opengcd import metrics
from opengcd._internal.progress import Progress, silent
from opengcd._internal.randomness import derive
from opengcd._internal.splits import class_groups
from opengcd.bench.code_version import code_version
from opengcd.bench.datasets import feature_file, load_dataset, plan_for
from opengcd.bench.image_dataset import ImageDatasetError, load_images
from opengcd.bench.methods import make_method, method_factory, takes_images
from opengcd.bench.protocol import check_protocol, run_protocol
from opengcd.bench.records import Cell, CellResult, Environment
from opengcd.bench.results import ResultsError, open_results, read_results, write_result
from opengcd.bench.scenarios import USUAL, find_scenario

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Outcome(NamedTuple):
    """A cell that was run; if it failed, the error and its traceback."""

    cell: Cell
    error: str = ""
    trace: str = ""


def make_cells(
    datasets: Sequence[str],
    methods: Sequence[str],
    seeds: Sequence[int],
    protocol: str = "paper",
    learn: str = "discovered",
    memories: Sequence[int | None] = (None,),
    scenarios: Sequence[str] = (USUAL,),
) -> list[Cell]:
    """Return each combination once, after checking methods, protocol and memories.

    Parameters
    ----------
    datasets, methods : sequence of str
    seeds : sequence of int
    protocol, learn : str
        See :func:`run_protocol`.
    memories : sequence of int or None
        Numbers of exemplars; None is the paper's number for the dataset.
    scenarios : sequence of str
        What the streams show, see ``SCENARIOS``.

    Returns
    -------
    list of Cell

    """
    for method in methods:
        method_factory(method)
    check_protocol(protocol, learn)
    if any(memory is not None and memory < 1 for memory in memories):
        raise ValueError("A memory holds at least one exemplar; give numbers of 1 or more.")
    for method, scenario in itertools.product(methods, scenarios):
        find_scenario(scenario, takes_images=takes_images(method), method=method)
    choices = itertools.product(datasets, scenarios, memories, methods, seeds)
    return list(dict.fromkeys(Cell(d, m, s, protocol, learn, memory, c) for d, c, memory, m, s in choices))


def parse_numbers(text: str, name: str) -> list[int]:
    """Read ``"0-4"``, ``"0,2,5"`` or a mixture.

    Parameters
    ----------
    text : str
        Numbers and ranges, which include both ends, separated by commas.
    name : str
        What the numbers stand for, in the error message.

    Returns
    -------
    list of int

    Raises
    ------
    ValueError
        If the text is something else.

    Examples
    --------
    >>> parse_numbers("0-2,7", "seeds")
    [0, 1, 2, 7]

    """
    numbers: list[int] = []
    for part in text.split(","):
        bounds = re.fullmatch(r"\s*(\d+)(?:-(\d+))?\s*", part)
        if bounds is None:
            raise ValueError(f"{text!r} is not a list of {name}; write 0-4 or 0,2,5.")
        first, last = int(bounds[1]), int(bounds[2] or bounds[1])
        if last < first:
            raise ValueError(f"{text!r} is not a list of {name}: {first} is larger than {last}.")
        numbers += range(first, last + 1)
    return numbers


def run_cells(
    cells: Iterable[Cell],
    features: Path,
    out: Path,
    *,
    network: str | None = None,
    jobs: int = 1,
    threads: int = 1,
    progress: Progress = silent,
) -> Iterator[Outcome]:
    """Run the cells that have no file yet, and yield each as it is finished.

    A cell that fails is reported and leaves no file; the others go on. With another number of threads,
    numbers are added in another order, and rounding differences grow from phase to phase. So results depend on
    ``threads``, but not on ``jobs``.

    Parameters
    ----------
    cells : iterable of Cell
    features : Path
        The folder of feature files, and of images for methods that take images.
    out : Path
        The folder of results.
    network : str or None
        The folder or the name of the network that methods that take images start from.
    jobs : int
        Number of processes.
    threads : int
        Threads in each process.
    progress : callable
        Called with a stage, the steps done and their total.

    Yields
    ------
    Outcome

    """
    open_results(out, create=True)
    cells = list(cells)
    prints = {name: fingerprint(feature_file(features, name)) for name in {cell.dataset for cell in cells}}
    seen = {cell.dataset for cell in cells if takes_images(cell.method)}
    sources = {name: load_images(features, name, _given(network)).source for name in seen}
    done = set()
    for result in read_results(out):
        cell = result.cell
        for made_from, here, what in (
            (result.features, prints.get(cell.dataset), "features"),
            (result.images, sources.get(cell.dataset), "images, or with another network"),
        ):
            if made_from is not None and here is not None and made_from != here:
                raise ResultsError(
                    f"{out / cell.file} was made from other {what}; nothing was changed. Choose another folder."
                )
        done.add(cell)
    todo = [cell for cell in cells if cell not in done]
    progress("cells", 0, len(todo))
    if todo:
        work = partial(_run_and_write, features=features, out=out, network=network)
        yield from _run_in_processes(todo, work, out, min(jobs, len(todo)), threads, progress)


def _run_in_processes(
    todo: Sequence[Cell], work: Callable[[Cell], Outcome], out: Path, jobs: int, threads: int, progress: Progress
) -> Iterator[Outcome]:
    context = multiprocessing.get_context("spawn")
    others = set(multiprocessing.active_children())
    listener = Listener(context.Queue(), progress)
    pool = ProcessPoolExecutor(jobs, context, _start_worker, (threads, listener.reports))
    try:
        with environment(dict.fromkeys(THREAD_VARIABLES, str(threads)) | {"OMP_WAIT_POLICY": "PASSIVE"}):
            running = {pool.submit(work, cell): cell for cell in todo}
        for i, future in enumerate(as_completed(running), 1):
            if isinstance(future.exception(), BrokenProcessPool):
                left = [str(cell) for cell in todo if not (out / cell.file).exists()]
                raise ResultsError(
                    "A process ended unexpectedly, perhaps for lack of memory. Finished cells are kept; to continue, "
                    f"run the same command with fewer jobs. Not finished: {'; '.join(left)}."
                )
            listener.close_bars(running[future])
            progress("cells", i, len(todo))
            yield future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in set(multiprocessing.active_children()) - others:
            worker.terminate()
        listener.stop()


def run_cell(cell: Cell, features: Path, progress: Progress = silent, network: str | None = None) -> CellResult:
    """Run one method through all phases.

    The class order depends on the seed alone, or is fixed, so all methods see the same classes in the same phases.

    Parameters
    ----------
    cell : Cell
    features : Path
        The folder of feature files, and of images if the method takes images.
    progress : callable
        Called with a stage, the steps done and their total.
    network : str or None
        The folder or the name of the network that a method that takes images starts from.

    Returns
    -------
    CellResult

    """
    code = code_version()
    start = time.perf_counter()
    data = load_dataset(features, cell.dataset)
    if takes_images(cell.method):
        data = dataclasses.replace(data, images=load_images(features, cell.dataset, _given(network)))
    plan = plan_for(data)
    order = None
    if cell.protocol == "authors":
        order = np.arange(len(data.class_names)) if data.class_order is None else data.class_order
    groups = class_groups(len(data.class_names), plan.sizes, derive(cell.seed, 0), order)
    method = make_method(
        cell.method,
        dataset=cell.dataset,
        protocol=cell.protocol,
        memory_size=plan.memory if cell.memory is None else cell.memory,
        random_state=cell.seed,
    )
    phases = run_protocol(
        method,
        data,
        groups,
        protocol=cell.protocol,
        learn=cell.learn,
        scenario=cell.scenario,
        random_state=derive(cell.seed, 1),
        progress=progress,
    )
    results = [result for result, _ in phases]
    return CellResult(
        cell,
        features=fingerprint(feature_file(features, cell.dataset)),
        environment=_describe_environment(),
        seconds=time.perf_counter() - start,
        final_average_accuracy=metrics.final_average_accuracy([result.accuracy for result in results]),
        phases=results,
        code=code,
        images=None if data.images is None else data.images.source,
    )


def _given(network: str | None) -> str:
    if network is None:
        raise ImageDatasetError("A method that takes images needs a network to start from; give --embedder.")
    return network


def fingerprint(file: Path) -> str:
    """Return a digest of a file's content."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()[:16]


def _describe_environment() -> Environment:
    import torch

    packages = ("opengcd", "numpy", "scipy", "scikit-learn", "torch", "xgboost-cpu", "xgboost")
    versions = {}
    for package in packages:
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    return Environment(
        versions,
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
        device=torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        threads=torch.get_num_threads(),
    )


# In the worker processes.

_reports: Any = None
"""The queue to the parent, in a process that works for it."""


def _start_worker(threads: int, reports: Any) -> None:
    import torch

    global _reports
    torch.set_num_threads(threads)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent receives it too, and ends its workers
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _reports = reports


def _end_with_parent() -> None:
    """Exit when the parent has ended: if it was killed, it could not end its workers."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _run_and_write(cell: Cell, features: Path, out: Path, network: str | None) -> Outcome:
    """Run a cell; return errors as text, since not every exception can be unpickled in the parent."""
    try:
        result = run_cell(cell, features, lambda stage, done, total: _reports.put((cell, stage, done, total)), network)
        write_result(out, result)
    except Exception as error:
        return Outcome(cell, f"{type(error).__name__}: {error}", traceback.format_exc())
    return Outcome(cell)


class Listener:
    """Passes on the progress that the processes report.

    A process that is ended while it writes can block the queue forever, so reading it always has a timeout.
    """

    def __init__(self, reports: Any, progress: Progress) -> None:
        self.reports = reports
        self._progress = progress
        self._stages: dict[Cell, set[str]] = {}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def close_bars(self, cell: Cell) -> None:
        """Complete the progress bars of a cell."""
        for stage in self._stages.pop(cell, ()):
            self._progress(stage, 1, 1)

    def stop(self) -> None:
        """Stop listening."""
        self._stopped.set()
        self._thread.join(timeout=2)

    def _listen(self) -> None:
        while not self._stopped.is_set():
            try:
                cell, stage, done, total = self.reports.get(timeout=0.2)
            except queue.Empty:
                continue
            name = f"{cell}: {stage}"
            self._stages.setdefault(cell, set()).add(name)
            self._progress(name, done, total)


@contextmanager
def environment(variables: dict[str, str]) -> Iterator[None]:
    """Set environment variables for processes started within the block."""
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
