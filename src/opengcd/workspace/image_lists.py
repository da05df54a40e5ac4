"""Lists of images with labels, as people have them: folders of classes, CSV, COCO, ImageFolder and YOLO.

A list is read and checked as a whole before any image is, so that an error in it stops everything. Paths are relative
to the folder of the list.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from opengcd._internal.validation import UNKNOWN_STR
from opengcd.workspace import groups
from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.files import Found, find_files, ignore_file, is_stray, look_at, readable
from opengcd.workspace.settings import FILE as SETTINGS_FILE
from opengcd.workspace.tables import parse_table, read_text

SPLITS = {"train", "val", "valid", "validation", "test"}
"""Folders that split a dataset; within each are folders of classes."""
METADATA = ("metadata.csv", "metadata.jsonl")
"""Files with the labels of an ImageFolder."""
FILE_COLUMNS = ("file", "file_name", "filename", "path", "image", "name")
LABEL_COLUMNS = ("label", "class", "class_name", "category", "species")
"""Names of columns, the first one that a list has counts; case does not."""
OWN_EXPORT = {"path", "hash", "label", "source"}
"""Columns of a CSV export, where an apostrophe marks text that a spreadsheet could take for a formula."""
NO_LABEL = "the list gives it no label"

Known = str | os.PathLike[str] | Mapping[str, Iterable[str | os.PathLike[str]]]
"""A folder or a list of images with labels, or the files and folders of each class."""


class Labelled(NamedTuple):
    """An image of a list."""

    path: str
    label: str | None
    """None if the list gives it none."""
    where: str
    """Where in the list it stands, for messages."""


class KnownImages(NamedTuple):
    """Images of known classes."""

    classes: dict[str, list[Found]]
    """Files by label; files that cannot be read have a reason."""
    bad: list[tuple[str, str]]
    """Files without a label, with reasons."""

    def labelled_files(self) -> list[tuple[Found, str]]:
        """Return each file with its label."""
        return [(found, label) for label, files in self.classes.items() for found in files]


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
        if len(source) < 2:
            raise WorkspaceError("Give images of at least two classes.")
        return _class_files(source, on_skipped)
    found = _read(Path(source), on_skipped, strict=True)
    if len(found.classes) < 2:
        there = f"only the class {next(iter(found.classes))!r}" if found.classes else "no image with a label"
        told = f"{source} has {there}; it should have images of at least two classes"
        if os.path.isdir(source) and (deeper := _single_folders(Path(source))) != Path(source):
            told += f". The folders of the classes seem to be deeper: give {deeper} instead"
        raise WorkspaceError(f"{told}.")
    return found


def read_labelled(
    source: Known,
    table: str | os.PathLike[str] | None,
    on_skipped: Callable[[str], object] = ignore_file,
) -> KnownImages:
    """Read labelled images of any number of classes; one that is listed with several labels is bad.

    Parameters
    ----------
    source : path or mapping
        As for :func:`read_known`; with a table, the folder that its paths are relative to.
    table : path or None
        A list, as for :func:`read_known`.
    on_skipped : callable
        Called with the path of each file in a folder that is skipped.

    Returns
    -------
    KnownImages

    Raises
    ------
    WorkspaceError
        If it is none of these, or is damaged.

    """
    if isinstance(source, Mapping):
        return _class_files(source, on_skipped)
    if table is None:
        return _read(Path(source), on_skipped, strict=False)
    return _from_rows(read_list(Path(table), base=Path(source)), strict=False)


def _read(source: Path, on_skipped: Callable[[str], object], *, strict: bool) -> KnownImages:
    """Read labelled images from a folder or a list."""
    if source.is_dir():
        if lists := metadata_of(source):
            return _from_rows((row for file in lists for row in read_list(file)), strict=strict)
        return _class_folders(source, on_skipped)
    if not source.exists():
        raise WorkspaceError(f"There is no folder {source}; it should hold a folder of images for each class.")
    if source.suffix.lower() in READERS:
        return _from_rows(read_list(source), strict=strict)
    raise WorkspaceError(
        f"{source} is neither a folder nor a list of images ({', '.join(READERS)}). For vectors, use "
        "the embedder vectors."
    )


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
    named = [one.path for place in lists for one in read_list(Path(place), labels=False)]
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
    within = [entry for folder in folders for entry in folder.iterdir() if not is_stray(entry.name)]
    return folders if within and all(entry.is_dir() for entry in within) else []


def _from_rows(rows: Iterable[Labelled], *, strict: bool) -> KnownImages:
    """Return the images of a list by class; one that is listed with two labels is an error, or bad if not strict."""
    labels: dict[str, str] = {}
    bad: dict[str, str] = {}
    for path, label, where in rows:
        if label is None:
            bad.setdefault(path, NO_LABEL)
        elif labels.setdefault(path, label) != label:
            bad[path] = f"it is listed with the labels {labels[path]} and {label}"
            if strict:
                raise WorkspaceError(f"{where}: {readable(path)}: {bad[path]}; keep one of them.")
    classes: dict[str, list[Found]] = {}
    for path, label in labels.items():
        if bad.get(path, NO_LABEL) == NO_LABEL:
            bad.pop(path, None)
            classes.setdefault(label, []).append(look_at(path))
    return KnownImages(classes, list(bad.items()))


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
    ".json": _read_coco,
    ".jsonl": _read_json_lines,
}
"""Readers of lists by the suffix of the file."""
