"""Figures of the results: measures by phase, and those of Appendices B and C."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from opengcd import metrics
from opengcd.bench.datasets import PLANS
from opengcd.bench.records import CellResult, PhaseResult, Setting
from opengcd.bench.scenarios import USUAL
from opengcd.bench.tables import BY_TITLE, PhaseColumn, Runs, by_dataset, deviation, methods_of, numbers, settings_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKERS = "os^Dvph*X<>P"
Reader = Callable[[PhaseResult], float | None]
SHOWN: dict[str, Reader] = {
    "Acc": lambda phase: phase.accuracy_all,
    "HNA": lambda phase: phase.hna,
    "HCA": lambda phase: phase.hca,
}
"""Measures drawn by phase and by size of the memory, in percent."""
DOTS = {"acc": "Acc", "hna": "HNA", "hca": "HCA", "effort": "actions per name"}
"""Columns of the tables that are drawn by method, each in a figure of its own, by the name of that figure."""


class Picture(NamedTuple):
    """A figure with a name for its file and a sentence that says what it shows."""

    name: str
    text: str
    figure: Figure


def pictures(results: Sequence[CellResult]) -> Iterator[Picture]:
    """Draw the figures of each setting, and the measures by size of the memory where that was varied.

    Parameters
    ----------
    results : sequence of CellResult

    Yields
    ------
    Picture

    """
    settings = settings_of(results)
    for setting in settings:
        found = by_dataset(results, setting)
        suffix = "-".join(str(part) for part in setting if part not in (None, USUAL))
        yield Picture(
            f"phases-{suffix}",
            f"Accuracy, HNA and HCA by phase; bars are standard deviations over seeds ({setting}).",
            _draw_phases(found),
        )
        for name, title in DOTS.items():
            if any(_values(of_method, BY_TITLE[title].read) for _, of_method in _each(found)):
                yield Picture(
                    f"{name}-{suffix}",
                    f"{title} by method: a mark for each phase; bars are standard deviations over seeds ({setting}).",
                    _draw_dots(found, BY_TITLE[title]),
                )
        for method in _with(found, lambda phase: phase.alpha_curve):
            yield Picture(
                f"alpha-{method}-{suffix}",
                f"HNA of {method} against alpha: solid on the stream, dashed in the search on labelled data; "
                f"a mark is an alpha that was chosen ({setting}).",
                _draw_alpha(found, method),
            )
        for method in _with(found, lambda phase: phase.k_curve):
            yield Picture(
                f"k-{method}-{suffix}",
                f"The search of {method} for the number of classes, first seed: the numbers give its order, the dotted "
                f"line is the true k ({setting}).",
                _draw_k(found, method),
            )
        yield Picture(
            f"acc-hca-{suffix}",
            f"Appendix B: ACC lets a known class be matched to a group, HCA does not. Left, a case by hand; right, all "
            f"phases of all runs ({setting}).",
            _draw_acc_hca(found),
        )
    usual = [s for s in settings if s.scenario == USUAL]
    for protocol, learn in sorted({(s.protocol, s.learn) for s in usual if s.memory is not None}):
        found_at = {s: by_dataset(results, s) for s in usual if (s.protocol, s.learn) == (protocol, learn)}
        varied = {m for s, found in found_at.items() if s.memory for runs in found.values() for m in methods_of(runs)}
        for method in sorted(varied):
            yield Picture(
                f"memory-{method}-{protocol}-{learn}",
                f"Acc, HNA and HCA of {method} against the number of exemplars (protocol {protocol}).",
                _draw_memory(found_at, method),
            )


def appendix_b() -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Return truth, prediction and known classes of a case like Appendix B's.

    Classes 1, 2 and 3 are known, 4 and 5 novel. Two thirds of classes 1 and 2 are put in groups 4 and 5, and the novel
    items are taken for classes 1 and 2. ACC matches group 4 to class 1 and calls that right.
    """
    truth = np.repeat([1, 2, 3, 4, 5], 6)
    predicted = np.repeat([4, 1, 5, 2, 3, 1, 4, 2, 5], [4, 2, 4, 2, 6, 4, 2, 4, 2])
    return truth, predicted, [1, 2, 3]


def _draw_phases(found: dict[str, Runs]) -> Figure:
    figure, grid = _grid(len(found), len(SHOWN))
    methods = sorted({method for runs in found.values() for method in methods_of(runs)})
    for row, (dataset, runs) in zip(grid, found.items(), strict=True):
        for axes, (title, read) in zip(row, SHOWN.items(), strict=True):
            for i, method in enumerate(methods):
                points = [(t, values) for t in sorted(runs) if (values := _values(runs[t].get(method, []), read))]
                if points:
                    axes.errorbar(
                        [t for t, _ in points],
                        [100 * np.mean(values) for _, values in points],
                        [100 * (deviation(values) or 0) for _, values in points],
                        color=f"C{i % 10}",
                        marker=MARKERS[i % len(MARKERS)],
                        capsize=2,
                        label=method,
                    )
            axes.set(title=f"{dataset}: {title}", xlabel="phase", ylabel="%", ylim=(-2, 102), xticks=sorted(runs))
    _legend_below(figure, grid)
    return figure


