"""What a person has chosen for a new project to begin with: labelled images, their boxes, or labelled vectors."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from opengcd.service.home import wire as api
from opengcd.service.home.known import find_named, find_tables, known_from_boxes, known_from_folders, known_from_table
from opengcd.service.uploads import Uploads
from opengcd.service.vector_uploads import read_inside
from opengcd.workspace import WorkspaceError
from opengcd.workspace.boxes import read_boxes
from opengcd.workspace.vector_files import is_vector_file, read_vectors


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


def find_known(wanted: api.KnownImages, uploads: Uploads, *, local: bool) -> Chosen:
    """Return the labelled images or vectors that were chosen.

    Parameters
    ----------
    wanted : KnownImages
    uploads : Uploads
    local : bool
        Whether folders of this machine may be named.

    Returns
    -------
    Chosen

    """
    root = known_root(wanted, uploads, local=local)
    table = _named(root, wanted.table, wanted, "CSV file")
    if table is not None and is_vector_file(table):
        return _known_vectors(root, table, inside=wanted.folder is None)
    boxes = _named(root, wanted.boxes, wanted, "file of boxes")
    if boxes is not None and wanted.box_labels:
        return Chosen(root, *known_from_boxes(root, boxes, wanted.min_confidence), boxes)
    known = known_from_folders(root) if table is None else known_from_table(root, table)
    if boxes is not None:
        read_boxes(boxes)
    return Chosen(root, *known, boxes)


def known_root(wanted: api.KnownImages, uploads: Uploads, *, local: bool) -> Path:
    """Return the folder of labelled images that was chosen.

    Parameters
    ----------
    wanted : KnownImages
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


def preview(wanted: api.KnownImages, uploads: Uploads, *, local: bool) -> api.KnownPreview:
    """Return the classes of labelled images or vectors, or why they cannot be used.

    Parameters
    ----------
    wanted : KnownImages
    uploads : Uploads
    local : bool
        Whether folders of this machine may be named.

    Returns
    -------
    KnownPreview

    """
    root = known_root(wanted, uploads, local=local)
    vectors = find_named(root, is_vector_file)
    there = {
        "tables": [file.relative_to(root).as_posix() for file in find_tables(root)],
        "vectors": [file.relative_to(root).as_posix() for file in vectors],
        "boxes": [
            file.relative_to(root).as_posix()
            for file in find_named(root, lambda file: file.suffix.lower() == ".json")
            if file not in vectors
        ],
    }
    try:
        chosen = find_known(wanted, uploads, local=local)
    except ValueError as error:
        return api.KnownPreview(classes=[], files=0, notes=[], **there, problem=str(error))
    counted = [api.KnownClass(label=label, files=len(files)) for label, files in sorted(chosen.classes.items())]
    files = sum(one.files for one in counted)
    return api.KnownPreview(classes=counted, files=files, notes=chosen.notes, **there, problem="")


def _named(root: Path, given: str | None, wanted: api.KnownImages, what: str) -> Path | None:
    """Return a file that was named beside the images."""
    if given is None:
        return None
    file = Path(os.path.normpath(root / given))
    if wanted.folder is None and not file.is_relative_to(root):
        raise WorkspaceError(f"The {what} must be among the files that were uploaded.")
    return file


def _known_vectors(root: Path, file: Path, *, inside: bool) -> Chosen:
    rows = read_inside(file, root) if inside else read_vectors(file)
    labelled = [(label, name) for label, name in zip(rows.labels, rows.names, strict=True) if label is not None]
    counts = Counter(label for label, _ in labelled)
    if len(counts) < 2:
        raise WorkspaceError(f"{file.name} should hold labelled vectors of at least two classes, in labels.")
    rest = len(rows.names) - len(labelled)
    notes = [f"{rest:,} {'vector' if rest == 1 else 'vectors'} without a label: left out."] if rest else []
    classes: dict[str, list[Path]] = {label: [] for label in counts}
    for label, name in labelled:
        classes[label].append(Path(name))
    return Chosen(root, classes, notes, vectors=file)
