"""Labels as one file: CSV, JSON and COCO."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from opengcd._internal.validation import UNKNOWN_STR
from opengcd.workspace.exports.labels import ExportLabels, Part
from opengcd.workspace.taxonomies import path_of

FORMULA = tuple("=+-@\t\r'")
"""First characters that a spreadsheet may read as a formula, and the apostrophe, which marks plain text."""


def csv_line(cells: Sequence[str | float | None]) -> bytes:
    """Return a line of CSV.

    Parameters
    ----------
    cells : sequence of str, float or None
        Text that a spreadsheet could take for a formula gets an apostrophe before it: to restore the text, remove one
        apostrophe from its start. Numbers have six decimals; None is an empty cell.

    Returns
    -------
    bytes
        In UTF-8, with a newline at the end.

    """
    line = io.StringIO()
    csv.writer(line, lineterminator="\r\n").writerow(map(_cell, cells))  # so that both of these are quoted in a cell
    return line.getvalue().removesuffix("\r\n").encode("utf-8", "surrogateescape") + b"\n"


def _cell(value: str | float | None) -> str:
    if isinstance(value, str):
        return f"'{value}" if value.startswith(FORMULA) else value
    return "" if value is None else f"{value:.6f}"


def plain_csv(columns: Sequence[str], rows: Iterable[Sequence[str]], encoding: str = "utf-8") -> bytes:
    """Return a table of CSV that a program reads: text is exactly as it is.

    Parameters
    ----------
    columns : sequence of str
    rows : iterable of sequence of str
    encoding : str
        What it cannot hold is written as a question mark.

    Returns
    -------
    bytes

    """
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return table.getvalue().encode(encoding, "replace")


def document(content: object) -> bytes:
    """Return JSON, in ASCII: bytes of a path that are not text are escaped."""
    return json.dumps(content, indent=1).encode()


def as_csv(labels: ExportLabels) -> Iterator[Part]:
    """Make one line for each file."""
    columns = ["path", "hash", "label", "source", "unknown", "top", "probability"]
    lines = [csv_line([*columns, *({} if labels.taxa is None else _taxon(labels, None)), *_frame(labels, ())])]
    for one in labels.found:
        top = "; ".join(f"{label} {p:.3f}" for label, p in one.top)
        facts = [one.hash, one.label, one.source, one.unknown, top, one.probability]
        taxon = () if labels.taxa is None else _taxon(labels, one.item).values()
        lines += [csv_line([path, *facts, *taxon, *_frame(labels, [path]).values()]) for path in one.paths]
    yield Part("", b"".join(lines))


def as_json(labels: ExportLabels) -> Iterator[Part]:
    """Make one object for each item."""
    rows = [one._asdict() | {"top": [{"label": c, "p": p} for c, p in one.top]} for one in labels.found]
    if labels.taxa is not None:
        rows = [row | _taxon(labels, row["item"]) for row in rows]
    rows = [row | _frame(labels, row["paths"]) for row in rows]
    yield Part("", document(rows))


def _taxon(labels: ExportLabels, item: int | None) -> dict[str, Any]:
    """Return the columns of the deepest sure taxon, which are empty where not even the broadest is sure."""
    answer = None if item is None else (labels.taxa or {}).get(item)
    if answer is None:
        return {"taxon": None, "rank": None, "taxon_probability": None}
    return {"taxon": path_of(answer), "rank": answer.taxon.rank, "taxon_probability": answer.probability}


def _frame(labels: ExportLabels, files: Iterable[str]) -> dict[str, Any]:
    """Return the columns of the video, which are empty for other images; none if no image is a frame of one."""
    if not labels.frames:
        return {}
    frame = next((labels.frames[file] for file in files if file in labels.frames), None)
    return {"video": frame and frame.path, "seconds": frame and frame.seconds}


def as_coco(labels: ExportLabels) -> Iterator[Part]:
    """Make a dataset in COCO's format: each image has one box, the whole of it; unknown ones have none."""
    classes = sorted({one.label for one in labels.found} - {UNKNOWN_STR})
    numbers = {label: i for i, label in enumerate(classes, 1)}
    shown = [one for one in labels.found if one.paths]
    content = {
        "info": {"description": "labels by OpenGCD"},
        "images": [
            {
                "id": one.item,
                "file_name": one.paths[0],
                "sha256": one.hash,
                "width": one.width,
                "height": one.height,
            }
            for one in shown
        ],
        "categories": [{"id": i, "name": label} for label, i in numbers.items()],
        "annotations": [
            {
                "id": one.item,
                "image_id": one.item,
                "category_id": numbers[one.label],
                "bbox": [0, 0, one.width, one.height],
                "area": one.width * one.height,
                "iscrowd": 0,
            }
            for one in shown
            if one.label in numbers
        ],
    }
    yield Part("", document(content))
