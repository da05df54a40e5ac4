"""Items by number: the files that hold them, and the hash of their content."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from sqlalchemy import Connection, select

from opengcd.workspace.database import in_parts
from opengcd.workspace.errors import MissingError
from opengcd.workspace.files import content_hash, look_at
from opengcd.workspace.schema import items, paths


def paths_of(connection: Connection, ids: Sequence[int]) -> dict[int, list[str]]:
    """Return the files of items, sorted; items without a file are left out."""
    found: dict[int, list[str]] = {}
    for part in in_parts(ids):
        query = select(paths.c.item_id, paths.c.path).where(paths.c.item_id.in_(part)).order_by(paths.c.path)
        for item, path in connection.execute(query):
            found.setdefault(item, []).append(path)
    return found


class FileState(NamedTuple):
    """A file of an item, and whether it still has the item's content."""

    path: str
    state: Literal["present", "missing", "changed"]


def file_states(connection: Connection, item: int) -> list[FileState]:
    """Return the files of an item, sorted, and whether each is still there and has the same content.

    Parameters
    ----------
    connection : Connection
    item : int
        The number of the item.

    Returns
    -------
    list of FileState

    Raises
    ------
    MissingError
        If there is no such item.

    """
    content = hash_of(connection, item)
    rows = connection.execute(select(paths).where(paths.c.item_id == item).order_by(paths.c.path))
    return [FileState(row.path, _state(row.path, row.size, row.mtime, content)) for row in rows]


def _state(path: str, size: int, mtime: int, content: str) -> Literal["present", "missing", "changed"]:
    now = look_at(path)
    if now.reason:
        return "missing"
    if (now.size, now.mtime) == (size, mtime):
        return "present"
    try:
        return "present" if content_hash(path) == content else "changed"
    except OSError:
        return "missing"


def hash_of(connection: Connection, item: int) -> str:
    """Return the hash of an item's content; raise an error if there is no such item."""
    found = connection.scalar(select(items.c.hash).where(items.c.id == item))
    if found is None:
        raise MissingError(f"There is no item {item}.")
    return found
