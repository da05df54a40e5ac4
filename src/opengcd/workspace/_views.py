"""What a person looks at during a review: items one by one, their neighbours, a map, what the classes look like."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Column, ColumnElement, Connection, func, select

from opengcd.workspace import _log as log
from opengcd.workspace import _models as models
from opengcd.workspace import _review as review
from opengcd.workspace._edits import Review
from opengcd.workspace._errors import MissingError
from opengcd.workspace._files import readable
from opengcd.workspace._labels import Labelled, labelled_items
from opengcd.workspace._map import MOST_DRAWN, drawing, plane, read_drawing, write_drawing
from opengcd.workspace._recognition import Prediction, observed_scores, predicted
from opengcd.workspace._schema import assignments, items, lessons, predictions
from opengcd.workspace._thumbnails import whole_picture

LIMITS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3)
"""Shares of known images that a person may be willing to look at."""
LOOKS_LIKE = 0.75
"""On real birds, images that discovery put back into a class lie at 0.65 to 0.85, and new classes above 0.8."""


class Member(NamedTuple):
    """An item of a group, and what is said of it."""

    id: int
    name: str
    """Of one of its files, without the folder."""
    probability: float | None
    """How likely it belongs to the group, by discovery."""
    prediction: Prediction | None


class Page(NamedTuple):
    """Some items of a group."""

    edit: int
    """The last edit that they show."""
    total: int
    items: list[Member]


class Item(NamedTuple):
    """What is known of an item."""

    labelled: Labelled
    group: int | None


class Choice(NamedTuple):
    """A limit on rejection, and what it would do."""

    max_known_rejected: float | None
    """None: the threshold follows the stream."""
    rejected_known: float
    """Share of known images that it rejects, measured on held-out ones."""
    rejected_stream: int
    """Images of the stream so far that it would reject."""


class Rejection(NamedTuple):
    """How images are rejected, and how they could be."""

    max_known_rejected: float | None
    threshold: dict[str, Any] | None
    seen: int
    """Images of the stream so far."""
    choices: list[Choice]
    """Empty where the preset has no threshold."""


class Phase(NamedTuple):
    """A version of the recogniser, and how it fared."""

    version: models.Version
    learnt: int
    """Images that it was the first to learn."""
    asked: int
    """Images of the stream that it was asked about."""
    rejected: int


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


class Views(Review):
    """What there is to look at."""

    def last_edit(self) -> int:
        """Return the number of the last edit."""
        with self._database.reading() as connection:
            return log.last_edit(connection)

    def can_undo(self) -> log.Entry | None:
        """Return what :meth:`undo` would take back."""
        with self._database.reading() as connection:
            return log.to_undo(connection)

    def can_redo(self) -> log.Entry | None:
        """Return what :meth:`redo` would do again."""
        with self._database.reading() as connection:
            return log.to_redo(connection)

    def members(self, group: int, offset: int = 0, limit: int | None = None, *, odd: bool = False) -> Page:
        """Return items of a group, the most typical first, or with ``odd`` the least typical."""
        with self._database.reading() as connection:
            ids = review.members(connection, group)
            total = len(ids)
            chosen = (ids[::-1] if odd else ids)[offset:][:limit]
            said = predicted(connection, chosen)
            query = select(assignments.c.item_id, assignments.c.probability).where(assignments.c.group_id == group)
            sure = {row.item_id: row.probability for row in connection.execute(query)}
            edit = log.last_edit(connection)
        files = self._paths(chosen)
        return Page(edit, total, [Member(id, _name(files.get(id)), sure[id], said.get(id)) for id in chosen])

    def item(self, id: int) -> Item:
        """Return what is known of an item."""
        with self._database.reading() as connection:
            found = labelled_items(connection, id)
            if not found:
                raise MissingError(f"There is no item {id}.")
            group = connection.scalar(select(assignments.c.group_id).where(assignments.c.item_id == id))
            return Item(found[0], None if found[0].source == "learnt" else group)

    def content(self, item: int) -> str:
        """Return the hash of an item's content."""
        with self._database.reading() as connection:
            found = connection.scalar(select(items.c.hash).where(items.c.id == item))
        if found is None:
            raise MissingError(f"There is no item {item}.")
        return found

    def image(self, item: int) -> tuple[bytes, str]:
        """Return an image as browsers can show it, and its media type."""
        return whole_picture(self.content(item), self._paths([item]).get(item, []))

    def edits_since(self, id: int, limit: int) -> list[tuple[log.Entry, list[int]]]:
        """Return edits after one, the oldest first, with the groups that look different since."""
        with self._database.reading() as connection:
            return log.edits_since(connection, id, limit)

    def learnable(self) -> Counter[str]:
        """Return how many images of each class :meth:`learn` would take."""
        with self._database.reading() as connection:
            return Counter(review.to_learn(connection).values())

    def learnt(self) -> Counter[str]:
        """Return how many images of each class the version in use has learnt."""
        with self._database.reading() as connection:
            return Counter(row.label for row in connection.execute(models.learnt(connection)))

    def neighbours(self, item: int, limit: int = 24) -> list[Neighbour]:
        """Return the items under review, and learnt ones, that look most like an item."""
        self.content(item)  # refuses what is none
        with self._database.reading() as connection:
            taught = {row.item_id: row.label for row in connection.execute(models.learnt(connection))}
            homes = {row.item_id: row.group_id for row in connection.execute(select(assignments))}
            ids = np.array(sorted({*taught, *homes} - {item}), dtype=np.int64)
            X = _unit(self._vectors(connection, [item, *ids.tolist()]))
            gaps = 1 - X[1:] @ X[0]
            nearest = np.argsort(gaps, kind="stable")[:limit]
            labels = {group.id: group.label for group in review.group_sizes(connection)}
        found = []
        for id, gap in zip(ids[nearest].tolist(), gaps[nearest].tolist(), strict=True):
            group = None if id in taught else homes[id]
            found.append(Neighbour(id, max(gap, 0.0), group, taught[id] if group is None else labels.get(group, "")))
        return found

    def phases(self) -> list[Phase]:
        """Return all versions with what they have seen, the oldest first."""
        with self._database.reading() as connection:
            taught = _count_by(connection, lessons.c.model_id)
            asked = _count_by(connection, predictions.c.model_id)
            rejected = _count_by(connection, predictions.c.model_id, predictions.c.label.is_(None))
            return [
                Phase(version, taught[version.id], asked[version.id], rejected[version.id])
                for version in models.versions(connection)
            ]

    def rejection(self) -> Rejection:
        """Return how images are rejected, and what other limits would do with the stream so far."""
        _, recognizer = self._load_recognizer()
        with self._database.reading() as connection:
            scores = observed_scores(connection)
        if recognizer.threshold_ is None:
            return Rejection(None, None, len(scores), [])
        limit = recognizer.max_known_rejected
        choices = []
        shares = sorted({*LIMITS, *([] if limit is None else [limit])})
        for share in (*shares, None):
            threshold = recognizer.threshold_for(share, scores)
            choices.append(Choice(share, threshold.known_rejected, int((scores > threshold.value).sum())))
        return Rejection(limit, recognizer.threshold_for(limit, scores)._asdict(), len(scores), choices)

    def exemplars(self) -> dict[str, list[int]]:
        """Return the items in the memory of the version in use, by class, the most important first."""
        _, recognizer = self._load_recognizer()
        return {
            label: [item for item in np.array(self._exemplar_items())[recognizer.memory_.y == label].tolist() if item]
            for label in recognizer.classes_.tolist()
        }

    def nearest_exemplars(self, X: np.ndarray, limit: int = 5) -> list[list[int]]:
        """Return the items in the memory that look most like each row of features."""
        items, M = np.array(self._exemplar_items()), _unit(self._load_recognizer()[1].memory_.X)
        items, M = items[items > 0], M[items > 0]
        order = np.argsort(-(_unit(X) @ M.T), axis=1, kind="stable")[:, :limit]
        return items[order].tolist()

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
        if len(homes) <= MOST_DRAWN:
            write_drawing(file, np.array(list(homes)), drawing(self._in_metric(list(homes))))

    def _to_map(self) -> tuple[dict[int, int], Path]:
        """The items under review with their groups, and the file of their drawing, one for each discovery."""
        with self._database.reading() as connection:
            homes = _homes(connection)
            version = self._version(connection)
            name = f"{version:04d}-{log.last_discovery_id(connection):06d}.f64"
        return homes, self.path / "maps" / name

    def suggestions(self) -> dict[int, str]:
        """Return the known class that a novel group looks like, of those that look like one.

        That is so where the centre of the group is much closer to the centre of the class than any other known class
        is: at less than ``LOOKS_LIKE`` of that distance.
        """
        recognizer = self._load_recognizer()[1]
        with self._database.reading() as connection:
            homes = _homes(connection)
            novel = {group.id for group in review.group_sizes(connection) if group.kind == review.NOVEL}
        items = [item for item, group in homes.items() if group in novel]
        if not items:
            return {}
        known = recognizer.in_metric(recognizer.memory_.X)
        means = np.stack([known[recognizer.memory_.y == label].mean(0) for label in recognizer.classes_])
        apart = np.linalg.norm(means[:, None] - means, axis=2)
        np.fill_diagonal(apart, np.inf)
        Z, home = self._in_metric(items), np.array([homes[item] for item in items])
        found = {}
        for group in sorted(novel):
            gaps = np.linalg.norm(means - Z[home == group].mean(0), axis=1)
            nearest = int(gaps.argmin())
            if gaps[nearest] < LOOKS_LIKE * apart[nearest].min():
                found[group] = str(recognizer.classes_[nearest])
        return found

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
    taught = models.learnt(connection).with_only_columns(lessons.c.item_id)
    query = select(assignments.c.item_id, assignments.c.group_id).where(assignments.c.item_id.not_in(taught))
    return {row.item_id: row.group_id for row in connection.execute(query.order_by(assignments.c.item_id))}


def _count_by(connection: Connection, column: Column[int], *conditions: ColumnElement[bool]) -> Counter[int]:
    rows = connection.execute(select(column, func.count()).where(*conditions).group_by(column))
    return Counter({row[0]: row[1] for row in rows})


def _unit(X: np.ndarray) -> np.ndarray:
    return np.asarray(X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), np.finfo(np.float32).tiny))


def _name(files: Sequence[str] | None) -> str:
    return readable(os.path.basename(files[0])) if files else ""
