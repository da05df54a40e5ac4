"""When images were taken, from a table, for images whose files do not say."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, bindparam, select, update

from opengcd.workspace.database import in_parts
from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.schema import captures, paths

COLUMNS = ("file", "time")


def read_times(table: str | os.PathLike[str]) -> dict[str, float]:
    """Read a CSV file with the columns ``file`` and ``time``.

    Parameters
    ----------
    table : path
        Names of files are relative to its folder. Times are in ISO 8601, as ``2024-05-01T06:30:12``; those without a
        zone are taken as they are.

    Returns
    -------
    dict of str to float
        Seconds since 1970 by the path of the file.

    Raises
    ------
    WorkspaceError
        If a column is missing, or a time cannot be read.

    """
    folder = Path(os.path.abspath(table)).parent
    times: dict[str, float] = {}
    with _reading(table) as reader:
        if missing := [name for name in COLUMNS if name not in (reader.fieldnames or ())]:
            raise WorkspaceError(f"{table} has no column {missing[0]!r}; its first line must name file and time.")
        for row in reader:
            try:
                time = datetime.fromisoformat((row["time"] or "").strip())
            except ValueError:
                raise WorkspaceError(
                    f"{table}, line {reader.line_num}: {row['time']!r} is not a time; write it as 2024-05-01T06:30:12."
                ) from None
            times[os.path.normpath(folder / row["file"])] = (
                time if time.tzinfo else time.replace(tzinfo=UTC)
            ).timestamp()
    return times


@contextmanager
def _reading(table: str | os.PathLike[str]) -> Iterator[csv.DictReader[str]]:
    """Read a CSV file; an error says what is wrong with it."""
    try:
        with open(table, newline="", encoding="utf-8-sig") as file:
            yield csv.DictReader(file)
    except OSError as error:
        raise WorkspaceError(f"The table {table} cannot be read: {error.strerror or error}.") from None
    except (UnicodeDecodeError, csv.Error):
        raise WorkspaceError(f"{table} is not a CSV file in UTF-8; save it as one.") from None


def store_times(connection: Connection, times: Mapping[str, float]) -> int:
    """Store when images were taken; return how many of the files are known.

    Parameters
    ----------
    connection : Connection
    times : mapping of str to float
        Seconds since 1970 by the path of a file.

    Returns
    -------
    int

    """
    known: dict[int, float] = {}
    for part in in_parts(list(times)):
        rows = connection.execute(select(paths.c.path, paths.c.item_id).where(paths.c.path.in_(part)))
        known.update({row.item_id: times[row.path] for row in rows})
    change = update(captures).where(captures.c.item_id == bindparam("_item")).values(taken=bindparam("_taken"))
    if known:
        connection.execute(change, [{"_item": item, "_taken": taken} for item, taken in known.items()])
    return len(known)
