"""A number that grows whenever items, vectors or predictions are added, so that counts made before are out of date.

What else can be counted, groups and what is in them, changes by edits alone, and those have numbers of their own.
"""

from __future__ import annotations

from sqlalchemy import Connection, insert, select, update

from opengcd.workspace.schema import meta

KEY = "revision"


def revision(connection: Connection) -> int:
    """Return how often items, vectors or predictions were added."""
    return int(connection.scalar(select(meta.c.value).where(meta.c.key == KEY)) or 0)


def raise_revision(connection: Connection) -> None:
    """Count one more addition; for every transaction that adds items, vectors or predictions."""
    value = str(revision(connection) + 1)
    if not connection.execute(update(meta).where(meta.c.key == KEY).values(value=value)).rowcount:
        connection.execute(insert(meta).values(key=KEY, value=value))
