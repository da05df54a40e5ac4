"""Lists of images with labels, by their format: CSV, JSON lines, COCO, FiftyOne, Camtrap DP, and exports.

Paths are relative to the folder of the list.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from opengcd._internal.validation import UNKNOWN_STR
from opengcd.workspace import groups
from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.tables import parse_table, read_table, read_text

FILE_COLUMNS = ("file", "file_name", "filename", "path", "image", "name")
LABEL_COLUMNS = ("label", "class", "class_name", "category", "species")
"""Names of columns, the first one that a list has counts; case does not."""
OWN_EXPORT = {"path", "hash", "label", "source"}
"""Columns of a CSV export, where an apostrophe marks text that a spreadsheet could take for a formula."""
FIFTYONE, DATA = "labels.json", "data"
"""The file with the labels of a dataset of FiftyOne, and the folder with its images."""
CAMTRAP_DP = ("datapackage.json", "media.csv", "observations.csv")
"""Files of a Camtrap DP package; the first one names the others."""


class Labelled(NamedTuple):
    """An image of a list."""

    path: str
    label: str | None
    """None if the list gives it none."""
    where: str
    """Where in the list it stands, for messages."""


def read_list(file: Path, *, labels: bool = True, base: Path | None = None) -> list[Labelled]:
    """Return the images of a list with absolute paths.

    Parameters
    ----------
    file : Path
        As for :func:`read_known`.
    labels : bool
        Whether it must have labels.
    base : Path or None
        The folder that paths are relative to; None for that of the list.

    Returns
    -------
    list of Labelled

    """
    folder = os.path.abspath(file.parent if base is None else base)
    rows = READERS.get(file.suffix.lower(), _read_csv)(file, read_text(file), labels)
    return [one._replace(path=os.path.normpath(os.path.join(folder, one.path))) for one in rows]


def _read_csv(file: Path, text: str, labels: bool) -> Iterator[Labelled]:
    table = parse_table(text, str(file))
    marked = set(table.columns) >= OWN_EXPORT
    for where, cells in table.rows:
        yield _row(where, {k: v[1:] if marked and v.startswith("'") else v for k, v in cells.items()}, labels)
    if not table.rows:
        _row(str(file), dict.fromkeys(table.columns, "-"), labels)
        raise WorkspaceError(f"{file} lists no images.")


def _read_json_lines(file: Path, text: str, labels: bool) -> Iterator[Labelled]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            row = _parse(f"{file}, line {number}", line)
            if not isinstance(row, dict):
                raise WorkspaceError(f"{file}, line {number}: it is not a JSON object.")
            yield _row(f"{file}, line {number}", row, labels)


def _row(where: str, row: Mapping[str, Any], labels: bool) -> Labelled:
    """Return the file and the label of a row."""
    by_name = {name.casefold(): value for name, value in row.items()}
    column, path = next(((name, by_name[name]) for name in FILE_COLUMNS if name in by_name), ("file", None))
    label_column = next((name for name in LABEL_COLUMNS if name in by_name), None)
    if column not in by_name or (labels and label_column is None):
        missing = "label" if column in by_name else "file"
        raise WorkspaceError(f"{where}: there is no {missing!r}; a list of images has the columns file and label.")
    if not isinstance(path, str) or not path.strip() or "\0" in path:
        raise WorkspaceError(f"{where}: {column} is not the path of a file.")
    label = None if label_column is None else by_name[label_column]
    if not isinstance(label, str | int | None):
        raise WorkspaceError(f"{where}: the label is neither text nor a number.")
    text = None if label is None else str(label).strip()
    if not labels or text in (None, "", UNKNOWN_STR):
        return Labelled(path, None, where)
    try:
        return Labelled(path, groups.check_label(text), where)
    except WorkspaceError as error:
        raise WorkspaceError(f"{where}: {error}") from None


def _read_json(file: Path, text: str, labels: bool) -> Iterator[Labelled]:
    """Read JSON by what it has: an export, a dataset of FiftyOne, a package of Camtrap DP, or else COCO's format."""
    document = _parse(str(file), text)
    read: Callable[[Path, Any, bool], Iterator[Labelled]] = _read_coco
    if isinstance(document, list) and document:
        read = _read_own_export
    elif isinstance(document, dict) and "resources" in document:
        read = _read_camtrap_dp
    elif isinstance(document, dict) and "images" not in document and {"classes", "labels"} <= document.keys():
        read = _read_fiftyone
    return read(file, document, labels)


