"""What to remember of a class: ``python -m benchmarks.exemplars --features FOLDER --dataset cub``.

Every class is learnt from all of its training rows; only the memory limits what is remembered. Printed is the accuracy
of the logistic classifier on all classes so far, by phase, mean over the seeds: for each selector of exemplars, and
with statistics of all rows beside the exemplars.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from opengcd._internal.randomness import derive
from opengcd.bench import class_groups, load_dataset, plan_for
from opengcd.classify import fit_classifier, predict_labels
from opengcd.memory import ExemplarMemory

RULES = {
    "herding, ranked once, and statistics": ("herding", True, True),
    "herding, ranked once": ("herding", True),
    "herding": ("herding", False),
    "k-center": ("kcenter", False),
    "greedy": ("greedy", False),
    "greedy, ranked once": ("greedy", True),
    "ds3 (the paper)": ("ds3", False),
    "random": ("random", False),
}


def accuracies(
    features: Path,
    dataset: str,
    seed: int,
    selector: str,
    rank_once: bool,
    keep_statistics: bool = False,
    classifier: Any = "logistic",
) -> list[float]:
    """Return the accuracy on all classes so far after each phase."""
    data = load_dataset(features, dataset)
    plan = plan_for(data)
    groups = class_groups(len(data.class_names), plan.sizes, derive(seed, 0))
    memory = ExemplarMemory(plan.memory, selector, seed, rank_once=rank_once, keep_statistics=keep_statistics)
    found = []
    for phase, group in enumerate(groups, start=1):
        rows, test = data.train_rows(group), data.test_rows(np.concatenate(groups[:phase]))
        memory.update(data.X[rows], data.y[rows])
        classes, codes = np.unique(memory.y, return_inverse=True)
        model = fit_classifier(classifier, memory.X, codes, seed, statistics=memory.statistics)
        found.append(float((classes[predict_labels(model, data.X[test])] == data.y[test]).mean()))
    return found


def main() -> None:
    """Print one table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", type=Path, required=True)
    parser.add_argument("--dataset", default="cub")
    parser.add_argument("--seeds", type=int, default=3)
    chosen = parser.parse_args()
    print("| exemplars | phase 1 | phase 2 | phase 3 | phase 4 |\n| --- | --- | --- | --- | --- |")
    for name, rule in RULES.items():
        runs = [accuracies(chosen.features, chosen.dataset, seed, *rule) for seed in range(chosen.seeds)]
        print(f"| {name} | " + " | ".join(f"{100 * value:.1f}" for value in np.mean(runs, axis=0)) + " |", flush=True)


if __name__ == "__main__":
    main()
