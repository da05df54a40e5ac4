"""Create and open the database of a workspace, which must exist, be intact, belong to it and be up to date."""

from __future__ import annotations

import os
import secrets
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import URL, Connection, select

from opengcd._internal.durable_files import sync_folder
from opengcd.workspace.database import Database
from opengcd.workspace.errors import DamagedError, ReadOnlyError, UnavailableError, WorkspaceError
from opengcd.workspace.migrations import create_tables, migrate
from opengcd.workspace.schema import SCHEMA_VERSION, meta, schema_version
from opengcd.workspace.seal import Seal
from opengcd.workspace.settings import PRIVATE, Settings, store_settings

FILE = "workspace.db"
CONTENTS = ("features", "models", "networks", "uploads")
"""Folders that are useless without the database; the first image creates the first of them."""
NO_TABLES = "The database of this workspace holds no tables"
WITH_ID = 4
"""The first version of the schema whose workspaces have their id in ``workspace.json`` too."""
WITH_SHARDS = 4
"""The first version of the schema whose vectors are in files with checksums."""
TRIES = 5
"""Attempts to copy a database while others write to it."""


def create_database(folder: Path, settings: Settings) -> None:
    """Make the tables of a new workspace, unless it has them already.

    If the database of a folder is lost, none is made: an empty one would hide what can be restored from a backup.
    """
    if settings.database is None:
        file = folder / FILE
        if has_contents(folder):
            _refuse_missing(file)
        if not _has_content(file):
            os.close(os.open(file, os.O_RDWR | os.O_CREAT, PRIVATE))
            sync_folder(folder)
    database = Database(settings.database or URL.create("sqlite", database=str(folder / FILE)))
    try:
        with database.reading() as connection:
            if schema_version(connection) is not None:
                return
        with database.writing() as connection:
            if schema_version(connection) is None:  # no other process has made them meanwhile
                if has_contents(folder):
                    raise _lost(NO_TABLES, folder)
                create_tables(connection, settings.id or secrets.token_hex(8))
    finally:
        database.close()


def open_database(folder: Path, settings: Settings) -> Database:
    """Return the database of a workspace, verified and brought up to date; read-only if the folder is."""
    database = Database(settings.database) if settings.database else _open_file(folder / FILE)
    try:
        _refuse_other_database(database, folder, settings)
        with database.reading() as connection:
            version = schema_version(connection)
        if version != SCHEMA_VERSION:
            if database.read_only:
                raise ReadOnlyError(
                    f"{folder} was made by an older version of OpenGCD, and must be updated; open it once where its "
                    "folder is writable."
                )
            with database.writing() as connection:
                if settings.id is None:
                    store_settings(folder, replace(settings, id=_id(connection)))
                migrate(connection, folder)
            if (version or 0) < WITH_SHARDS:
                _delete_outdated(folder)
    except BaseException:
        database.close()
        raise
    return database


def delete_database(file: Path) -> None:
    """Delete a database in a file, with its log and its seal."""
    for one in (file, _beside(file, "-wal"), _beside(file, "-shm"), Seal(file).file):
        one.unlink(missing_ok=True)


def _open_file(file: Path) -> Database:
    _refuse_missing(file)
    if not (os.access(file.parent, os.W_OK) and os.access(file, os.W_OK)):
        return _ReadOnlyFile(file)
    seal = Seal(file)
    seal.verify()
    return Database(URL.create("sqlite", database=str(file)), before_writing=seal.delete, closed=seal.write)


