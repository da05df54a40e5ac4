"""Speed and memory of our steps as ratios to textbook versions, all measured in one run: ``make bench``.

It reports and asserts nothing, since times depend on the machine. Every time is the best of a few repeats, ours and
the textbook's in turn, so that other load affects both.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
import torch
from sklearn.metrics import silhouette_score
from sklearn.svm import SVC

from benchmarks import textbook
from benchmarks.measure import HAS_GPU, Row, best_of, gaussian_classes, gpu_seconds, peak_memory
from benchmarks.workspace import embedding, half_precision, many_items, storing
from opengcd._internal import kernels
from opengcd._internal.randomness import spawn
from opengcd.classify import SVM, svm
from opengcd.discover import ss_kmeans
from opengcd.discover.class_number import SURVIVORS
from opengcd.discover.kmeans import Restarts
from opengcd.memory import greedy
from opengcd.memory.ds3 import PENALTY, RELAXATION, DS3Batch
from opengcd.metrics import silhouette
from opengcd.osr import UncertaintyRule


def kmeans_fit(quick: bool) -> Row:
    labelled, unlabelled, d, k, known, restarts = (200, 400, 64, 6, 3, 3) if quick else (2000, 4000, 768, 20, 10, 10)
    # Class means this near take about ten Lloyd steps; clear classes would take two, and show the seeding only.
    X, y = gaussian_classes(unlabelled + labelled * k // known, d, k, spread=0.1)
    U, rest, classes = X[:unlabelled], X[unlabelled:], y[unlabelled:]
    L, codes = rest[classes < known], classes[classes < known]
    uniforms = np.stack([rng.random(k - known) for rng in spawn(0, restarts)])
    rows, numbers, others = (torch.from_numpy(array) for array in (L, codes, U))

    def ours(device: str) -> Any:
        return ss_kmeans(L, codes, U, k, n_init=restarts, random_state=0, device=device)

    (seconds, found), (plain_seconds, (labels, inertia, steps)) = best_of(
        2, partial(ours, "cpu"), partial(textbook.kmeans, rows, numbers, others, k, uniforms)
    )
    return Row(
        "ss-k-means++",
        f"{labelled:,} + {unlabelled:,} × {d}, k = {k}, {restarts} restarts",
        seconds,
        "≥ 15×",
        plain_seconds / seconds >= 15,
        f"best of 2. Inertia {found.inertia:,.1f}, textbook {inertia:,.1f}; "
        f"{np.mean(found.labels == labels.numpy()):.2%} of the labels agree; {min(steps)} to {max(steps)} Lloyd steps.",
        textbook=plain_seconds,
        gpu=gpu_seconds(partial(ours, "cuda")) if HAS_GPU else None,
    )


def kmeans_seeding(quick: bool) -> Row:
    n, d, k, few = (300, 64, 30, 15) if quick else (2000, 768, 195, 50)
    X, _ = gaussian_classes(n, d, k, spread=0.1)
    uniforms = np.stack([rng.random(k) for rng in spawn(0, 10)])

    def ready(device: str) -> Restarts:
        return Restarts(X[:0], np.empty(0, dtype=np.int64), X, k, torch.device(device))

    run, rows = ready("cpu"), torch.from_numpy(X)
    (seconds, _), (plain_seconds, plain) = best_of(
        2, partial(run.seed, uniforms[:1]), partial(textbook.kmeans_seeds, rows, rows[:0], uniforms[0, :few])
    )
    agree = np.isclose((run.centers[0, :few] + run.origin).numpy(), plain.numpy(), atol=1e-3).all(1).mean()
    ((ten_seconds, _),) = best_of(2, partial(run.seed, uniforms))
    # The j-th draw computes the distances to j - 1 centres, so all draws cost k (k - 1) / 2 of them.
    growth = k * (k - 1) / (few * (few - 1))
    return Row(
        "seeding of ss-k-means++",
        f"{k} of {n:,} × {d}, 1 restart",
        seconds,
        "< 1 s",
        seconds < 1,
        f"best of 2. Ours with 10 restarts at once: {ten_seconds:.2f} s. The textbook was measured at {few} centres "
        f"({plain_seconds:.2f} s) and scaled by the number of distances, ×{growth:.2f}; {agree:.0%} of those agree.",
        textbook=plain_seconds * growth,
        gpu=gpu_seconds(partial(ready("cuda").seed, uniforms[:1])) if HAS_GPU else None,
    )


def silhouette_score_all_rows(quick: bool) -> Row:
    n, d, clusters = (1500, 64, 10) if quick else (10_000, 768, 50)
    X, y = gaussian_classes(n, d, clusters, spread=0.15)
    (seconds, value), (plain_seconds, plain) = best_of(
        3, partial(silhouette, X, y, device="cpu"), partial(silhouette_score, X, y)
    )
    _, before, peak = in_fresh_process(n, d, clusters)
    return Row(
        "silhouette",
        f"{n:,} × {d}, {clusters} clusters",
        seconds,
        "< 300 MB extra",
        peak - before < 300,
        f"best of 3, against scikit-learn {sklearn.__version__}. Extra peak memory of ours: {peak - before:.0f} MB "
        f"(of distances alone, all pairs would take {n * n * 4 / 1e6:,.0f} MB). "
        f"The values differ by {abs(value - plain):.0e}.",
        textbook=plain_seconds,
        gpu=gpu_seconds(partial(silhouette, X, y, device="cuda")) if HAS_GPU else None,
    )


def silhouette_of_many_rows(quick: bool) -> Row:
    n, d, clusters = (10_000, 64, 50) if quick else (100_000, 64, 50)
    seconds, before, peak = in_fresh_process(n, d, clusters)
    gpu = None
    if HAS_GPU:
        X, y = gaussian_classes(n, d, clusters, spread=0.15)
        gpu = gpu_seconds(partial(silhouette, X, y, device="cuda"), repeats=2)
    return Row(
        "silhouette, many rows",
        f"{n:,} × {d}, {clusters} clusters",
        seconds,
        "≤ 2 GB in all",
        peak <= 2000,
        f"best of 2, each in a fresh process, which peaks at {peak:.0f} MB, {peak - before:.0f} MB of them extra "
        f"(of distances alone, all pairs would take {n * n * 4 / 1e6:,.0f} MB).",
        gpu=gpu,
    )


def in_fresh_process(n: int, d: int, clusters: int) -> tuple[float, float, float]:
    """Run our silhouette in a process of its own: seconds, and peak memory of the process before and after in MB.

    Best time and worst peak of two such processes.
    """
    code = f"from benchmarks.run import print_silhouette_memory; print_silhouette_memory({n}, {d}, {clusters})"
    root = Path(__file__).resolve().parents[1]
    command = [sys.executable, "-c", code]
    printed = [subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True, check=True) for _ in range(2)]
    runs = [tuple(map(float, done.stdout.split())) for done in printed]
    _, before, peak = max(runs, key=lambda run: run[2] - run[1])
    return min(run[0] for run in runs), before, peak


def print_silhouette_memory(n: int, d: int, clusters: int) -> None:
    X, y = gaussian_classes(n, d, clusters, spread=0.15)
    silhouette(X[:1000], y[:1000], device="cpu")  # torch starts its threads and their buffers on first use
    before = peak_memory()
    ((seconds, _),) = best_of(1, partial(silhouette, X, y, device="cpu"))
    print(seconds, before, peak_memory())


def ds3_iteration(quick: bool) -> Row:
    n, k, iterations = (200, 20, 3) if quick else (2000, 200, 50)
    X, _ = gaussian_classes(n, 384, 20, spread=0.15)
    # float32, as the selection takes it for classes of this size; the textbook's numpy is no faster with it.
    D = kernels.distances(torch.from_numpy(X))
    scale = float(D.max())
    picks, gains = greedy(X, k, device="cpu")
    lam = float(gains[-1]) / scale  # where the search for lambda starts when it wants k exemplars

    def ready(device: str) -> DS3Batch:
        batch = DS3Batch((D / scale)[None].to(device), torch.ones(1, n, dtype=torch.bool, device=device))
        batch.set_lambda(np.array([lam]))
        batch.start([picks])
        return batch

    def ours(batch: DS3Batch) -> None:
        for _ in range(iterations):
            batch.iterate()

    batch = ready("cpu")
    state = [array[0].T.double().numpy() for array in (batch.C, batch.W)]
    dissimilarities = batch.D[0].T.double().numpy()

    def plain() -> None:
        for _ in range(iterations):
            state[:] = textbook.ds3_iteration(dissimilarities, *state, lam, PENALTY, RELAXATION)

    # Both go on from where they stand: the second stretch, where a solve spends most of its time, is the quicker one.
    (seconds, _), (plain_seconds, _) = best_of(2, partial(ours, batch), plain)
    return Row(
        "DS3, one iteration",
        f"n = {n:,}",
        seconds / iterations,
        "≥ 10×",
        plain_seconds / seconds >= 10,
        f"the better of two stretches of {iterations} iterations, one after the other, for {k} exemplars, ours in "
        f"float32. At the end C differs by at most {np.abs(batch.C[0].T.numpy() - state[0]).max():.0e}.",
        textbook=plain_seconds / iterations,
        gpu=gpu_seconds(partial(ours, ready("cuda"))) / iterations if HAS_GPU else None,
    )


def greedy_picks(quick: bool) -> Row:
    n, d, k, few = (400, 32, 200, 20) if quick else (5000, 384, 2500, 50)
    X, _ = gaussian_classes(n, d, 40, spread=0.15)
    rows = torch.from_numpy(X)
    (seconds, (picks, _)), (distances_seconds, _), (plain_seconds, plain) = best_of(
        3, partial(greedy, X, k, device="cpu"), partial(textbook.greedy, rows, 0), partial(textbook.greedy, rows, few)
    )
    per_pick = (plain_seconds - distances_seconds) / few
    D = kernels.distances(rows.double())
    cost, plain_cost = (float(D[chosen].amin(0).sum()) for chosen in (picks[:few], np.array(plain)))
    return Row(
        "greedy exemplars",
        f"{k:,} of {n:,} × {d}",
        seconds,
        "about 1 s",
        seconds < 1.5,
        f"best of 3; “about” is read as below 1.5 s. The textbook was measured at {few} picks ({plain_seconds:.2f} s) "
        f"and its {per_pick * 1e3:.2f} ms a pick extrapolated; ours takes {seconds / k * 1e3:.2f} ms. "
        f"Cost after {few} picks {cost:.3f}, textbook {plain_cost:.3f}.",
        textbook=distances_seconds + k * per_pick,
        gpu=gpu_seconds(partial(greedy, X, k, device="cuda"), repeats=3) if HAS_GPU else None,
    )


def open_set_rule(quick: bool) -> Row:
    train, n, classes = (200, 300, 10) if quick else (4000, 5000, 40)
    X, y = gaussian_classes(train + n, 384, classes, spread=0.2)
    model = SVM(random_state=0, device="cpu").fit(X[:train], y[:train])
    p = model.infer(X[train:]).probabilities
    rule = UncertaintyRule(alpha=2.0)

    def decide() -> tuple[np.ndarray, np.ndarray]:
        return rule.rejects(p), rule.probabilities(p)

    (seconds, _), (svm_seconds, inference) = best_of(3, decide, partial(model.infer, X[train:]))
    share = seconds / (seconds + svm_seconds)
    return Row(
        "open-set rule",
        f"{n:,} rows, {classes} classes",
        seconds,
        "< 5 % of prediction",
        share < 0.05,
        f"best of 3, against the SVM's own inference ({len(model.support_vectors_):,} support vectors, "
        f"{np.mean(inference.labels == y[train:]):.0%} right) instead of a textbook: "
        f"the rule takes {share:.2%} of both together.",
        textbook=svm_seconds,
    )


def restarts_of_the_search(quick: bool) -> Row:
    """k-means as the search for k runs it, against carrying all restarts to the end."""
    labelled, unlabelled, d, known, tried = (300, 600, 64, 5, (8,)) if quick else (6000, 8000, 384, 30, (40, 90, 160))
    X, y = gaussian_classes(labelled + unlabelled, d, 2 * known, spread=0.1)
    L, codes = (array[:labelled][y[:labelled] < known] for array in (X, y))
    U = X[labelled:]

    def search(survivors: int | None) -> list[list[float]]:
        return [
            [
                ss_kmeans(L, codes, U, k, survivors=survivors, random_state=seed, device="cpu").inertia
                for seed in range(3)
            ]
            for k in tried
        ]

    (seconds, few), (all_seconds, every) = best_of(1, partial(search, SURVIVORS), partial(search, None))
    lost, noise = np.mean(np.array(few) - every), np.mean(np.std(every, axis=1, ddof=1))
    return Row(
        "k-means in the search for k",
        f"{len(L):,} + {unlabelled:,} × {d}, k = {', '.join(map(str, tried))}, 3 seeds",
        seconds,
        "–",
        True,
        f"{SURVIVORS} of 10 restarts are carried on after 5 steps, against all 10. Inertia rises by {lost:.1f} of "
        f"{np.mean(every):,.0f} in the mean; two seeds differ by {noise:.1f} (standard deviation). "
        f"{np.mean(np.isclose(few, every, rtol=1e-6)):.0%} of the runs end with the same restart.",
        textbook=all_seconds,
    )


def svm_pair_by_pair(quick: bool) -> Row:
    """The SVM beyond the size of a shared kernel matrix, against scikit-learn's on the features."""
    n, classes = (600, 6) if quick else (12_400, 20)
    X, y = gaussian_classes(n, 384, classes, spread=0.2)
    Z = (X - X.mean(0)) / X.std(0)
    before, svm.GRAM_ROWS = svm.GRAM_ROWS, min(n - 1, svm.GRAM_ROWS)
    try:
        (seconds, ours), (plain_seconds, plain) = best_of(
            1, partial(SVM(random_state=0, device="cpu").fit, X, y), partial(SVC(cache_size=1000).fit, Z, y)
        )
    finally:
        svm.GRAM_ROWS = before
    return Row(
        "SVM, pair by pair",
        f"{n:,} × 384, {classes} classes",
        seconds,
        "–",
        True,
        f"ours fits six machines (five folds for the probabilities), scikit-learn {sklearn.__version__} one, whose "
        f"time is counted 1 + 5 · 0.8² times. {len(ours.support_vectors_):,} support vectors; scikit-learn has "
        f"{len(plain.support_):,}.",
        textbook=plain_seconds * (1 + 5 * 0.64),
    )


