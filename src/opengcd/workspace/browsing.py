"""All images, filtered and sorted, page by page.

A page begins after the last image of the page before it, whose place in the order is the *cursor*. So a page takes the
same time wherever it is, and images that come or go meanwhile shift no other image.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import (
    Cast,
    ColumnElement,
    Connection,
    Float,
    LargeBinary,
    Select,
    Text,
    and_,
    bindparam,
    cast,
    func,
    literal,
    or_,
    select,
    type_coerce,
)

from opengcd.workspace import log
from opengcd.workspace.database import in_parts
from opengcd.workspace.decisions import decisions
from opengcd.workspace.errors import MissingError, WorkspaceError
from opengcd.workspace.files import readable
from opengcd.workspace.items import hash_of, paths_of
from opengcd.workspace.labels import SOURCES
from opengcd.workspace.namers import Namers, NamersOf
from opengcd.workspace.schema import assignments, captures, items, paths, predictions
from opengcd.workspace.stacks import copies_in_groups
from opengcd.workspace.store import Store

SORTS = {
    "added": "the order in which the images were added",
    "name": "the name of the file",
    "date": "when the image was taken, or else when its file was last changed",
    "label": "the name of the class",
    "doubt": "how likely the label is wrong",
    "unknown": "the probability that the image is of no known class",
}
"""What images can be sorted by."""
MOST_FOLDERS = 500
"""Folders offered for the filter."""


@dataclass(frozen=True)
class Wanted:
    """Which images are wanted; what is None or empty does not restrict them.

    Parameters
    ----------
    label : str or None
        The present label: the name of a class or of a group, or ``"unknown"``.
    group : int or None
        The number of the group.
    source : collection of str
        Where the label comes from: any of :data:`opengcd.workspace.SOURCES`.
    unknown_min, unknown_max : float or None
        Smallest and largest probability that the image is of no known class.
    doubt_min, doubt_max : float or None
        Smallest and largest probability that the label is wrong.
    since, until : date or None
        First and last day on which the image was taken, or its file changed if it does not say.
    folder : str or None
        A folder in which, or below which, the file is.
    who : str or None
        The person who gave the label.
    name : str or None
        Part of the name of the file; small and capital letters of ASCII are alike.

    """

    label: str | None = None
    group: int | None = None
    source: Collection[str] = ()
    unknown_min: float | None = None
    unknown_max: float | None = None
    doubt_min: float | None = None
    doubt_max: float | None = None
    since: date | None = None
    until: date | None = None
    folder: str | None = None
    who: str | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        if strange := [one for one in self.source if one not in SOURCES]:
            raise WorkspaceError(f"There is no source {strange[0]!r}; choose from {', '.join(SOURCES)}.")


@dataclass(frozen=True)
class Order:
    """The order of images.

    Parameters
    ----------
    by : str
        One of :data:`SORTS`.
    descending : bool
        Whether the largest comes first.

    """

    by: str = "added"
    descending: bool = False

    def __post_init__(self) -> None:
        if self.by not in SORTS:
            raise WorkspaceError(f"Images cannot be sorted by {self.by!r}; choose from {', '.join(SORTS)}.")


ALL, AS_ADDED = Wanted(), Order()


class Image(NamedTuple):
    """An image with its label."""

    id: int
    name: str
    """Of one of its files, without the folder."""
    label: str
    """Its present label, or ``"unknown"``."""
    source: str
    """Where the label comes from: one of :data:`opengcd.workspace.SOURCES`."""
    group: int | None
    """The number of its group; None if it is in none, or learnt."""
    unknown: float | None
    """The probability that it is of no known class; None if the version in use has not recognised it."""
    doubt: float | None
    """How likely the label is wrong; None if it was learnt, decided by a person, or there is none yet."""
    date: datetime | None
    """When it was taken, by the camera's clock, or else when its file was last changed."""
    who: str | None
    """The person who gave the label; None if nobody did."""
    stack: int | None = None
    """The number of its stack of near copies; None if no other image of a stack is in its group."""
    copies: int = 1
    """Images of the stack in the group, this one included."""


class ImagePage(NamedTuple):
    """Some of the images that are wanted."""

    edit: int
    """The last edit that they show."""
    images: list[Image]
    next: str | None
    """The cursor of the next page; None if this is the last one."""


class Starts(NamedTuple):
    """Where the pages of a list begin."""

    edit: int
    total: int
    """Images in the list."""
    cursors: list[str]
    """The cursor of each page but the first."""


