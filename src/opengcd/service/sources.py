"""What a person has chosen for a project to learn from: labelled images, their boxes, or labelled vectors."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from opengcd.service import wire as api
from opengcd.service.known import find_others, known_from_boxes, known_from_folders, known_from_table, tables_among
from opengcd.service.uploads import Uploads, names_as_uploaded
from opengcd.service.vector_uploads import read_inside
from opengcd.workspace import WorkspaceError
from opengcd.workspace.boxes import read_boxes
from opengcd.workspace.files import VIDEO_SUFFIXES
from opengcd.workspace.vector_files import is_vector_file, read_vectors

NEEDED = {1: "one class is", 2: "two classes are"}
"""How many classes are needed, in words."""


class Chosen(NamedTuple):
    """Labelled images or vectors in a folder."""

    root: Path
    classes: dict[str, list[Path]]
    """Files by class; of vectors, the names of the rows."""
    notes: list[str]
    """What is left out, and why; sentences."""
    boxes: Path | None = None
    """The file of boxes that are to be cut out of the images."""
    vectors: Path | None = None
    """The file of labelled vectors, if there are no images."""

    def moved(self, target: Path) -> Chosen:
        """Return the same in another folder.

        Parameters
        ----------
        target : Path

        Returns
        -------
        Chosen

        """

        def there(file: Path) -> Path:
            return target / file.relative_to(self.root)

        boxes, vectors = (file and there(file) for file in (self.boxes, self.vectors))
        classes = self.classes
        if vectors is None:
            classes = {label: [there(file) for file in files] for label, files in classes.items()}
        return Chosen(target, classes, self.notes, boxes, vectors)


def find_known(wanted: api.KnownImages, uploads: Uploads, *, local: bool, fewest: int = 2) -> Chosen:
    """Return the labelled images or vectors that were chosen.

    Parameters
    ----------
    wanted : KnownImages
    uploads : Uploads
    local : bool
        Whether folders of this machine may be named.
    fewest : int
        How many classes there must be.

    Returns
    -------
    Chosen

    """
    root = labelled_root(wanted, uploads, local=local)
    inside = wanted.folder is None
    with names_as_uploaded(root, inside=inside):
        if wanted.box_labels and (boxes := _named(root, wanted.boxes, "file of boxes", inside=inside)) is not None:
            chosen = Chosen(root, *known_from_boxes(root, boxes, wanted.min_confidence), boxes)
            return _enough(chosen, boxes, fewest)
        chosen = read_labelled_files(root, wanted.table, inside=inside, fewest=fewest)
        boxes = None if chosen.vectors else _named(root, wanted.boxes, "file of boxes", inside=inside)
        if boxes is not None:
            read_boxes(boxes)
        return chosen._replace(boxes=boxes)


def read_labelled_files(root: Path, table: str | None, *, inside: bool, fewest: int) -> Chosen:
    """Return the labelled images or vectors of a folder.

    Parameters
    ----------
    root : Path
    table : str or None
        The list of labels or the file of vectors, as in :class:`~opengcd.service.wire.LabelledFiles`.
    inside : bool
        Whether all files that are used must be in the folder.
    fewest : int
        How many classes there must be.

    Returns
    -------
    Chosen

    """
    file = _named(root, table, "list of labels", inside=inside)
    with names_as_uploaded(root, inside=inside):
        if file is not None and is_vector_file(file):
            chosen = _known_vectors(root, file, inside=inside)
        else:
            chosen = Chosen(root, *(known_from_folders(root) if file is None else known_from_table(root, file)))
        return _enough(chosen, file or root, fewest)


def _enough(chosen: Chosen, labels: Path, fewest: int) -> Chosen:
    """Return what was chosen; raise an error if there are too few classes."""
    if len(chosen.classes) < fewest:
        there = f"only the class {next(iter(chosen.classes))!r}" if chosen.classes else "no class with files in it"
        raise WorkspaceError(f"“{labels.name}” has {there}; at least {NEEDED[fewest]} needed.")
    return chosen


def labelled_root(wanted: api.LabelledFiles, uploads: Uploads, *, local: bool) -> Path:
    """Return the folder of labelled images that was chosen.

    Parameters
    ----------
    wanted : LabelledFiles
    uploads : Uploads
    local : bool
        Whether folders of this machine may be named.

    Returns
    -------
    Path

    """
    if (wanted.folder is None) == (wanted.upload is None):
        raise WorkspaceError("Choose the labelled images: a folder of this machine, or an upload.")
    if wanted.upload is not None:
        return uploads.files(wanted.upload)
    assert wanted.folder is not None
    if not local:
        raise WorkspaceError("Folders of the server's machine cannot be chosen here; upload the images.")
    folder = Path(os.path.abspath(Path(wanted.folder).expanduser()))
    if "\0" in wanted.folder or not folder.is_dir():
        raise WorkspaceError(f"There is no folder {wanted.folder}.")
    return folder


def preview(wanted: api.KnownImages, uploads: Uploads, *, local: bool, fewest: int = 2) -> api.KnownPreview:
    """Return the classes of labelled images or vectors, or why they cannot be used.

    Parameters
    ----------
    wanted : KnownImages
    uploads : Uploads
    local : bool
        Whether folders of this machine may be named.
    fewest : int
        How many classes there must be.

    Returns
    -------
    KnownPreview

    """
    root = labelled_root(wanted, uploads, local=local)
    others = find_others(root)  # once: there may be many files
    vectors = [file for file in others if is_vector_file(file)]
    boxes = [file for file in others if file.suffix.lower() == ".json" and file not in vectors]
    there = {
        name: [file.relative_to(root).as_posix() for file in files]
        for name, files in {"tables": tables_among(others), "vectors": vectors, "boxes": boxes}.items()
    }
    try:
        chosen = find_known(wanted, uploads, local=local, fewest=fewest)
    except ValueError as error:
        return api.KnownPreview(classes=[], files=0, videos=0, notes=[], **there, problem=str(error))
    counted = [api.KnownClass(label=label, files=len(files)) for label, files in sorted(chosen.classes.items())]
    files = sum(one.files for one in counted)
    videos = 0 if chosen.vectors else sum(_is_video(file) for files in chosen.classes.values() for file in files)
    return api.KnownPreview(classes=counted, files=files, videos=videos, notes=chosen.notes, **there, problem="")


def _named(root: Path, given: str | None, what: str, *, inside: bool) -> Path | None:
    """Return a file that was named beside the images."""
    if given is None:
        return None
    file = Path(os.path.normpath(root / given))
    if inside and not file.is_relative_to(root):
        raise WorkspaceError(f"The {what} must be among the files that were uploaded.")
    return file


def _is_video(file: Path) -> bool:
    return file.suffix.lower() in VIDEO_SUFFIXES


def _known_vectors(root: Path, file: Path, *, inside: bool) -> Chosen:
    rows = read_inside(file, root) if inside else read_vectors(file)
    labelled = [(label, name) for label, name in zip(rows.labels, rows.names, strict=True) if label is not None]
    rest = len(rows.names) - len(labelled)
    notes = [f"{rest:,} {'vector' if rest == 1 else 'vectors'} without a label: left out."] if rest else []
    classes: dict[str, list[Path]] = {}
    for label, name in labelled:
        classes.setdefault(label, []).append(Path(name))
    return Chosen(root, classes, notes, vectors=file)