def _read_own_export(file: Path, document: Any, labels: bool) -> Iterator[Labelled]:
    """Read a JSON export: provisional names of groups are not labels."""
    for number, one in enumerate(document, 1):
        where = f"{file}, image {number}"
        if not isinstance(one, dict) or not isinstance(paths := one.get("paths"), list):
            raise WorkspaceError(f"{where}: it is not an export of OpenGCD, in which each image has paths and a label.")
        if paths:
            yield _row(where, {"file": paths[0], "label": None if one.get("provisional") else one.get("label")}, labels)


def _read_fiftyone(file: Path, document: Any, labels: bool) -> Iterator[Labelled]:
    """Read a dataset of FiftyOne for image classification: its labels name the files in ``data`` without suffixes."""
    data = file.parent / DATA
    files = {name.relative_to(data).with_suffix("").as_posix(): name for name in data.rglob("*") if name.is_file()}
    try:
        for name, target in document["labels"].items():
            where, code = f"{file}, {name}", target.get("label") if isinstance(target, dict) else target
            label = code if code is None or document["classes"] is None else document["classes"][code]
            path = files.get(name, data / name).relative_to(file.parent).as_posix()
            yield _row(where, {"file": path, "label": label}, labels)
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise WorkspaceError(f"{file} is not a dataset of FiftyOne for image classification ({error!r}).") from None


def _read_camtrap_dp(file: Path, document: Any, labels: bool) -> Iterator[Labelled]:
    """Read a package of Camtrap DP: images of one species, or of none, have a label."""
    try:
        tables = {one["name"]: read_table(_beside(file, one["path"])) for one in document["resources"]}
        classes: dict[str, set[str]] = {}
        for _, cells in tables["observations"].rows:
            kind = cells["observationType"]
            if cells["mediaID"] and kind not in ("unknown", "unclassified", ""):
                name = cells["scientificName"] if kind == "animal" else kind
                classes.setdefault(cells["mediaID"], set()).add(name)
        for where, cells in tables["media"].rows:
            here = classes.get(cells["mediaID"], set())
            label = next(iter(here)) if len(here) == 1 else None
            yield _row(where, {"file": cells["filePath"], "label": label}, labels)
    except (AttributeError, KeyError, TypeError) as error:
        raise WorkspaceError(
            f"{file} is not a package of Camtrap DP with the tables media and observations as CSV ({error!r})."
        ) from None


def _beside(file: Path, name: str) -> Path:
    """Return a file in the folder of a list, or below it; a list from elsewhere may name no other files."""
    path = (file.parent / name).resolve()
    if not path.is_relative_to(file.parent.resolve()):
        raise WorkspaceError(f"{file} names {name}, which is not in its folder.")
    return path


def _read_coco(file: Path, document: Any, labels: bool) -> Iterator[Labelled]:
    """Read a dataset in COCO's format: the class of an image is that of all its boxes."""
    try:
        names = {one["id"]: one["name"] for one in document["categories"]} if labels else {}
        classes: dict[Any, set[str]] = {}
        for one in document["annotations"] if labels else ():
            classes.setdefault(one["image_id"], set()).add(names[one["category_id"]])
        images = {one["id"]: one["file_name"] for one in document["images"]}
    except (KeyError, TypeError) as error:
        raise WorkspaceError(
            f"{file} is not a dataset in COCO's format, with images, annotations and categories ({error!r})."
        ) from None
    if lost := classes.keys() - images.keys():
        raise WorkspaceError(f"{file}: annotations are about image {min(map(str, lost))}, which is not in the list.")
    for id, path in images.items():
        here = classes.get(id, set())
        if len(here) > 1:
            told = ", ".join(sorted(map(str, here)))
            raise WorkspaceError(
                f"{file}: {path} has boxes of several classes ({told}), but an image has one class here. To learn "
                "each box by itself, cut the boxes out, with labels of their own (--boxes, --box-labels)."
            )
        yield _row(f"{file}, image {id}", {"file": path, "label": next(iter(here), None)}, labels)


def _parse(where: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise WorkspaceError(f"{where}: it is not JSON: {error}.") from None


READERS: dict[str, Callable[[Path, str, bool], Iterator[Labelled]]] = {
    ".csv": _read_csv,
    ".tsv": _read_csv,
    ".json": _read_json,
    ".jsonl": _read_json_lines,
}
"""Readers of lists by the suffix of the file."""
