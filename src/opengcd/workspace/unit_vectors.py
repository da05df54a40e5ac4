"""The vectors of all items at unit length, kept in memory for the search of neighbours."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
from sqlalchemy import Connection, func, select

from opengcd._internal.unit_length import unit_rows
from opengcd.workspace.features import FeatureStore
from opengcd.workspace.revision import revision
from opengcd.workspace.schema import features

BLOCK = 8192
"""Rows that are read and multiplied at once."""
MOST_BYTES = 2**29
"""What is kept; vectors beyond it are read each time."""


class UnitVectors:
    """Vectors by item, in blocks that all requests share. Items are only ever added, and their vectors never change.

    They are the vectors of one embedder; when another one is in use, they are read again.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._embedder = 0
        """The number of the embedder."""
        self._ids = np.empty(0, dtype=np.int64)
        """All items that have a vector, in ascending order."""
        self._revision = -1
        """The revision of the database that they are of."""
        self._blocks: dict[int, np.ndarray] = {}
        """The vectors of the items from ``number * BLOCK`` on, by that number."""

    def distances(self, connection: Connection, store: FeatureStore, item: int) -> tuple[np.ndarray, np.ndarray]:
        """Return all items in ascending order, and 1 − the cosine between each of them and one item."""
        (x,) = unit_rows(store.of_items(connection, [item]))
        with self._lock:
            if store.id != self._embedder:
                self._embedder, self._revision, self._ids = store.id, -1, self._ids[:0]
                self._blocks = {}
            ids = self._items(connection, store)
            blocks = self._kept_blocks(connection, store)
        distances = [1 - X[: len(part)] @ x for part, X in self._vectors(connection, store, ids, blocks)]
        return ids, np.concatenate(distances)

    def _items(self, connection: Connection, store: FeatureStore) -> np.ndarray:
        """Return the items that this transaction sees; note those that are new."""
        now = revision(connection)
        if now == self._revision:
            return self._ids
        here = features.c.embedder_id == store.id
        count, last = connection.execute(select(func.count(), func.max(features.c.item_id)).where(here)).one()
        if count > len(self._ids):
            query = select(features.c.item_id).where(here).order_by(features.c.item_id)
            known = int(self._ids[-1]) if len(self._ids) else 0
            added = connection.scalars(query.where(features.c.item_id > known)).all()
            if len(self._ids) + len(added) != count:  # an item in between has got a vector
                self._ids, added = self._ids[:0], connection.scalars(query).all()
                self._blocks.clear()
            self._ids = np.append(self._ids, np.array(added, dtype=np.int64))
        self._revision = max(now, self._revision)
        return self._ids[self._ids <= last]

    def _kept_blocks(self, connection: Connection, store: FeatureStore) -> dict[int, np.ndarray]:
        """Read what is missing of the blocks that are kept."""
        most_rows = self._most_bytes // (4 * store.width)
        for number, part in enumerate(_parts(self._ids)):
            known = self._blocks.get(number, np.empty((0, store.width), np.float32))
            if len(known) < len(part) and number * BLOCK + len(part) <= most_rows:
                added = unit_rows(store.of_items(connection, part[len(known) :].tolist()))
                self._blocks[number] = np.concatenate([known, added])
        return dict(self._blocks)

    def _vectors(
        self, connection: Connection, store: FeatureStore, ids: np.ndarray, blocks: dict[int, np.ndarray]
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for number, part in enumerate(_parts(ids)):
            X = blocks.get(number)
            if X is None or len(X) < len(part):
                X = unit_rows(store.of_items(connection, part.tolist()))
            yield part, X


def _parts(ids: np.ndarray) -> Iterator[np.ndarray]:
    return (ids[start : start + BLOCK] for start in range(0, len(ids), BLOCK))
