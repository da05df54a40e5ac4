"""How far off is the number of classes? ``python -m benchmarks.class_numbers --features FOLDER --worlds 60 --jobs 2``.

Random worlds are drawn from a dataset: few or many classes are known and few or many are new, all of one size or of
sizes whose spread is a factor of 1.35 or 1.8 in two cases of three; ``--new-size 0.2`` makes new classes five times
smaller. The number of new classes is estimated by merging, as ``best`` does, by agreement, and by sizes alone. Printed
are the mean error in classes and as a factor, how often the number was right or off by one, and how often the interval
held the true number, which should be nine times in ten.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from opengcd import OpenWorldRecognizer
from opengcd._internal.randomness import generator
from opengcd.bench import load_dataset
from opengcd.discover import JointDiscovery
from opengcd.presets import PRESETS

SEARCHES = ("merging", "rehearsal", "size")
ROWS_OF_CLASS = 600
MANY = 50
"""Datasets with fewer classes have few new ones only."""
DEVIATIONS = (0.0, 0.3, 0.6)
"""Of the logarithm of a class's size."""


def errors(features: Path, new_size: float, dataset: str, many: bool, world: int) -> np.ndarray:
    """Return for each search the true number of new classes, the one found, and both ends of its interval."""
    data = load_dataset(features, dataset)
    rng = generator(world)
    number = len(data.class_names)
    known = int(rng.integers(15, number // 2) if many else rng.integers(4, min(13, number - 1)))
    new = int(rng.integers(8, min(41, number - known)) if many else rng.integers(1, min(7, number - known + 1)))
    deviation, share = rng.choice(DEVIATIONS), rng.uniform(0.3, 1.0)
    labelled, stream = [], []
    for c, label in enumerate(rng.permutation(number)[: known + new]):
        rows = rng.permutation(np.flatnonzero(data.y == label))[:ROWS_OF_CLASS]
        size = min(1.0, share * np.exp(rng.normal(-deviation, deviation))) * (1.0 if c < known else new_size)
        rows = rows[: max(4, round(size * len(rows)))]
        cut = round(rng.uniform(0.6, 0.85) * len(rows)) if c < known else 0
        labelled.append(rows[:cut])
        stream.append(rows[cut:])
    y = np.repeat(np.arange(known), [len(rows) for rows in labelled[:known]])
    X, U = data.X[np.concatenate(labelled)], data.X[rng.permutation(np.concatenate(stream))]
    recognizer = OpenWorldRecognizer(memory_size=len(X), random_state=world).fit(X, y).observe(U)
    rejected = recognizer.predict(U) == recognizer.unknown_label_
    found = []
    for search in SEARCHES:
        recognizer.preset = dataclasses.replace(PRESETS["best"], discovery=JointDiscovery(search=search))
        discovery = recognizer.discover(U, rejected=rejected)
        low, high = discovery.k_interval
        found.append((new, discovery.k - known, low - known, high - known))
    return np.array(found)


def main() -> None:
    """Print one table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", type=Path, required=True)
    parser.add_argument("--datasets", nargs="+", default=["cifar10", "cifar100", "cub"])
    parser.add_argument("--worlds", type=int, default=60, help="for each line of the table")
    parser.add_argument("--first", type=int, default=0, help="number of the first world")
    parser.add_argument("--new-size", type=float, default=1.0, help="size of a new class, that of a known one being 1")
    parser.add_argument("--only-many", action="store_true", help="leave out worlds with few new classes")
    parser.add_argument("--jobs", type=int, default=1)
    chosen = parser.parse_args()
    lines = [
        (dataset, many)
        for dataset in chosen.datasets
        for many in ((True,) if chosen.only_many else (False, True))
        if not many or len(load_dataset(chosen.features, dataset).class_names) >= MANY
    ]
    cells = [(*line, world) for line in lines for world in range(chosen.first, chosen.first + chosen.worlds)]
    with ProcessPoolExecutor(chosen.jobs, get_context("spawn")) as pool:
        runs = list(pool.map(functools.partial(errors, chosen.features, chosen.new_size), *zip(*cells, strict=True)))
    # (lines, searches, what was found, worlds)
    found = np.array(runs).reshape(len(lines), chosen.worlds, len(SEARCHES), -1).transpose(0, 2, 3, 1)
    print("| dataset | new classes | by | off by | factor | right | at most one off | in the interval |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for (dataset, many), by_search in zip(lines, found, strict=True):
        for search, (new, k, low, high) in zip(SEARCHES, by_search, strict=True):
            off, factor = np.abs(k - new), np.exp(np.abs(np.log(np.maximum(k, 0.5) / new)).mean())
            shares = (off == 0), (off <= 1), (low <= new) & (new <= high)
            print(
                f"| {dataset} | {'8 to 40' if many else '1 to 6'} | {search} | {off.mean():.2f} | {factor:.2f} | "
                + " | ".join(f"{share.mean():.0%}" for share in shares)
                + " |"
            )


if __name__ == "__main__":
    main()
