"""What ``best`` sends to review if few or no items are new: ``python -m benchmarks.quiet_streams --features FOLDER``.

The first phase of the benchmark, with other seeds. The stream is seen in ten parts, each recognised before the
threshold follows it. For several shares of new items: the shares of known and of new items that are rejected, and HNA,
with the best expected HNA alone and with the limit on known items. Then a stream without new items in which 30 % are
new from some point on: the share of these that is rejected, in each 500 items from there. No discovery is run.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from unittest.mock import patch

import numpy as np

from opengcd import OpenWorldRecognizer, metrics
from opengcd._internal.randomness import derive, generator
from opengcd.bench import class_groups, load_dataset, plan_for
from opengcd.bench.protocol import PARTS
from opengcd.osr import threshold

SHARES = (0.0, 0.01, 0.03, 0.05, 0.1, 0.2)
QUIET, LATE, LATE_SHARE, PART = 10_000, 1500, 0.3, 500


class World:
    """A recogniser of the first phase, and scores of items of known and of new classes."""

    def __init__(self, features: Path, dataset: str, seed: int) -> None:
        data = load_dataset(features, dataset)
        plan = plan_for(data)
        groups = class_groups(len(data.class_names), plan.sizes, derive(seed, 0))
        known, new = groups[0], groups[1]
        labelled = data.train_rows(known)
        self.recognizer = OpenWorldRecognizer(memory_size=plan.memory, random_state=seed)
        self.recognizer.fit(data.X[labelled], data.y[labelled])
        self.rng = generator(seed)
        rows = np.concatenate([data.test_rows(known), data.train_rows(new), data.test_rows(new)])
        found = self.recognizer.recognize(data.X[rows])
        self.scores, self.right = found.unknown_score, found.closed == data.y[rows]
        self.known, self.new = (np.flatnonzero(np.isin(data.y[rows], part)) for part in (known, new))
        self.first = self.recognizer.threshold_

    def rejected(self, stream: np.ndarray, parts: int, first: float | None = None) -> np.ndarray:
        """Which items of a stream are rejected online."""
        value = self.first.value if first is None else first
        found: list[np.ndarray] = []
        for part in np.array_split(stream, parts):
            found.append(self.scores[part] > value)
            seen = stream[: sum(map(len, found))]
            value = self.recognizer.recall(self.scores[seen]).threshold_.value
        return np.concatenate(found)

    def stream(self, share: float) -> np.ndarray:
        """All known items and so many new ones that they have this share."""
        number = min(len(self.new), round(share / (1 - share) * len(self.known)))
        return self.rng.permutation(np.append(self.known, self.rng.permutation(self.new)[:number]))

    def measured(self, stream: np.ndarray, first: float | None = None) -> list[float]:
        """Return the shares of known and of new items that are rejected, and HNA, in percent."""
        rejected = self.rejected(stream, PARTS, first)
        new = np.isin(stream, self.new)
        caught = rejected[new].mean() if new.any() else float("nan")
        right = (self.right[stream] & ~rejected)[~new].mean()
        return [100 * rejected[~new].mean(), 100 * caught, 100 * metrics.harmonic_mean(right, caught)]

    def late(self) -> list[float]:
        """Return the share of late new items that is rejected, in each part from their first one on, in percent."""
        of_new = round(LATE_SHARE * LATE)
        quiet = self.rng.choice(self.known, QUIET)
        known, new = self.rng.choice(self.known, LATE - of_new), self.rng.permutation(self.new)[:of_new]
        stream = np.append(quiet, self.rng.permutation(np.append(known, new)))
        rejected, is_new = self.rejected(stream, len(stream) // PART), np.isin(stream, self.new)
        return [100 * rejected[at : at + PART][is_new[at : at + PART]].mean() for at in range(QUIET, len(stream), PART)]


def main() -> None:
    """Print one table per dataset."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", type=Path, required=True)
    parser.add_argument("--datasets", default="cub,cifar100")
    parser.add_argument("--seeds", type=int, default=3, help="Number of seeds, from 100 on.")
    args = parser.parse_args()
    for dataset in args.datasets.split(","):
        worlds = [World(args.features, dataset, 100 + i) for i in range(args.seeds)]
        print(f"\n| {dataset}: new, % | known rejected, % | limited | new rejected, % | limited | HNA | limited |")
        print("| --- | --- | --- | --- | --- | --- | --- |")
        for share in (*SHARES, 1.0):
            rows = []
            for world in worlds:
                stream = world.stream(share) if share < 1 else world.rng.permutation(len(world.scores))
                with patch.object(threshold, "ALWAYS_REJECTED", 1.0):
                    free = world.measured(stream)
                rows.append(np.stack([free, world.measured(stream)], 1).ravel())
            title = f"{100 * share:.0f}" if share < 1 else "the paper's stream"
            print(
                f"| {title} | "
                + " | ".join("-" if np.isnan(value) else f"{value:.1f}" for value in np.mean(rows, 0))
                + " |"
            )
        limited = [world.recognizer.threshold_for(threshold.ALWAYS_REJECTED).value for world in worlds]
        usual = [world.rng.permutation(len(world.scores)) for world in worlds]
        before, after = (
            np.mean([w.measured(stream, first)[2] for w, stream, first in zip(worlds, usual, firsts, strict=True)])
            for firsts in ([None] * len(worlds), limited)
        )
        print(f"\nThe paper's stream: HNA {before:.1f}; {after:.1f} if 5 % of known items are rejected at first.")
        late = np.mean([world.late() for world in worlds], 0)
        print(f"30 % new after {QUIET} known items: rejected {', '.join(f'{value:.0f}' for value in late)} %.")


if __name__ == "__main__":
    main()
