"""Teaching: labelled images join the workspace at any time, as examples of known classes or of new ones."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, select

from opengcd._internal.progress import Progress
from opengcd.workspace import corrections, groups
from opengcd.workspace.database import in_parts
from opengcd.workspace.details import TeachDetails
from opengcd.workspace.errors import MissingError, WorkspaceError
from opengcd.workspace.files import ignore_file, look_at, readable
from opengcd.workspace.image_lists import Known, read_labelled
from opengcd.workspace.labelled_intake import images_to_take, vectors_to_take
from opengcd.workspace.log import Edit
from opengcd.workspace.recognizers import Recognizers
from opengcd.workspace.schema import assignments, items
from opengcd.workspace.schema import groups as groups_table
from opengcd.workspace.store import Store
from opengcd.workspace.uploads import check_pixels, store_uploads
from opengcd.workspace.vector_intake import AnyIntake, VectorIntake
from opengcd.workspace.videos import FPS


class LabelConflict(NamedTuple):
    """An image to which a person has given another label already."""

    item: int
    path: str
    """One of the files that were to be taught; empty if the image was given by its number."""
    present: str
    """Its label; empty if a person removed it from the review."""
    given: str
    """The label that it was to get."""


class Taught(NamedTuple):
    """What was taught."""

    images: int
    """Images that have got a label."""
    classes: dict[str, int]
    """How many of them there are of each class."""
    already: int
    """Images that had this label before."""
    replaced: int
    """Images, of those that have got one, that had another label before."""
    conflicts: list[LabelConflict]
    """Images that have another label and kept it."""
    bad: list[tuple[str, str]]
    """Files that could not be used, with reasons."""


class _Sorted(NamedTuple):
    """Items to teach, by the labels that people have given them."""

    free: dict[int, str]
    """Those that nobody has labelled, with their new labels."""
    others: dict[int, str]
    """Those with another label, which is given here; empty if they were removed."""
    already: int
    """How many have the same label."""
    learnt: set[int]
    """Those that the version in use has learnt."""


class Teaching:
    """Adds labelled images."""

    def __init__(self, store: Store, intake: AnyIntake, recognizers: Recognizers) -> None:
        self._store = store
        self._intake = intake
        self._recognizers = recognizers

    def teach(
        self,
        source: Known,
        table: str | os.PathLike[str] | None,
        record: Callable[[Connection, Taught], None],
        progress: Progress,
        *,
        replace: bool,
        fps: float = FPS,
        on_skipped: Callable[[str], object] = ignore_file,
    ) -> Taught:
        """Read labelled images or vectors and store their labels in one edit; see :meth:`opengcd.Workspace.teach`."""
        with self._store.alone(progress):
            self._refuse_early()
            if isinstance(self._intake, VectorIntake):
                if table is not None:
                    raise WorkspaceError("Vectors have their labels in the same file; leave out the list of labels.")
                known = vectors_to_take(self._intake, source, 1)
            else:
                known = images_to_take(self._intake, read_labelled(source, table, on_skipped), fps, progress)
            bad = list(known.bad)
            given: dict[int, dict[str, str]] = {}
            for batch in known.take(progress):
                for path, item, reason in batch:
                    if item is None:
                        bad.append((path, reason))
                    else:
                        given.setdefault(item, {})[path] = known.label_of[path]
            labels: dict[int, str] = {}
            for item, names in given.items():
                if len(distinct := sorted(set(names.values()))) > 1:
                    bad += [(path, f"the same image has the labels {', '.join(distinct)}") for path in names]
                else:
                    labels[item] = distinct[0]
            if not labels:
                where = "" if isinstance(source, Mapping) else f" in {source}"
                reason = f": {readable(bad[0][0])}: {bad[0][1]}" if bad else ""
                raise WorkspaceError(f"No image{where} can be taught{reason}.")
            paths = {item: next(iter(names)) for item, names in given.items()}
            return self._store_labels(labels, paths, bad, record, progress, replace=replace)

    def teach_items(
        self,
        labels: Mapping[int, str],
        record: Callable[[Connection, Taught], None],
        progress: Progress,
        *,
        replace: bool,
    ) -> Taught:
        """Store the labels of images that are in the workspace; see :meth:`opengcd.Workspace.teach_items`."""
        if not labels:
            raise WorkspaceError("No image was chosen; give the numbers of one or more.")
        checked = {item: groups.check_label(label) for item, label in labels.items()}
        with self._store.alone(progress):
            self._refuse_early()
            return self._store_labels(checked, {}, [], record, progress, replace=replace)

    def upload(self, contents: Sequence[bytes], progress: Progress) -> list[tuple[int | None, str]]:
        """Store images that come as bytes, without a label; see :meth:`opengcd.Workspace.upload`."""
        if self._store.settings.takes_vectors:
            raise WorkspaceError("This workspace takes vectors, not images; teach it from a file of labelled vectors.")
        check_pixels(contents)
        self._refuse_early()
        stored = store_uploads(self._store.path / "uploads", contents)
        files = {file: look_at(file) for file, reason in stored if not reason}
        taken = {path: (item, reason) for batch in self._intake.take(list(files.values()), progress)
                 for path, item, reason in batch}  # fmt: skip
        return [(None, reason) if reason else taken[file] for file, reason in stored]

    def _refuse_early(self) -> None:
        with self._store.database.reading() as connection:
            self._recognizers.version(connection)  # raises if no class is known yet

    def _store_labels(
        self,
        labels: Mapping[int, str],
        paths: Mapping[int, str],
        bad: list[tuple[str, str]],
        record: Callable[[Connection, Taught], None],
        progress: Progress,
        *,
        replace: bool,
    ) -> Taught:
        progress("storing the labels", 0, 1)
        with self._store.editing("teach") as edit:
            spelt = {label: groups.spelling(edit.connection, label) for label in dict.fromkeys(labels.values())}
            labels = {item: spelt[label] for item, label in labels.items()}
            found = _sort(edit.connection, labels)
            given = {item: labels[item] for item in found.others} if replace else {}
            _give(edit, found.free | given, found.learnt)
            kept = {} if replace else found.others
            conflicts = [LabelConflict(item, paths.get(item, ""), kept[item], labels[item]) for item in kept]
            counts = Counter((found.free | given).values())
            done = Taught(counts.total(), dict(sorted(counts.items())), found.already, len(given), conflicts, bad)
            if done.images:
                classes = list(done.classes)
                edit.details = TeachDetails(done.images, classes, done.replaced or None, len(bad) or None).as_dict()
            record(edit.connection, done)
        progress("storing the labels", 1, 1)
        return done


def _sort(connection: Connection, labels: Mapping[int, str]) -> _Sorted:
    """Sort items by the labels that people have given them, and the labels that they are to get."""
    known: set[int] = set()
    homes: dict[int, Any] = {}
    learnt = corrections.learnt_labels(connection, list(labels))
    for part in in_parts(list(labels)):
        known |= set(connection.scalars(select(items.c.id).where(items.c.id.in_(part))))
        query = select(assignments, groups_table.c.kind, groups_table.c.name, groups_table.c.confirmed)
        query = query.join(groups_table, groups_table.c.id == assignments.c.group_id)
        homes |= {row.item_id: row for row in connection.execute(query.where(assignments.c.item_id.in_(part)))}
    if missing := [item for item in labels if item not in known]:
        raise MissingError(f"There is no item {missing[0]}.")
    free, others, already = {}, {}, 0
    for item, label in labels.items():
        row = homes.get(item)
        if item in learnt:
            present: str | None = learnt[item]
        elif row is None or (row.kind == groups.KNOWN and not (row.by_person or row.confirmed)):
            present = None
        else:
            present = "" if row.kind == groups.REMOVED else row.name
        settled = item in learnt or row is None or row.confirmed or row.kind == groups.KNOWN
        if present is None or (present == label and not settled):
            free[item] = label
        elif present == label:
            already += 1
        else:
            others[item] = present
    return _Sorted(free, others, already, set(learnt))


def _give(edit: Edit, labels: Mapping[int, str], learnt: set[int]) -> None:
    """Give items their labels: learnt ones by a correction, others by their place in a group."""
    corrections.correct(edit, {item: label for item, label in labels.items() if item in learnt})
    homes: dict[str, list[int]] = {}
    for item, label in labels.items():
        if item not in learnt:
            homes.setdefault(label, []).append(item)
    for label, chosen in sorted(homes.items()):
        groups.place(edit, chosen, groups.taught_group(edit, label, chosen))
