"""How much to penalise weights: ``python -m benchmarks.penalties --features FOLDER --dataset cub``.

As in ``benchmarks.exemplars``, with herding, ranked once: for each penalty of the logistic classifier the accuracy on
all classes so far, phase by phase, mean over the seeds, none of which is one of the published experiments.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from benchmarks.exemplars import accuracies
from opengcd.bench import parse_numbers
from opengcd.classify import Logistic

PENALTIES = (1e-4, 3e-4, 1e-3, 3e-3)


def main() -> None:
    """Print one table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", type=Path, required=True)
    parser.add_argument("--dataset", default="cub")
    parser.add_argument("--seeds", default="100-101")
    chosen = parser.parse_args()
    seeds = parse_numbers(chosen.seeds, "seeds")
    print(f"| {chosen.dataset} | phase 1 | phase 2 | phase 3 | phase 4 |\n| --- | --- | --- | --- | --- |")
    for penalty in PENALTIES:
        runs = [
            accuracies(chosen.features, chosen.dataset, seed, "herding", True, classifier=Logistic(penalty))
            for seed in seeds
        ]
        print(
            f"| {penalty:g} | " + " | ".join(f"{100 * value:.1f}" for value in np.mean(runs, axis=0)) + " |", flush=True
        )


if __name__ == "__main__":
    main()
