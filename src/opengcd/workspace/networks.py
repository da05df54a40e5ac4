"""Adapted networks in the folder of the workspace: written once, under the number of the embedder, and verified.

A network is in the Hugging Face format. An index beside its files has their names and SHA-256, and the facts about
the adaptation; the database has the checksum of the index. A network is on disk before the database names
it: a crash leaves at worst an unused folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Collection, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update

from opengcd._internal.durable_files import make_folder, replace_file, sync_folder
from opengcd._internal.limited_reading import MISSING, read_limited
from opengcd.workspace import features as feature_files
from opengcd.workspace.database import Database, in_parts
from opengcd.workspace.embedders import StoredEmbedder, all_embedders, unfinished
from opengcd.workspace.errors import DamagedError
from opengcd.workspace.features import FeatureStore
from opengcd.workspace.schema import embedders, features, shards, trained_items

FOLDER = "networks"
INDEX = "adaptation.json"
LARGEST_INDEX = 64 * 2**20
"""Bytes of an index: it has a line for each epoch."""


def folder_of(path: Path, id: int) -> Path:
    """Return the folder of an adapted network in a workspace."""
    return path / FOLDER / f"{id:04d}"


def next_folder(connection: Connection, path: Path) -> tuple[int, Path]:
    """Return the number of the next network, and its folder; a folder that a crash has left there is deleted."""
    id = (connection.scalar(select(func.max(embedders.c.id))) or 0) + 1
    folder = folder_of(path, id)
    delete_folder(folder)
    return id, folder


def place_network(made: Path, folder: Path, facts: dict[str, Any]) -> str:
    """Move a network that was just made to its folder, durably; return the checksum by which it is verified.

    ``facts`` is kept in its index.
    """
    names = sorted(file.relative_to(made).as_posix() for file in made.rglob("*") if file.is_file())
    contents = {name: _sync(made / name) for name in names if name != INDEX}
    index = json.dumps({"files": contents, "facts": facts}, indent=1).encode()
    replace_file(made / INDEX, index)
    for inner in (*(one for one in made.rglob("*") if one.is_dir()), made):
        sync_folder(inner)
    make_folder(folder.parent)
    os.rename(made, folder)
    sync_folder(folder.parent)
    return hashlib.sha256(index).hexdigest()


def add_network(connection: Connection, embedder: StoredEmbedder, trained: Collection[int]) -> None:
    """Enter a network that is in its folder, and the items that it was trained on."""
    connection.execute(insert(embedders).values(embedder._asdict()))
    rows: Sequence[dict[str, int]] = [{"embedder_id": embedder.id, "item_id": item} for item in sorted(trained)]
    for part in in_parts(rows):
        connection.execute(insert(trained_items), part)


def replace_network(connection: Connection, path: Path, embedder: StoredEmbedder, made: Path, digest: str) -> None:
    """Replace a network, which may be damaged, by one that was made again with the same weights."""
    delete_folder(folder_of(path, embedder.id))
    os.rename(made, folder_of(path, embedder.id))
    sync_folder(path / FOLDER)
    connection.execute(update(embedders).where(embedders.c.id == embedder.id).values(digest=digest))


def verify_network(path: Path, embedder: StoredEmbedder) -> tuple[Path, dict[str, Any]]:
    """Return the folder of an adapted network whose files are those that were written, and the facts in its index.

    An error of the system while reading does not mean damage: it is raised as it is.
    """
    home = folder_of(path, embedder.id)
    try:
        raw = read_limited(home / INDEX, LARGEST_INDEX)
        if raw is None or hashlib.sha256(raw).hexdigest() != embedder.digest:
            raise _damaged(home, f"the checksum of {INDEX} is wrong")
        index = json.loads(raw)
        for name, digest in index["files"].items():
            if ".." in PurePosixPath(name).parts or PurePosixPath(name).is_absolute():
                raise _damaged(home, f"it names a file outside of its folder, {name!r}")
            try:
                feature_files.verify_file(home / name, digest)
            except DamagedError as error:
                raise _damaged(home, f"{name}: {error.reason}") from None
    except MISSING as error:
        raise _damaged(home, f"{INDEX}: {error.strerror or error}") from None
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        if isinstance(error, DamagedError):
            raise
        raise _damaged(home, f"{INDEX} cannot be read ({error})") from None
    return home, index["facts"]


def delete_unfinished(database: Database, path: Path, keep: str | None = None) -> None:
    """Delete networks, with their vectors, that no version uses, except for what the run ``keep`` has made."""
    with database.writing() as connection:
        for embedder in unfinished(connection):
            if embedder.run != keep or keep is None:
                for table in (features, shards, trained_items):
                    connection.execute(delete(table).where(table.c.embedder_id == embedder.id))
                connection.execute(delete(embedders).where(embedders.c.id == embedder.id))
        for folder in unused_folders(connection, path):  # within the transaction: nobody can begin to use one
            delete_folder(folder)


def unused_folders(connection: Connection, path: Path) -> list[Path]:
    """Return folders of networks and of vectors that belong to no embedder."""
    known = all_embedders(connection)
    used = {folder_of(path, one.id) for one in known}
    used |= {FeatureStore(path / "features", one.id, one.fingerprint, one.width).folder for one in known}
    there = [*(path / FOLDER).glob("*"), *(one for one in (path / "features").glob("*") if one.is_dir())]
    return sorted(set(there) - used)


def delete_folder(folder: Path) -> None:
    """Delete a folder and its contents, if it exists."""
    if folder.is_dir() and not folder.is_symlink():
        shutil.rmtree(folder)
    else:
        folder.unlink(missing_ok=True)


def _sync(file: Path) -> str:
    """Sync a file to disk; return its SHA-256."""
    with open(file, "rb+") as stream:
        os.fsync(stream.fileno())
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _damaged(home: Path, reason: str) -> DamagedError:
    return DamagedError(
        f"The adapted network {home} is missing or damaged ({reason}). Restore it from a backup, or use a version with "
        "another network: `opengcd rollback DIR VERSION`.",
        reason,
    )
