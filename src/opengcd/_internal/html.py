"""Pieces of self-contained HTML pages: nothing in them is loaded from anywhere."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

STYLE = """
:root { color-scheme: light dark; --ink: #1d2733; --soft: #5b6875; --line: #d8dee6; --paper: #fff; --bad: #c8372d }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6ebf0; --soft: #9aa7b4; --line: #36404b; --paper: #14191f; --bad: #ff7b6e }
  svg { filter: invert(.88) hue-rotate(180deg) }
}
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 64rem;
       margin: 2rem auto; padding: 0 1rem }
h1, h2, h3 { line-height: 1.2 } h2 { margin-top: 2.5rem } p, figcaption { color: var(--soft); max-width: 46rem }
.scroll { overflow-x: auto }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { text-align: right; padding: .35rem .7rem; border-bottom: 1px solid var(--line); vertical-align: bottom }
td { white-space: nowrap }
.curves { display: flex; flex-wrap: wrap; gap: 1rem } .curves svg { max-width: 100%; height: auto }
"""


def write_page(path: str | Path, title: str, intro: str, sections: Iterable[str], style: str = "") -> None:
    """Write a page; ``intro`` and ``sections`` are HTML."""
    Path(path).write_text(
        "<!doctype html><html lang='en'><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{html.escape(title)}</title><style>{STYLE}{style}</style>"
        f"<h1>{html.escape(title)}</h1><p>{intro}</p>{''.join(sections)}</html>",
        encoding="utf-8",
    )


def table(header: Sequence[str], rows: Sequence[Sequence[str]], bold: str = "") -> str:
    """Return a table of plain text; a cell between two ``bold`` marks is shown in bold."""
    head = "".join(f"<th scope='col'>{html.escape(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{_cell(cell, bold)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<div class='scroll'><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def svg(figure: Any, label: str) -> str:
    """Return a matplotlib figure as inline SVG with a description."""
    stream = io.StringIO()
    figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None})
    text = stream.getvalue()[stream.getvalue().index("<svg") :]
    # The W3C link targets are names, but a page that claims to load nothing should not carry them.
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    return text.replace("<svg", f"<svg role='img' aria-label='{html.escape(label, quote=True)}'", 1)


def _cell(text: str, bold: str) -> str:
    escaped = html.escape(text)
    return re.sub(f"{re.escape(bold)}(.*?){re.escape(bold)}", r"<b>\1</b>", escaped) if bold else escaped
