"""Why the baselines search as they do: ``python -m benchmarks.baseline_choices --features FOLDER --dataset cub``.

Phase 1, one seed, measured on the official test sets. ``nno``: searching parameters one by one, or all combinations.
``radius``: transferring the radius itself, or the share of known rows it rejects, from half of the classes to all.
``evm``: lengths of the tail and numbers of fused vectors. ``l2ac``: learning rates, neighbours and negatives, those in
the search and others.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path
from typing import Any

import numpy as np

from opengcd import metrics
from opengcd._internal.randomness import derive
from opengcd.bench import Dataset, class_groups, load_dataset, plan_for
from opengcd.bench.baselines import EVM, L2AC, NNO
from opengcd.osr import split_open_world

PARTS = ("nno", "radius", "evm", "l2ac")


class Phase:
    """The data of the first phase."""

    def __init__(self, data: Dataset, seed: int) -> None:
        self.known, novel = class_groups(len(data.class_names), plan_for(data).sizes, derive(seed, 0))[:2]
        train, test = data.train_rows(self.known), data.test_rows(self.known)
        self.X, self.y = data.X[train], data.y[train]
        self.tests, self.truth = data.X[test], data.y[test]
        stream = np.concatenate([test, data.train_rows(novel), data.test_rows(novel)])
        self.stream, self.answer = data.X[stream], data.y[stream]

    def accuracy(self, model: Any) -> float:
        """In percent, without rejection."""
        return 100 * metrics.accuracy(self.truth, model.fit(self.X, self.y).predict_closed(self.tests))


def nno(phase: Phase, seed: int) -> None:
    """Compare the search with all combinations."""
    found = NNO(tau=1.0, random_state=seed)
    print(f"NNO, one by one ({sum(len(r.values) for r in NNO.RANGES.values())} fits): {phase.accuracy(found):.1f} %")
    grid = [r.values for r in NNO.RANGES.values()]
    scores = {}
    for values in itertools.product(*grid):
        settings = dict(zip(NNO.RANGES, values, strict=True))
        try:
            scores[values] = phase.accuracy(NNO(tau=1.0, random_state=seed, **settings))
        except ValueError:  # it diverged
            scores[values] = 0.0
    best = max(scores, key=scores.__getitem__)
    print(f"NNO, the best of {len(scores)} combinations in hindsight: {scores[best]:.1f} %")
    print(f"    {', '.join(NNO.RANGES)}: {best}")


def radius(phase: Phase, seed: int) -> None:
    """Compare two ways to carry a radius over."""
    model = NNO(random_state=seed).fit(phase.X, phase.y)
    by_share = metrics.hna(phase.answer, model.predict(phase.stream), phase.known)
    codes = np.searchsorted(model.classes_, model.memory_.y)
    radii: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for r in range(5):
        fitting, held_out, unknown, number = split_open_world(codes, derive(seed, r))
        player = model.open_world_model(model.memory_.X[fitting], number[codes[fitting]], derive(seed, r, 0))
        scores = player.scores(model.memory_.X[held_out])
        radii.append((-scores.max(1), scores.argmax(1) == number[codes[held_out]],
                      -player.scores(model.memory_.X[unknown]).max(1)))  # fmt: skip
    grid = np.quantile(np.concatenate([np.concatenate([near, far]) for near, _, far in radii]), np.linspace(0, 1, 101))
    hna = [[metrics.harmonic_mean(((near < tau) & right).mean(), (far >= tau).mean()) for near, right, far in radii]
           for tau in grid]  # fmt: skip
    tau = grid[np.argmax(np.mean(hna, axis=1))]
    closed, score = model.predict_closed(phase.stream), model.unknown_score(phase.stream)
    itself, *others = (
        metrics.hna(phase.answer, np.where(score >= t, -1, closed), phase.known)
        for t in (tau, *np.quantile(score, np.linspace(0, 1, 101)))
    )
    print(f"NNO, HNA: radius carried over {100 * itself:.1f}, share carried over {100 * by_share:.1f}, "
          f"at best {100 * max(others):.1f}")  # fmt: skip


def evm(phase: Phase, seed: int) -> None:
    """Print accuracy by tail and fuse."""
    print("EVM, accuracy with cosine distance by tail (rows) and vectors fused (columns)\n\n| tail | 1 | 2 | 4 | 8 |")
    print("| --- | --- | --- | --- | --- |")
    for tail in (0.01, 0.05, 0.1, 0.25, 0.5, 1.0):
        model = EVM(tail=tail, fuse=1, distance="cosine", scale=0.5, cover=1.0, delta=0.5).fit(phase.X, phase.y)
        row = []
        for fuse in (1, 2, 4, 8):
            model.settings_["fuse"] = fuse
            row.append(f"{100 * metrics.accuracy(phase.truth, model.predict_closed(phase.tests)):.1f}")
        print(f"| {tail} | " + " | ".join(row) + " |", flush=True)


def l2ac(phase: Phase, seed: int) -> None:
    """Print accuracy by each parameter of learning, those values too that are not searched."""
    start = {name: r.start for name, r in L2AC.RANGES.items()}
    for name, values in (
        ("learning_rate", (1e-4, 1e-3, 3e-3)),
        ("neighbours", (1, 3, 5, 10)),
        ("negatives", (1, 3, 5, 9, 14, 19)),
    ):
        row = []
        for value in values:
            model = L2AC(threshold=0.5, random_state=seed, **(start | {name: value}))
            row.append(f"{value}: {phase.accuracy(model):.1f}")
            print(f"L2AC, accuracy by {name}: {', '.join(row)}", flush=True)


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", type=Path, required=True)
    parser.add_argument("--dataset", default="cub")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--parts", default=",".join(PARTS))
    chosen = parser.parse_args()
    phase = Phase(load_dataset(chosen.features, chosen.dataset), chosen.seed)
    for part in chosen.parts.split(","):
        {"nno": nno, "radius": radius, "evm": evm, "l2ac": l2ac}[part](phase, chosen.seed)


if __name__ == "__main__":
    main()
