"""Labels as one file: CSV, JSON and COCO."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from opengcd._internal.validation import UNKNOWN_STR
from opengcd.workspace.exports.labels import ExportLabels, Part
from opengcd.workspace.labels import Labelled
from opengcd.workspace.taxonomies import columns_of

DETECTOR = "detector"
"""The source of the label of an image without a crop."""
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
    no_more = _more(labels, None)
    lines = [csv_line([*columns, *no_more])]
    for one in labels.found:
        top = "; ".join(f"{label} {p:.3f}" for label, p in one.top)
        facts = [one.hash, one.label, one.source, one.unknown, top, one.probability]
        for path in one.paths:
            more = _more(labels, one, [path])
            if box := more.get("box"):
                more["box"] = " ".join(map(str, box))
            lines.append(csv_line([path, *facts, *more.values()]))
    lines += [
        csv_line([image.path, image.hash, image.label, DETECTOR, None, None, None, *no_more.values()])
        for image in labels.empty
    ]
    yield Part("", b"".join(lines))


def as_json(labels: ExportLabels) -> Iterator[Part]:
    """Make one object for each item."""
    rows = [
        one._asdict() | {"top": [{"label": c, "p": p} for c, p in one.top]} | _more(labels, one, one.paths)
        for one in labels.found
    ]
    for image in labels.empty:
        width, height = image.size or (None, None)
        facts = {"item": None, "hash": image.hash, "paths": [image.path], "width": width, "height": height}
        no_prediction: dict[str, Any] = {"unknown": None, "top": [], "probability": None, "provisional": False}
        rows.append(facts | {"label": image.label, "source": DETECTOR} | no_prediction | _more(labels, None))
    yield Part("", document(rows))


def _more(labels: ExportLabels, one: Labelled | None, files: Sequence[str] = ()) -> dict[str, Any]:
    """Return the columns that only some workspaces have; they are empty where they do not apply.

    These are the deepest sure taxon, the video of a frame, and the image of a crop.
    """
    columns: dict[str, Any] = {}
    if labels.taxa is not None:
        columns |= columns_of(None if one is None else labels.taxa.get(one.item))
    if labels.frames:
        frame = next((labels.frames[file] for file in files if file in labels.frames), None)
        columns |= {"video": frame and frame.path, "seconds": frame and frame.seconds}
    if labels.looked_at:
        origin = None if one is None else labels.origin_of(one)
        columns |= {"image": origin and origin.path, "box": origin and list(origin.box)}
    return columns


def as_coco(labels: ExportLabels) -> Iterator[Part]:
    """Make a dataset in COCO's format: crops are boxes in their images, and other images have one box, the whole.

    Unknown ones have no box.
    """
    classes = sorted({one.label for one in labels.found} - {UNKNOWN_STR})
    numbers = {label: i for i, label in enumerate(classes, 1)}
    images: dict[str, dict[str, Any]] = {}
    annotations = []
    for one in labels.found:
        if not one.paths:
            continue
        origin = labels.origin_of(one)
        if origin is None:
            image = _coco_image(one.item, one.paths[0], one.hash, one.width, one.height)
            box = (0, 0, one.width, one.height)
        else:
            image = _coco_image(one.item, origin.path, origin.hash, *origin.size)
            box = origin.box
        number = images.setdefault(image["sha256"], image)["id"]
        if one.label in numbers:
            annotation = {"id": one.item, "image_id": number, "category_id": numbers[one.label], "bbox": list(box)}
            annotations.append(annotation | {"area": box[2] * box[3], "iscrowd": 0})
    first = 1 + max((one.item for one in labels.found), default=0)
    for number, empty in enumerate(labels.empty, first):
        if empty.size is not None:
            images[empty.hash] = _coco_image(number, empty.path, empty.hash, *empty.size)
    dataset = {
        "info": {"description": "labels by OpenGCD"},
        "images": list(images.values()),
        "categories": [{"id": i, "name": label} for label, i in numbers.items()],
        "annotations": annotations,
    }
    yield Part("", document(dataset))


def _coco_image(number: int, path: str, content: str, width: int, height: int) -> dict[str, Any]:
    return {"id": number, "file_name": path, "sha256": content, "width": width, "height": height}
