"""Labels and groups as files: exports, and folders that a person reviews in a file manager."""

from __future__ import annotations

import os
from pathlib import Path

from sqlalchemy import select

from opengcd._internal.durable_files import replace_file
from opengcd._internal.progress import Progress, silent
from opengcd.workspace import folders, groups
from opengcd.workspace import review_folder as exported
from opengcd.workspace.crops import Crops, as_crops
from opengcd.workspace.details import ReviewDetails
from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.export import FORMATS, as_folders
from opengcd.workspace.items import paths_of
from opengcd.workspace.labels import labelled_items
from opengcd.workspace.schema import meta
from opengcd.workspace.store import Store


class Formats:
    """Writes the labels and groups of a workspace to files, and reads a review back."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._database = store.database

    def export(
        self, format: str, out: str | os.PathLike[str], *, copy: bool = False, progress: Progress = silent
    ) -> list[tuple[str, str]]:
        """Write all labels to a file (``csv``, ``json``, ``coco``, ``crops``) or to ``folders`` of links or copies.

        Return the files that are missing, with reasons.
        """
        if format == "folders":
            with self._database.reading() as connection:
                found = labelled_items(connection)
            return as_folders(found, out, copy, progress)
        replace_file(Path(out), self.export_bytes(format))
        return []

    def export_bytes(self, format: str) -> bytes:
        """Return what :meth:`export` would write to a file.

        Parameters
        ----------
        format : {"csv", "json", "coco", "crops"}

        Returns
        -------
        bytes

        """
        if format not in (*FORMATS, "crops"):
            raise WorkspaceError(f"Unknown format {format!r}; choose from {', '.join(FORMATS)}, crops or folders.")
        with self._database.reading() as connection:
            found = labelled_items(connection)
        if format == "crops":
            return as_crops(found, Crops(self._store.path).records())
        return FORMATS[format](found)

    def export_groups(
        self, out: str | os.PathLike[str], *, copy: bool = False, progress: Progress = silent
    ) -> list[tuple[str, str]]:
        """Write a folder for each group, to be changed by a person and read by :meth:`import_groups`.

        Parameters
        ----------
        out : path
            The folder for these folders; it must be empty or new.
        copy : bool
            Whether they hold copies of the images instead of links.
        progress : callable
            Called with a stage, the steps done and their total (0: not known).

        Returns
        -------
        list of (str, str)
            The files that are missing or hold another image now, with reasons.

        """
        with self._database.reading() as connection:
            found = groups.open_groups(connection)
            files = paths_of(connection, [item for group in found for item in group.items])
            id = connection.scalar(select(meta.c.value).where(meta.c.key == "id")) or ""
        return folders.export_groups(id, found, files, out, copy, progress)

    def import_groups(self, folder: str | os.PathLike[str]) -> folders.Changes:
        """Read back folders that :meth:`export_groups` wrote and a person changed; all changes are one edit.

        Parameters
        ----------
        folder : path
            The folder that was given to :meth:`export_groups`.

        Returns
        -------
        Changes

        """
        with self._store.editing("review") as edit:
            changes, note = folders.import_groups(edit, folder)
            if edit.before:
                edit.details = ReviewDetails(changes.named, changes.moved, changes.removed).as_dict()
        exported.write_note(folder, note)
        return changes
