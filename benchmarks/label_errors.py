"""How well suspected label errors are found: ``python -m benchmarks.label_errors --features FOLDER``.

A share of the training labels of each dataset is replaced: by a random other class (random), or by the class whose mean
is nearest (similar), as people confuse similar classes. Labels are then judged as ``opengcd suspects`` does it, by
the classifier of the preset ``best``, cross-validated in five folds; and, to compare, by the limits of confident
learning with its margin as the order. The table gives the mean over the seeds of

- the share of all labels that are suspected;
- precision and recall: the share of suspects that were replaced, and the share of replaced labels that are suspected;
- the precision of the first suspects, as many as labels were replaced;
- the share of suspects with a replaced label for which the suggested class is the true one.

The datasets have label errors and ambiguous images of their own, which count as wrong here.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from opengcd._internal.class_statistics import ClassStatistics
from opengcd.bench import load_dataset, parse_numbers
from opengcd.classify import Refitting, SuspectLabels, held_out_probabilities, suspect_labels

COLUMNS = ("suspected", "precision", "recall", "precision of the first", "right suggestion")
METHODS = ("opengcd suspects", "confident learning")


def confident_learning(p: np.ndarray, codes: np.ndarray) -> SuspectLabels:
    """Suspect rows that reach the mean probability of another class among those labelled so, ordered by the margin."""
    rows, n = np.arange(len(codes)), p.shape[1]
    own = p[rows, codes]
    limits = np.bincount(codes, weights=own, minlength=n) / np.bincount(codes, minlength=n)
    reached = np.where(p >= limits, p, -1.0)
    member = reached.argmax(1)
    return SuspectLabels(member, p[rows, member] - own, (reached.max(1) > 0) & (member != codes))


def replaced_labels(X: np.ndarray, y: np.ndarray, share: float, similar: bool, rng: np.random.Generator) -> np.ndarray:
    """Return labels of which a share was replaced."""
    rows, n = rng.choice(len(y), round(share * len(y)), replace=False), int(y.max()) + 1
    found = y.copy()
    if similar:
        means = ClassStatistics.of(X, y, n).means
        near = ((means[:, None] - means[None]) ** 2).sum(2)
        np.fill_diagonal(near, np.inf)
        found[rows] = near.argmin(1)[y[rows]]
    else:
        found[rows] = (y[rows] + rng.integers(1, n, len(rows))) % n
    return found


def measure(X: np.ndarray, y: np.ndarray, share: float, similar: bool, seed: int) -> list[list[float]]:
    """Return the numbers of one row of the table for each method."""
    given = replaced_labels(X, y, share, similar, np.random.default_rng(seed))
    wrong = given != y
    statistics = ClassStatistics.of(X, given, int(y.max()) + 1)
    p = held_out_probabilities(Refitting(X, given, "logistic", statistics, "auto"), random_state=seed)
    numbers = []
    for method in (suspect_labels, confident_learning):
        found = method(p, given)
        order = np.argsort(-found.doubt, kind="stable")
        ranked = order[found.suspect[order]]
        hits = found.suspect & wrong
        first = wrong[ranked[: wrong.sum()]].mean()
        right = (found.other == y)[hits].mean()
        numbers.append([len(ranked) / len(y), hits.sum() / len(ranked), hits.sum() / wrong.sum(), first, right])
    return numbers


def main() -> None:
    """Print one table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", type=Path, required=True)
    parser.add_argument("--datasets", default="cub,cifar100")
    parser.add_argument("--seeds", default="0-2")
    parser.add_argument("--share", type=float, default=0.05)
    parser.add_argument("--per-class", type=int, default=100, help="at most this many rows of each class")
    chosen = parser.parse_args()
    print(f"| dataset | replaced by | method | {' | '.join(COLUMNS)} |\n|{' --- |' * (len(COLUMNS) + 3)}")
    for name in chosen.datasets.split(","):
        data = load_dataset(chosen.features, name)
        rows = np.concatenate([np.flatnonzero(data.y_train == c)[: chosen.per_class] for c in np.unique(data.y_train)])
        X, y = data.x_train[rows], data.y_train[rows]
        for kind in ("random", "similar"):
            seeds = parse_numbers(chosen.seeds, "seeds")
            found = np.mean([measure(X, y, chosen.share, kind == "similar", seed) for seed in seeds], axis=0)
            for method, values in zip(METHODS, found, strict=True):
                shares = " | ".join(f"{100 * value:.0f} %" for value in values)
                print(f"| {name} | a {kind} class | {method} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
