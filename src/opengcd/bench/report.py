"""The HTML report: all tables and figures on one self-contained page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opengcd._internal import html
from opengcd.bench.figures import Picture
from opengcd.bench.records import CellResult, Setting
from opengcd.bench.tables import (
    BOLD,
    KINDS,
    NOTE,
    Maker,
    commands,
    environments,
    settings_of,
)

TEMPLATES = Path(__file__).parent / "templates"
FOLDED = {"Behind the numbers": "details", "Time and memory": "cost"}
"""Tables that are folded at first: title on the page, and kind."""


def write_report(path: str | Path, results: Sequence[CellResult], pictures: Sequence[Picture]) -> None:
    """Write a page with all tables and pictures; it loads nothing from elsewhere.

    Parameters
    ----------
    path : path
        The HTML file.
    results : sequence of CellResult
    pictures : sequence of Picture
        See :func:`opengcd.bench.pictures`.

    """
    html.write_page(
        path,
        TEMPLATES,
        "report.html.j2",
        title="OpenGCD benchmark",
        note=NOTE,
        settings=[_of_setting(results, setting) for setting in settings_of(results)],
        pictures=[{"name": name, "text": text, "svg": html.svg(figure, text)} for name, text, figure in pictures],
    )


def _of_setting(results: Sequence[CellResult], setting: Setting) -> dict[str, Any]:
    return {
        "title": str(setting).capitalize(),
        "commands": commands(results, setting),
        "environments": environments(results, setting).split("\n"),
        "tables": _tables(KINDS["tables"], results, setting),
        "folded": [
            {"title": title, "tables": _tables(KINDS[kind], results, setting)} for title, kind in FOLDED.items()
        ],
    }


def _tables(makers: Sequence[Maker], results: Sequence[CellResult], setting: Setting) -> list[dict[str, Any]]:
    return [
        {
            "title": table.title,
            "header": table.header,
            "rows": [[html.bold(cell, BOLD) for cell in row] for row in table.texts()],
        }
        for make in makers
        for table in make(results, setting)
    ]
