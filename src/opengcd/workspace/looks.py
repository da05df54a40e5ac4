"""What looks alike: neighbours, a map of what is under review, exemplars."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sqlalchemy import Connection, func, select

from opengcd._internal.unit_length import unit_rows
from opengcd.workspace import log
from opengcd.workspace import versions as models
from opengcd.workspace.database import in_parts
from opengcd.workspace.projection import MOST_DRAWN, drawing, plane, read_drawing, write_drawing
from opengcd.workspace.schema import assignments, groups, lessons
from opengcd.workspace.views import Views

MORE = 100, 2000
"""How many items more than wanted are looked up at first, and then, to find out which are under review or learnt."""


class Neighbour(NamedTuple):
    """An item that looks like another one."""

    id: int
    distance: float
    """1 − cosine."""
    group: int | None
    label: str


class Map(NamedTuple):
    """All items under review on a plane; what looks alike lies close together."""

    items: list[int]
    places: np.ndarray
    """(n, 2), between 0 and 1."""
    groups: list[int]
    drawn: bool
    """Whether this is as good as it gets; if not, :meth:`Workspace.draw_map` makes it better."""


class Looks(Views):
    """Views that need the features of items."""

    def neighbours(self, item: int, limit: int = 24) -> list[Neighbour]:
        """Return the items under review, and learnt ones, that look most like an item."""
        self.content(item)  # refuses what is none
        with self._database.reading() as connection:
            ids, gaps = self._open.unit_vectors.distances(connection, self._features(connection), item)
            ids, gaps = ids[ids != item], gaps[ids != item]
            # Most items that look alike are under review or learnt; only if they are not, more have to be looked up.
            for number in (*(limit + more for more in MORE), len(ids)):
                rows = _smallest(gaps, number)
                places = _places(connection, ids[rows].tolist())
                if len(places) >= limit:
                    break
        distances = dict(zip(ids[rows].tolist(), gaps[rows].tolist(), strict=True))
        return [Neighbour(id, max(distances[id], 0.0), *place) for id, place in islice(places.items(), limit)]

    def exemplars(self) -> dict[str, list[int]]:
        """Return the items in the memory of the version in use, by class, the most important first."""
        _, recognizer = self._load_recognizer()
        return {
            label: [item for item in np.array(self._exemplar_items())[recognizer.memory_.y == label].tolist() if item]
            for label in recognizer.classes_.tolist()
        }

    def nearest_exemplars(self, X: np.ndarray, limit: int = 5) -> list[list[int]]:
        """Return the items in the memory that look most like each row of features."""
        items, M = np.array(self._exemplar_items()), unit_rows(self._load_recognizer()[1].memory_.X)
        items, M = items[items > 0], M[items > 0]
        order = np.argsort(-(unit_rows(X) @ M.T), axis=1, kind="stable")[:, :limit]
        return items[order].tolist()

    def exemplars_near(self, items: Sequence[int], limit: int = 5) -> list[list[int]]:
        """Return the items in the memory that look most like each of some items."""
        return self.nearest_exemplars(self._all_vectors(items), limit)

    def _exemplar_items(self) -> list[int]:
        """The item of each row of the memory, found by its features; 0 for one that is none."""
        version, recognizer = self._load_recognizer()
        if self._open.exemplars is None or self._open.exemplars[0] != version:
            with self._database.reading() as connection:
                taught = [row.item_id for row in connection.execute(models.learnt(connection))]
                X = self._vectors(connection, taught)
            of_row = {row.tobytes(): item for row, item in zip(X, taught, strict=True)}
            rows = recognizer.memory_.X.astype(np.float32)
            self._open.exemplars = version, [of_row.get(row.tobytes(), 0) for row in rows]
        return self._open.exemplars[1]

    def map(self) -> Map:
        """Return where the items under review lie: as :meth:`draw_map` drew them, or on a plain plane."""
        homes, file = self._to_map()
        places = read_drawing(file)
        drawn = places.keys() >= homes.keys()
        found = np.array([places[item] for item in homes]) if drawn else plane(self._in_metric(list(homes)))
        return Map(list(homes), found.reshape(-1, 2), list(homes.values()), drawn or len(homes) > MOST_DRAWN)

    def draw_map(self) -> None:
        """Draw the items under review so that what looks alike lies together; it takes a second for 500 of them."""
        homes, file = self._to_map()
        if len(homes) <= MOST_DRAWN and not self.read_only:
            write_drawing(file, np.array(list(homes)), drawing(self._in_metric(list(homes))))

    def _to_map(self) -> tuple[dict[int, int], Path]:
        """The items under review with their groups, and the file of their drawing, one for each discovery."""
        with self._database.reading() as connection:
            homes = _homes(connection)
            version = self._version(connection)
            name = f"{version:04d}-{log.last_discovery_id(connection):06d}.f64"
        return homes, self.path / "maps" / name

    def _in_metric(self, items: list[int]) -> np.ndarray:
        """Features of items where groups have their centres; those asked for last are remembered."""
        version, recognizer = self._load_recognizer()
        known = self._open.in_metric
        if known is None or known[0] != version or not known[1].keys() >= set(items):
            Z = recognizer.in_metric(self._all_vectors(items)) if items else np.empty((0, 2), np.float32)
            known = self._open.in_metric = version, {item: row for row, item in enumerate(items)}, Z
        return known[2][[known[1][item] for item in items]]


def _homes(connection: Connection) -> dict[int, int]:
    """All items under review, with their groups."""
    query = select(assignments.c.item_id, assignments.c.group_id)
    query = query.where(models.not_learnt(connection, assignments.c.item_id))
    return {row.item_id: row.group_id for row in connection.execute(query.order_by(assignments.c.item_id))}


def _smallest(values: np.ndarray, n: int) -> np.ndarray:
    """The positions of the ``n`` smallest values and of those equal to the last of them, in ascending order."""
    rows = np.arange(len(values)) if n >= len(values) else np.flatnonzero(values <= np.partition(values, n - 1)[n - 1])
    return rows[np.argsort(values[rows], kind="stable")]


def _places(connection: Connection, ids: Sequence[int]) -> dict[int, tuple[int | None, str]]:
    """The group of each item under review and its label, or the class of an item that is learnt; no others."""
    found: dict[int, tuple[int | None, str]] = {}
    for part in in_parts(ids):
        homes = select(assignments.c.item_id, groups.c.id, func.coalesce(groups.c.name, groups.c.label))
        query = homes.join(groups, groups.c.id == assignments.c.group_id).where(assignments.c.item_id.in_(part))
        found.update({item: (group, label) for item, group, label in connection.execute(query)})
        taught = connection.execute(models.learnt(connection).where(lessons.c.item_id.in_(part)))
        found.update({row.item_id: (None, row.label) for row in taught})
    return {id: found[id] for id in ids if id in found}
