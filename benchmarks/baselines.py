"""Are the baselines worth comparing with? ``python -m benchmarks.baselines --features FOLDER --dataset cifar100``.

For phase 1 of each: accuracy without rejection, compared with the nearest class mean on the same features (it should be
at most 3 points lower); the shares of known and unknown rows rejected at the threshold that was found (neither all nor
none); HNA there and at the best threshold in hindsight; the parameters found; and seconds of processor time, which do
not depend on how busy the machine is.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from opengcd import metrics
from opengcd._internal.randomness import derive
from opengcd.bench import class_groups, load_dataset, plan_for
from opengcd.bench.baselines import BASELINES

WITHIN = 0.03


def nearest_mean_accuracy(X: np.ndarray, y: np.ndarray, rows: np.ndarray, truth: np.ndarray) -> float:
    """Accuracy of nearest class mean on the features as they are."""
    classes = np.unique(y)
    means = np.stack([X[y == c].mean(0) for c in classes])
    nearest = ((means**2).sum(1) - 2 * rows @ means.T).argmin(1)
    return float((classes[nearest] == truth).mean())


def best_hna(closed: np.ndarray, score: np.ndarray, y: np.ndarray, known: np.ndarray) -> float:
    """HNA at the best of a hundred thresholds."""
    thresholds = np.quantile(score, np.linspace(0, 1, 101))
    return max(metrics.hna(y, np.where(score > t, -1, closed), known) for t in thresholds)


def main() -> None:
    """Print one table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", type=Path, required=True)
    parser.add_argument("--dataset", default="cifar100")
    parser.add_argument("--methods", default=",".join(BASELINES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="auto")
    chosen = parser.parse_args()
    data = load_dataset(chosen.features, chosen.dataset)
    plan = plan_for(data)
    known, novel = class_groups(len(data.class_names), plan.sizes, derive(chosen.seed, 0))[:2]
    train, test = data.train_rows(known), data.test_rows(known)
    stream = np.concatenate([test, data.train_rows(novel), data.test_rows(novel)])
    y, is_known = data.y[stream], np.isin(data.y[stream], known)
    plain = nearest_mean_accuracy(data.X[train], data.y[train], data.X[test], data.y[test])
    print(f"{chosen.dataset}, seed {chosen.seed}: nearest class mean {100 * plain:.1f} %\n")
    shares = ("accuracy", "known rejected", "unknown rejected", "HNA", "best HNA")
    header = ["baseline", *shares, "sound", "found", "fit, CPU s", "recognise, CPU s"]
    print("| " + " | ".join(header) + " |\n" + "| --- " * len(header) + "|")
    for name in chosen.methods.split(","):
        model = BASELINES[name](memory_size=plan.memory, random_state=chosen.seed, device=chosen.device)
        start = time.process_time()
        model.fit(data.X[train], data.y[train])
        middle = time.process_time()
        labels, closed, score = model.recognize(data.X[stream])
        end = time.process_time()
        accuracy = float((closed == y)[is_known].mean())
        of_known, of_unknown = ((labels == -1)[part].mean() for part in (is_known, ~is_known))
        sound = accuracy >= plain - WITHIN and 0 < of_known < 1 and 0 < of_unknown < 1
        found = ", ".join(f"{key} {value:.3g}" if isinstance(value, float) else f"{key} {value}"
                          for key, value in model.settings_.items())  # fmt: skip
        values = (accuracy, of_known, of_unknown, metrics.hna(y, labels, known), best_hna(closed, score, y, known))
        cells = [name, *(f"{100 * share:.1f}" for share in values), "yes" if sound else "NO", found]
        print("| " + " | ".join([*cells, f"{middle - start:.0f}", f"{end - middle:.0f}"]) + " |", flush=True)


if __name__ == "__main__":
    main()
