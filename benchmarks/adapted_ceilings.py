"""What limits an adapted network: ``python -m benchmarks.adapted_ceilings --features FOLDER --network NETWORK``.

The folder holds feature files and images as ``opengcd bench run --raw`` prepares them. Protocol ``paper`` with
everything estimated, as the benchmark runs it; in each phase, discovery is also told the true number of classes, and
that together with which items are new. Beside them, two lines that know all labels, and so are no method: each item is
assigned to the nearest mean direction of all other items of a class, known or new, in the metric of the recogniser.
HNA then counts an item as rejected if its nearest class is new. Actions are per named item: of a reviewer alone, and
with questions and splits. Means over the seeds.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.questions import Phase, around_true_means, true_labels
from opengcd import metrics
from opengcd._internal.randomness import derive
from opengcd.bench import class_groups, load_dataset, load_images, make_method, parse_numbers, plan_for, run_protocol
from opengcd.bench.adapted_method import AdaptedMethod
from opengcd.bench.protocol import PhaseDetail
from opengcd.bench.reviewer import simulate_review
from opengcd.discover import Discovery


class Measured(NamedTuple):
    """A line of the table and its value in a phase."""

    line: str
    value: float


def measured(folder: Path, dataset: str, network: str, name: str, seed: int) -> Iterator[list[Measured]]:
    """Yield what is measured in each phase."""
    data = load_dataset(folder, dataset)
    data = dataclasses.replace(data, images=load_images(folder, dataset, network))
    plan = plan_for(data)
    groups = class_groups(len(data.class_names), plan.sizes, derive(seed, 0))
    method = make_method(name, dataset=dataset, memory_size=plan.memory, random_state=seed)
    assert isinstance(method, AdaptedMethod)
    for result, detail in run_protocol(method, data, groups, random_state=derive(seed, 1)):
        if detail is None:
            return
        assert result.hna is not None
        assert result.best_hna is not None
        assert result.hca is not None
        lines = [Measured("HNA", 100 * result.hna), Measured("HNA, best threshold", 100 * result.best_hna)]
        lines += [Measured("HCA", 100 * result.hca), Measured("actions", result.actions / result.named)]
        if result.actions_with_both is not None:
            lines.append(Measured("actions with both", result.actions_with_both / result.named_with_questions))
        known = np.concatenate(groups[: result.phase])
        yield lines + list(_told(method, detail, known)) + list(_all_labels(method, detail, known, result.named))


def _told(method: AdaptedMethod, detail: PhaseDetail, known: np.ndarray) -> Iterator[Measured]:
    """Measure discovery that is told the number of classes, and then also which items are new."""
    truth, X = detail.stream.y, method.features(detail.stream.X)
    new = ~np.isin(truth, known)
    k = len(known) + len(np.unique(truth[new]))
    rejected = method.recognize(detail.stream.X).labels == method.unknown_label_
    for line, starts in (("told k", rejected), ("told k and which are new", new)):
        found = method.recognizer.discover(X, k, rejected=starts)
        yield Measured(f"HCA, {line}", 100 * metrics.hca(truth, _labels(found, truth), known))
        review = simulate_review([group.rows for group in found.groups], truth, known.tolist())
        yield Measured(f"actions, {line}", review.actions / len(review.rows))


def _labels(found: Discovery, truth: np.ndarray) -> np.ndarray:
    """Return the labels after discovery, with groups numbered beyond all classes."""
    labels = found.labels.copy()
    labels[found.novel] += int(truth.max()) + 1
    return labels


def _all_labels(method: AdaptedMethod, detail: PhaseDetail, known: np.ndarray, named: int) -> Iterator[Measured]:
    """Measure what the features allow if all labels are known."""
    rows = method.question_rows(detail.stream.X)
    assert rows is not None
    phase = Phase([], rows, detail.stream.y, np.asarray(method.recognizer.classes_))
    nearest = true_labels(phase)
    rejected = np.where(np.isin(nearest, known), nearest, -1)
    yield Measured("HNA, all labels known", 100 * metrics.hna(phase.truth, rejected, known))
    yield Measured("HCA, all labels known", 100 * metrics.hca(phase.truth, nearest, known))
    review = simulate_review(around_true_means(phase, named), phase.truth, known.tolist())
    yield Measured("actions, all labels known", review.actions / len(review.rows))


def main() -> None:
    """Print one table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", type=Path, required=True)
    parser.add_argument("--network", required=True)
    parser.add_argument("--dataset", default="cub")
    parser.add_argument("--method", default="best-adapted")
    parser.add_argument("--seeds", default="100")
    chosen = parser.parse_args()
    values: defaultdict[str, defaultdict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for seed in parse_numbers(chosen.seeds, "seeds"):
        cell = measured(chosen.features, chosen.dataset, chosen.network, chosen.method, seed)
        for phase, lines in enumerate(cell, 1):
            for line, value in lines:
                values[line][phase].append(value)
            print(f"seed {seed}, phase {phase}: {dict(lines)}", flush=True)
    phases = sorted({phase for line in values.values() for phase in line})
    print(f"\n| {chosen.dataset}, {chosen.method} | " + " | ".join(f"phase {phase}" for phase in phases) + " |")
    print("| --- |" + " --- |" * len(phases))
    for line, of_phase in sorted(values.items()):
        digits = 2 if line.startswith("actions") else 1
        print(f"| {line} | " + " | ".join(f"{np.mean(of_phase[phase]):.{digits}f}" for phase in phases) + " |")


if __name__ == "__main__":
    main()
