"""Images with labels, as people have them: folders of classes, datasets, lists.

A list is read and checked as a whole before any image is, so that an error in it stops everything.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from opengcd.workspace import groups
from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.files import Found, find_files, ignore_file, is_stray, look_at, readable
from opengcd.workspace.list_formats import CAMTRAP_DP, DATA, FIFTYONE, READERS, Labelled, read_list
from opengcd.workspace.settings import FILE as SETTINGS_FILE

SPLITS = {"train", "val", "valid", "validation", "test"}
"""Folders that split a dataset; within each are folders of classes."""
METADATA = ("metadata.csv", "metadata.jsonl")
"""Files with the labels of an ImageFolder of Hugging Face."""
NO_LABEL = "the list gives it no label"

Known = str | os.PathLike[str] | Mapping[str, Iterable[str | os.PathLike[str]]]
"""A folder or a list of images with labels, or the files and folders of each class."""


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
        ``test``; an ImageFolder with ``metadata.csv`` or ``metadata.jsonl``, a dataset of FiftyOne or a package of
        Camtrap DP; a list: CSV with the columns ``file`` and ``label``, JSON lines with these keys, a dataset in COCO's
        format, or a JSON export.
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
    """Return the files with the labels of a dataset, in its folder or in its splits.

    Parameters
    ----------
    folder : Path
        An ImageFolder of Hugging Face, a dataset of FiftyOne, or a package of Camtrap DP.

    Returns
    -------
    list of Path
        Empty if it is none of these.

    """
    if (folder / FIFTYONE).is_file() and (folder / DATA).is_dir():
        return [folder / FIFTYONE]
    if all((folder / name).is_file() for name in CAMTRAP_DP):
        return [folder / CAMTRAP_DP[0]]
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
