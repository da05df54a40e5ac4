"""All results on one self-contained page."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from pathlib import Path

from opengcd._internal import html as page
from opengcd.bench.figures import Picture
from opengcd.bench.tables import (
    BOLD,
    KINDS,
    NOTE,
    Maker,
    Result,
    Setting,
    commands,
    environments,
    settings_of,
)

STYLE = """
body { max-width: 104rem } table { font-size: .85rem } th, td { padding: .3rem .5rem }
pre { overflow-x: auto; padding: .7rem; border: 1px solid var(--line); border-radius: .5rem }
details { margin: 1rem 0 } figure { margin: 1.5rem 0 } figure svg { max-width: 100%; height: auto }
"""


def write_report(path: str | Path, results: Sequence[Result], pictures: Sequence[Picture]) -> None:
    """Write tables and pictures of all results; the page loads nothing from anywhere."""
    sections = [section for setting in settings_of(results) for section in _of_setting(results, setting)]
    sections.append("<h2>Pictures</h2>")
    for name, text, figure in pictures:
        caption = f"<figcaption><b>{html.escape(name)}</b>: {html.escape(text)}</figcaption>"
        sections.append(f"<figure>{page.svg(figure, text)}{caption}</figure>")
    page.write_page(path, "OpenGCD benchmark", html.escape(NOTE), sections, STYLE)


def _of_setting(results: Sequence[Result], setting: Setting) -> Iterator[str]:
    computed = html.escape(environments(results, setting)).replace("\n", "<br>")
    yield f"<h2>{html.escape(str(setting).capitalize())}</h2><pre>{html.escape(commands(results, setting))}</pre>"
    yield f"<p>{computed}</p>{_shown(KINDS['tables'], results, setting)}"
    for title, kind in (("Behind the numbers", "details"), ("Time and memory", "cost")):
        yield f"<details><summary>{title}</summary>{_shown(KINDS[kind], results, setting)}</details>"


def _shown(makers: Sequence[Maker], results: Sequence[Result], setting: Setting) -> str:
    return "".join(
        f"<h3>{html.escape(table.title)}</h3>{page.table(table.header, table.texts(), BOLD)}"
        for make in makers
        for table in make(results, setting)
    )