def _draw_dots(found: dict[str, Runs], column: PhaseColumn) -> Figure:
    """Draw a row for each method and a mark for each phase, in a panel for each dataset."""
    read = column.read
    title = column.title if column.title == DOTS["effort"] else f"{column.title}, %"
    methods = list(dict.fromkeys(method for method, of_method in _each(found) if _values(of_method, read)))
    phases = sorted({phase for runs in found.values() for phase in runs})
    figure, grid = _grid(1, len(found), height=1.2 + 0.34 * len(methods))
    for axes, (dataset, runs) in zip(grid[0], found.items(), strict=True):
        for i, phase in enumerate(phases):
            points = [
                (j, values) for j, m in enumerate(methods) if (values := _values(runs.get(phase, {}).get(m, []), read))
            ]
            if points:
                axes.errorbar(
                    [np.mean(values) for _, values in points],
                    [j + 0.2 * (i - (len(phases) - 1) / 2) for j, _ in points],
                    xerr=[deviation(values) or 0 for _, values in points],
                    linestyle="",
                    color=f"C{phase}",
                    marker=MARKERS[phase % len(MARKERS)],
                    markersize=5,
                    elinewidth=0.8,
                    label=f"phase {phase}",
                )
        for between in range(1, len(methods)):
            axes.axhline(between - 0.5, color="0.9", linewidth=0.8)
        axes.set(title=dataset, xlabel=title, ylim=(len(methods) - 0.5, -0.5), yticks=range(len(methods)))
        axes.set_xlim(left=0)
        axes.set_yticklabels(methods if axes is grid[0][0] else [])
        axes.grid(axis="x", color="0.9")
        axes.set_axisbelow(True)
    _legend_below(figure, grid)
    return figure


def _draw_alpha(found: dict[str, Runs], method: str) -> Figure:
    figure, grid = _grid(1, len(found))
    for axes, (dataset, runs) in zip(grid[0], found.items(), strict=True):
        for t in sorted(runs):
            of_method = [phase for phase in runs[t].get(method, []) if phase.alpha_curve]
            if not of_method:
                continue
            curves = np.array([phase.alpha_curve for phase in of_method]).mean(0)
            axes.plot(curves[:, 0], 100 * curves[:, 2], color=f"C{t}", label=f"phase {t}")
            axes.plot(curves[:, 0], 100 * curves[:, 1], "--", color=f"C{t}", linewidth=0.8)
            for phase in of_method:
                for alpha, _, hna in phase.alpha_curve:
                    if alpha == phase.alpha:
                        axes.plot(alpha, 100 * hna, "o", color=f"C{t}", markersize=5)
        axes.set(title=f"{dataset}: {method}", xlabel="α", ylabel="HNA, %", xscale="log", ylim=(-2, 102))
    _legend_below(figure, grid)
    return figure


def _draw_k(found: dict[str, Runs], method: str) -> Figure:
    shown = {
        dataset: {t: runs[t][method][0] for t in sorted(runs) if _searched(runs[t].get(method, [])[:1])}
        for dataset, runs in found.items()
    }
    shown = {dataset: phases for dataset, phases in shown.items() if phases}
    figure, grid = _grid(len(shown), max(map(len, shown.values()), default=1))
    for row, (dataset, phases) in zip(grid, shown.items(), strict=True):
        for axes, (t, phase) in zip(row, phases.items(), strict=False):
            _draw_search(axes, phase)
            axes.set(title=f"{dataset}, phase {t}", xlabel="k", ylabel="score")
            count_by_logarithm(axes)
    return figure


def _draw_search(axes: Axes, phase: PhaseResult) -> None:
    assert phase.k is not None  # a phase with a curve has a k
    assert phase.k_true is not None
    curve = sorted(phase.k_curve)
    axes.plot([point[0] for point in curve], [point[1] for point in curve], ".-", color="0.6", linewidth=0.8)
    for i, (k, score, *_) in enumerate(phase.k_curve, 1):
        axes.annotate(str(i), (k, score), fontsize=7, xytext=(0, 3), textcoords="offset points", ha="center")
    axes.axvline(phase.k, color="C0", linewidth=1, label=f"k = {phase.k}")
    axes.axvline(phase.k_true, color="k", linestyle=":", linewidth=1, label=f"true k = {phase.k_true}")
    axes.legend(frameon=False, fontsize=8)


