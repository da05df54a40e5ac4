"""Labels and groups as files: exports, and folders that a person reviews in a file manager."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import select

from opengcd._internal.progress import Progress, silent
from opengcd.workspace import exports, folders, groups, review_folder
from opengcd.workspace.crops import Crops
from opengcd.workspace.details import ReviewDetails
from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.items import paths_of
from opengcd.workspace.schema import meta
from opengcd.workspace.store import Store
from opengcd.workspace.taxonomies import Taxonomies
from opengcd.workspace.videos import Frames

Metadata = Mapping[str, Any]


class Formats:
    """Writes the labels and groups of a workspace to files, and reads a review back."""

    def __init__(self, store: Store, taxonomies: Taxonomies) -> None:
        self._store = store
        self._taxonomies = taxonomies
        self._database = store.database

    def export(
        self,
        format: str,
        out: str | os.PathLike[str],
        *,
        images: str = "all",
        copy: bool = False,
        overwrite: bool = False,
        deployments: str | os.PathLike[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        progress: Progress = silent,
    ) -> list[tuple[str, str]]:
        """Write labels to a file or a folder, all or nothing: see :meth:`opengcd.Workspace.export`."""
        chosen = self._format(format)
        places = None if deployments is None else exports.read_places(deployments)
        labels = self._labels(images, places=places, metadata=metadata or {}, progress=progress)
        exports.write(chosen, labels, out, copy=copy, overwrite=overwrite)
        return list(dict.fromkeys(labels.left_out))  # several crops may be of one image

    def export_bytes(
        self, format: str, *, images: str = "all", deployments: str | None = None, metadata: Metadata | None = None
    ) -> bytes:
        """Return what :meth:`export` would write to a file.

        Parameters
        ----------
        format : str
            One of :data:`opengcd.workspace.FORMATS` that is a file.
        images : {"all", "reviewed", "new"}
            Which images.
        deployments : str or None
            The text of a table of deployments; its folders are ends of paths.
        metadata : mapping or None
            As for :meth:`export`.

        Returns
        -------
        bytes

        """
        chosen = self._format(format)
        if chosen.is_folder:
            raise WorkspaceError(f"The format {format!r} is a folder of files; name a folder to write to.")
        return exports.as_bytes(chosen, self._labels(images, **_places(deployments, metadata)))

    def export_zip(
        self, format: str, *, images: str = "all", deployments: str | None = None, metadata: Metadata | None = None
    ) -> Iterator[bytes]:
        """Return the folder that :meth:`export` would write as a zip file, in pieces.

        Parameters
        ----------
        format : str
            One of :data:`opengcd.workspace.FORMATS` that is a folder.
        images : {"all", "reviewed", "new"}
            Which images.
        deployments, metadata
            As for :meth:`export_bytes`.

        Returns
        -------
        iterator of bytes
            The images are read as the pieces are asked for.

        """
        chosen = self._format(format)
        if not chosen.is_folder or (chosen.needs_places and deployments is None):
            raise WorkspaceError(f"The format {format!r} cannot be exported as a zip file; use opengcd export.")
        return exports.as_zip(chosen, self._labels(images, **_places(deployments, metadata)))

    def _format(self, name: str) -> exports.Format:
        found = exports.format_named(name)
        if found.needs_images and self._store.settings.takes_vectors:
            others = ", ".join(one.name for one in exports.FORMATS.values() if not one.needs_images)
            raise WorkspaceError(
                f"The format {name!r} needs images, and this workspace has vectors; choose from {others}."
            )
        return found

    def _labels(self, images: str, **options: Any) -> exports.ExportLabels:
        title = self._store.path.resolve().name
        if self._taxonomies.in_use():
            options["taxa"] = self._taxonomies.answers(progress=options.get("progress", silent))
        with self._database.reading() as connection:
            looked_at = Crops(self._store).images()
            frames = Frames(self._store.path).all()
            return exports.collect(
                connection, title, self._store.who, images, looked_at=looked_at, frames=frames, **options
            )

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
        review_folder.write_note(folder, note)
        return changes


def _places(deployments: str | None, metadata: Metadata | None) -> dict[str, Any]:
    """Return deployments and metadata as options of an export."""
    places = None if deployments is None else exports.places_from(deployments, "The table")
    return {"places": places, "metadata": metadata or {}}
