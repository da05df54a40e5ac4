"""The demo's result as one self-contained HTML page: a table, curves, and pictures of the groups."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from opengcd._internal import html
from opengcd.bench import Dataset, PhaseDetail
from opengcd.bench.demo.digits import DemoPhase

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = 24
"""Digits shown of each group: the most typical ones, then the most doubtful."""
TEMPLATES = Path(__file__).parent.parent / "templates"


def write_page(path: str | Path, data: Dataset, phases: Sequence[DemoPhase], command: str) -> None:
    """Write the page of the demo; it loads nothing from anywhere.

    Parameters
    ----------
    path : path
        The HTML file.
    data : Dataset
        See :func:`digits`.
    phases : sequence of DemoPhase
        See :func:`run_demo`.
    command : str
        The command that makes the page, which the page shows.

    """
    header, rows = table_rows(phases)
    scores, numbers = _curves(phases)
    html.write_page(
        path,
        TEMPLATES,
        "demo.html.j2",
        title="OpenGCD on handwritten digits",
        command=command,
        header=header,
        rows=rows,
        scores=html.svg(scores, "Accuracy, HNA and HCA by phase"),
        numbers=html.svg(numbers, "Score against the number of classes"),
        phases=[_discovered(data, phase.result.phase, phase.detail) for phase in phases if phase.detail is not None],
    )


def table_rows(phases: Sequence[DemoPhase]) -> tuple[list[str], list[list[str]]]:
    """Return the result table as text; shares are in percent.

    Parameters
    ----------
    phases : sequence of DemoPhase

    Returns
    -------
    header : list of str
    rows : list of list of str
        One row for each phase.

    """
    header = ["phase", "new classes", "acc. old", "acc. new", "acc. all", "HNA", "k found", "k true", "HCA",
              "new found", "actions / items", "saved"]  # fmt: skip
    rows = []
    for result, detail, learnt in phases:
        old = None if result.phase == 1 else _old_accuracy(result.accuracy, phases, result.phase)
        row = [str(result.phase), " ".join(map(str, learnt))]
        row += [_percent(share) for share in (old, result.accuracy[-1], result.accuracy_all)]
        if detail is not None and result.rejected is not None and result.actions is not None:
            saved = 1 - result.actions / max(1, result.rejected)
            row += [_percent(result.hna), str(result.k), str(result.k_true), _percent(result.hca)]
            row += [_percent(result.learnt_share), f"{result.actions}/{result.rejected}", _percent(saved)]
        rows.append(row + [""] * (len(header) - len(row)))
    return header, rows


def _old_accuracy(accuracy: list[float], phases: Sequence[DemoPhase], phase: int) -> float:
    """Mean accuracy over the classes of earlier phases."""
    weights = [len(p.learnt) for p in phases[: phase - 1]]
    return float(np.average(accuracy[:-1], weights=weights))


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f}"


def _curves(phases: Sequence[DemoPhase]) -> tuple[Figure, Figure]:
    """Return the figures of the scores by phase, and of the score of each number of classes."""
    from matplotlib.figure import Figure

    open_phases = [p for p in phases if p.detail is not None]
    t = [p.result.phase for p in phases]
    scores = Figure(figsize=(5.2, 3.4), layout="constrained")
    axes = scores.subplots()
    axes.plot(t, [100 * p.result.accuracy_all for p in phases], "o-", label="accuracy, all known classes")
    axes.plot(t[: len(open_phases)], [100 * (p.result.hna or 0) for p in open_phases], "s-", label="HNA")
    axes.plot(t[: len(open_phases)], [100 * (p.result.hca or 0) for p in open_phases], "^-", label="HCA")
    axes.set(xlabel="phase", ylabel="%", ylim=(0, 102), xticks=t)
    axes.legend(frameon=False, loc="lower left")
    number = Figure(figsize=(5.2, 3.4), layout="constrained")
    axes = number.subplots()
    for phase in open_phases:
        curve = sorted(phase.detail.discovery.curve) if phase.detail is not None else []
        line = axes.plot([p.k for p in curve], [p.score for p in curve], ".-", label=f"phase {phase.result.phase}")
        axes.axvline(phase.result.k_true or 0, color=line[0].get_color(), linestyle=":", linewidth=1)
    axes.set(xlabel="number of classes k (dotted: true)", ylabel="score of k")
    axes.legend(frameon=False)
    return scores, number


def _discovered(data: Dataset, phase: int, detail: PhaseDetail) -> dict[str, Any]:
    """Return what the page shows of a phase in which groups were discovered."""
    X = np.concatenate([data.x_train, data.x_test])
    groups = []
    for group in detail.discovery.groups:
        rows = group.rows if len(group) <= SHOWN else np.r_[group.rows[: SHOWN // 2], group.rows[-SHOWN // 2 :]]
        stream_rows = detail.examined[rows]
        truth = detail.stream.y[detail.examined[group.rows]]
        main = np.bincount(truth).argmax()
        picture = _montage(X[detail.stream.row[stream_rows]], detail.stream.y[stream_rows] != main)
        groups.append({"main": main, "size": len(group), "wrong": int((truth != main).sum()), "picture": picture})
    return {
        "number": phase,
        "examined": len(detail.examined),
        "returned": int((~detail.discovery.novel).sum()),
        "caution": "" if detail.discovery.trusted else detail.discovery.reason,
        "groups": groups,
    }


def _montage(images: np.ndarray, marked: np.ndarray) -> str:
    """PNG of 8 × 8 digits, six to a row, in base64; marked ones have a red corner."""
    from matplotlib.image import imsave

    columns, pad, scale = 6, 2, 4
    side = 8 * scale + 2 * pad
    canvas = np.full((side * -(-len(images) // columns), side * columns, 3), 255, dtype=np.uint8)
    for i, (image, mark) in enumerate(zip(images, marked, strict=True)):
        top, left = side * (i // columns) + pad, side * (i % columns) + pad
        ink = 255 - (np.kron(image.reshape(8, 8), np.ones((scale, scale))) * 255).astype(np.uint8)
        canvas[top : top + 8 * scale, left : left + 8 * scale] = ink[..., None]
        if mark:
            canvas[top : top + 2 * scale, left : left + 2 * scale] = (200, 55, 45)
    stream = io.BytesIO()
    imsave(stream, canvas)
    return base64.b64encode(stream.getvalue()).decode()