def _draw_acc_hca(found: dict[str, Runs]) -> Figure:
    figure, grid = _grid(1, 2)
    left, right = grid[0]
    truth, predicted, known = appendix_b()
    counts = metrics.contingency(truth, predicted)
    left.imshow(counts, cmap="Blues")
    for (i, j), n in np.ndenumerate(counts):
        if n:
            left.text(j, i, str(n), ha="center", va="center", color="w" if n > 4 else "k")
    acc, hca = metrics.clustering_accuracy(truth, predicted), metrics.hca(truth, predicted, known)
    ticks = {"xticks": range(5), "yticks": range(5), "xticklabels": range(1, 6), "yticklabels": range(1, 6)}
    left.set(title=f"ACC {100 * acc:.0f} %, HCA {100 * hca:.0f} %", xlabel="truth (4, 5: novel)", ylabel="prediction")
    left.set(**ticks)
    for i, (dataset, runs) in enumerate(found.items()):
        phases = [p for by_method in runs.values() for of_method in by_method.values() for p in of_method]
        x, y = 100 * np.array([(p.acc, p.hca) for p in phases if p.acc is not None]).reshape(-1, 2).T
        right.scatter(x, y, marker=MARKERS[i % len(MARKERS)], s=14, label=dataset)
    right.plot([0, 100], [0, 100], ":", color="0.5", linewidth=1)
    right.set(xlabel="ACC, %", ylabel="HCA, %", xlim=(-2, 102), ylim=(-2, 102))
    right.legend(frameon=False)
    return figure


def _draw_memory(found: dict[Setting, dict[str, Runs]], method: str) -> Figure:
    datasets = sorted({dataset for setting, datasets_of in found.items() if setting.memory for dataset in datasets_of})
    figure, grid = _grid(len(datasets), len(SHOWN))
    for row, dataset in zip(grid, datasets, strict=True):
        for axes, (title, read) in zip(row, SHOWN.items(), strict=True):
            for t in sorted({t for datasets_of in found.values() for t in datasets_of.get(dataset, {})}):
                points = sorted(
                    (size, 100 * np.mean(values))
                    for setting, datasets_of in found.items()
                    if (size := setting.memory or _usual_memory(dataset))
                    and (values := _values(datasets_of.get(dataset, {}).get(t, {}).get(method, []), read))
                )
                if points:
                    sizes, means = zip(*points, strict=True)
                    axes.plot(sizes, means, color=f"C{t}", marker=MARKERS[t % len(MARKERS)], label=f"phase {t}")
            axes.set(title=f"{dataset}: {title}", xlabel="exemplars", ylabel="%", ylim=(-2, 102))
            count_by_logarithm(axes)
    _legend_below(figure, grid)
    return figure


def _usual_memory(dataset: str) -> int | None:
    return PLANS[dataset].memory if dataset in PLANS else None


def _grid(rows: int, columns: int, height: float = 2.9) -> tuple[Figure, list[list[Axes]]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.6 * columns, height * max(1, rows)), layout="constrained")
    return figure, figure.subplots(max(1, rows), columns, squeeze=False).tolist()


def count_by_logarithm(axes: Axes) -> None:
    """Make the x-axis logarithmic, with plain numbers at the ticks."""
    from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.xaxis.set_minor_formatter(NullFormatter())


def _legend_below(figure: Figure, grid: list[list[Axes]]) -> None:
    """Draw one legend for all axes; a method has the same colour and marker in each."""
    entries: dict[str, Any] = {}
    for row in grid:
        for axes in row:
            handles, labels = axes.get_legend_handles_labels()
            entries = dict(zip(labels, handles, strict=True)) | entries
    if entries:
        order = sorted(entries)
        figure.legend([entries[n] for n in order], order, loc="outside lower center", ncols=4, frameon=False)


def _each(found: dict[str, Runs]) -> Iterator[tuple[str, list[PhaseResult]]]:
    """Yield methods with the results of a phase, the methods of a dataset in the order of the tables."""
    for runs in found.values():
        for method in methods_of(runs):
            for by_method in runs.values():
                yield method, by_method.get(method, [])


def _values(runs: Sequence[PhaseResult], read: Reader) -> list[float]:
    return numbers(map(read, runs))


def _searched(runs: Sequence[PhaseResult]) -> bool:
    return any(run.k_curve for run in runs)


def _with(found: dict[str, Runs], curve: Callable[[PhaseResult], Sequence[Any]]) -> list[str]:
    """Methods that have such a curve in any phase."""
    drawn = {
        method
        for runs in found.values()
        for by_method in runs.values()
        for method, phases in by_method.items()
        if any(map(curve, phases))
    }
    return sorted(drawn)
