"""What limits the groups of ``best``: ``python -m benchmarks.ceilings --features FOLDER --dataset cub --jobs 2``.

Protocol ``paper``, where discovery is told more and more: nothing; the true number of classes; also which rows are of
new classes, so that groups start from exactly these. Everything is learnt from the official training sets, so that each
phase is judged separately. Besides HCA: HNA, HNA at the best threshold for the same score, accuracy without rejection,
and the number of classes found when nothing is told, with the true one. Means over the seeds.
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

from benchmarks.baselines import best_hna
from opengcd import OpenWorldRecognizer
from opengcd._internal.randomness import derive
from opengcd.bench import RecognizerMethod, class_groups, load_dataset, plan_for, run_protocol

TOLD = ("nothing", "the true number of classes", "that, and which rows are new")


def measured(features: Path, dataset: str, told: str, seed: int) -> np.ndarray:
    """Return for each phase HCA, HNA, HNA at the best threshold in hindsight, accuracy, and k found and true."""
    data = load_dataset(features, dataset)
    plan = plan_for(data)
    groups = class_groups(len(data.class_names), plan.sizes, derive(seed, 0))
    label_of = {row.tobytes(): label for row, label in zip(data.X, data.y.tolist(), strict=True)}
    recognizer = OpenWorldRecognizer(memory_size=plan.memory, random_state=seed)
    discover = recognizer.discover
    at_best = []

    def with_help(X: np.ndarray, *, rejected: np.ndarray, **more: Any) -> Any:
        known = np.concatenate(groups[: recognizer.phase_])
        truth = np.array([label_of[row.tobytes()] for row in X])
        said = recognizer.recognize(X)
        at_best.append(best_hna(said.closed, said.unknown_score, truth, known))
        k = None if told == TOLD[0] else len(known) + len(groups[recognizer.phase_])
        if told == TOLD[2]:
            rejected = ~np.isin(truth, known)
        return discover(X, k, rejected=rejected, **more)

    recognizer.discover = with_help  # type: ignore[assignment,method-assign]
    method = RecognizerMethod(recognizer)
    phases = [one for one, _ in run_protocol(method, data, groups, learn="all", random_state=derive(seed, 1))]
    at_best.append(np.nan)  # the last phase has no stream
    return np.array(
        [
            (one.hca, one.hna, best, one.accuracy_all, one.k, one.k_true)
            for one, best in zip(phases, at_best, strict=True)
        ],
        dtype=float,
    )


def main() -> None:
    """Print one table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", type=Path, required=True)
    parser.add_argument("--dataset", default="cub")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--nothing", action="store_true", help="tell discovery nothing, and spare two thirds of the time"
    )
    chosen = parser.parse_args()
    told = TOLD[:1] if chosen.nothing else TOLD
    cells = list(itertools.product(told, range(chosen.seeds)))
    with ProcessPoolExecutor(chosen.jobs, get_context("spawn")) as pool:
        runs = list(pool.map(functools.partial(measured, chosen.features, chosen.dataset), *zip(*cells, strict=True)))
    # (told, phases, what was measured)
    means = np.array(runs).reshape(len(told), chosen.seeds, *runs[0].shape).mean(1)
    lines = [(f"HCA, discovery is told {what}", means[i, :, 0]) for i, what in enumerate(told)]
    lines += [
        ("HNA", means[0, :, 1]),
        ("HNA at the best threshold in hindsight", means[0, :, 2]),
        ("accuracy without rejection", means[0, :, 3]),
    ]
    print(f"| {chosen.dataset} | phase 1 | phase 2 | phase 3 | phase 4 |\n| --- | --- | --- | --- | --- |")
    for name, values in lines:
        print(f"| {name} | " + " | ".join("" if np.isnan(v) else f"{100 * v:.1f}" for v in values) + " |")
    number = ["" if np.isnan(found) else f"{found:.1f} of {true:.0f}" for found, true in means[0, :, 4:]]
    print(f"| number of classes, if told nothing | {' | '.join(number)} |")


if __name__ == "__main__":
    main()
