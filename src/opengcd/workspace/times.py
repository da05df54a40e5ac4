"""When images were taken, from a table, for images whose files do not say."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, bindparam, select, update

from opengcd.workspace.database import in_parts
from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.schema import captures, paths
from opengcd.workspace.tables import read_table

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
    columns, rows = read_table(table)
    if missing := [name for name in COLUMNS if name not in columns]:
        raise WorkspaceError(f"{table} has no column {missing[0]!r}; its first line must name file and time.")
    for where, cells in rows:
        try:
            time = datetime.fromisoformat(cells["time"].strip())
        except ValueError:
            told = f"{cells['time']!r} is not a time; write it as 2024-05-01T06:30:12"
            raise WorkspaceError(f"{where}: {told}.") from None
        times[os.path.normpath(folder / cells["file"])] = (
            time if time.tzinfo else time.replace(tzinfo=UTC)
        ).timestamp()
    return times


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
