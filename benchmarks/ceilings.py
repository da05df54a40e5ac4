"""What keeps ``best`` from better groups: ``python -m benchmarks.ceilings --features FOLDER --dataset cub --jobs 2``.

Protocol ``paper`` with what discovery is told step by step: nothing; the true number of classes; that and which rows
are of new classes, so that groups start from all of these and from no other. Everything is learnt from the official
training sets, so that each phase is judged alone. HCA, mean over the seeds.
"""

from __future__ import annotations

import argparse
import functools
import itertools
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from opengcd import OpenWorldRecognizer
from opengcd.bench import class_groups, load_dataset, plan_for, run_protocol
from opengcd.randomness import derive

TOLD = ("nothing", "the true number of classes", "that, and which rows are new")


def hca(features: Path, dataset: str, told: str, seed: int) -> list[float]:
    """Return the HCA of each phase."""
    data = load_dataset(features, dataset)
    plan = plan_for(data)
    groups = class_groups(len(data.class_names), plan.sizes, derive(seed, 0))
    label_of = {row.tobytes(): label for row, label in zip(data.X, data.y.tolist(), strict=True)}
    recognizer = OpenWorldRecognizer(memory_size=plan.memory, random_state=seed)
    discover = recognizer.discover

    def with_help(X: np.ndarray, *, rejected: np.ndarray, **more: Any) -> Any:
        known = np.concatenate(groups[: recognizer.phase_])
        k = None if told == TOLD[0] else len(known) + len(groups[recognizer.phase_])
        if told == TOLD[2]:
            rejected = ~np.isin([label_of[row.tobytes()] for row in X], known)
        return discover(X, k, rejected=rejected, **more)

    recognizer.discover = with_help  # type: ignore[assignment,method-assign]
    phases = run_protocol(recognizer, data, groups, learn="all", random_state=derive(seed, 1))
    return [result.hca for result, detail in phases if detail is not None and result.hca is not None]


def main() -> None:
    """Print one table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", type=Path, required=True)
    parser.add_argument("--dataset", default="cub")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    chosen = parser.parse_args()
    cells = list(itertools.product(TOLD, range(chosen.seeds)))
    with ProcessPoolExecutor(chosen.jobs, get_context("spawn")) as pool:
        runs = np.array(
            list(pool.map(functools.partial(hca, chosen.features, chosen.dataset), *zip(*cells, strict=True)))
        )
    print(f"| {chosen.dataset}: discovery is told | phase 1 | phase 2 | phase 3 |\n| --- | --- | --- | --- |")
    for told, values in zip(TOLD, runs.reshape(len(TOLD), chosen.seeds, -1).mean(1), strict=True):
        print(f"| {told} | " + " | ".join(f"{100 * value:.1f}" for value in values) + " |")


if __name__ == "__main__":
    main()