class _ReadOnlyFile(Database):
    """A database in a folder that cannot be written to here, as it is now, though others may write to it.

    While others have it open, SQLite reads it as theirs. Otherwise SQLite would have to write: then a copy is read, and
    a new one when the database has changed. (``immutable=1`` would ignore changes of the file.)
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._opening = threading.Lock()
        self._copied: object = None
        """The fingerprint of the database when it was copied; None if it is read in place."""
        url, closed = self._find()
        super().__init__(url, read_only=True, closed=closed)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """See the database as it is now, while others may write."""
        with self._opening:
            if self._copied not in (None, _fingerprint(self._file)):
                url, closed = self._find()
                self.close()
                super().__init__(url, read_only=True, closed=closed)
        with super().reading() as connection:
            yield connection

    def _find(self) -> tuple[URL, Callable[[], None]]:
        """Return what to read, verified, and what to do at the end."""
        _refuse_missing(self._file)
        address = f"file:{quote(str(self._file.absolute()))}"
        if (held := hold_open(self._file, f"{address}?mode=ro")) is not None:
            try:
                Seal(self._file, read_only=True).verify()
            except BaseException:
                held.close()
                raise
            self._copied = None
            return URL.create("sqlite", database=address, query={"mode": "ro", "uri": "true"}), held.close
        folder = Path(tempfile.mkdtemp(prefix="opengcd-"))
        try:
            copied = _copy(self._file, folder)
            Seal(folder / FILE, name=self._file).verify()
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        self._copied = copied
        url = URL.create("sqlite", database=str(folder / FILE))
        return url, lambda: shutil.rmtree(folder, ignore_errors=True)


def hold_open(file: Path, address: str) -> sqlite3.Connection | None:
    """Open a database that has a write-ahead log, which keeps SQLite from deleting the log; None if it has none."""
    if not all(_beside(file, end).exists() for end in ("-wal", "-shm")):
        return None
    connection = sqlite3.connect(address, uri=True, check_same_thread=False)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error:  # those files are gone by now, or cannot be read
        connection.close()
        return None
    return connection


def _copy(file: Path, folder: Path) -> object:
    """Copy a database as it was at one moment, with its log and its seal; return its fingerprint."""
    for _ in range(TRIES):
        before = _fingerprint(file)
        shutil.copyfile(file, folder / FILE)
        # There may be no log. The copy is read without the seal if that may not be read.
        for one, excused in ((_beside(file, "-wal"), FileNotFoundError), (Seal(file).file, OSError)):
            (folder / one.name).unlink(missing_ok=True)
            with suppress(excused):
                shutil.copyfile(one, folder / one.name)
        if _fingerprint(file) == before:
            return before
    raise UnavailableError(f"{file} is in use, and changed each time it was read; try again in a moment.")


def _fingerprint(file: Path) -> object:
    """Return sizes and times of the files, and the header of the log with its salts: they differ after every change."""
    found: list[object] = []
    log = _beside(file, "-wal")
    try:
        for one in (file, log):
            state = one.stat()
            found.append((state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns))
        with log.open("rb") as opened:
            found.append(opened.read(32))
    except FileNotFoundError:  # there is no log, or it is gone by now
        found.append(None)
    return found


def _beside(file: Path, end: str) -> Path:
    return file.with_name(file.name + end)


def _delete_outdated(folder: Path) -> None:
    """Delete old files: vectors that are in shards now, and thumbnails that may be of other images."""
    for old in folder.glob("features/*/*.f32"):
        old.unlink()
    shutil.rmtree(folder / "thumbnails", ignore_errors=True)


def _refuse_missing(file: Path) -> None:
    if not _has_content(file):
        raise _lost(f"{file} is missing or empty", file.parent)


def _refuse_other_database(database: Database, folder: Path, settings: Settings) -> None:
    """Refuse a database that has no tables or belongs to another workspace."""
    with database.reading() as connection:
        if schema_version(connection) is None:
            raise _lost(NO_TABLES, folder)
        id, version = _id(connection), schema_version(connection) or 0
    # Settings without an id fit any database, so they count only where there was none yet.
    if settings.id != id and not (settings.id is None and version < WITH_ID):
        raise WorkspaceError(
            "The database belongs to another workspace (workspace.json and database have different ids). Restore the "
            "right one, or correct the database in workspace.json."
        )


def _id(connection: Connection) -> str | None:
    return connection.scalar(select(meta.c.value).where(meta.c.key == "id"))


def _has_content(file: Path) -> bool:
    try:
        return file.stat().st_size > 0
    except FileNotFoundError:
        return False


def has_contents(folder: Path) -> bool:
    """Return whether a workspace has taken in images."""
    return any((folder / name).exists() for name in CONTENTS)


def _lost(what: str, folder: Path) -> DamagedError:
    again = "" if has_contents(folder) else " If opengcd init was interrupted before any image was read, run it again."
    return DamagedError(f"{what}. Restore it from a backup; nothing was changed.{again}")
