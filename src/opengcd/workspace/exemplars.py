"""Which items the exemplars in the memory of the recogniser are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from opengcd._internal.unit_length import unit_rows
from opengcd.workspace import versions
from opengcd.workspace.recognizers import Recognizers
from opengcd.workspace.store import Store
from opengcd.workspace.vectors import Vectors


class _OfVersion(NamedTuple):
    """The exemplars of one version: the item, the features at unit length and the class of each row of its memory."""

    version: int
    items: np.ndarray
    X: np.ndarray
    y: np.ndarray
    classes: list[str]


class Exemplars:
    """The exemplars of the version in use, by item.

    A saved memory holds features and labels, and no items. An exemplar was one of the training labels of its version,
    so its item is the one with the very same features; that is looked up once for each version, here and nowhere else.
    """

    def __init__(self, store: Store, vectors: Vectors, recognizers: Recognizers) -> None:
        self._database = store.database
        self._vectors = vectors
        self._recognizers = recognizers
        self._known: _OfVersion | None = None

    def by_class(self) -> dict[str, list[int]]:
        """Return the items in the memory of the version in use, by class, the most important first."""
        found = self._of_version()
        return {label: found.items[found.y == label].tolist() for label in found.classes}

    def nearest(self, X: np.ndarray, limit: int = 5) -> list[list[int]]:
        """Return the items in the memory that look most like each row of features."""
        found = self._of_version()
        order = np.argsort(-(unit_rows(X) @ found.X.T), axis=1, kind="stable")[:, :limit]
        return found.items[order].tolist()

    def nearest_to_items(self, items: Sequence[int], limit: int = 5) -> list[list[int]]:
        """Return the items in the memory that look most like each of some items."""
        return self.nearest(self._vectors.of_items(items), limit)

    def _of_version(self) -> _OfVersion:
        version, recognizer = self._recognizers.in_use()
        known = self._known
        if known is None or known.version != version:
            with self._database.reading() as connection:
                learnt = [row.item_id for row in connection.execute(versions.learnt(connection))]
                X = self._vectors.read(connection, learnt)
            item_of = {row.tobytes(): item for row, item in zip(X, learnt, strict=True)}
            memory = recognizer.memory_
            items = np.array([item_of.get(row.tobytes(), 0) for row in memory.X.astype(np.float32)], dtype=np.int64)
            found = items > 0  # the vector of an item may have been computed again since, and differ in the last digit
            classes = recognizer.classes_.tolist()
            known = self._known = _OfVersion(
                version, items[found], unit_rows(memory.X)[found], memory.y[found], classes
            )
        return known
