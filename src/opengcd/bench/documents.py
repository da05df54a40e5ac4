"""Tables inside Markdown documents: blocks of text by name, and the marks that they are written between."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from urllib.parse import quote

from opengcd.bench.records import CellResult, Setting
from opengcd.bench.tables import (
    KINDS,
    Entry,
    Maker,
    Table,
    by_dataset,
    commands,
    environments,
    is_ablation,
    markdown,
    methods_of,
    paper_tables,
    phase_tables,
    scenario_tables,
    settings_of,
    summary_table,
)

SHOWN = {
    "discovery": ("HCA", "k", "new k off", "k in interval"),
    "rejection": ("HNA", "best HNA", "AUROC"),
    "learning": ("Acc", "learnt", "forgetting"),
    "review": ("actions per name", "with questions", "with splits"),
}
"""Columns of the narrow tables, by the question that they answer: a row for each method, a column for each phase."""
WITH_ABLATIONS = ("learning", "review")
"""Questions that ablations answer, too."""


def blocks(results: Sequence[CellResult], folder: str = "") -> dict[str, str]:
    """Return Markdown by name, for :func:`fill`.

    Parameters
    ----------
    results : sequence of CellResult
    folder : str
        The folder of the results as seen from the document, for links to the files of the cells.

    Returns
    -------
    dict
        ``"KIND: SETTING"``, such as ``"tables: protocol paper"``, has the tables of all datasets, and
        ``"KIND of DATASET: SETTING"`` those of one. The kinds are ``commands`` (what computes the results, with which
        versions), ``cells`` (links to their files), ``tables``, ``details`` and ``cost`` (all columns), ``methods``
        and ``ablation`` (the two parts of ``tables``), and ``discovery``, ``rejection``, ``learning`` and
        ``review`` (a few columns). ``"summary: SETTING"`` is one small table; ``"scenarios"`` compares the scenarios,
        if there are several.

    """
    found = {}
    for setting in settings_of(results):
        for dataset in (None, *by_dataset(results, setting)):
            chosen = [result for result in results if dataset in (None, result.cell.dataset)]
            for kind, text in _of_setting(chosen, setting, folder).items():
                found[f"{kind}: {setting}" if dataset is None else f"{kind} of {dataset}: {setting}"] = text
        found[f"summary: {setting}"] = markdown(summary_table(results, setting))
    if compared := scenario_tables(results):
        runs = "\n".join(commands(results, setting) for setting in settings_of(results))
        found["scenarios"] = "\n\n".join([f"```text\n{runs}\n```", *map(markdown, compared)])
    return found


def _of_setting(results: Sequence[CellResult], setting: Setting, folder: str) -> dict[str, str]:
    def text(makers: Iterable[Maker]) -> str:
        return "\n\n".join(markdown(table) for make in makers for table in make(results, setting))

    found = {kind: text(makers) for kind, makers in KINDS.items()}
    tables = paper_tables(results, setting)
    for kind in ("methods", "ablation"):
        found[kind] = "\n\n".join(markdown(t) for t in tables if (kind == "ablation") == _has_ablations(t))
    for kind, titles in SHOWN.items():
        narrow = phase_tables(results, setting, titles, ablations=kind in WITH_ABLATIONS)
        found[kind] = "\n\n".join(map(markdown, narrow))
    found["commands"] = f"```text\n{commands(results, setting)}\n```\n\n{environments(results, setting)}"
    found["cells"] = "\n\n".join(map(markdown, _cell_tables(results, setting, folder)))
    return found


def _has_ablations(table: Table) -> bool:
    return any(isinstance(row[1], str) and is_ablation(row[1]) for row in table.rows)


def _cell_tables(results: Sequence[CellResult], setting: Setting, folder: str) -> list[Table]:
    """Return a table for each dataset with links to the files of the cells."""

    def link(result: CellResult) -> str:
        return f"[{result.cell.seed}]({PurePosixPath(folder) / quote(result.cell.file)})"

    tables = []
    for dataset, runs in by_dataset(results, setting).items():
        of_dataset = [r for r in results if (r.cell.dataset, r.cell.setting) == (dataset, setting)]
        by_seed = sorted(of_dataset, key=lambda result: result.cell.seed)
        rows: list[list[str | Entry]] = [
            [method, ", ".join(link(result) for result in by_seed if result.cell.method == method)]
            for method in methods_of(runs)
        ]
        tables.append(Table(f"{dataset}: files of the cells", ["method", "seeds"], rows))
    return tables


def fill(document: str, texts: Mapping[str, str], section: str = "") -> str:
    """Put each text between its marks ``<!-- begin NAME -->`` and ``<!-- end NAME -->``.

    Parameters
    ----------
    document : str
    texts : mapping
        By name, as :func:`blocks` returns them.
    section : str
        Fill only the marks of this section, ``<!-- begin SECTION / NAME -->``; by default, only marks without a
        section. So a document can hold tables from several folders of results.

    Returns
    -------
    str
        The document; text outside the marks is unchanged.

    """
    for name in re.findall(r"<!-- begin (.*?) -->", document):
        of, _, text = name.rpartition(" / ")
        if of != section:
            continue
        if text not in texts:
            raise ValueError(f"The document asks for {text!r}, but there is only {', '.join(map(repr, texts))}.")
        begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
        before, rest = document.split(begin, 1)
        if end not in rest:
            raise ValueError(f"The document has {begin!r} without {end!r} after it.")
        document = f"{before}{begin}\n{texts[text].strip()}\n{end}{rest.split(end, 1)[1]}"
    return document
