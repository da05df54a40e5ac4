"""Results as tables: mean and standard deviation over seeds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

COLUMNS = {
    "Acc": ("accuracy_all", 100),
    "HNA": ("hna", 100),
    "AUROC": ("auroc", 100),
    "k": ("k", 1),
    "k true": ("k_true", 1),
    "HCA": ("hca", 100),
    "learnt": ("learnt_share", 100),
    "actions": ("actions", 1),
    "rejected": ("rejected", 1),
}
"""Title, name in the results, and factor (shares are shown in percent)."""


def summary(results: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Return a header and a row for each dataset, phase and method: mean ± standard deviation over seeds."""
    phases: dict[tuple[str, str, int, str], list[dict[str, Any]]] = defaultdict(list)
    for result in results:
        cell = result["cell"]
        for phase in result["phases"]:
            phases[cell["dataset"], cell["learn"], phase["phase"], cell["method"]].append(phase)
    header = ["dataset", "learn", "phase", "method", "seeds", *COLUMNS]
    rows = []
    for (dataset, learn, phase, method), runs in sorted(phases.items()):
        cells = [_cell([run[name] for run in runs], factor) for name, factor in COLUMNS.values()]
        rows.append([dataset, learn, str(phase), method, str(len(runs)), *cells])
    return header, rows


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(values: Sequence[float | None], factor: float) -> str:
    known = [factor * value for value in values if value is not None]
    if not known:
        return ""
    if len(known) == 1:
        return f"{known[0]:.1f}"
    return f"{np.mean(known):.1f} ± {np.std(known, ddof=1):.1f}"