MEASUREMENTS = (
    kmeans_fit,
    kmeans_seeding,
    silhouette_score_all_rows,
    silhouette_of_many_rows,
    ds3_iteration,
    greedy_picks,
    open_set_rule,
    restarts_of_the_search,
    svm_pair_by_pair,
    many_items,
    storing,
    half_precision,
    embedding,
)


def cells(rows: list[Row], quick: bool) -> list[list[str]]:
    """The table as text, header first."""

    def number(value: float | None, form: str) -> str:
        return "–" if value is None else format(value, form)

    lines = [["", "step", "size", "ours s", "textbook s", "ratio", "target", "", *(["GPU s"] if HAS_GPU else [])]]
    for i, row in enumerate(rows, 1):
        line = [str(i), row.name, row.size, number(row.ours, "#.3g"), number(row.textbook, "#.3g")]
        line += ["–" if row.ratio is None else f"{row.ratio:,.1f}×", row.target]
        # The targets are set for the full sizes.
        line.append("–" if quick or row.target == "–" else "met" if row.met else "not met")
        lines.append(line + ([number(row.gpu, "#.3g")] if HAS_GPU else []))
    return lines


def print_markdown(lines: list[list[str]]) -> None:
    for i, line in enumerate(lines):
        print("| " + " | ".join(line) + " |")
        if i == 0:
            print("|" + " --- |" * len(line))


