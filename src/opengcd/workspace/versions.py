"""Versions of the recogniser: each is a folder, all are kept, and one of them is in use.

A version has learnt the training labels of its own and of all its ancestors (table ``training_labels``); the latest
label of an item holds, and an empty one says that the item is learnt no longer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Column, ColumnElement, Connection, Select, and_, exists, func, insert, select, update

from opengcd._internal.limited_reading import MISSING
from opengcd._internal.model_folder import INDEX, ModelFileError, read_index_file, verify_model
from opengcd.workspace import class_names
from opengcd.workspace.database import in_parts
from opengcd.workspace.errors import DamagedError, MissingError
from opengcd.workspace.log import Edit, now
from opengcd.workspace.schema import class_names as names_table
from opengcd.workspace.schema import meta, models, training_labels, write_meta

if TYPE_CHECKING:
    from opengcd.recognizer import OpenWorldRecognizer

IN_USE, LIMIT = "model", "max_known_rejected"
FORGOTTEN = ""
"""The training label of an item that a person has removed from what is learnt."""


class Version(NamedTuple):
    """One version of the recogniser."""

    id: int
    parent: int | None
    phase: int
    classes: list[str]
    at: str
    in_use: bool
    threshold: dict[str, Any] | None
    """The fields of :class:`opengcd.osr.Threshold`, adapted to the stream; None if the preset has no threshold."""
    report: dict[str, Any] | None
    """The measurements when it was made; see :func:`note_report`."""


def folder_of(folder: Path, id: int) -> Path:
    """Return the folder of a version."""
    return folder / f"{id:04d}"


def in_use(connection: Connection) -> int | None:
    """Return the number of the version in use; None before the first."""
    value = connection.scalar(select(meta.c.value).where(meta.c.key == IN_USE))
    return None if value is None else int(value)


def all_versions(connection: Connection) -> list[Version]:
    """Return all versions, the oldest first."""
    current = in_use(connection)
    names = class_names.read(connection)
    rows = connection.execute(select(models).order_by(models.c.id))
    return [
        Version(
            row.id,
            row.parent,
            row.phase,
            [names.get(label, label) for label in row.classes],
            row.at,
            row.id == current,
            row.threshold,
            row.report,
        )
        for row in rows
    ]


def lineage(connection: Connection, id: int | None = None) -> list[int]:
    """Return a version, by default the one in use, and all its ancestors."""
    parents = {row.id: row.parent for row in connection.execute(select(models.c.id, models.c.parent))}
    found, current = [], in_use(connection) if id is None else id
    while current is not None:
        found.append(current)
        current = parents[current]
    return found


def learnt(connection: Connection, id: int | None = None) -> Select[tuple[int, str]]:
    """Select the item and label of all that a version, by default the one in use, has learnt, with present names.

    The label of an item that is learnt no longer is :data:`FORGOTTEN`.
    """
    versions, later = lineage(connection, id), training_labels.alias()
    own = training_labels.c
    newer = and_(later.c.item_id == own.item_id, later.c.model_id > own.model_id, later.c.model_id.in_(versions))
    superseded = exists(select(later.c.item_id).where(newer).correlate(training_labels))
    return (
        select(own.item_id, func.coalesce(names_table.c.name, own.label).label("label"))
        .select_from(training_labels.outerjoin(names_table, names_table.c.label == own.label))
        .where(own.model_id.in_(versions), ~superseded)
    )


def not_learnt(connection: Connection, item: Column[int]) -> ColumnElement[bool]:
    """Return the condition that the version in use has never learnt an item."""
    own = training_labels.c
    query = select(own.item_id).where(own.model_id.in_(lineage(connection)), own.item_id == item)
    return ~query.correlate(item.table).exists()


def next_id(connection: Connection) -> int:
    """Return the number of the next version; a crash may have left its folder, which is then written over."""
    return (connection.scalar(select(func.max(models.c.id))) or 0) + 1


def save(recognizer: OpenWorldRecognizer, folder: Path, id: int) -> str:
    """Write a version to its folder; return the checksum by which :func:`verify` knows it."""
    home = folder_of(folder, id)
    recognizer.save(home)
    return hashlib.sha256(read_index_file(home)).hexdigest()


def verify(connection: Connection, folder: Path, id: int) -> Path:
    """Return the folder of a version whose files are those that were saved.

    An error of the system while reading does not mean damage: it is raised as it is.
    """
    home = folder_of(folder, id)
    digest = connection.scalar(select(models.c.digest).where(models.c.id == id))
    try:
        if digest is not None and hashlib.sha256(read_index_file(home)).hexdigest() != digest:
            raise ModelFileError(f"the checksum of {home / INDEX} is wrong.")
        verify_model(home)
    except (*MISSING, ModelFileError) as error:
        raise DamagedError(
            f"Version {id} of the recogniser is damaged: {error} Restore {home} from a backup, or use another "
            "version: `opengcd rollback DIR VERSION`.",
            str(error),
        ) from None
    except OSError as error:
        error.filename = error.filename or str(home)  # an error of reading does not name the file
        raise
    return home


class Saved(NamedTuple):
    """A version that has been saved, before the database knows it."""

    id: int
    recognizer: OpenWorldRecognizer
    digest: str
    """What :func:`save` returned."""
    embedder: int | None
    """The number of the embedder whose vectors it takes."""


def add(edit: Edit, saved: Saved, labels: Mapping[int, str]) -> None:
    """Add a version that has been saved, with its training labels, and put it to use."""
    connection = edit.connection
    id, recognizer = saved.id, saved.recognizer
    row = {"id": id, "parent": in_use(connection), "phase": recognizer.phase_, "at": now(), "digest": saved.digest}
    row |= {"classes": recognizer.classes_.tolist(), "embedder_id": saved.embedder}
    connection.execute(insert(models).values(row))
    note_threshold(connection, id, recognizer)
    rows: Sequence[dict[str, Any]] = [{"item_id": i, "model_id": id, "label": label} for i, label in labels.items()]
    for part in in_parts(rows):
        connection.execute(insert(training_labels), part)
    use(edit, id)


def note_threshold(connection: Connection, id: int, recognizer: OpenWorldRecognizer) -> None:
    """Store the threshold of a version, for readers that do not load it."""
    if (threshold := recognizer.threshold_) is not None:
        connection.execute(update(models).where(models.c.id == id).values(threshold=threshold._asdict()))


def note_report(connection: Connection, id: int, report: dict[str, Any]) -> None:
    """Store how full the memory of a version is, and the accuracy of this and of the previous version.

    ``memory`` has ``size`` and ``used``; ``before`` and ``after`` each have the shares of exemplars (``memory``) and of
    items that were just learnt (``confirmed``) that are recognised as what they are. A version with an adapted network
    also has ``adapted``: what the rehearsal found, the curve of the training, and the seconds that it took.
    """
    connection.execute(update(models).where(models.c.id == id).values(report=report))


def use(edit: Edit, id: int) -> None:
    """Put a version to use."""
    if id not in {version.id for version in all_versions(edit.connection)}:
        raise MissingError(f"There is no version {id}; `opengcd rollback DIR` lists all versions.")
    set_value(edit, IN_USE, str(id))


def rejection_limit(connection: Connection) -> str | None:
    """Return the limit on rejection that was set after the workspace was made, as JSON; None if none was."""
    return connection.scalar(select(meta.c.value).where(meta.c.key == LIMIT))


def set_rejection_limit(edit: Edit, value: float | None) -> None:
    """Set the limit on rejection, for this version and later ones; None lets the threshold follow the stream."""
    set_value(edit, LIMIT, json.dumps(value))


def set_value(edit: Edit, key: str, value: str) -> None:
    """Set a value of ``meta``; undoing the edit restores it."""
    edit.touch(meta, [key])
    write_meta(edit.connection, key, value)
