"""How far rounding moves the numbers of a cell: ``python -m benchmarks.rounding --features FOLDER --dataset cub``.

The same cell of the benchmark with one thread; with two; with the instructions of another processor, which add in
another order; and with features changed by 1e-7 of their size, as much as storing them in 32 bits does. For each phase:
accuracy, HNA, HCA and the number of classes found, and in the last line the largest difference from the first.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import torch

from opengcd.bench import Cell, run_cell

CHANGE = 1e-7
OTHER_PROCESSOR = {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "AVX2", "OPENBLAS_CORETYPE": "Haswell"}


class Setting(NamedTuple):
    """How a cell is computed."""

    name: str
    threads: int = 1
    variables: dict[str, str] = {}  # noqa: RUF012  a tuple is not changed
    changed: bool = False
    """Whether the features are."""


SETTINGS = (
    Setting("one thread"),
    Setting("two threads", threads=2),
    Setting("another processor's instructions", variables=OTHER_PROCESSOR),
    Setting("features changed by 1e-7", changed=True),
)


def change(source: Path, target: Path) -> None:
    """Write a feature file with every feature a little larger or smaller."""
    with np.load(source) as archive:
        arrays = dict(archive)
    rng = np.random.default_rng(0)
    for name in ("x_train", "x_test"):
        exact = arrays[name].astype(np.float64)
        arrays[name] = exact * (1 + CHANGE * rng.choice([-1, 1], size=exact.shape))
    np.savez(target, **arrays)


def measured(cell: Cell, setting: Setting, features: Path) -> np.ndarray:
    """Return (phases, measures) of a cell, computed in a process of its own."""
    threads = {f"{library}_NUM_THREADS": str(setting.threads) for library in ("OMP", "MKL", "OPENBLAS")}
    command = [sys.executable, "-m", "benchmarks.rounding", "--features", str(features), "--dataset", cell.dataset]
    command += ["--method", cell.method, "--seed", str(cell.seed), "--alone", str(setting.threads)]
    done = subprocess.run(command, env=os.environ | threads | setting.variables, check=True, stdout=subprocess.PIPE)
    return np.array(json.loads(done.stdout), dtype=float)


def run_alone(cell: Cell, features: Path, threads: int) -> None:
    """Run a cell in this process and print what was measured."""
    torch.set_num_threads(threads)
    phases = run_cell(cell, features).phases
    print(json.dumps([[phase.accuracy_all, phase.hna, phase.hca, phase.k] for phase in phases]))


def main() -> None:
    """Print one table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", type=Path, required=True)
    parser.add_argument("--dataset", default="cub")
    parser.add_argument("--method", default="best")
    parser.add_argument("--seed", type=int, default=104)
    parser.add_argument("--jobs", type=int, default=1, help="cells at the same time")
    parser.add_argument("--alone", type=int, metavar="THREADS", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    cell = Cell(chosen.dataset, chosen.method, chosen.seed)
    if chosen.alone:
        run_alone(cell, chosen.features, chosen.alone)
        return
    with TemporaryDirectory() as folder, ThreadPoolExecutor(chosen.jobs) as pool:
        file = f"{chosen.dataset}.npz"
        change(chosen.features / file, Path(folder) / file)
        runs = pool.map(lambda s: measured(cell, s, Path(folder) if s.changed else chosen.features), SETTINGS)
        found = dict(zip([setting.name for setting in SETTINGS], runs, strict=True))
    first = found[SETTINGS[0].name]
    found["largest difference"] = np.abs(np.stack(list(found.values())) - first).max(0)
    heads = [f"{what} {phase}" for what in ("accuracy", "HNA", "HCA", "k") for phase in range(1, len(first) + 1)]
    shown = ~np.isnan(first.T.ravel())
    print(f"| {cell} | " + " | ".join(np.array(heads)[shown]) + " |\n| --- |" + " --- |" * shown.sum())
    for name, values in found.items():
        scaled = (values * [100, 100, 100, 1]).T.ravel()[shown]
        print(f"| {name} | " + " | ".join(f"{value:.2f}".removesuffix(".00") for value in scaled) + " |")


if __name__ == "__main__":
    main()
