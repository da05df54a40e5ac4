"""Lists of images with labels, as people have them: folders of classes, CSV, COCO, ImageFolder and YOLO.

A list is read and checked as a whole before any image is, so that an error in it stops everything. Paths are relative
to the folder of the list.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from opengcd._internal.limited_reading import read_limited
from opengcd._internal.validation import UNKNOWN_STR
from opengcd.workspace import groups
from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.files import Found, find_files, ignore_file, is_stray, look_at, readable
from opengcd.workspace.settings import FILE as SETTINGS_FILE

SPLITS = {"train", "val", "valid", "validation", "test"}
"""Folders that split a dataset; within each are folders of classes."""
METADATA = ("metadata.csv", "metadata.jsonl")
"""Files with the labels of an ImageFolder."""
FILE_COLUMNS = ("file", "file_name", "filename", "path")
LABEL_COLUMN = "label"
OWN_EXPORT = {"path", "hash", "label", "source"}
"""Columns of a CSV export, where an apostrophe marks text that a spreadsheet could take for a formula."""
LARGEST = 2**30
"""Bytes of a list."""
NO_LABEL = "the list gives it no label"

Known = str | os.PathLike[str] | Mapping[str, Iterable[str | os.PathLike[str]]]
"""A folder or a list of images with labels, or the files and folders of each class."""
Labelled = tuple[str, str | None]
"""The path of a file, and its label; None if it has none."""


class KnownImages(NamedTuple):
    """Images of known classes."""

    classes: dict[str, list[Found]]
    """Files by label; files that cannot be read have a reason."""
    bad: list[tuple[str, str]]
    """Files without a label, with reasons."""


def read_known(source: Known, on_skipped: Callable[[str], object] = ignore_file) -> KnownImages:
    """Read which images are of which known class.

    Parameters
    ----------
    source : path or mapping
        By class its files and folders; or a folder of class folders, also in the splits ``train``, ``val`` and
        ``test``; an ImageFolder with ``metadata.csv`` or ``metadata.jsonl``; a list: CSV with the columns ``file`` and
        ``label``, JSON lines with these keys, or a dataset in COCO's format.
    on_skipped : callable
        Called with the path of each file in a folder that is skipped.

    Returns
    -------
    KnownImages

    Raises
    ------
    WorkspaceError
        If it is none of these, is damaged, or has less than two classes.

    """
    if isinstance(source, Mapping):
        return _class_files(source, on_skipped)
    path = Path(os.path.abspath(source))
    if path.is_dir():
        lists = metadata_of(path)
        if not lists:
            return _class_folders(Path(source), on_skipped)
        found = _from_rows(row for file in lists for row in read_list(file))
    elif not path.exists():
        raise WorkspaceError(f"There is no folder {source}; it should hold a folder of images for each known class.")
    elif path.suffix.lower() in READERS:
        found = _from_rows(read_list(path))
    else:
        raise WorkspaceError(
            f"{source} is neither a folder nor a list of images ({', '.join(READERS)}). For vectors, use "
            "the embedder vectors."
        )
    if len(found.classes) < 2:
        raise WorkspaceError(f"{source} should hold images of at least two classes.")
    return found


def find_images(
    starts: Iterable[str | os.PathLike[str]], on_skipped: Callable[[str], object] = ignore_file
) -> Iterator[Found]:
    """Find all files under some paths, and those that lists among these paths name; each file once.

    Parameters
    ----------
    starts : iterable of path
        Files, folders, and lists as :func:`read_known` reads them; labels in lists are not needed and not used.
    on_skipped : callable
        Called with the path of each file in a folder that is skipped.

    Yields
    ------
    Found

    """
    places = list(starts)
    lists = [place for place in places if Path(place).suffix.lower() in READERS and os.path.isfile(place)]
    named = [path for place in lists for path, _ in read_list(Path(os.path.abspath(place)), labels=False)]
    yield from find_files([*(place for place in places if place not in lists), *named], on_skipped)


def metadata_of(folder: Path) -> list[Path]:
    """Return the files with the labels of an ImageFolder, in it or in its splits.

    Parameters
    ----------
    folder : Path

    Returns
    -------
    list of Path

    """
    places = [folder, *(folder / split for split in sorted(SPLITS))]
    return [place / name for place in places for name in METADATA if (place / name).is_file()]


def _class_files(
    known: Mapping[str, Iterable[str | os.PathLike[str]]], on_skipped: Callable[[str], object]
) -> KnownImages:
    """Return the files of each class."""
    if len(known) < 2:
        raise WorkspaceError("Give images of at least two classes.")
    found = {groups.check_label(label): list(find_files(starts, on_skipped)) for label, starts in known.items()}
    return KnownImages(found, [])


def _class_folders(known: Path, on_skipped: Callable[[str], object]) -> KnownImages:
    """Return the files of each class folder, and the files outside of them, with reasons."""
    found: dict[str, list[Found]] = {}
    bad = []
    for entry in sorted(entry for folder in splits_of(known) or [known] for entry in folder.iterdir()):
        if entry.is_dir():
            if not entry.name.startswith(".") and not (entry / SETTINGS_FILE).exists():
                label = groups.check_label(readable(entry.name))
                found.setdefault(label, []).extend(find_files([entry], on_skipped))
        elif is_stray(entry.name):
            on_skipped(str(entry))
        else:
            bad.append((str(entry), "not in the folder of a class"))
    if not found and bad:
        raise WorkspaceError(
            f"{known} holds files, but no folders; sort the images into one folder for each known class, named after "
            "the class."
        )
    if len(found) < 2:
        deeper = _single_folders(known)
        if deeper != known:
            raise WorkspaceError(
                f"{known} holds one folder only, and those of the classes seem to be deeper; give {deeper} instead."
            )
        there = f"has only the class {next(iter(found))!r}" if found else "is empty"
        raise WorkspaceError(f"{known} {there}; it should hold a folder of images for each of at least two classes.")
    return KnownImages(found, bad)


def _single_folders(folder: Path) -> Path:
    """Return the folder itself, or the first one below it that holds several folders, if each above holds only one."""
    start = folder
    while True:
        inner = [one for one in folder.iterdir() if one.is_dir() and not one.name.startswith(".")]
        if len(inner) != 1:
            return folder if inner else start
        folder = inner[0]


def splits_of(known: Path) -> list[Path]:
    """Return the splits of a dataset; empty if its folders are classes, one of which may be called train.

    Parameters
    ----------
    known : Path

    Returns
    -------
    list of Path

    """
    folders = [entry for entry in sorted(known.iterdir()) if not entry.name.startswith(".") and entry.is_dir()]
    if not folders or {folder.name for folder in folders} - SPLITS:
        return []
    within = [entry for folder in folders for entry in folder.iterdir() if not entry.name.startswith(".")]
    return folders if within and all(entry.is_dir() for entry in within) else []


def _from_rows(rows: Iterable[Labelled]) -> KnownImages:
    labels: dict[str, str] = {}
    bad = []
    for path, label in rows:
        if label is None:
            bad.append((path, NO_LABEL))
        elif labels.setdefault(path, groups.check_label(label)) != label:
            raise WorkspaceError(f"{readable(path)} has two labels, {labels[path]!r} and {label!r}; keep one of them.")
    classes: dict[str, list[Found]] = {}
    for path, label in labels.items():
        classes.setdefault(label, []).append(look_at(path))
    return KnownImages(classes, bad)


def read_list(file: Path, *, labels: bool = True) -> list[Labelled]:
    """Return the images of a list with absolute paths.

    Parameters
    ----------
    file : Path
        As for :func:`read_known`.
    labels : bool
        Whether it must have labels.

    Returns
    -------
    list of (str, str or None)
        Paths with labels; None for an image without one.

    """
    try:
        raw = read_limited(file, LARGEST)
    except OSError as error:
        raise WorkspaceError(f"{file} cannot be read: {error.strerror or error}.") from None
    if raw is None:
        raise WorkspaceError(f"{file} is larger than {LARGEST >> 20} MiB; split it.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise WorkspaceError(f"{file} is not text in UTF-8; save it as UTF-8.") from None
    rows = READERS[file.suffix.lower()](file, text, labels)
    return [(os.path.normpath(file.parent / path), label) for path, label in rows]


def _read_csv(file: Path, text: str, labels: bool) -> Iterator[Labelled]:
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error as error:
        raise WorkspaceError(f"{file} is not CSV: {error}.") from None
    header = rows[0] if rows else []
    marked = set(header) >= OWN_EXPORT
    for number, row in enumerate(rows[1:], 2):
        if not row:
            continue
        if len(row) != len(header):
            raise WorkspaceError(f"{file}, row {number}: it has {len(row)} cells, and the first line {len(header)}.")
        cells = [cell[1:] if marked and cell.startswith("'") else cell for cell in row]
        yield _row(f"{file}, row {number}", dict(zip(header, cells, strict=True)), labels)
    if len(rows) < 2:
        _row(str(file), dict.fromkeys(header, "-"), labels)
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
    column = next((name for name in FILE_COLUMNS if name in row), None)
    if column is None or (labels and LABEL_COLUMN not in row):
        missing = "label" if column else "file"
        raise WorkspaceError(f"{where}: there is no {missing!r}; a list of images has the columns file and label.")
    path, label = row[column], row.get(LABEL_COLUMN)
    if not isinstance(path, str) or not path.strip() or "\0" in path:
        raise WorkspaceError(f"{where}: {column} is not the path of a file.")
    if not isinstance(label, str | int | None):
        raise WorkspaceError(f"{where}: the label is neither text nor a number.")
    text = None if label is None else str(label).strip()
    return path, None if text in (None, "", UNKNOWN_STR) else text


def _read_coco(file: Path, text: str, labels: bool) -> Iterator[Labelled]:
    """Read a dataset in COCO's format: the class of an image is that of all its boxes."""
    document = _parse(str(file), text)
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
            raise WorkspaceError(f"{file}: {path} has boxes of several classes ({told}); an image here has one class.")
        yield _row(f"{file}, image {id}", {"file": path, "label": next(iter(here), None)}, labels)


def _parse(where: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise WorkspaceError(f"{where}: it is not JSON: {error}.") from None


READERS: dict[str, Callable[[Path, str, bool], Iterator[Labelled]]] = {
    ".csv": _read_csv,
    ".json": _read_coco,
    ".jsonl": _read_json_lines,
}
"""Readers of lists by the suffix of the file."""
