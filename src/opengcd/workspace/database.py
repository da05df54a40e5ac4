"""One database, many readers, one writer at a time: SQLite in WAL mode, or PostgreSQL."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from opengcd.workspace.errors import ReadOnlyError, UnavailableError, WorkspaceError

WAIT_SECONDS = 60
"""How long a writer waits for another one's transaction; transactions are short."""
READERS = 50
"""Connections at a time: the service has 40 threads, and the writers of one process share one."""
MOST_WAITING = 16
"""Writers of one process that may wait; more are refused at once, so that threads are left for readers."""
WRITERS = 0x6F67_6364
"""The advisory lock by which writers to PostgreSQL wait for each other."""
AT_A_TIME = 1000
"""Values in one query; databases have a limit."""


class Database:
    """Transactions on the tables of a workspace.

    ``before_writing`` is called in every transaction that writes, before it does; ``closed`` at the end.
    """

    def __init__(
        self,
        url: str | URL,
        *,
        read_only: bool = False,
        before_writing: Callable[[], None] = lambda: None,
        closed: Callable[[], None] = lambda: None,
    ) -> None:
        self.read_only = read_only
        self._before_writing = before_writing
        self._closed = closed
        self._writer = threading.Lock()
        self._waiting = threading.BoundedSemaphore(MOST_WAITING)
        try:
            self.engine = _engine(url)
        except (ArgumentError, NoSuchModuleError, ImportError) as error:
            raise WorkspaceError(
                f"The database {str(url)!r} cannot be used ({error}); give a URL as "
                'postgresql+psycopg://user@host/name, after pip install "opengcd[postgresql]".'
            ) from None

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """See the database as it is now, while others may write."""
        with _errors_explained(), self.engine.connect().execution_options(opengcd_reads=True) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Write all or nothing; other writers wait meanwhile, those of this process without a connection."""
        if self.read_only:
            raise ReadOnlyError(
                "This workspace is read-only here, so it can be viewed and exported, but not changed. Make its folder "
                "writable, or use a copy."
            )
        with self._turn(), _errors_explained(), self.engine.begin() as connection:
            self._before_writing()
            yield connection

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Let one writer of this process proceed at a time."""
        if not self._waiting.acquire(blocking=False):
            raise UnavailableError(
                f"{MOST_WAITING} changes are already waiting for the database; try again in a moment."
            )
        try:
            if not self._writer.acquire(timeout=WAIT_SECONDS):
                raise UnavailableError("Another change takes too long; nothing was changed. Try again in a moment.")
        finally:
            self._waiting.release()
        try:
            yield
        finally:
            self._writer.release()

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()
        self._closed()
        self._closed = lambda: None


def in_parts(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Split values into parts that fit into one query."""
    return (values[start : start + AT_A_TIME] for start in range(0, len(values), AT_A_TIME))


def _engine(url: str | URL) -> Engine:
    engine = create_engine(url, pool_size=10, max_overflow=READERS - 10, pool_timeout=WAIT_SECONDS, pool_pre_ping=True)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    elif engine.dialect.name == "postgresql":
        event.listen(engine, "begin", _begin_postgresql)
    else:
        raise ArgumentError(f"{engine.dialect.name} is neither sqlite nor postgresql")
    return engine


def _prepare_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # the driver would begin transactions late, as readers, and then fail to write
    for setting in (
        f"busy_timeout = {WAIT_SECONDS * 1000}",
        "journal_mode = WAL",
        "synchronous = FULL",  # what is reported as done survives a power failure
        "foreign_keys = ON",
    ):
        connection.execute(f"PRAGMA {setting}")


def _begin_sqlite(connection: Connection) -> None:
    reads = connection.get_execution_options().get("opengcd_reads")
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


def _begin_postgresql(connection: Connection) -> None:
    reads = connection.get_execution_options().get("opengcd_reads")
    if reads:
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")  # as SQLite's readers have
        return
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{WAIT_SECONDS}s'")
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({WRITERS})")
    if connection.exec_driver_sql("SHOW transaction_read_only").scalar() == "on":
        # As after a failover. Checked here and not at the first change, since background tasks report it without one.
        raise UnavailableError("The database is read-only at the moment; nothing was changed. Try again later.")


@contextmanager
def _errors_explained() -> Iterator[None]:
    try:
        yield
    except (DBAPIError, PoolTimeoutError) as error:
        kind = UnavailableError if _may_pass(error) else WorkspaceError
        raise kind(
            f"The database cannot be used ({getattr(error, 'orig', error)}); finished work is kept. If the "
            "disk is full or read-only, fix that; if another command holds the database, wait for it; then try again."
        ) from error


def _may_pass(error: DBAPIError | PoolTimeoutError) -> bool:
    """Return whether the database is locked, full, read-only or unreachable, rather than the query wrong."""
    if isinstance(error, PoolTimeoutError) or error.connection_invalidated:
        return True
    # SQLite calls mistakes in SQL operational errors, too: those have the general code.
    return isinstance(error, OperationalError) and getattr(error.orig, "sqlite_errorcode", 0) != sqlite3.SQLITE_ERROR
