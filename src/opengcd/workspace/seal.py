"""A checksum of a SQLite database that nobody has open for writing, so that damage to it is noticed.

SQLite notices most damage to the structure of its file, but not a changed value. When the last writer closes the
database, the SHA-256 of its content is written beside it. The first writer after that deletes it, so it is either true
or absent.
"""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from opengcd._internal.durable_files import replace_file, sync_folder
from opengcd.workspace.errors import DamagedError

LARGEST_SEALED = 256 * 2**20
"""Bytes of a database; reading a larger one each time it is opened or closed would take seconds."""
LARGEST_CHECKED = 64 * 2**20
"""Bytes of a database without a seal whose structure is checked when it is opened."""
PRIMARY = 0xFF
"""The bits of an error code of SQLite that say what kind it is; the others say more of it."""
IN_USE = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
"""Kinds of errors that do not concern the content of a database."""


class Seal:
    """The checksum of one database file; ``name`` is what errors call it."""

    def __init__(self, database: Path, *, read_only: bool = False, name: Path | None = None) -> None:
        self.database = database
        self._name = name or database
        self._address = f"file:{quote(str(database.absolute()))}" + ("?mode=ro" if read_only else "")
        self.file = database.with_name(f"{database.name}.sha256")

    def verify(self) -> None:
        """Raise an error if the database changed since it was sealed; without a seal, SQLite checks its structure."""
        sealed = self._read()
        try:
            with closing(self._connect()) as connection:
                if sealed is None:
                    if self.database.stat().st_size <= LARGEST_CHECKED:
                        self._check_structure(connection)
                # A seal that is gone by now was deleted by a writer: then the content may differ.
                elif self._digest(connection) != sealed and self._read() == sealed:
                    raise self._damaged("its checksum is wrong")
        except (sqlite3.Error, MemoryError) as error:  # a damaged header may claim any size
            if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & PRIMARY in IN_USE:
                return  # the process that uses it has verified it
            raise self._damaged(str(error)) from None

    def delete(self) -> None:
        """Delete the checksum; call it in a transaction that writes, before it does."""
        if self.file.exists():
            self.file.unlink(missing_ok=True)
            sync_folder(self.file.parent)

    def write(self) -> None:
        """Write the checksum, unless someone else has the database open for writing."""
        try:
            if self.file.exists() or self.database.stat().st_size > LARGEST_SEALED:
                return
            with closing(self._connect()) as connection:
                connection.execute("BEGIN IMMEDIATE")  # nobody else writes until this is closed
                mode = self.database.stat().st_mode & 0o666  # readable by whoever may read the database
                replace_file(self.file, self._digest(connection).encode(), mode=mode)
        except (sqlite3.Error, OSError):  # busy, or read-only: it stays without a seal
            return

    def _read(self) -> str | None:
        try:
            return self.file.read_text("ascii")
        except (OSError, ValueError):
            return None

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._address, timeout=0, isolation_level=None, uri=True)

    @staticmethod
    def _digest(connection: sqlite3.Connection) -> str:
        # Through SQLite: to open and close the file otherwise would release the locks of this process on it.
        # Within a transaction, since `serialize` does not say whether it failed because the database is busy.
        if not connection.in_transaction:
            connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return hashlib.sha256(connection.serialize()).hexdigest()

    def _check_structure(self, connection: sqlite3.Connection) -> None:
        (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise self._damaged(found)

    def _damaged(self, reason: str) -> DamagedError:
        return DamagedError(f"{self._name} is damaged ({reason}). Restore it from a backup.")
