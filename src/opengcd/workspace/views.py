"""Views of the workspace: status, groups, items and phases."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from sqlalchemy import Column, ColumnElement, Connection, func, select

from opengcd._internal.images import CameraNotes
from opengcd.workspace import class_names, comments, corrections, groups, log, people, versions, without_crop
from opengcd.workspace.agreement import Agreement, agreement
from opengcd.workspace.cards import card
from opengcd.workspace.counts import Counts, GroupCount
from opengcd.workspace.crops import Crops, Origin
from opengcd.workspace.embedders import embedder_of
from opengcd.workspace.errors import MissingError
from opengcd.workspace.files import content_hash, readable
from opengcd.workspace.groups import GroupSize
from opengcd.workspace.items import FileState, file_states, hash_of, paths_of
from opengcd.workspace.labels import Labelled, count_by_source, labelled_items
from opengcd.workspace.next_step import NextStep, adaptation_interrupted, next_step
from opengcd.workspace.predictions import Prediction, predicted
from opengcd.workspace.revision import revision
from opengcd.workspace.schema import assignments, failures, items, predictions, training_labels
from opengcd.workspace.stacks import copies_in_groups, follows_a_copy
from opengcd.workspace.store import Store
from opengcd.workspace.thumbnails import camera_notes, media_type, thumbnail, thumbnail_file, whole_picture
from opengcd.workspace.versions import Version
from opengcd.workspace.videos import Frames, VideoFrame


class Status(NamedTuple):
    """The status of a workspace."""

    embedder: str
    version: Version | None
    """The version of the recogniser in use; None before the known classes are learnt."""
    versions: int
    counts: dict[str, int]
    """Number of items by the source of their label; see :data:`opengcd.workspace.SOURCES`."""
    groups: list[GroupSize]
    discovered: dict[str, Any]
    """The details of the last discovery by this version, from the history; empty if there was none."""
    failures: int
    network: str | None = None
    """The folder of the adapted network in use; None while the original embedder is in use."""
    without_crop: Mapping[str, int] = MappingProxyType({})
    """Number of whole images in which a detector has found nothing to cut out, by label, such as ``"empty"``."""


class Member(NamedTuple):
    """An item of a group, with its prediction."""

    id: int
    name: str
    """Of one of its files, without the folder."""
    probability: float | None
    """Probability to belong to the group, by discovery."""
    prediction: Prediction | None
    stack: int | None = None
    """The number of its stack of near copies; None if no other image of a stack is in the group."""
    copies: int = 1
    """Images of the stack in the group, this one included."""


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
    """The known class that it looks like, see :meth:`Views.suggestions`."""
    comments: int
    """How many comments it has."""


class Overview(NamedTuple):
    """All groups under review."""

    edit: int
    """The last edit that they show."""
    cards: list[Card]


class Item(NamedTuple):
    """All facts about an item."""

    labelled: Labelled
    group: int | None
    stack: int | None = None
    """The number of its stack of near copies; None if no other image of a stack is in the group."""
    copies: int = 1
    """Images of the stack in the group, this one included."""


class Score(NamedTuple):
    """Why an item was recognised or rejected."""

    score: float | None
    """The unknown score: the higher, the less the item looks like any known class; None if it was not recognised."""
    threshold: float | None
    """An item with a higher score is rejected; None if the recogniser has no threshold. It follows the stream."""
    rejected: bool | None
    """Whether the item was rejected, by the threshold of that time; None if it was not recognised."""


class Phase(NamedTuple):
    """A version of the recogniser, with what it learnt and how much it rejected."""

    version: Version
    learnt: int
    """Images that it was the first to learn."""
    asked: int
    """Images of the stream that it has recognised."""
    rejected: int


class Views:
    """Views of a workspace; nothing here changes it, except that thumbnails are kept."""

    def __init__(self, store: Store) -> None:
        self.counts = Counts()
        """Sizes of groups, counted again only where something has changed."""
        self._store = store
        self._database = store.database

    def status(self) -> Status:
        """Return the status of the workspace."""
        with self._database.reading() as connection:
            found = versions.all_versions(connection)
            current = next((version for version in found if version.in_use), None)
            embedder = embedder_of(connection)
            return Status(
                self._store.settings.embedder,
                current,
                len(found),
                count_by_source(connection, self.counts),
                self._group_sizes(connection),
                {} if current is None else log.last_discovery(connection, current.id),
                connection.scalar(select(func.count()).select_from(failures)) or 0,
                None if embedder is None or embedder.digest is None else embedder.name,
                without_crop.count(connection),
            )

    def next_step(self) -> NextStep:
        """Return what to do next."""
        with self._database.reading() as connection:
            if versions.in_use(connection) is None:
                return NextStep("init")
            sizes = self._group_sizes(connection)
            return next_step(
                count_by_source(connection, self.counts),
                sizes,
                self._learnable(connection, sizes).total() + len(corrections.pending(connection)),
                read_only=self._database.read_only,
                interrupted=adaptation_interrupted(connection, self._store.path),
            )

    def revision(self) -> int:
        """Return a number that grows whenever images or predictions are added, by any process."""
        with self._database.reading() as connection:
            return revision(connection)

    def failures(self) -> list[tuple[str, str]]:
        """Return the files that could not be used, with reasons."""
        with self._database.reading() as connection:
            rows = connection.execute(select(failures.c.path, failures.c.reason).order_by(failures.c.path))
            return [(path, reason) for path, reason in rows]

    def labels(self) -> list[Labelled]:
        """Return every item with its label and the source of the label."""
        with self._database.reading() as connection:
            return labelled_items(connection)

    def suggestions(self) -> dict[int, str]:
        """Return the known class that a novel group looks like, where recognition gave most of its items that class."""
        return {card.group.id: card.suggestion for card in self.overview().cards if card.suggestion is not None}

    def overview(self) -> Overview:
        """Return the groups under review without their items, in the order of the review."""
        with self._database.reading() as connection:
            counts = self.counts.of_groups(connection)
            found = self._group_sizes(connection)
            names, commented = class_names.read(connection), comments.counts(connection)
            cards = [
                Card(
                    group,
                    counts[group.id].typical,
                    _suggestion(group, counts[group.id], names),
                    commented.get(group.id, 0),
                )
                for group in found
            ]
            return Overview(log.last_edit(connection), cards)

    def comments(self, group: int) -> list[comments.Comment]:
        """Return the comments on a group, the oldest first.

        Parameters
        ----------
        group : int
            The number of the group.

        Returns
        -------
        list of Comment

        Raises
        ------
        MissingError
            If there is no such group.

        """
        with self._database.reading() as connection:
            groups.refuse_missing(connection, group)
            return comments.of_group(connection, group)

    def people(self) -> list[str]:
        """Return the names of all people who have a token, are in the history, or are to review a group."""
        with self._database.reading() as connection:
            return people.people(connection)

    def agreement(self) -> list[Agreement]:
        """Return how often each two people gave the same images the same name."""
        with self._database.reading() as connection:
            return agreement(connection)

    def members(
        self, group: int, offset: int = 0, limit: int | None = None, *, odd: bool = False, stacked: bool = False
    ) -> Page:
        """Return items of a group.

        Parameters
        ----------
        group : int
            The number of the group.
        offset : int
            How many to skip.
        limit : int or None
            Largest number of items; None for all.
        odd : bool
            Whether the least typical come first, not the most typical.
        stacked : bool
            Whether a stack of near copies is one item, its most typical image.

        Returns
        -------
        Page

        Raises
        ------
        MissingError
            If there is no such group.

        """
        with self._database.reading() as connection:
            groups.refuse_missing(connection, group)
            there = groups.in_group(connection, group)
            if stacked:
                there &= ~follows_a_copy()
            total = connection.scalar(select(func.count()).select_from(assignments).where(there)) or 0
            order = [column.desc() for column in groups.TYPICAL_FIRST] if odd else groups.TYPICAL_FIRST
            query = select(assignments.c.item_id, assignments.c.probability).where(there).order_by(*order)
            rows = connection.execute(query.offset(offset).limit(total if limit is None else limit)).all()
            chosen = [row.item_id for row in rows]
            by_item = predicted(connection, chosen)
            edit = log.last_edit(connection)
            files = paths_of(connection, chosen)
            copies = copies_in_groups(connection, chosen)
        members = [
            Member(id, _name(files.get(id)), probability, by_item.get(id), *copies.get(id, ()))
            for id, probability in rows
        ]
        return Page(edit, total, members)

    def item(self, id: int) -> Item:
        """Return all facts about an item.

        Parameters
        ----------
        id : int
            Its number.

        Returns
        -------
        Item

        Raises
        ------
        MissingError
            If there is no such item.

        """
        with self._database.reading() as connection:
            found = labelled_items(connection, id)
            if not found:
                raise MissingError(f"There is no item {id}.")
            group = connection.scalar(select(assignments.c.group_id).where(assignments.c.item_id == id))
            if group is None or corrections.learnt_labels(connection, [id]):
                return Item(found[0], None)
            return Item(found[0], group, *copies_in_groups(connection, [id]).get(id, ()))

    def content(self, item: int) -> str:
        """Return the hash of an item's content.

        Parameters
        ----------
        item : int
            The number of the item.

        Returns
        -------
        str
            SHA-256 in hexadecimal digits.

        Raises
        ------
        MissingError
            If there is no such item.

        """
        with self._database.reading() as connection:
            return hash_of(connection, item)

    def paths(self, item: int) -> list[str]:
        """Return the files of an item.

        Parameters
        ----------
        item : int
            The number of the item.

        Returns
        -------
        list of str
            Empty if there is no such item.

        """
        with self._database.reading() as connection:
            return paths_of(connection, [item]).get(item, [])

    def files(self, item: int) -> list[FileState]:
        """Return the files of an item, and whether each is still there and has the item's content.

        Parameters
        ----------
        item : int
            The number of the item.

        Returns
        -------
        list of FileState

        Raises
        ------
        MissingError
            If there is no such item.

        """
        with self._database.reading() as connection:
            return file_states(connection, item)

    def camera(self, item: int) -> CameraNotes:
        """Return what the camera wrote down about an image, its EXIF data.

        Parameters
        ----------
        item : int
            The number of the item.

        Returns
        -------
        CameraNotes

        Raises
        ------
        MissingError
            If there is no such item, or none of its files can be read.

        """
        return camera_notes(self.content(item), self.paths(item))

    def score(self, item: int) -> Score:
        """Return why an item was recognised or rejected: its unknown score, and the threshold that is in use now.

        Parameters
        ----------
        item : int
            The number of the item.

        Returns
        -------
        Score

        """
        with self._database.reading() as connection:
            chosen = predictions.c.model_id == versions.in_use(connection), predictions.c.item_id == item
            row = connection.execute(select(predictions.c.score, predictions.c.label).where(*chosen)).one_or_none()
            current = next((one for one in versions.all_versions(connection) if one.in_use), None)
        threshold = None if current is None or current.threshold is None else float(current.threshold["value"])
        return Score(None if row is None else row.score, threshold, None if row is None else row.label is None)

    def find(self, path: str | os.PathLike[str]) -> int | None:
        """Return the number of the item with the content of a file.

        Parameters
        ----------
        path : path
            Of the file.

        Returns
        -------
        int or None
            The number of the item; None if it has not been seen, not even under another name.

        """
        with self._database.reading() as connection:
            return connection.scalar(select(items.c.id).where(items.c.hash == content_hash(path)))

    def image(self, item: int) -> tuple[bytes, str]:
        """Return an image as browsers can show it.

        Parameters
        ----------
        item : int
            The number of the item.

        Returns
        -------
        content : bytes
        media_type : str
            As ``"image/png"``.

        Raises
        ------
        MissingError
            If there is no such item, or none of its files can be read.

        """
        if self._store.settings.takes_vectors:
            small = self.thumbnail(item)
            return small, media_type(small)
        return whole_picture(self.content(item), self.paths(item))

    def origin(self, item: int) -> Origin | None:
        """Return where a crop is from.

        Parameters
        ----------
        item : int
            The number of the item.

        Returns
        -------
        Origin or None
            None for an image that is not a crop.

        """
        return self.origin_of(self.paths(item))

    def origin_of(self, paths: Sequence[str]) -> Origin | None:
        """Return where a crop is from, by the files of its item.

        Parameters
        ----------
        paths : sequence of str

        Returns
        -------
        Origin or None
            None for an image that is not a crop.

        """
        return Crops(self._store).origin(paths)

    def video_of(self, paths: Sequence[str]) -> VideoFrame | None:
        """Return which frame of a video an image is, by the files of its item.

        Parameters
        ----------
        paths : sequence of str

        Returns
        -------
        VideoFrame or None
            None for an image that is not a frame.

        """
        return Frames(self._store.path).of(paths)

    def origin_image(self, item: int) -> tuple[bytes, str]:
        """Return the whole image that a crop is from, as browsers can show it.

        Parameters
        ----------
        item : int
            The number of the item.

        Returns
        -------
        content : bytes
        media_type : str
            As ``"image/png"``.

        Raises
        ------
        MissingError
            If the item is not a crop, or the whole image has gone or changed.

        """
        origin = self.origin(item)
        if origin is None:
            raise MissingError(f"The item {item} is not a crop of another image.")
        return whole_picture(origin.hash, [origin.path])

    def thumbnail(self, item: int) -> bytes:
        """Return a small picture of an item.

        Parameters
        ----------
        item : int
            The number of the item.

        Returns
        -------
        bytes
            A JPEG file, at most 256 pixels wide and high; an SVG file with its name for a vector without a picture.

        Raises
        ------
        MissingError
            If there is no such item, or none of its files can be read.

        """
        folder, content, files = self._store.path / "thumbnails", self.content(item), self.paths(item)
        if self._store.settings.takes_vectors and not thumbnail_file(folder, content).exists():
            return card(_name(files) or content[:12])
        return thumbnail(folder, content, files)

    def learnable(self) -> Counter[str]:
        """Return how many images of each class learn would take that it has not learnt before."""
        with self._database.reading() as connection:
            return self._learnable(connection, self._group_sizes(connection))

    def corrected(self) -> Counter[str | None]:
        """Return how many learnt images learn would learn again under each label; None: it would forget them."""
        with self._database.reading() as connection:
            return Counter(corrections.pending(connection).values())

    def learnt(self) -> Counter[str]:
        """Return how many images of each class the version in use has learnt, by their present labels."""
        with self._database.reading() as connection:
            return Counter(corrections.labels(connection).values())

    def phases(self) -> list[Phase]:
        """Return all versions with the numbers of images that they have seen, the oldest first."""
        with self._database.reading() as connection:
            learnt = _count_by(connection, training_labels.c.model_id)
            asked = _count_by(connection, predictions.c.model_id)
            rejected = _count_by(connection, predictions.c.model_id, predictions.c.label.is_(None))
            return [
                Phase(version, learnt[version.id], asked[version.id], rejected[version.id])
                for version in versions.all_versions(connection)
            ]

    def _learnable(self, connection: Connection, sizes: Sequence[GroupSize]) -> Counter[str]:
        """Return how many images of each class learn would take."""
        counts = self.counts.of_groups(connection)
        found: Counter[str] = Counter()
        for group in sizes:
            found[group.label] += groups.count_to_learn(group, counts[group.id].by_person)
        return +found

    def _group_sizes(self, connection: Connection) -> list[GroupSize]:
        """Return the groups under review without their items, in the order of the review."""
        counts = self.counts.of_groups(connection)
        return groups.group_sizes(connection, {id: count.size for id, count in counts.items()})


def _count_by(connection: Connection, column: Column[int], *conditions: ColumnElement[bool]) -> Counter[int]:
    rows = connection.execute(select(column, func.count()).where(*conditions).group_by(column))
    return Counter({row[0]: row[1] for row in rows})


def _suggestion(group: GroupSize, count: GroupCount, names: Mapping[str, str]) -> str | None:
    if group.kind != groups.NOVEL:
        return None
    found = (label for label, n in count.predicted.items() if label is not None and 2 * n > count.size)
    return next((names.get(label, label) for label in found), None)


def _name(files: Sequence[str] | None) -> str:
    return readable(os.path.basename(files[0])) if files else ""
