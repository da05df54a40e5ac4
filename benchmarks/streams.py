"""How the preset ``best`` handles unusual streams: ``python -m benchmarks.streams --features FOLDER``.

Half of the classes of a feature file are known, by at most thirty labelled rows each; streams show known and new
classes in many ways. For each: true HNA online, the number of classes found with its interval, HCA, and seconds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from opengcd import OpenWorldRecognizer, metrics
from opengcd._internal.randomness import generator
from opengcd.bench import load_dataset

LABELLED, OF_KNOWN, OF_NEW = 30, 29, 59


class World(NamedTuple):
    """Labelled rows of known classes, and a stream."""

    X: np.ndarray
    y: np.ndarray
    stream: np.ndarray
    truth: np.ndarray


class Maker:
    """Draws worlds from the rows of a dataset; classes come in a random order, known ones first."""

    def __init__(self, features: Path, dataset: str, seed: int) -> None:
        data = load_dataset(features, dataset)
        self.rng = generator(seed)
        number = len(data.class_names)
        self.known = number // 2
        order = self.rng.permutation(number)
        self.rows = {c: self.rng.permutation(np.flatnonzero(data.y == label)) for c, label in enumerate(order)}
        self.X = data.X.astype(np.float32)

    def world(self, new: int, of_known: int = OF_KNOWN, of_new: int = OF_NEW, tail: float = 1.0) -> World:
        """A stream with that many new classes; their sizes fall by a factor of ``tail`` from first to last."""
        labelled = [self.rows[c][:LABELLED] for c in range(self.known)]
        of_known_rows = [self.rows[c][LABELLED : LABELLED + of_known] for c in range(self.known)]
        sizes = np.maximum(2, of_new * np.geomspace(1, 1 / tail, max(new, 1))).astype(int)
        of_new_rows = [self.rows[self.known + i][: sizes[i]] for i in range(new)]
        picks = of_known_rows + of_new_rows
        rows, truth = np.concatenate(picks), np.repeat(np.arange(self.known + new), [len(p) for p in picks])
        order = self.rng.permutation(len(rows))
        y = np.repeat(np.arange(self.known), [len(p) for p in labelled])
        return World(self.X[np.concatenate(labelled)], y, self.X[rows[order]], truth[order])


def mapped(world: World, change: Callable[[np.ndarray], np.ndarray]) -> World:
    """The same world with other features."""
    return world._replace(X=change(world.X), stream=change(world.stream))


def cases(make: Maker, large: bool) -> Iterator[tuple[str, World]]:
    """Yield every kind of stream with its name."""
    half = make.known // 2
    usual = make.world(half)
    yield f"usual: {half} new classes beside {make.known} known", usual
    yield "no new class", make.world(0)
    yield "one new class", make.world(1)
    yield "as many new classes as known", make.world(make.known)
    yield "long tail: the smallest new class has a tenth of the largest", make.world(half, tail=10)
    yield "long tail: a hundredth", make.world(half, tail=100)
    yield "no known item", make.world(half, of_known=0)
    yield "every item twice", usual._replace(stream=np.repeat(usual.stream, 2, axis=0), truth=np.repeat(usual.truth, 2))
    few = make.rng.permutation(len(usual.truth))[:400]
    yield "400 items", usual._replace(stream=usual.stream[few], truth=usual.truth[few])
    d = make.X.shape[1]
    for width in (64, 1536):
        rotation = np.linalg.qr(make.rng.normal(size=(max(d, width), min(d, width))))[0].astype(np.float32)
        projection = rotation.T if width > d else rotation
        yield f"{width} dimensions (random rotation)", mapped(usual, lambda X, P=projection: X @ P)
    yield (
        "unnormalised: lengths from a third to three times",
        mapped(usual, lambda X: X * np.exp(make.rng.uniform(-1.1, 1.1, size=(len(X), 1))).astype(np.float32)),
    )
    if large:
        again = make.rng.integers(len(usual.truth), size=100_000)
        noise = 0.01 * make.rng.normal(size=(100_000, d)).astype(np.float32)
        yield "100,000 items", usual._replace(stream=usual.stream[again] + noise, truth=usual.truth[again])


def judge(world: World, seed: int, device: str) -> list[str]:
    """Fit, recognise in ten parts, discover; return the cells of a table."""
    recognizer = OpenWorldRecognizer(random_state=seed, device=device).fit(world.X, world.y)
    start = time.perf_counter()
    parts = []
    for part in np.array_split(world.stream, 10):
        parts.append(recognizer.predict(part))
        recognizer.observe(part)
    labels, known = np.concatenate(parts), recognizer.classes_
    found = recognizer.discover(world.stream, rejected=labels == recognizer.unknown_label_)
    seconds = time.perf_counter() - start
    classes = len(np.union1d(known, world.truth))
    is_known = np.isin(world.truth, known)
    share = "-" if not is_known.any() else f"{100 * (found.labels == world.truth)[is_known].mean():.1f}"
    both = is_known.any() and not is_known.all()
    hna = f"{100 * metrics.hna(world.truth, labels, known):.1f}" if both else "-"
    hca = f"{100 * metrics.hca(world.truth, found.labels, known):.1f}" if both else "-"
    rejected = 100 * (labels == recognizer.unknown_label_).mean()
    low, high = found.k_interval or (found.k, found.k)
    return [str(len(labels)), f"{rejected:.0f}", hna, f"{found.k} ({low}-{high})", str(classes), hca, share,
            f"{seconds:.0f}"]  # fmt: skip


def main() -> None:
    """Print one table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", type=Path, required=True)
    parser.add_argument("--dataset", default="cub")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--large", action="store_true", help="also 100,000 items, which takes minutes on a CPU")
    parser.add_argument("--only", default="", help="only streams whose name begins so")
    chosen = parser.parse_args()
    make = Maker(chosen.features, chosen.dataset, chosen.seed)
    print("| stream | items | rejected, % | HNA | k found | k true | HCA | known right, % | s |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, world in cases(make, chosen.large):
        if name.startswith(chosen.only):
            print("| " + " | ".join([name, *judge(world, chosen.seed, chosen.device)]) + " |", flush=True)


if __name__ == "__main__":
    main()