class Choices(NamedTuple):
    """What the images can be filtered by, as far as the workspace has it."""

    labels: dict[str, int]
    """Number of images of each label, sorted by label."""
    folders: dict[str, int]
    """Number of files in each folder, sorted by folder."""
    people: list[str]
    """Who has given labels."""


class Browsing:
    """Lists of images; nothing here changes the workspace."""

    def __init__(self, store: Store) -> None:
        self._database = store.database
        self._namers = NamersOf()

    def images(
        self, wanted: Wanted = ALL, order: Order = AS_ADDED, *, after: str | None = None, limit: int = 500
    ) -> ImagePage:
        """Return a page of images.

        Parameters
        ----------
        wanted : Wanted
            Which images.
        order : Order
            In which order.
        after : str or None
            The cursor of the page; None for the first one.
        limit : int
            Largest number of images.

        Returns
        -------
        ImagePage

        Raises
        ------
        MissingError
            If the cursor is not one of this order.

        """
        with self._database.reading() as connection:
            listed = _Listed(connection, wanted, order, self._namers.at(connection))
            rows = connection.execute(listed.page(after).limit(limit + 1)).all()
            found = listed.images([row.id for row in rows[:limit]])
            edit = log.last_edit(connection)
        return ImagePage(edit, found, listed.cursor(rows[limit - 1]) if len(rows) > limit else None)

    def starts(self, wanted: Wanted = ALL, order: Order = AS_ADDED, *, every: int = 500) -> Starts:
        """Return how many images a list has, and the cursors by which to enter it at each page.

        Parameters
        ----------
        wanted : Wanted
            Which images.
        order : Order
            In which order.
        every : int
            Images of a page.

        Returns
        -------
        Starts

        """
        with self._database.reading() as connection:
            listed = _Listed(connection, wanted, order, self._namers.at(connection))
            rows = connection.execute(listed.ends(every)).all()
            edit = log.last_edit(connection)
        *_, total = 0, *(row.place for row in rows)  # the last image is always among them
        return Starts(edit, total, [listed.cursor(row) for row in rows if row.place < total])

    def choices(self) -> Choices:
        """Return the labels, folders and people that images can be filtered by."""
        with self._database.reading() as connection:
            decided = decisions(connection)
            label = decided.label.label("label")
            by_label = select(label, func.count()).select_from(decided.joined).group_by(label)
            labels = {row[0]: row[1] for row in connection.execute(by_label)}
            text = _text(connection, paths.c.path)
            before = func.rtrim(func.substr(text, 1, func.length(text) - func.length(_base(text))), "/")
            folder = _ascii(connection, before).label("folder")
            by_folder = select(folder, func.count().label("n")).group_by(folder)
            rows = connection.execute(by_folder.order_by(func.count().desc(), folder).limit(MOST_FOLDERS))
            folders = {_shown(connection, row.folder): row.n for row in rows}
            people = self._namers.at(connection).people
        return Choices(dict(sorted(labels.items())), dict(sorted(folders.items())), people)

    def image(self, item: int) -> Image:
        """Return one image.

        Parameters
        ----------
        item : int
            The number of the item.

        Returns
        -------
        Image

        Raises
        ------
        MissingError
            If there is no such item.

        """
        with self._database.reading() as connection:
            hash_of(connection, item)  # raises if there is no such item
            (found,) = _Listed(connection, ALL, AS_ADDED, self._namers.at(connection)).images([item])
        return found


