"""What all formats start from: the labels that were asked for, and the pictures of their items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, NamedTuple

from sqlalchemy import Connection, select

from opengcd._internal.progress import Progress, silent
from opengcd._internal.validation import UNKNOWN_STR
from opengcd.workspace import class_names
from opengcd.workspace.crops import Origin, WholeImage
from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.exports.places import Place, Places
from opengcd.workspace.labels import BY_PERSON, Labelled, labelled_items
from opengcd.workspace.outgoing import Source, find_source
from opengcd.workspace.schema import captures
from opengcd.workspace.stacks import stacks_of
from opengcd.workspace.taxonomies import Answer
from opengcd.workspace.versions import all_versions
from opengcd.workspace.videos import VideoFrame

IMAGES = {
    "all": "all images",
    "reviewed": "images whose class a person has given or confirmed",
    "new": "images of classes and groups that were discovered",
}
"""Which images an export has, and what that means."""


class Part(NamedTuple):
    """A file of an export."""

    name: str
    """Its path within the folder, with slashes; empty for an export that is one file."""
    content: bytes | Source
    """What it holds, or the picture that it is a copy of or a link to."""


@dataclass
class ExportLabels:
    """The labels to export, with what some formats need beside them."""

    title: str
    """Name of the workspace."""
    author: str
    """Who exports."""
    found: Sequence[Labelled]
    taken: Mapping[int, float] = field(default_factory=dict)
    """Seconds since 1970 at which images were taken, by the clock of their camera, as far as that is known."""
    stacks: Mapping[int, int] = field(default_factory=dict)
    """The stack of each item that has near copies."""
    places: Places | None = None
    """Where and when cameras were."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """What the person says about the dataset."""
    taxa: Mapping[int, Answer] | None = None
    """The deepest sure taxon of items; None without a taxonomy."""
    looked_at: Sequence[WholeImage] = ()
    """Images that a detector has looked at, of which crops may be items."""
    empty: Sequence[WholeImage] = ()
    """Those of them to export that have no crop: these are not items, but have a label."""
    frames: Mapping[str, VideoFrame] = field(default_factory=dict)
    """Which frames of videos files are."""
    progress: Progress = field(default_factory=lambda: silent)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    """Files that the format could not export, with reasons; filled while its parts are made."""

    def pictures(
        self, found: Sequence[Labelled] | None = None, *, whole: bool = False
    ) -> Iterator[tuple[Labelled, Source]]:
        """Yield items with a file that still has their content; others are noted as left out.

        Parameters
        ----------
        found : sequence of Labelled or None
            The items; None for all.
        whole : bool
            Whether the file of a crop is the image that it was cut out of.

        Yields
        ------
        (Labelled, Source)

        """
        chosen = self.found if found is None else found
        for done, one in enumerate(chosen):
            self.progress("writing images", done, len(chosen))
            origin = self.origin_of(one) if whole else None
            if (source := self._source(one if origin is None else origin)) is not None:
                yield one, source
        self.progress("writing images", len(chosen), len(chosen))

    def empty_pictures(self) -> Iterator[tuple[WholeImage, Source]]:
        """Yield images without a crop, as :meth:`pictures` yields items."""
        for one in self.empty:
            if (source := self._source(one)) is not None:
                yield one, source

    def _source(self, one: Labelled | Origin | WholeImage) -> Source | None:
        """Return a file that still has some content; None if there is none, which is noted."""
        source = find_source(one.hash, one.paths if isinstance(one, Labelled) else [one.path])
        if not source.reason:
            return source
        self.left_out.append((source.path, source.reason))
        return None

    @cached_property
    def _origins(self) -> dict[str, Origin]:
        return {file: origin for image in self.looked_at for file, origin in image.crops.items()}

    def origin_of(self, one: Labelled) -> Origin | None:
        """Return where an item was cut out; None if it is not a crop.

        Parameters
        ----------
        one : Labelled
            The item.

        Returns
        -------
        Origin or None

        """
        return next((self._origins[path] for path in one.paths if path in self._origins), None)

    def files_of(self, one: Labelled) -> list[str]:
        """Return the files of an item as a person knows them: of a crop, the image that it was cut out of.

        Parameters
        ----------
        one : Labelled
            The item.

        Returns
        -------
        list of str

        """
        origin = self.origin_of(one)
        return one.paths if origin is None else [origin.path]

    def frame_of(self, one: Labelled) -> VideoFrame | None:
        """Return which frame of a video an item is; None if it is not one.

        Parameters
        ----------
        one : Labelled
            The item.

        Returns
        -------
        VideoFrame or None

        """
        return next((self.frames[path] for path in one.paths if path in self.frames), None)

    def labelled(self, reason: str) -> list[Labelled]:
        """Return the items of named classes, for a format that has no others; those are noted as left out.

        Parameters
        ----------
        reason : str
            Why others are left out.

        Returns
        -------
        list of Labelled

        """
        found = [one for one in self.found if has_class(one)]
        self.left_out += [(_name(one), reason) for one in self.found if not has_class(one)]
        return found

    def place_of(self, one: Labelled) -> Place | None:
        """Return where the camera of an item was; None if that is not known.

        Parameters
        ----------
        one : Labelled
            The item.

        Returns
        -------
        Place or None

        """
        frame = self.frame_of(one)
        return self.place_at(self.files_of(one) if frame is None else [frame.path])

    def place_at(self, files: Sequence[str]) -> Place | None:
        """Return where the camera of some files was; None if that is not known.

        Parameters
        ----------
        files : sequence of str

        Returns
        -------
        Place or None

        """
        return None if self.places is None else self.places.of_files(files)

    def time_of(self, one: Labelled) -> datetime | None:
        """Return when an image was taken, by the clock of its camera; the zone is that of its place, if known.

        Parameters
        ----------
        one : Labelled
            The item.

        Returns
        -------
        datetime or None

        """
        return local_time(self.taken.get(one.item), self.place_of(one))


def local_time(taken: float | None, place: Place | None) -> datetime | None:
    """Return a time by the clock of a camera; the zone is that of its place, if known.

    Parameters
    ----------
    taken : float or None
        Seconds since 1970.
    place : Place or None

    Returns
    -------
    datetime or None
        None if the time is not known.

    """
    if taken is None:
        return None
    moment = datetime.fromtimestamp(taken, UTC).replace(microsecond=0, tzinfo=None)
    return moment if place is None else moment.replace(tzinfo=place.start.tzinfo)


def has_class(one: Labelled) -> bool:
    """Return whether the label of an item is the name of a class: not unknown, and no provisional name of a group."""
    return one.label != UNKNOWN_STR and not one.provisional


def certainty(one: Labelled) -> float | None:
    """Return the probability of the label of an item by the recogniser or the discovery; None if a person gave it."""
    if one.source in BY_PERSON:
        return None
    if one.probability is not None:
        return one.probability
    return dict(one.top).get(one.label)


def collect(
    connection: Connection, title: str, author: str, images: str, looked_at: Sequence[WholeImage], **options: Any
) -> ExportLabels:
    """Read the labels of a workspace.

    Parameters
    ----------
    connection : Connection
        Of a transaction.
    title : str
        Name of the workspace.
    author : str
        Who exports.
    images : str
        One of :data:`IMAGES`.
    looked_at : sequence of WholeImage
        Images that a detector has looked at.
    **options
        Further fields of :class:`ExportLabels`.

    Returns
    -------
    ExportLabels

    """
    if images not in IMAGES:
        raise WorkspaceError(f"Unknown choice of images {images!r}; choose from {', '.join(IMAGES)}.")
    found = labelled_items(connection)
    items = {one.hash for one in found}
    empty = [one for one in looked_at if not one.crops and one.hash not in items] if images == "all" else []
    if images == "reviewed":
        found = [one for one in found if one.source in BY_PERSON]
    elif images == "new":
        versions, names = all_versions(connection), class_names.read(connection)
        first = {UNKNOWN_STR, *class_names.present(names, versions[0].classes if versions else ())}
        found = [one for one in found if one.label not in first]
    rows = connection.execute(select(captures.c.item_id, captures.c.taken).where(captures.c.taken.is_not(None)))
    taken = {row.item_id: row.taken for row in rows}
    stacks = stacks_of(connection, [one.item for one in found])
    return ExportLabels(title, author, found, taken, stacks, looked_at=looked_at, empty=empty, **options)


def _name(one: Labelled) -> str:
    return one.paths[0] if one.paths else one.hash
