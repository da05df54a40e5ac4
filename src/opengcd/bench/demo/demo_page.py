"""The demo's result as one self-contained HTML page: a table, curves, and pictures of the groups."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from opengcd._internal import html as page
from opengcd.bench import Dataset, PhaseDetail
from opengcd.bench.demo.digits import DemoPhase

SHOWN = 24
"""Digits shown of each group: the most typical ones, then the most doubtful."""
STYLE = """
.groups { display: grid; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); gap: 1rem }
figure { margin: 0; border: 1px solid var(--line); border-radius: .5rem; padding: .7rem }
figure img { width: 100%; image-rendering: pixelated } .wrong { color: var(--bad) }
"""


def write_page(path: str | Path, data: Dataset, phases: Sequence[DemoPhase], command: str) -> None:
    """Write the page; it loads nothing from anywhere."""
    sections = [_table(phases), _curves(phases)]
    sections += [_groups(data, phase.result.phase, phase.detail) for phase in phases if phase.detail is not None]
    intro = (
        "A recogniser learns four digits. The world then shows it others: it rejects what it does not know, groups "
        "what it rejected, a (simulated) person corrects and names the groups, and it learns the new classes from a "
        f"fixed memory. Made by <code>{html.escape(command)}</code>."
    )
    page.write_page(path, "OpenGCD on handwritten digits", intro, sections, STYLE)


def table_rows(phases: Sequence[DemoPhase]) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows of the result table as text; shares are in percent."""
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


def _table(phases: Sequence[DemoPhase]) -> str:
    return (
        f"<h2>Phase by phase</h2>{page.table(*table_rows(phases))}"
        "<p><b>HNA</b> judges recognition with rejection, <b>HCA</b> the grouping after it; both are harmonic means of "
        "the share of known items with the right label and the share of new items that were rejected (HNA) or put in "
        "the right group (HCA), in percent. <b>New found</b> is the share of the new training items that reached a "
        "group and so can be learnt. <b>Actions</b> are what the reviewer had to do for the items that were rejected, "
        "and <b>saved</b> compares with labelling these one by one.</p>"
    )


def _curves(phases: Sequence[DemoPhase]) -> str:
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
    return (
        f"<h2>Curves</h2><div class='curves'>{page.svg(scores, 'Accuracy, HNA and HCA by phase')}"
        f"{page.svg(number, 'Score against the number of classes')}</div>"
    )


def _groups(data: Dataset, phase: int, detail: PhaseDetail) -> str:
    X = np.concatenate([data.x_train, data.x_test])
    cards = []
    for number, group in enumerate(detail.discovery.groups, start=1):
        rows = group.rows if len(group) <= SHOWN else np.r_[group.rows[: SHOWN // 2], group.rows[-SHOWN // 2 :]]
        stream_rows = detail.examined[rows]
        truth = detail.stream.y[detail.examined[group.rows]]
        main = np.bincount(truth).argmax()
        strangers = int((truth != main).sum())
        wrong = f"<span class='wrong'>{strangers} of another class</span>" if strangers else "all of one class"
        picture = _montage(X[detail.stream.row[stream_rows]], detail.stream.y[stream_rows] != main)
        alt = f"digits of group {number}, mostly {main}"
        cards.append(
            f"<figure><img alt='{alt}' src='data:image/png;base64,{picture}'>"
            f"<figcaption>Group {number}: {len(group)} items, mostly <b>{main}</b>; {wrong}</figcaption></figure>"
        )
    returned = int((~detail.discovery.novel).sum())
    caution = "" if detail.discovery.trusted else f" The search for k asks for caution: {detail.discovery.reason}."
    note = f"{len(detail.examined)} items; {returned} are taken for known classes.{caution}"
    body = "".join(cards) or "<p>No new group was found.</p>"
    return (
        f"<h2>Phase {phase}: what was discovered</h2><p>{html.escape(note)} Each card shows the most typical items "
        f"and then the most doubtful; a red mark is on items of another class.</p><div class='groups'>{body}</div>"
    )


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
