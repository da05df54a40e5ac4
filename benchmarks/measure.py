"""How benchmarks measure: best times of steps taken in turn, peaks of memory, and a line of the report."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

HAS_GPU = torch.cuda.is_available()


@dataclass
class Row:
    """One line of the report. ``met`` compares our CPU with the target; ``gpu`` is ours on the GPU."""

    name: str
    size: str
    ours: float
    target: str
    met: bool
    note: str
    textbook: float | None = None
    gpu: float | None = None

    @property
    def ratio(self) -> float | None:
        return None if self.textbook is None else self.textbook / self.ours


def best_of(repeats: int, *steps: Callable[[], Any]) -> list[tuple[float, Any]]:
    """Run the steps in turn, ``repeats`` times; return the shortest time and the last result of each."""
    times: list[list[float]] = [[] for _ in steps]
    results: list[Any] = [None for _ in steps]
    for _ in range(repeats):
        for i, step in enumerate(steps):
            start = time.perf_counter()
            results[i] = step()
            times[i].append(time.perf_counter() - start)
    return [(min(seconds), result) for seconds, result in zip(times, results, strict=True)]


def gpu_seconds(step: Callable[[], Any], repeats: int = 5) -> float:
    """Best time of a step that runs on the GPU, after one call to warm up, its queue emptied before the clock stops."""

    def synchronised() -> None:
        step()
        torch.cuda.synchronize()

    synchronised()
    return best_of(repeats, synchronised)[0][0]


def gaussian_classes(n: int, d: int, classes: int, spread: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of unit variance around class means of deviation ``spread``; their classes follow in turn."""
    rng = np.random.default_rng(seed)
    means = spread * rng.standard_normal((classes, d), dtype=np.float32)
    X = rng.standard_normal((n, d), dtype=np.float32)
    for c in range(classes):
        X[c::classes] += means[c]  # class by class: a temporary array of all rows would raise the peak of memory
    return X, np.arange(n) % classes


def peak_memory() -> float:
    """Largest resident memory of this process so far in MB."""
    status = Path("/proc/self/status")
    if status.exists():
        # Linux hands ru_maxrss of the parent down to a process it starts; VmHWM begins again with the program.
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if "VmHWM" in line) * 1024 / 1e6
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / 1e6 if sys.platform == "darwin" else most * 1024 / 1e6
