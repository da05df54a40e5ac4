"""Which items the exemplars in the memory of the recogniser are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sqlalchemy import Connection, insert, select

from opengcd._internal.unit_length import unit_rows
from opengcd.workspace import class_names, versions
from opengcd.workspace.database import in_parts
from opengcd.workspace.items import hash_of
from opengcd.workspace.recognizers import Recognizers
from opengcd.workspace.schema import exemplars, training_labels
from opengcd.workspace.store import Store
from opengcd.workspace.vectors import Vectors

if TYPE_CHECKING:
    from opengcd.memory import ExemplarMemory

NOT_FOUND = 0
"""Used in place of an item number if a version of an older schema has an exemplar whose item cannot be found."""


class _OfVersion(NamedTuple):
    """The exemplars of one version: the item, the features at unit length and the class of each row of its memory."""

    version: int
    items: np.ndarray
    X: np.ndarray
    y: np.ndarray
    classes: list[str]

    def nearest(self, X: np.ndarray, limit: int) -> list[list[int]]:
        order = np.argsort(-(unit_rows(X) @ self.X.T), axis=1, kind="stable")[:, :limit]
        return self.items[order].tolist()


class LabelledNeighbour(NamedTuple):
    """An image in the memory of the recogniser that looks like another one."""

    id: int
    distance: float
    """1 − cosine."""
    label: str


class Exemplars:
    """The exemplars of the version in use, by item."""

    def __init__(self, store: Store, vectors: Vectors, recognizers: Recognizers) -> None:
        self._database = store.database
        self._vectors = vectors
        self._recognizers = recognizers
        self._known: _OfVersion | None = None

    def by_class(self) -> dict[str, list[int]]:
        """Return the items in the memory of the version in use, by class, the most important first."""
        found = self._of_version()
        with self._database.reading() as connection:
            names = class_names.read(connection)
        return {names.get(label, label): found.items[found.y == label].tolist() for label in found.classes}

    def nearest(self, X: np.ndarray, limit: int = 5) -> list[list[int]]:
        """Return the items in the memory that look most like each row of features.

        Parameters
        ----------
        X : array of shape (n, d)
            Feature vectors, as the recogniser takes them.
        limit : int
            Items for each row.

        Returns
        -------
        list of list of int
            Numbers of items, the most similar (by cosine) first.

        """
        return self._of_version().nearest(X, limit)

    def nearest_to_items(self, items: Sequence[int], limit: int = 5) -> list[list[int]]:
        """Return the items in the memory that look most like each of some items.

        Parameters
        ----------
        items : sequence of int
            Numbers of items.
        limit : int
            Items for each of them.

        Returns
        -------
        list of list of int
            Numbers of items, the most similar first; none for an item that the network in use has not embedded yet.

        """
        known = self._of_version()
        with self._database.reading() as connection:
            store = self._vectors.shards(connection, known.version)
            there = store.having(connection, items)
            rows = [item for item in items if item in there]
            X = self._vectors.scaled(store.of_items(connection, rows))
        near = dict(zip(rows, known.nearest(X, limit), strict=True))
        return [near.get(item, []) for item in items]

    def most_like(self, wanted: Sequence[tuple[int, Sequence[str]]], limit: int) -> list[list[list[int]]]:
        """Return the exemplars of some classes that look most like some exemplars.

        Parameters
        ----------
        wanted : sequence of (int, sequence of str)
            Items in the memory, each with the labels of the classes to search, as the recogniser has them.
        limit : int
            Items for each class.

        Returns
        -------
        list of list of list of int
            For each item and each of its classes numbers of items, the most similar first, without the item itself.

        """
        known = self._of_version()
        row_of = {item: row for row, item in enumerate(known.items.tolist())}
        rows_of = {label: np.flatnonzero(known.y == label) for _, labels in wanted for label in labels}
        found = []
        for item, labels in wanted:
            x, near = known.X[row_of[item]], []
            for label in labels:
                rows = rows_of[label][known.items[rows_of[label]] != item]
                near.append(known.items[rows[np.argsort(-(known.X[rows] @ x), kind="stable")[:limit]]].tolist())
            found.append(near)
        return found

    def labelled_like(self, item: int, limit: int = 5) -> list[LabelledNeighbour]:
        """Return the items in the memory that look most like an item, with their classes.

        Parameters
        ----------
        item : int
            The number of the item.
        limit : int
            Largest number of items.

        Returns
        -------
        list of LabelledNeighbour
            The most similar first, without the item itself; none if the network in use has not embedded it yet.

        Raises
        ------
        MissingError
            If there is no such item.

        """
        known = self._of_version()
        with self._database.reading() as connection:
            hash_of(connection, item)  # raises if there is no such item
            store = self._vectors.shards(connection, known.version)
            if not store.having(connection, [item]):
                return []
            x = self._vectors.scaled(store.of_items(connection, [item]))
            names = class_names.read(connection)
        distances = 1.0 - unit_rows(x)[0] @ known.X.T
        rows = [row for row in np.argsort(distances, kind="stable")[: limit + 1].tolist() if known.items[row] != item]
        return [
            LabelledNeighbour(int(known.items[row]), max(float(distances[row]), 0.0), label)
            for row, label in zip(rows[:limit], class_names.present(names, known.y[rows[:limit]].tolist()), strict=True)
        ]

    def of_memory(self, version: int, memory: ExemplarMemory) -> np.ndarray:
        """Return the item of each row of the memory of a version.

        Parameters
        ----------
        version : int
            The number of the version.
        memory : ExemplarMemory
            Of its recogniser.

        Returns
        -------
        int array
            Numbers of items; :data:`NOT_FOUND` where a version of an older schema does not tell.

        """
        query = select(exemplars.c.item_id).where(exemplars.c.model_id == version).order_by(exemplars.c.row)
        with self._database.reading() as connection:
            stored = connection.scalars(query).all()
            if not stored:
                return self._by_features(connection, version, memory)
        return np.array([NOT_FOUND if item is None else item for item in stored], dtype=np.int64)

    def _by_features(self, connection: Connection, version: int, memory: ExemplarMemory) -> np.ndarray:
        """Return the item of each exemplar of a version that was made before items were stored with exemplars.

        An exemplar was a training item of its version or of an ancestor, so its item is the one with the same label and
        features. A vector that was computed again since may differ in the last digit; then the item is not found.
        """
        own = training_labels.c.model_id.in_(versions.lineage(connection, version))
        learnt = connection.execute(select(training_labels.c.item_id, training_labels.c.label).where(own)).all()
        X = self._vectors.read(connection, [row.item_id for row in learnt], version)
        items: defaultdict[tuple[str, bytes], list[int]] = defaultdict(list)
        for row, features in zip(reversed(learnt), X[::-1], strict=True):
            items[row.label, features.tobytes()].append(row.item_id)
        rows = zip(map(str, memory.y), memory.X.astype(np.float32), strict=True)
        same = (items[label, features.tobytes()] for label, features in rows)
        return np.array([found.pop() if found else NOT_FOUND for found in same], dtype=np.int64)

    def _of_version(self) -> _OfVersion:
        version, recognizer = self._recognizers.in_use()
        known = self._known
        if known is None or known.version != version:
            memory, classes = recognizer.memory_, recognizer.classes_.tolist()
            items = self.of_memory(version, memory)
            found = items != NOT_FOUND
            known = _OfVersion(version, items[found], unit_rows(memory.X)[found], memory.y[found], classes)
            self._known = known
        return known


def store_exemplars(connection: Connection, version: int, items: np.ndarray) -> None:
    """Store the item of each row of the memory of a new version."""
    rows = [
        {"model_id": version, "row": row, "item_id": None if item == NOT_FOUND else item}
        for row, item in enumerate(items.tolist())
    ]
    for part in in_parts(rows):
        connection.execute(insert(exemplars), part)
