"""How the tables and files of an older workspace become those of this version, in one transaction."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
from sqlalchemy import Connection, delete, func, insert, inspect, select, update

from opengcd._internal.model_folder import INDEX
from opengcd.workspace.database import in_parts
from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.features import FeatureStore
from opengcd.workspace.schema import (
    SCHEMA_VERSION,
    assignments,
    captures,
    class_names,
    comments,
    corrections,
    edits,
    embedders,
    exemplars,
    features,
    held_out,
    jobs,
    meta,
    metadata,
    models,
    schema_version,
    sessions,
    shards,
    stack_members,
    tokens,
    trained_items,
    without_crop,
)
from opengcd.workspace.versions import folder_of


def create_tables(connection: Connection, id: str) -> None:
    """Make the tables of a new workspace."""
    metadata.create_all(connection)
    rows = {"schema": str(SCHEMA_VERSION), "id": id}
    connection.execute(insert(meta), [{"key": key, "value": value} for key, value in rows.items()])


def migrate(connection: Connection, folder: Path) -> None:
    """Bring the tables, and the files in the workspace's folder, from an older version up to this one."""
    version = schema_version(connection) or 0
    if version > SCHEMA_VERSION:
        raise WorkspaceError(
            f"The workspace has schema version {version}, but this version of OpenGCD knows {SCHEMA_VERSION}; "
            "install a newer OpenGCD."
        )
    for step in range(version, SCHEMA_VERSION):
        MIGRATIONS[step](connection, folder)
    connection.execute(update(meta).where(meta.c.key == "schema").values(value=str(SCHEMA_VERSION)))


def _add_estimates(connection: Connection, _: Path) -> None:
    _add_columns(
        connection,
        "models ADD COLUMN threshold JSON",
        "predictions ADD COLUMN score DOUBLE PRECISION",
        "assignments ADD COLUMN probability DOUBLE PRECISION",
    )


def _add_service(connection: Connection, _: Path) -> None:
    _add_columns(connection, "models ADD COLUMN report JSON", "edits ADD COLUMN members JSON")
    metadata.create_all(connection, [jobs, tokens, sessions])


def _add_checksums(connection: Connection, folder: Path) -> None:
    """Write vectors to shards that have checksums, note the checksums of models, and index what views look up.

    Rows that a damaged file has lost are left out; `opengcd check --repair` computes them from the images.
    """
    metadata.create_all(connection, [shards])
    _add_columns(connection, "models ADD COLUMN digest VARCHAR(64)")
    connection.exec_driver_sql("DROP INDEX IF EXISTS ix_assignments_group_id")
    for table in (assignments, edits):
        for added in table.indexes:
            added.create(connection, checkfirst=True)
    for model in connection.scalars(select(models.c.id)).all():
        index = folder_of(folder / "models", model) / INDEX
        if index.is_file():
            digest = hashlib.sha256(index.read_bytes()).hexdigest()
            connection.execute(update(models).where(models.c.id == model).values(digest=digest))
    for embedder in connection.execute(select(embedders.c.id, embedders.c.fingerprint, embedders.c.width)).all():
        store = FeatureStore(folder / "features", embedder.id, embedder.fingerprint, embedder.width)
        old: dict[int, list[tuple[int, int]]] = {}
        for item, shard, row in connection.execute(store.places().order_by(features.c.shard, features.c.row)):
            old.setdefault(shard, []).append((item, row))
        connection.execute(delete(features).where(features.c.embedder_id == store.id))
        for shard, places in old.items():
            file = store.folder / f"{shard:06d}.f32"
            values = np.fromfile(file, "<f4") if file.is_file() else np.empty(0, "<f4")
            X = values[: len(values) // store.width * store.width].reshape(-1, store.width)
            there = [(item, row) for item, row in places if row < len(X)]
            store.append(connection, [item for item, _ in there], X[[row for _, row in there]])


def _add_exemplars(connection: Connection, _: Path) -> None:
    """Make the table of exemplars; it has no rows for older models (:class:`opengcd.workspace.exemplars.Exemplars`)."""
    connection.exec_driver_sql("ALTER TABLE lessons RENAME TO training_labels")
    metadata.create_all(connection, [exemplars])


def _add_networks(connection: Connection, _: Path) -> None:
    """Note which embedder a model takes its vectors from: so far there was one. Jobs gain curves and the time left."""
    metadata.create_all(connection, [trained_items])
    _add_columns(
        connection,
        "embedders ADD COLUMN digest VARCHAR(64)",
        "embedders ADD COLUMN run VARCHAR(64)",
        "models ADD COLUMN embedder_id INTEGER REFERENCES embedders (id)",
    )
    there = {column["name"] for column in inspect(connection).get_columns(jobs.name)}
    if "curves" not in there:  # older than schema 3, the table was made just now
        _add_columns(connection, "jobs ADD COLUMN seconds_left DOUBLE PRECISION", "jobs ADD COLUMN curves JSON")
    first = connection.scalar(select(func.min(embedders.c.id)))
    connection.execute(update(models).values(embedder_id=first))


def _add_stacks(connection: Connection, _: Path) -> None:
    metadata.create_all(connection, [captures, stack_members])


def _add_corrections(connection: Connection, _: Path) -> None:
    metadata.create_all(connection, [class_names, corrections, held_out])


def _add_reviewers(connection: Connection, _: Path) -> None:
    _add_columns(connection, "groups ADD COLUMN assignee VARCHAR", "groups ADD COLUMN confirmed_by JSON")
    metadata.create_all(connection, [comments])


def _add_without_crop(connection: Connection, folder: Path) -> None:
    """List the images without a crop, as far as their records can be read."""
    metadata.create_all(connection, [without_crop])
    rows = []
    for file in folder.glob("crops/*/*.json"):
        with suppress(OSError, ValueError, KeyError):
            record = json.loads(file.read_bytes())
            if record["label"]:
                rows.append({"hash": record["sha256"], "path": record["path"], "label": record["label"]})
    for part in in_parts(rows):
        connection.execute(insert(without_crop), part)


def _add_columns(connection: Connection, *additions: str) -> None:
    for addition in additions:
        connection.exec_driver_sql(f"ALTER TABLE {addition}")


MIGRATIONS: dict[int, Callable[[Connection, Path], None]] = {
    1: _add_estimates,
    2: _add_service,
    3: _add_checksums,
    4: _add_exemplars,
    5: _add_networks,
    6: _add_stacks,
    7: _add_corrections,
    8: _add_reviewers,
    9: _add_without_crop,
}
"""From a version to the next: ``MIGRATIONS[1]`` turns a workspace of version 1 into one of version 2."""
