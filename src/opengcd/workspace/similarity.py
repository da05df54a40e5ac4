"""Similar images: the neighbours of an item, and a map of all items under review."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sqlalchemy import Connection, case, select

from opengcd.workspace import log, versions
from opengcd.workspace.database import in_parts
from opengcd.workspace.decisions import decisions
from opengcd.workspace.embedders import with_vector
from opengcd.workspace.errors import MissingError
from opengcd.workspace.groups import TYPICAL_FIRST, homes_of
from opengcd.workspace.items import hash_of
from opengcd.workspace.projection import MOST_DRAWN, drawing, plane, read_drawing, write_drawing
from opengcd.workspace.recognizers import Recognizers
from opengcd.workspace.schema import assignments
from opengcd.workspace.schema import items as items_table
from opengcd.workspace.stacks import follows_a_copy
from opengcd.workspace.store import Store
from opengcd.workspace.unit_vectors import UnitVectors
from opengcd.workspace.vectors import Vectors

MORE = 100
"""Items looked up at first beyond the number wanted: some have no label yet."""


class Neighbour(NamedTuple):
    """An item that is similar to another one."""

    id: int
    distance: float
    """1 − cosine."""
    group: int | None
    """The number of its group; None if it is in none, or learnt."""
    label: str
    """Its present label, or ``"unknown"``."""


class Similar(NamedTuple):
    """The images of a group, those first that look more like one of them than like the whole group."""

    items: list[int]
    """The image itself, then the others; of a stack of near copies only one."""
    number: int
    """How many of them look more like it than like the whole group, itself included."""


class Map(NamedTuple):
    """All items under review on a plane, similar ones close together."""

    items: list[int]
    places: np.ndarray
    """(n, 2), between 0 and 1."""
    groups: list[int]
    drawn: bool
    """Whether this is the final map; if not, :meth:`Similarity.draw_map` computes a better one."""


class _InMetric(NamedTuple):
    """Features of items in the metric of a version, where groups have their centres."""

    version: int
    row_of: dict[int, int]
    features: np.ndarray


class Similarity:
    """Views that compare the features of items."""

    def __init__(self, store: Store, vectors: Vectors, recognizers: Recognizers) -> None:
        self._store = store
        self._database = store.database
        self._vectors = vectors
        self._recognizers = recognizers
        self._unit_vectors = UnitVectors()
        self._kept: _InMetric | None = None

    def neighbours(self, item: int, limit: int = 24) -> list[Neighbour]:
        """Return the items that look most like an item, except those that the version in use has not recognised yet.

        Parameters
        ----------
        item : int
            The number of the item.
        limit : int
            Largest number of neighbours.

        Returns
        -------
        list of Neighbour
            The nearest first; none if the network in use has not embedded the item yet.

        Raises
        ------
        MissingError
            If there is no such item.

        """
        with self._database.reading() as connection:
            hash_of(connection, item)  # raises if there is no such item
            store = self._vectors.shards(connection)
            if not store.having(connection, [item]):  # it came while another network was in use
                return []
            ids, distances = self._unit_vectors.distances(connection, store, item)
            ids, distances = ids[ids != item], distances[ids != item]
            for number in (limit + MORE, len(ids)):
                rows = _smallest(distances, number)
                places = _places(connection, ids[rows].tolist())
                if len(places) >= limit:
                    break
        distance_of = dict(zip(ids[rows].tolist(), distances[rows].tolist(), strict=True))
        return [Neighbour(id, max(distance_of[id], 0.0), *place) for id, place in islice(places.items(), limit)]

    def similar(self, item: int) -> Similar:
        """Return the images of an item's group, and how many look more like it than like the whole group.

        Parameters
        ----------
        item : int
            The number of the item.

        Returns
        -------
        Similar
            The item alone, if the network in use has not embedded it yet.

        Raises
        ------
        MissingError
            If there is no such item under review.

        """
        from opengcd.discover import similar_rows

        with self._database.reading() as connection:
            home = select(assignments.c.group_id).where(assignments.c.item_id == item).scalar_subquery()
            query = select(assignments.c.item_id).where(
                assignments.c.group_id == home,
                versions.not_learnt(connection, assignments.c.item_id),
                assignments.c.item_id.in_(with_vector(connection)),
                ~follows_a_copy() | (assignments.c.item_id == item),
            )
            items = list(connection.scalars(query.order_by(*TYPICAL_FIRST)))
            if item not in items:
                if item not in homes_of(connection, [item]):
                    raise MissingError(f"There is no item {item} under review.")
                return Similar([item], 1)
        order, number = similar_rows(self._in_metric(items), items.index(item))
        return Similar([items[row] for row in order.tolist()], number)

    def map(self) -> Map:
        """Return the map of the items under review: as :meth:`draw_map` drew it, or else by principal components."""
        homes, file = self._to_map()
        places = read_drawing(file)
        drawn = places.keys() >= homes.keys()
        found = np.array([places[item] for item in homes]) if drawn else plane(self._in_metric(list(homes)))
        return Map(list(homes), found.reshape(-1, 2), list(homes.values()), drawn or len(homes) > MOST_DRAWN)

    def draw_map(self) -> None:
        """Compute a better map of the items under review by t-SNE; it takes a second for 500 of them."""
        homes, file = self._to_map()
        if len(homes) <= MOST_DRAWN and not self._database.read_only:
            write_drawing(file, np.array(list(homes)), drawing(self._in_metric(list(homes))))

    def _to_map(self) -> tuple[dict[int, int], Path]:
        """Return the items under review with their groups, and the file of their drawing, one for each discovery."""
        with self._database.reading() as connection:
            homes = _homes(connection)
            version = self._recognizers.version(connection)
            name = f"{version:04d}-{log.last_discovery_id(connection):06d}.f64"
        return homes, self._store.path / "maps" / name

    def _in_metric(self, items: list[int]) -> np.ndarray:
        """Return features of items in the metric of the version in use; those asked for last are kept."""
        version, recognizer = self._recognizers.in_use()
        kept = self._kept
        if kept is None or kept.version != version or not kept.row_of.keys() >= set(items):
            Z = recognizer.in_metric(self._vectors.of_items(items, version)) if items else np.empty((0, 2), np.float32)
            kept = self._kept = _InMetric(version, {item: row for row, item in enumerate(items)}, Z)
        return kept.features[[kept.row_of[item] for item in items]]


def _homes(connection: Connection) -> dict[int, int]:
    """Return all items under review with their groups, as far as the network in use has embedded them."""
    item = assignments.c.item_id
    query = select(item, assignments.c.group_id)
    query = query.where(versions.not_learnt(connection, item), item.in_(with_vector(connection)))
    return {row.item_id: row.group_id for row in connection.execute(query.order_by(assignments.c.item_id))}


def _smallest(values: np.ndarray, n: int) -> np.ndarray:
    """Return the positions of the ``n`` smallest values and of those equal to the last of them, in ascending order."""
    rows = np.arange(len(values)) if n >= len(values) else np.flatnonzero(values <= np.partition(values, n - 1)[n - 1])
    return rows[np.argsort(values[rows], kind="stable")]


def _places(connection: Connection, ids: Sequence[int]) -> dict[int, tuple[int | None, str]]:
    """Return the group and label of items; those that are not recognised yet are left out."""
    decided = decisions(connection)
    group = case((decided.learnt.c.item_id.is_(None), assignments.c.group_id)).label("group_id")
    found: dict[int, tuple[int | None, str]] = {}
    for part in in_parts(ids):
        query = select(items_table.c.id, group, decided.label.label("label")).select_from(decided.joined)
        rows = connection.execute(query.where(items_table.c.id.in_(part), decided.source != "waiting"))
        found.update({row.id: (row.group_id, row.label) for row in rows})
    return {id: found[id] for id in ids if id in found}