def print_table(lines: list[list[str]]) -> None:
    """Print with rich, or in plain aligned columns where it is missing."""
    right = {3, 4, 5, 8}
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for line in lines:
            padded = (f"{cell:{'>' if i in right else '<'}{widths[i]}}" for i, cell in enumerate(line))
            print("  ".join(padded).rstrip())
        return
    table = Table()
    for i, header in enumerate(lines[0]):
        table.add_column(header, justify="right" if i in right else "left", no_wrap=True)
    for line in lines[1:]:
        table.add_row(*line)
    # In a file or a pipe rich takes 80 columns, too few for a line.
    Console(width=None if sys.stdout.isatty() else 160).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that everything runs")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    names = [measure.__name__ for measure in MEASUREMENTS]
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="STEP", help=", ".join(names))
    options = parser.parse_args()
    load = os.getloadavg()[0]
    rows = []
    for measure in (measure for measure in MEASUREMENTS if measure.__name__ in options.only):
        print(f"{measure.__name__} ...", file=sys.stderr, flush=True)
        rows.append(measure(options.quick))
    lines = cells(rows, options.quick)
    (print_markdown if options.markdown else print_table)(lines)
    print()
    for i, row in enumerate(rows, 1):
        print(f"{i}. {row.name}: {row.note}")
    gpu = f", {torch.cuda.get_device_name()}" if HAS_GPU else ""
    print(
        f"\nPython {platform.python_version()}, torch {torch.__version__}, numpy {np.__version__}, "
        f"{torch.get_num_threads()} threads (waiting: {os.environ['OMP_WAIT_POLICY'].lower()}){gpu}; "
        f"load before the run {load:.1f}."
    )


if __name__ == "__main__":
    main()
