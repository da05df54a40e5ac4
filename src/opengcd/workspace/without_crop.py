"""Whole images in which a detector has found nothing to cut out, such as empty ones: how many there are, and which.

What is true is in the records of the crops (:mod:`opengcd.workspace.crops`), one file for each image. A table has the
images without a crop as well, so that nobody has to read all records to count them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, func, insert, select, true

from opengcd.workspace.database import Database, in_parts
from opengcd.workspace.errors import MissingError
from opengcd.workspace.revision import raise_revision
from opengcd.workspace.schema import without_crop
from opengcd.workspace.store import Store
from opengcd.workspace.thumbnails import thumbnail, whole_picture


class ImageWithoutCrop(NamedTuple):
    """A whole image without a crop."""

    hash: str
    """The SHA-256 of its content."""
    path: str
    """Where it was when the detector's boxes were read."""
    label: str
    """``"empty"``, or the categories of its boxes."""


def note(database: Database, records: Sequence[Mapping[str, Any]]) -> None:
    """Note which of some images have no crop, and which have one now.

    Parameters
    ----------
    database : Database
    records : sequence of mapping
        The records of the images.

    """
    known = {one["sha256"]: (one["path"], one["label"]) for one in records}
    for part in in_parts(list(known)):
        here = without_crop.c.hash.in_(part)
        now = {content: ImageWithoutCrop(content, *known[content]) for content in part if known[content][1]}
        with database.reading() as connection:
            before = {row.hash: ImageWithoutCrop(*row) for row in connection.execute(select(without_crop).where(here))}
        if now != before:
            with database.writing() as connection:
                connection.execute(delete(without_crop).where(here))
                if now:
                    connection.execute(insert(without_crop), [one._asdict() for one in now.values()])
                raise_revision(connection)  # pages show the numbers


def count(connection: Connection) -> dict[str, int]:
    """Return how many images have no crop, by label."""
    label = without_crop.c.label
    query = select(label, func.count().label("n")).group_by(label).order_by(label)
    return {row.label: row.n for row in connection.execute(query)}


class WithoutCrop:
    """The images of a workspace that have no crop, for reading.

    Parameters
    ----------
    store : Store

    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def images(self, label: str | None = None, offset: int = 0, limit: int | None = None) -> list[ImageWithoutCrop]:
        """Return the images, sorted by label and path.

        Parameters
        ----------
        label : str or None
            Only those with this label.
        offset : int
            How many to skip.
        limit : int or None
            Largest number of images; None for all.

        Returns
        -------
        list of ImageWithoutCrop

        """
        wanted = true() if label is None else without_crop.c.label == label
        query = select(without_crop).where(wanted).order_by(without_crop.c.label, without_crop.c.path)
        with self._store.database.reading() as connection:
            rows = connection.execute(query.order_by(without_crop.c.hash).offset(offset).limit(limit))
            return [ImageWithoutCrop(*row) for row in rows]

    def thumbnail(self, content: str) -> bytes:
        """Return a small picture of an image.

        Parameters
        ----------
        content : str
            The SHA-256 of its content.

        Returns
        -------
        bytes
            A JPEG file, at most 256 pixels wide and high.

        Raises
        ------
        MissingError
            If there is no such image, or its file has gone or changed.

        """
        return thumbnail(self._store.path / "thumbnails", content, [self._path(content)])

    def picture(self, content: str) -> tuple[bytes, str]:
        """Return an image as browsers can show it.

        Parameters
        ----------
        content : str
            The SHA-256 of its content.

        Returns
        -------
        content : bytes
        media_type : str
            As ``"image/png"``.

        Raises
        ------
        MissingError
            If there is no such image, or its file has gone or changed.

        """
        return whole_picture(content, [self._path(content)])

    def _path(self, content: str) -> str:
        with self._store.database.reading() as connection:
            path = connection.scalar(select(without_crop.c.path).where(without_crop.c.hash == content))
        if path is None:
            raise MissingError(f"There is no image {content[:12]} without a crop.")
        return str(path)
