"""Labelled images in a folder: which files are of which class."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from opengcd.workspace import WorkspaceError, check_label, find_files
from opengcd.workspace.boxes import read_boxes
from opengcd.workspace.crops import starts_of
from opengcd.workspace.files import is_stray
from opengcd.workspace.image_lists import metadata_of, splits_of
from opengcd.workspace.list_formats import read_list
from opengcd.workspace.vector_files import DATASET

TABLES = (".csv", ".tsv", ".txt")
LISTS = (".jsonl", ".json")
"""Lists of images with labels that are not tables: JSON lines, and datasets in COCO's format."""
MOST_TOLD = 5


class Known(NamedTuple):
    """Files by class."""

    classes: dict[str, list[Path]]
    notes: list[str]
    """What is left out, and why; sentences."""


def known_from_folders(root: Path) -> Known:
    """Return the classes of a folder that has one folder of images per class, or of a dataset with its own labels.

    A folder that holds nothing but another folder stands for that one, as zips and dropped folders often do. The splits
    ``train``, ``val`` and ``test`` of a dataset are taken together.

    Parameters
    ----------
    root : Path

    Returns
    -------
    Known

    Raises
    ------
    WorkspaceError
        If there is no folder of a class.

    """
    folder = root
    folders, loose = _entries(folder)
    while not metadata_of(folder) and len(folders) == 1 and all(is_stray(one.name) for one in loose):
        deeper, beside = _entries(folders[0])
        if not deeper and not metadata_of(folders[0]):
            break
        folder, folders, loose = folders[0], deeper, beside
    if lists := metadata_of(folder):
        return _from_lists(folder, lists)
    if splits := splits_of(folder):
        folders = sorted(inner for split in splits for inner in _entries(split)[0])
    if not folders:
        raise WorkspaceError(
            f"There are no folders in “{folder.name}”. Put the images of each class into a folder that is named after "
            "the class, or give a CSV file with the columns file and label."
        )
    classes: dict[str, list[Path]] = {}
    for one in folders:
        classes.setdefault(check_label(one.name), []).extend(_files(one))
    empty = [label for label, files in classes.items() if not files]
    classes = {label: files for label, files in classes.items() if files}
    notes = []
    if loose:
        notes.append(f"{_number(len(loose), 'file')} outside of the folders of the classes: left out.")
    if empty:
        notes.append(f"Empty: {_some(empty)}; left out.")
    return Known(classes, notes)


def known_from_table(root: Path, table: Path) -> Known:
    """Return the classes that a table or another list gives to the files of a folder.

    Parameters
    ----------
    root : Path
        No file outside of it is used.
    table : Path
        A CSV file with a column for the file, relative to the table or to ``root``, and one for the label; JSON lines;
        or a dataset in COCO's format.

    Returns
    -------
    Known

    Raises
    ------
    WorkspaceError
        If the table cannot be used; the message names the row.

    """
    return _from_lists(root, [table])


def known_from_boxes(root: Path, boxes: Path, min_confidence: float) -> Known:
    """Return the classes that a file gives to boxes in the images of a folder.

    Parameters
    ----------
    root : Path
    boxes : Path
        A dataset in COCO's format, or the output of MegaDetector and a classifier.
    min_confidence : float
        The lowest confidence of a box that is used.

    Returns
    -------
    Known
        A file is listed once for each of its boxes.

    Raises
    ------
    WorkspaceError
        If the file cannot be used.

    """
    files = list(find_files([root]))
    read, starts = read_boxes(boxes), starts_of([root], files, boxes)
    classes: dict[str, list[Path]] = defaultdict(list)
    unlabelled = 0
    for found in files:
        for box in read.of(found.path, starts) or ():
            if box.confidence >= min_confidence and box.label is not None:
                classes[check_label(box.label)].append(Path(found.path))
            unlabelled += box.label is None
    lacking = "1 box has" if unlabelled == 1 else f"{unlabelled:,} boxes have"
    return Known(dict(classes), [f"{lacking} no class: left out."] if unlabelled else [])


def _from_lists(root: Path, tables: list[Path]) -> Known:
    files = {Path(found.path) for found in find_files([root])}
    by_name: dict[str, list[Path]] = defaultdict(list)
    for one in files:
        by_name[one.name].append(one)
    classes: dict[str, list[Path]] = defaultdict(list)
    labels: dict[Path, str] = {}
    missing: list[str] = []
    told = tables[0].name
    for table, (path, label, where) in ((one, row) for one in tables for row in read_list(one)):
        name = os.path.relpath(path, table.parent)
        file = _find(name, root, table.parent, files, by_name)
        if file is None:
            missing.append(name)
            continue
        if label is not None and labels.setdefault(file, label) != label:
            raise WorkspaceError(
                f"{where}: {name!r} has the label {label!r}, and in a row before it {labels[file]!r}; delete one of "
                "them."
            )
    for labelled, label in labels.items():
        classes[label].append(labelled)
    if not labels:
        raise WorkspaceError(
            f"None of the files in {told} is in “{root.name}”"
            + (f", for example {missing[0]!r}." if missing else ": it has no rows.")
        )
    notes = []
    if missing:
        notes.append(f"{_number(len(missing), 'row')} of files that are not there: {_some(missing)}.")
    if rest := len(files) - len(labels):
        notes.append(f"{_number(rest, 'file')} without a label: left out.")
    return Known(dict(classes), notes)


def find_others(root: Path) -> list[Path]:
    """Return the files of a folder that are not images, those near the top first.

    Parameters
    ----------
    root : Path

    Returns
    -------
    list of Path

    """
    others: list[str] = []
    for _ in find_files([root], others.append):
        pass
    return sorted(map(Path, others), key=lambda file: (len(file.parts), file.name))


def tables_among(files: Iterable[Path]) -> list[Path]:
    """Return the files that may be a table or another list of labels: tables first.

    Parameters
    ----------
    files : iterable of Path

    Returns
    -------
    list of Path

    """
    found = [file for file in files if file.suffix.lower() in TABLES + LISTS and file.name != DATASET]
    return sorted(found, key=lambda file: file.suffix.lower() in LISTS)


def _find(name: str, root: Path, beside: Path, files: set[Path], by_name: dict[str, list[Path]]) -> Path | None:
    """Return the file that a row names: by its path, or by its name alone if no other file has it."""
    name = name.replace("\\", "/")
    for start in (beside, root):
        path = Path(os.path.normpath(start / name))
        if path in files:
            return path
    alike = by_name.get(name, [])
    return alike[0] if len(alike) == 1 else None


def _entries(folder: Path) -> tuple[list[Path], list[Path]]:
    """Return the folders and the files in a folder, without hidden ones."""
    try:
        there = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    except OSError as error:
        raise WorkspaceError(f"The folder {folder} cannot be read: {error.strerror or error}.") from None
    return [one for one in there if one.is_dir()], [one for one in there if not one.is_dir()]


def _files(folder: Path) -> list[Path]:
    return [Path(found.path) for found in find_files([folder])]


def _number(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _some(names: list[str]) -> str:
    more = len(names) - MOST_TOLD
    return ", ".join(names[:MOST_TOLD]) + (f" and {more:,} more" if more > 0 else "")
