"""What a person looks at during a review: groups and items, how the versions fared, how images are rejected."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import Column, ColumnElement, Connection, func, select

from opengcd.workspace import groups as review
from opengcd.workspace import log
from opengcd.workspace import versions as models
from opengcd.workspace.edits import Review
from opengcd.workspace.errors import MissingError
from opengcd.workspace.files import readable
from opengcd.workspace.groups import GroupSize
from opengcd.workspace.labels import Labelled, labelled_items
from opengcd.workspace.predictions import Prediction, observed_scores, predicted
from opengcd.workspace.schema import assignments, items, lessons, predictions
from opengcd.workspace.tallies import Tally
from opengcd.workspace.thumbnails import whole_picture

LIMITS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3)
"""Shares of known images that a person may be willing to look at."""


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


class Card(NamedTuple):
    """What is shown of a group before it is opened."""

    group: GroupSize
    typical: list[int]
    """Its most typical items."""
    suggestion: str | None
    """The known class that it looks like, as :meth:`Views.suggestions` says."""


class Overview(NamedTuple):
    """All groups under review."""

    edit: int
    """The last edit that they show."""
    cards: list[Card]


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


class UndoState(NamedTuple):
    """What can be undone and redone, as of an edit."""

    edit: int
    undo: log.Entry | None
    redo: log.Entry | None


class Phase(NamedTuple):
    """A version of the recogniser, and how it fared."""

    version: models.Version
    learnt: int
    """Images that it was the first to learn."""
    asked: int
    """Images of the stream that it was asked about."""
    rejected: int


class Views(Review):
    """What there is to look at."""

    def last_edit(self) -> int:
        """Return the number of the last edit."""
        with self._database.reading() as connection:
            return log.last_edit(connection)

    def knows_classes(self) -> bool:
        """Return whether there is a version of the recogniser to ask."""
        with self._database.reading() as connection:
            return models.in_use(connection) is not None

    def undo_state(self) -> UndoState:
        """Return what :meth:`undo` and :meth:`redo` would do, and the edit that they need to be based on."""
        with self._database.reading() as connection:
            return UndoState(log.last_edit(connection), log.to_undo(connection), log.to_redo(connection))

    def can_undo(self) -> log.Entry | None:
        """Return what :meth:`undo` would take back."""
        return self.undo_state().undo

    def can_redo(self) -> log.Entry | None:
        """Return what :meth:`redo` would do again."""
        return self.undo_state().redo

    def suggestions(self) -> dict[int, str]:
        """Return the known class that a novel group looks like, where recognition gave most of its items that class."""
        return {card.group.id: card.suggestion for card in self.overview().cards if card.suggestion is not None}

    def overview(self) -> Overview:
        """Return the groups under review without their items, in the order of :meth:`groups`."""
        with self._database.reading() as connection:
            tallies = self._open.tallies.of_groups(connection)
            groups = review.group_sizes(connection, {id: tally.size for id, tally in tallies.items()})
            cards = [Card(group, tallies[group.id].typical, _suggestion(group, tallies[group.id])) for group in groups]
            return Overview(log.last_edit(connection), cards)

    def members(self, group: int, offset: int = 0, limit: int | None = None, *, odd: bool = False) -> Page:
        """Return items of a group, the most typical first, or with ``odd`` the least typical."""
        with self._database.reading() as connection:
            review.refuse_missing(connection, group)
            there = review.in_group(connection, group)
            total = connection.scalar(select(func.count()).select_from(assignments).where(there)) or 0
            order = [column.desc() for column in review.TYPICAL_FIRST] if odd else review.TYPICAL_FIRST
            query = select(assignments.c.item_id, assignments.c.probability).where(there).order_by(*order)
            rows = connection.execute(query.offset(offset).limit(total if limit is None else limit)).all()
            chosen = [row.item_id for row in rows]
            said = predicted(connection, chosen)
            edit = log.last_edit(connection)
        files = self._paths(chosen)
        return Page(edit, total, [Member(id, _name(files.get(id)), sure, said.get(id)) for id, sure in rows])

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
            tallies = self._open.tallies.of_groups(connection)
            counts: Counter[str] = Counter()
            for group in review.group_sizes(connection, {id: tally.size for id, tally in tallies.items()}):
                counts[group.label] += review.count_to_learn(group, tallies[group.id].by_person)
            return +counts

    def learnt(self) -> Counter[str]:
        """Return how many images of each class the version in use has learnt."""
        with self._database.reading() as connection:
            return Counter(row.label for row in connection.execute(models.learnt(connection)))

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


def _count_by(connection: Connection, column: Column[int], *conditions: ColumnElement[bool]) -> Counter[int]:
    rows = connection.execute(select(column, func.count()).where(*conditions).group_by(column))
    return Counter({row[0]: row[1] for row in rows})


def _suggestion(group: GroupSize, tally: Tally) -> str | None:
    if group.kind != review.NOVEL:
        return None
    return next((label for label, n in tally.said.items() if label is not None and 2 * n > tally.size), None)


def _name(files: Sequence[str] | None) -> str:
    return readable(os.path.basename(files[0])) if files else ""