class _Listed:
    """The query of a list of images."""

    def __init__(self, connection: Connection, wanted: Wanted, order: Order, namers: Namers) -> None:
        self._connection = connection
        self._namers = namers
        self._order = order
        self._decided = decisions(connection)
        self._taken = select(captures.c.taken).where(captures.c.item_id == items.c.id).scalar_subquery()
        first = select(paths).where(paths.c.item_id == items.c.id).order_by(paths.c.path).limit(1)
        name = _ascii(connection, func.lower(_base(_text(connection, paths.c.path))))
        self._name = first.with_only_columns(name).scalar_subquery()
        changed = first.with_only_columns(cast(paths.c.mtime, Float) / 1e9).scalar_subquery()
        self._date: ColumnElement[Any] = func.coalesce(self._taken, changed)
        self._key = self._sorted_by()
        self._column = self._key.label("key")  # an order by its name does not compute it again
        self._conditions = list(self._wanted(wanted))
        by_files = replace(wanted, source=tuple(wanted.source), folder=None, name=None, since=None, until=None) == ALL
        # Joining all that decides on the labels takes as long as the rest, so it is left out where nobody asks for it.
        self._rows = items if by_files and order.by in ("added", "name", "date") else self._decided.joined

    def page(self, after: str | None) -> Select[Any]:
        """Select the images after a cursor, in order: no more than numbers and keys, since all rows are sorted."""
        query = self._from(select(items.c.id, self._column))
        if after is not None:
            key, id = self._place(after)
            if self._order.by == "added":
                query = query.where(items.c.id < id if self._order.descending else items.c.id > id)
            else:
                beyond = (self._key < key) if self._order.descending else (self._key > key)
                later = (items.c.id < id) if self._order.descending else (items.c.id > id)
                query = query.where(or_(beyond, and_(self._key == key, later)))
        return query.order_by(*self._directed(self._column, items.c.id))

    def ends(self, every: int) -> Select[Any]:
        """Select the last image of each page of a size, and the last of all."""
        found = self._from(select(items.c.id, self._column)).subquery()
        place = func.row_number().over(order_by=self._directed(found.c.key, found.c.id)).label("place")
        numbered = select(found, place, func.count().over().label("total")).subquery()
        last = (numbered.c.place % every == 0) | (numbered.c.place == numbered.c.total)
        return select(numbered).where(last).order_by(numbered.c.place)

    def cursor(self, row: Any) -> str:
        """Return the cursor after an image."""
        content = json.dumps([self._order.by, self._order.descending, row.key, row.id])
        return base64.urlsafe_b64encode(content.encode()).decode().rstrip("=")

    def images(self, ids: Sequence[int]) -> list[Image]:
        """Return images by their numbers."""
        connection, found = self._connection, {}
        columns = [
            items.c.id,
            self._decided.label.label("label"),
            self._decided.source.label("source"),
            self._decided.doubt.label("doubt"),
            self._decided.learnt.c.item_id.is_not(None).label("learnt"),
            self._date.label("date"),
            assignments.c.group_id,
            assignments.c.by_person,
            predictions.c.unknown,
        ]
        for part in in_parts(ids):
            query = select(*columns).select_from(self._decided.joined).where(items.c.id.in_(part))
            found.update({row.id: row for row in connection.execute(query)})
        files, copies = paths_of(connection, ids), copies_in_groups(connection, ids)
        return [self._image(found[id], files.get(id), copies.get(id, ())) for id in ids]

    def _image(self, row: Any, files: Sequence[str] | None, copies: tuple[int, int] | tuple[()]) -> Image:
        group = None if row.learnt else row.group_id
        name = readable(os.path.basename(files[0])) if files else ""
        who = self._namers.of(row.id, row.group_id, row.by_person, row.learnt)
        facts = (row.label, row.source, group, row.unknown, row.doubt, as_time(row.date), who)
        return Image(row.id, name, *facts, *(() if group is None else copies))

    def _from(self, query: Select[Any]) -> Select[Any]:
        return query.select_from(self._rows).where(*self._conditions)

    def _directed(self, key: ColumnElement[Any], id: ColumnElement[int]) -> list[ColumnElement[Any]]:
        columns = [id] if self._order.by == "added" else [key, id]
        return [column.desc() if self._order.descending else column.asc() for column in columns]

    def _sorted_by(self) -> ColumnElement[Any]:
        """Return the column that the images are sorted by; it has no NULL, so that it can be compared."""
        keys: dict[str, ColumnElement[Any]] = {
            "added": items.c.id,
            "name": func.coalesce(self._name, ""),
            "date": func.coalesce(self._date, literal(0.0)),
            "label": func.lower(self._decided.label),
            "doubt": func.coalesce(self._decided.doubt, literal(-1.0)),
            "unknown": func.coalesce(predictions.c.unknown, literal(-1.0)),
        }
        return keys[self._order.by]

    def _place(self, cursor: str) -> tuple[Any, int]:
        """Return the key and the item of a cursor."""
        try:
            padded = cursor + "=" * (-len(cursor) % 4)
            by, descending, key, id = json.loads(base64.b64decode(padded, b"-_", validate=True))
            text = self._order.by in ("name", "label")
            fits = isinstance(key, str) if text else isinstance(key, int | float)
            if (by, descending) != (self._order.by, self._order.descending) or not fits or type(id) is not int:
                raise ValueError
            if not 0 <= id < 2**31:
                raise ValueError
        except (ValueError, TypeError, binascii.Error, RecursionError):
            raise MissingError("There is no such page in this list; begin with the first page.") from None
        return key, id

    def _wanted(self, wanted: Wanted) -> list[ColumnElement[bool]]:
        found: list[ColumnElement[bool]] = []
        decided = self._decided
        if wanted.label is not None:
            found.append(decided.label == wanted.label)
        if wanted.group is not None:
            found += [assignments.c.group_id == wanted.group, decided.learnt.c.item_id.is_(None)]
        if wanted.source:
            found.append(decided.source.in_(list(wanted.source)))
        for column, least, most in (
            (predictions.c.unknown, wanted.unknown_min, wanted.unknown_max),
            (decided.doubt, wanted.doubt_min, wanted.doubt_max),
            (self._date, _seconds(wanted.since), _seconds(wanted.until, 1)),
        ):
            if least is not None:
                found.append(column >= least)
            if most is not None:
                found.append(column < most if column is self._date else column <= most)
        if wanted.folder is not None:
            below = os.fsencode(wanted.folder.rstrip("/"))
            there = and_(paths.c.path >= os.fsdecode(below + b"/"), paths.c.path < os.fsdecode(below + b"0"))
            found.append(items.c.id.in_(select(paths.c.item_id).where(there)))
        if wanted.name:
            base = func.lower(_base(_text(self._connection, paths.c.path)))
            part = _escaped(self._connection, wanted.name.translate(_LOWER))
            found.append(items.c.id.in_(select(paths.c.item_id).where(base.contains(part, autoescape=True))))
        if wanted.who is not None:
            found.append(self._by(wanted.who))
        return found

    def _by(self, who: str) -> ColumnElement[bool]:
        """Return the condition that a person gave the label."""
        namers, learnt = self._namers, self._decided.learnt.c.item_id.is_not(None)
        judged = learnt & _among(items.c.id, list(namers.of_learnt))
        moved = assignments.c.by_person & _among(items.c.id, list(namers.of_items))
        return or_(
            judged & _among(items.c.id, _of(namers.of_learnt, who)),
            ~judged & moved & _among(items.c.id, _of(namers.of_items, who)),
            ~judged & ~moved & _among(assignments.c.group_id, _of(namers.of_groups, who)),
        )


