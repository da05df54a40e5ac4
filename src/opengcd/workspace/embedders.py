"""The embedders whose vectors are stored: the one that a workspace was made with, and networks adapted from it.

Each version of the recogniser takes the vectors of one embedder, so which one is in use follows from the version in
use. Vectors of every embedder stay stored: to return to a version, nothing has to be computed again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, Row, Select, func, select

from opengcd.workspace.database import in_parts
from opengcd.workspace.schema import embedders, features, items, models, trained_items
from opengcd.workspace.versions import in_use


class StoredEmbedder(NamedTuple):
    """An embedder with its number in the database."""

    id: int
    fingerprint: str
    name: str
    width: int
    """Number of dimensions of its vectors."""
    digest: str | None
    """The checksum of an adapted network, which is in the workspace; None for any other embedder."""
    run: str | None
    """A hash of all that an adapted network was made from."""


def all_embedders(connection: Connection) -> list[StoredEmbedder]:
    """Return all embedders, the one that the workspace was made with first."""
    return [_stored(row) for row in connection.execute(select(embedders).order_by(embedders.c.id))]


def embedder_of(connection: Connection, version: int | None = None) -> StoredEmbedder | None:
    """Return the embedder of a version, by default of the one in use; None before the first image.

    Before the first version, and for versions that do not say, it is the one that the workspace was made with.
    """
    model = in_use(connection) if version is None else version
    chosen = connection.scalar(select(models.c.embedder_id).where(models.c.id == model))
    if chosen is None:
        chosen = connection.scalar(select(func.min(embedders.c.id)))
    row = connection.execute(select(embedders).where(embedders.c.id == chosen)).one_or_none()
    return None if row is None else _stored(row)


def with_vector(connection: Connection, embedder: StoredEmbedder | None = None) -> Select[tuple[int]]:
    """Select the items that have a vector of an embedder, by default of the one in use.

    These are all items, except those that came while another embedder was in use and have not been embedded by this one
    yet, and those whose vector and image are both lost.
    """
    found = embedder or embedder_of(connection)
    return select(features.c.item_id).where(features.c.embedder_id == (0 if found is None else found.id))


def without_vector(
    connection: Connection, embedder: StoredEmbedder | None = None, among: Sequence[int] | None = None
) -> list[int]:
    """Return the items, or those among some, that have no vector of an embedder, by default of the one in use."""
    there = with_vector(connection, embedder)
    if among is None:
        return list(connection.scalars(select(items.c.id).where(items.c.id.not_in(there)).order_by(items.c.id)))
    found: set[int] = set()  # some are looked up one by one: that is fast however many items there are
    for part in in_parts(list(among)):
        found.update(connection.scalars(there.where(features.c.item_id.in_(part))))
    return [item for item in among if item not in found]


def was_trained_on(connection: Connection, embedder: StoredEmbedder, chosen: Sequence[int]) -> np.ndarray:
    """Return for each of some items whether an embedder was trained on it."""
    trained: set[int] = set()
    for part in in_parts(list(chosen)):
        query = select(trained_items.c.item_id).where(trained_items.c.embedder_id == embedder.id)
        trained.update(connection.scalars(query.where(trained_items.c.item_id.in_(part))))
    return np.array([item in trained for item in chosen], dtype=bool)


def unfinished(connection: Connection) -> list[StoredEmbedder]:
    """Return adapted networks that no version uses: their adaptation was interrupted before the switch to them."""
    used = set(connection.scalars(select(models.c.embedder_id)))
    return [one for one in all_embedders(connection) if one.digest is not None and one.id not in used]


def _stored(row: Row[Any]) -> StoredEmbedder:
    return StoredEmbedder(row.id, row.fingerprint, row.name, row.width, row.digest, row.run)
