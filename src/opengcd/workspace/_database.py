"""One database, many readers, one writer at a time: SQLite in WAL mode, or PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from opengcd.workspace._errors import ReadOnlyError, WorkspaceError

WAIT_SECONDS = 60
"""How long a writer waits for another one's transaction; transactions are short."""
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
        """Write all or nothing; other writers wait meanwhile."""
        if self.read_only:
            raise ReadOnlyError("This workspace is read-only here; it can be looked at and exported, but not changed.")
        with _errors_explained(), self.engine.begin() as connection:
            self._before_writing()
            yield connection

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()
        self._closed()
        self._closed = lambda: None


def in_parts(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Split values into as many as one query bears."""
    return (values[start : start + AT_A_TIME] for start in range(0, len(values), AT_A_TIME))


def _engine(url: str | URL) -> Engine:
    engine = create_engine(url)
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
        "synchronous = FULL",  # what is reported as done outlives a power cut
        "foreign_keys = ON",
    ):
        connection.execute(f"PRAGMA {setting}")


def _begin_sqlite(connection: Connection) -> None:
    reads = connection.get_execution_options().get("opengcd_reads")
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


def _begin_postgresql(connection: Connection) -> None:
    reads = connection.get_execution_options().get("opengcd_reads")
    one_view = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"  # as SQLite's readers have
    connection.exec_driver_sql(one_view if reads else f"SELECT pg_advisory_xact_lock({WRITERS})")


@contextmanager
def _errors_explained() -> Iterator[None]:
    try:
        yield
    except DBAPIError as error:
        raise WorkspaceError(
            f"The database cannot be used ({error.orig}); what was finished before is kept. If the disk is full or "
            "read-only, mend that; if another command holds the database, wait for it; then run the command again."
        ) from error
