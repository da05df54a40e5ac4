"""The verbs about known classes and about images that the recogniser has learnt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, select

from opengcd.workspace import class_names, corrections, groups
from opengcd.workspace.details import CorrectDetails, MergeClassesDetails, RenameClassDetails
from opengcd.workspace.errors import MissingError, WorkspaceError
from opengcd.workspace.log import Edit
from opengcd.workspace.schema import groups as groups_table
from opengcd.workspace.verb import ItemIds, KnownClass, Label, Verb


@dataclass(frozen=True)
class RenameClass(Verb):
    """Rename a known class, in all versions of the recogniser and wherever its name is shown.

    Parameters
    ----------
    known : str
        Name of the known class.
    label : str
        Its new name, which no other class or group may have; use ``merge_classes`` for one class under two names.

    """

    act = "rename_class"
    known: KnownClass
    label: Label

    def apply(self, edit: Edit) -> None:
        """Make the change."""
        label = groups.check_label(self.label)
        _refuse_unknown(edit.connection, self.known)
        if label == self.known:
            return
        names = class_names.read_all(edit.connection)
        if label in names.taken:
            raise WorkspaceError(
                f"There is a class named {label!r} already, in this version of the recogniser or in another one; "
                f"choose another name, or merge {self.known!r} into it with merge_classes."
            )
        group = edit.connection.scalar(select(groups_table.c.id).where(groups_table.c.name == label))
        if group is not None:
            raise WorkspaceError(f"Group {group} is named {label!r}; rename it first, or choose another name.")
        class_names.write(edit, {names.label(self.known): label})
        groups.rename_class(edit, self.known, label)
        corrections.rename(edit, self.known, label)
        edit.details = RenameClassDetails(self.known, label).as_dict()


@dataclass(frozen=True)
class MergeClasses(Verb):
    """Merge a known class into another one: all its images get that label, and the next learn makes them one class.

    Parameters
    ----------
    known : str
        Name of the known class that ends.
    into : str
        Name of the known class that gets its images.

    """

    act = "merge_classes"
    known: KnownClass
    into: KnownClass

    def apply(self, edit: Edit) -> int | None:
        """Make the change; return the group of images of the second class, if there is one."""
        connection = edit.connection
        for name in (self.known, self.into):
            _refuse_unknown(connection, name)
        if self.known == self.into:
            raise WorkspaceError(f"The class {self.known!r} cannot be merged into itself.")
        moving = {item: self.into for item, label in corrections.labels(connection).items() if label == self.known}
        corrections.correct(edit, moving)
        home = groups.merge_known(edit, self.known, self.into)
        edit.details = MergeClassesDetails(self.known, self.into, len(moving)).as_dict()
        return home


class _OfLearnt(Verb):
    """A verb about images that were learnt; near copies of them are judged one by one."""

    items: ItemIds

    def with_copies(self, connection: Connection) -> Verb:
        """Return the verb itself."""
        return self

    def _correct(self, edit: Edit, given: Mapping[int, str | None], label: str | None) -> None:
        corrections.correct(edit, given)
        edit.details = CorrectDetails(len(given), label).as_dict()


@dataclass(frozen=True)
class Relabel(_OfLearnt):
    """Correct the label of images that the recogniser has learnt; the next learn takes it.

    Parameters
    ----------
    items : sequence of int
        Numbers of the images.
    label : str
        The class that they show: a known one or a new one.

    """

    act = "relabel"
    items: ItemIds
    label: Label

    def apply(self, edit: Edit) -> None:
        """Make the change."""
        label = groups.check_label(self.label)
        self._correct(edit, dict.fromkeys(self.items, label), label)


@dataclass(frozen=True)
class KeepLabel(_OfLearnt):
    """Say that the label of learnt images is right, so that they are no longer suspected.

    Parameters
    ----------
    items : sequence of int
        Numbers of the images.

    """

    act = "keep_label"
    items: ItemIds

    def apply(self, edit: Edit) -> None:
        """Make the change."""
        found = corrections.learnt_labels(edit.connection, self.items)
        self._correct(edit, {item: found.get(item) or None for item in self.items}, None)


@dataclass(frozen=True)
class Discard(_OfLearnt):
    """Remove learnt images from what is learnt: the next learn forgets them.

    Parameters
    ----------
    items : sequence of int
        Numbers of the images.

    """

    act = "discard"
    items: ItemIds

    def apply(self, edit: Edit) -> None:
        """Make the change."""
        self._correct(edit, dict.fromkeys(self.items), None)


def _refuse_unknown(connection: Connection, name: str) -> None:
    """Raise an error if the version in use knows no class of that name."""
    if name not in groups.classes(connection):
        raise MissingError(f"There is no known class named {name!r}; opengcd status lists the known classes.")
