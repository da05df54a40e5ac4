"""Labels out: as CSV, JSON, COCO, or as folders of images."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Sequence

from opengcd._internal.progress import Progress
from opengcd._internal.validation import UNKNOWN_STR
from opengcd.workspace.labels import Labelled
from opengcd.workspace.outgoing import distinct, empty_folder, find_source, folder_name, link_or_copy, shortened

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


def as_csv(found: Sequence[Labelled]) -> bytes:
    """Return one line for each file."""
    lines = [csv_line(["path", "hash", "label", "source", "unknown", "top", "probability"])]
    for one in found:
        top = "; ".join(f"{label} {p:.3f}" for label, p in one.top)
        lines += [
            csv_line([path, one.hash, one.label, one.source, one.unknown, top, one.probability]) for path in one.paths
        ]
    return b"".join(lines)


def as_json(found: Sequence[Labelled]) -> bytes:
    """Return one object for each item."""
    return _document([one._asdict() | {"top": [{"label": c, "p": p} for c, p in one.top]} for one in found])


def as_coco(found: Sequence[Labelled]) -> bytes:
    """Return a dataset in COCO's format: each image has one box, the whole of it; unknown ones have none."""
    labels = sorted({one.label for one in found} - {UNKNOWN_STR})
    numbers = {label: i for i, label in enumerate(labels, 1)}
    shown = [one for one in found if one.paths]
    return _document(
        {
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
    )


FORMATS: dict[str, Callable[[Sequence[Labelled]], bytes]] = {"csv": as_csv, "json": as_json, "coco": as_coco}


def as_folders(
    found: Sequence[Labelled], out: str | os.PathLike[str], copy: bool, progress: Progress
) -> list[tuple[str, str]]:
    """Write a folder for each label, with links to its images or copies; return what is missing, with reasons."""
    root = empty_folder(out)
    homes: dict[str, str] = {}
    taken: set[str] = set()
    names: dict[str, set[str]] = {}
    missing = []
    for done, one in enumerate(found):
        progress("writing images", done, len(found))
        source = find_source(one.hash, one.paths)
        if source.reason:
            missing.append((source.path, source.reason))
            continue
        if one.label not in homes:
            homes[one.label] = distinct(folder_name(one.label), taken)
            (root / homes[one.label]).mkdir()
        stem, suffix = os.path.splitext(shortened(os.path.basename(source.path), 200))
        free = distinct(stem, names.setdefault(one.label, set()))
        link_or_copy(source, root / homes[one.label] / f"{free}{suffix}", copy)
    progress("writing images", len(found), len(found))
    return missing


def _document(content: object) -> bytes:
    return json.dumps(content, indent=1).encode()  # in ASCII: bytes of a path that are no text are escaped
