"""The folder of results: one JSON file per finished cell, beside a header that names the format."""

from __future__ import annotations

import json
from pathlib import Path

from opengcd._internal.durable_files import replace_file
from opengcd._internal.numpy_json import plain
from opengcd.bench.records import CellResult, CodeVersion

FORMAT = "opengcd-results"
FORMAT_VERSION = 2
HEADER = "results.json"


class ResultsError(ValueError):
    """A folder holds results of another version, or something else."""


def open_results(out: Path, *, create: bool = False) -> None:
    """Check that a folder holds results of this version.

    Parameters
    ----------
    out : Path
    create : bool
        Whether to create an empty one if it does not exist.

    """
    header = out / HEADER
    if create and (not out.exists() or (out.is_dir() and not any(out.iterdir()))):
        out.mkdir(parents=True, exist_ok=True)
        replace_file(header, json.dumps({"format": FORMAT, "format_version": FORMAT_VERSION}).encode())
    try:
        document = json.loads(header.read_text())
    except (OSError, ValueError):
        document = None
    if not isinstance(document, dict):
        raise ResultsError(f"{out} is not a folder of results; choose a new or an empty one.")
    if document.get("format") != FORMAT or document.get("format_version") != FORMAT_VERSION:
        raise ResultsError(f"{out} holds results of another version; nothing was changed. Choose another folder.")


def write_result(out: Path, result: CellResult) -> None:
    """Write a finished cell to its file in a results folder."""
    replace_file(out / result.cell.file, json.dumps(result.to_json(), indent=1, default=plain).encode())


def read_results(out: Path) -> list[CellResult]:
    """Read all finished cells of a results folder.

    Parameters
    ----------
    out : Path

    Returns
    -------
    list of CellResult
        In the order of the names of their files.

    """
    open_results(out)
    return [_read_result(file) for file in sorted(out.glob("*--*.json"))]


def note_other_code(out: Path, code: CodeVersion) -> str:
    """Say which finished cells were computed by other code than the one that runs.

    Parameters
    ----------
    out : Path
        A results folder; it may not exist yet.
    code : CodeVersion
        The code that runs.

    Returns
    -------
    str
        One line; empty if there are no such cells.

    """
    if not (out / HEADER).exists():
        return ""
    others = [result.computed_by for result in read_results(out) if result.code != code]
    if not others:
        return ""
    number = "1 finished cell was" if len(others) == 1 else f"{len(others)} finished cells were"
    return f"{number} computed by other code ({', '.join(sorted(set(others)))}); this run is of {code}."


def _read_result(file: Path) -> CellResult:
    try:
        result = CellResult.from_json(json.loads(file.read_text()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        result = None
    # A copy under another name would count a seed twice.
    if result is None or result.cell.file != file.name:
        raise ResultsError(f"{file} is not the result of a cell; move it away to continue.")
    return result
