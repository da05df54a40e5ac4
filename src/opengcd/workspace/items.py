"""Items by number: the files that hold them, and the hash of their content."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, select

from opengcd.workspace.database import in_parts
from opengcd.workspace.errors import MissingError
from opengcd.workspace.schema import items, paths


def paths_of(connection: Connection, ids: Sequence[int]) -> dict[int, list[str]]:
    """Return the files of items, sorted; items without a file are left out."""
    found: dict[int, list[str]] = {}
    for part in in_parts(ids):
        query = select(paths.c.item_id, paths.c.path).where(paths.c.item_id.in_(part)).order_by(paths.c.path)
        for item, path in connection.execute(query):
            found.setdefault(item, []).append(path)
    return found


def hash_of(connection: Connection, item: int) -> str:
    """Return the hash of an item's content; raise an error if there is no such item."""
    found = connection.scalar(select(items.c.hash).where(items.c.id == item))
    if found is None:
        raise MissingError(f"There is no item {item}.")
    return found