_LOWER = {ord(capital): capital.lower() for capital in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


def as_time(seconds: float | None) -> datetime | None:
    """Return a time as if its clock had shown UTC; None if there is none, or none that can be shown.

    Parameters
    ----------
    seconds : float or None
        Seconds since 1970.

    Returns
    -------
    datetime or None

    """
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):  # a camera may claim any year
        return None


def _seconds(day: date | None, more: int = 0) -> float | None:
    """Return when a day begins, or the one so many days later."""
    if day is None:
        return None
    return (datetime(day.year, day.month, day.day, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC) + timedelta(more)) / (
        timedelta(seconds=1)
    )


def _among(column: ColumnElement[int], numbers: Sequence[int]) -> ColumnElement[bool]:
    """Return the condition that a number is one of any number of them: databases limit the parameters of a query."""
    return column.in_(bindparam(None, list(numbers), expanding=True, literal_execute=True, unique=True))


def _of(namers: Mapping[int, str], who: str) -> list[int]:
    """Return the items or groups that a person gave a label."""
    return [number for number, one in namers.items() if one == who]


def _text(connection: Connection, path: ColumnElement[Any]) -> ColumnElement[str]:
    """Return a path as text; bytes beyond ASCII are escaped in PostgreSQL, which takes no text that is not valid."""
    raw = type_coerce(path, LargeBinary)
    if connection.dialect.name == "sqlite":
        text: Cast[str] = cast(raw, Text)
        return text
    return func.encode(raw, "escape")


def _escaped(connection: Connection, text: str) -> str:
    """Return text as :func:`_text` has it."""
    if connection.dialect.name == "sqlite":
        return text.encode("utf-8", "replace").decode()
    return "".join(
        "\\\\" if byte == 0x5C else chr(byte) if 0 < byte < 0x80 else f"\\{byte:03o}" for byte in os.fsencode(text)
    )


def _ascii(connection: Connection, text: ColumnElement[str]) -> ColumnElement[str]:
    """Return text of a path as ASCII, in the same order: SQLite's driver cannot read what is no UTF-8."""
    return func.hex(text) if connection.dialect.name == "sqlite" else text


def _shown(connection: Connection, text: str) -> str:
    """Return a path that :func:`_ascii` has made, to be shown."""
    if connection.dialect.name == "sqlite":
        return readable(os.fsdecode(bytes.fromhex(text)))
    return readable(os.fsdecode(text.encode("latin-1").decode("unicode_escape").encode("latin-1")))


def _base(text: ColumnElement[str]) -> ColumnElement[str]:
    """Return the name of a file without its folder."""
    folder = func.rtrim(text, func.replace(text, "/", ""))
    return func.substr(text, func.length(folder) + 1)
