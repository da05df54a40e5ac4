"""How the database of a workspace is made and opened: only if it is there, whole, of this workspace and up to date."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import URL, select

from opengcd._internal.storage import sync_folder
from opengcd.workspace.database import Database
from opengcd.workspace.errors import DamagedError, ReadOnlyError, WorkspaceError
from opengcd.workspace.migrations import create_tables, migrate
from opengcd.workspace.schema import SCHEMA_VERSION, meta, schema_version
from opengcd.workspace.seal import Seal
from opengcd.workspace.settings import PRIVATE, Settings

FILE = "workspace.db"
CONTENTS = ("features", "models", "uploads")
"""Folders that a workspace without a database would lose the meaning of."""


def create_database(folder: Path, settings: Settings) -> None:
    """Make the tables of a new workspace; for one that has them already, nothing is done.

    A folder whose database is lost is left alone: an empty one would hide what can be restored from a backup.
    """
    if settings.database is None:
        file = folder / FILE
        if not _has_content(file):
            if any((folder / name).exists() for name in CONTENTS):
                raise _lost(file)
            os.close(os.open(file, os.O_RDWR | os.O_CREAT, PRIVATE))
            sync_folder(folder)
    database = Database(settings.database or URL.create("sqlite", database=str(folder / FILE)))
    try:
        with database.reading() as connection:
            if schema_version(connection) is not None:
                return
        with database.writing() as connection:
            if schema_version(connection) is None:  # nobody else was faster
                create_tables(connection, settings.id or secrets.token_hex(8))
    finally:
        database.close()


def open_database(folder: Path, settings: Settings) -> Database:
    """Return the database of a workspace, verified and brought up to date; read-only if the folder is."""
    database = Database(settings.database) if settings.database else _open_file(folder / FILE)
    try:
        _refuse_strange(database, settings)
        with database.reading() as connection:
            version = schema_version(connection)
        if version != SCHEMA_VERSION:
            if database.read_only:
                raise ReadOnlyError(f"{folder} is of an older version; open it once where it can be written to.")
            with database.writing() as connection:
                migrate(connection, folder)
            _delete_outdated(folder)
    except BaseException:
        database.close()
        raise
    return database


def _open_file(file: Path) -> Database:
    if not _has_content(file):
        raise _lost(file)
    if os.access(file.parent, os.W_OK) and os.access(file, os.W_OK):
        seal = Seal(file)
        seal.verify()
        url = URL.create("sqlite", database=str(file))
        return Database(url, before_writing=seal.delete, closed=seal.write)
    log = file.with_name(f"{file.name}-wal")
    if not _has_content(log):
        Seal(file, immutable=True).verify()
        address = f"file:{quote(str(file.absolute()))}"
        query = {"immutable": "1", "uri": "true"}
        return Database(URL.create("sqlite", database=address, query=query), read_only=True)
    # To read a database whose last changes are in its log, SQLite has to write: here, to a copy.
    copies = Path(tempfile.mkdtemp(prefix="opengcd-"))
    for one in (file, log):
        shutil.copyfile(one, copies / one.name)
    Seal(copies / file.name).verify()
    url = URL.create("sqlite", database=str(copies / file.name))
    return Database(url, read_only=True, closed=lambda: shutil.rmtree(copies, ignore_errors=True))


def _delete_outdated(folder: Path) -> None:
    """Delete what versions before 4 left: vectors now in shards, and thumbnails that may be of other images."""
    for old in folder.glob("features/*/*.f32"):
        old.unlink()
    shutil.rmtree(folder / "thumbnails", ignore_errors=True)


def _refuse_strange(database: Database, settings: Settings) -> None:
    """Refuse a database that has no tables or is another workspace's."""
    with database.reading() as connection:
        if schema_version(connection) is None:
            raise WorkspaceError(
                "The database of this workspace holds no tables. If opengcd init was interrupted, run it again; "
                "otherwise restore the database from a backup."
            )
        id = connection.scalar(select(meta.c.value).where(meta.c.key == "id"))
    if settings.id not in (None, id):
        raise WorkspaceError(
            "The database belongs to another workspace (workspace.json and database have different ids). Restore the "
            "right one, or correct the database in workspace.json."
        )


def _has_content(file: Path) -> bool:
    try:
        return file.stat().st_size > 0
    except FileNotFoundError:
        return False


def _lost(file: Path) -> DamagedError:
    return DamagedError(
        f"{file} is missing or empty. Restore it from a backup; nothing was changed. If opengcd init was interrupted "
        "before any image was read, run it again."
    )
