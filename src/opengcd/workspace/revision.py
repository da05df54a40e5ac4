"""A number that grows whenever items, vectors or predictions are added, so that counts made before are out of date.

What else can be counted, groups and what is in them, changes by edits alone, and those have numbers of their own.
"""

from __future__ import annotations

from sqlalchemy import Connection, select

from opengcd.workspace.schema import meta, write_meta

KEY = "revision"


def revision(connection: Connection) -> int:
    """Return how often items, vectors or predictions were added."""
    return int(connection.scalar(select(meta.c.value).where(meta.c.key == KEY)) or 0)


def raise_revision(connection: Connection) -> None:
    """Count one more addition; for every transaction that adds items, vectors or predictions."""
    write_meta(connection, KEY, str(revision(connection) + 1))
