"""The verbs of the review, each defined once: its name, its parameters, what it changes and what it returns.

The methods of :class:`opengcd.Workspace`, the HTTP route ``POST /edits`` and its request models, and the entries of the
history are all made from the records here; undo and redo work on the rows that an edit has touched and know no verb.
To add a verb, write its record and its line in :class:`ReviewVerbs`.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, ClassVar, Concatenate, ParamSpec, TypeVar

from opengcd.workspace import groups
from opengcd.workspace.conflicts import Concerns
from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.groups import Part
from opengcd.workspace.log import Edit, Edited
from opengcd.workspace.subclusters import Subclusters


class Parameter(Enum):
    """What a parameter of a verb means; the service has the limits and the check that belong to each."""

    GROUP = "the number of a group"
    ITEMS = "the numbers of items"
    LABEL = "the name of a class"
    GROUP_OR_LABEL = "a group, or the name of a class or group"
    PARTS = "a number of parts"


GroupId = Annotated[int, Parameter.GROUP]
ItemIds = Annotated[Sequence[int], Parameter.ITEMS]
Label = Annotated[str, Parameter.LABEL]
GroupOrLabel = Annotated[int | str, Parameter.GROUP_OR_LABEL]
Parts = Annotated[int, Parameter.PARTS]


@dataclass(frozen=True)
class Verb(ABC):
    """One act of a person on groups, which becomes one edit."""

    act: ClassVar[str]
    """Its name, in the history and in the API."""
    on: int | None = field(default=None, kw_only=True)
    """The last edit that the person has seen: if someone has changed since what the verb is about, it is refused.

    None asks for no such check.
    """

    @abstractmethod
    def concerns(self) -> Concerns:
        """Return what the verb is about."""

    def prepare(self, subclusters: Subclusters) -> Verb:
        """Compute what takes long, before the transaction; return the verb to apply."""
        return self

    @abstractmethod
    def apply(self, edit: Edit) -> int | None:
        """Make the change, say in ``edit.details`` what the history shows; return the group where things are now."""


AnyVerb = TypeVar("AnyVerb", bound=type[Verb])
VERBS: dict[str, type[Verb]] = {}
"""All verbs by name."""


def review_verb(verb: AnyVerb) -> AnyVerb:
    """Enter a verb into :data:`VERBS`."""
    VERBS[verb.act] = verb
    return verb


@review_verb
@dataclass(frozen=True)
class Name(Verb):
    """Name a group; by the name of a known class or another group it joins that one."""

    act = "name"
    group: GroupId
    label: Label
    confirm: bool = field(default=False, kw_only=True)
    """Whether to confirm the group, too."""

    def concerns(self) -> Concerns:
        """Return what the verb is about."""
        return Concerns(groups=[self.group])

    def apply(self, edit: Edit) -> int:
        """Make the change."""
        home = groups.name(edit, self.group, self.label)
        if self.confirm:
            groups.confirm(edit, home)
        edit.details = {"group": self.group, "label": self.label, "confirmed": self.confirm}
        return home


@review_verb
@dataclass(frozen=True)
class Confirm(Verb):
    """Say that a named group is right, so that learn takes it."""

    act = "confirm"
    group: GroupId

    def concerns(self) -> Concerns:
        """Return what the verb is about."""
        return Concerns(groups=[self.group])

    def apply(self, edit: Edit) -> int:
        """Make the change."""
        groups.confirm(edit, self.group)
        edit.details = {"group": self.group} if edit.before else {}
        return self.group


@review_verb
@dataclass(frozen=True)
class Unconfirm(Verb):
    """Say that a group is not confirmed any more."""

    act = "unconfirm"
    group: GroupId

    def concerns(self) -> Concerns:
        """Return what the verb is about."""
        return Concerns(groups=[self.group])

    def apply(self, edit: Edit) -> int:
        """Make the change."""
        groups.unconfirm(edit, self.group)
        edit.details = {"group": self.group} if edit.before else {}
        return self.group


@review_verb
@dataclass(frozen=True)
class Move(Verb):
    """Move images to a group, or to the class or group of a name, which is made if need be."""

    act = "move"
    items: ItemIds
    group: GroupOrLabel

    def __post_init__(self) -> None:
        _refuse_none(self.items)

    def concerns(self) -> Concerns:
        """Return what the verb is about."""
        return Concerns(self.items, targets=[self.group] if isinstance(self.group, int) else [])

    def apply(self, edit: Edit) -> int:
        """Make the change."""
        home = self.group if isinstance(self.group, int) else groups.group_named(edit, self.group)
        if moved := groups.move(edit, self.items, home):
            edit.details = {"images": moved, "group": home}
        return home


@review_verb
@dataclass(frozen=True)
class Separate(Verb):
    """Move images to a group of their own."""

    act = "separate"
    items: ItemIds
    label: Label | None = None
    """The name of that group; it stays unnamed without one."""

    def __post_init__(self) -> None:
        _refuse_none(self.items)

    def concerns(self) -> Concerns:
        """Return what the verb is about."""
        return Concerns(self.items)

    def apply(self, edit: Edit) -> int:
        """Make the change."""
        home = groups.separate(edit, self.items, self.label)
        edit.details = {"images": len(set(self.items)), "group": home}
        return home


@review_verb
@dataclass(frozen=True)
class Remove(Verb):
    """Take images out of the review for good."""

    act = "remove"
    items: ItemIds

    def __post_init__(self) -> None:
        _refuse_none(self.items)

    def concerns(self) -> Concerns:
        """Return what the verb is about."""
        return Concerns(self.items)

    def apply(self, edit: Edit) -> None:
        """Make the change."""
        if removed := groups.remove(edit, self.items):
            edit.details = {"images": removed}


@review_verb
@dataclass(frozen=True)
class Merge(Verb):
    """Move all of a group to another one."""

    act = "merge"
    group: GroupId
    into: GroupId

    def concerns(self) -> Concerns:
        """Return what the verb is about."""
        return Concerns(groups=[self.group], targets=[self.into])

    def apply(self, edit: Edit) -> int:
        """Make the change."""
        groups.merge(edit, self.group, self.into)
        edit.details = {"group": self.group, "into": self.into}
        return self.into


@dataclass(frozen=True)
class _SplitInto(Verb):
    """Split a group into parts that have been computed."""

    act = "split"
    group: int
    parts: Sequence[Part]

    def concerns(self) -> Concerns:
        """Return what the verb is about."""
        return Concerns(groups=[self.group])

    def apply(self, edit: Edit) -> int:
        """Make the change: the largest part stays, the others become groups."""
        homes = groups.split(edit, self.group, self.parts)
        edit.details = {"group": self.group, "parts": homes}
        return self.group


@review_verb
@dataclass(frozen=True)
class Split(Verb):
    """Cluster a group anew, in n parts."""

    act = "split"
    group: GroupId
    n: Parts

    def concerns(self) -> Concerns:
        """Return what the verb is about."""
        return Concerns(groups=[self.group])

    def prepare(self, subclusters: Subclusters) -> Verb:
        """Cluster the items of the group."""
        seen, parts = subclusters.of_group(self.group, self.n, self.on)
        return _SplitInto(self.group, parts, on=seen)

    def apply(self, edit: Edit) -> int:
        """Refuse: only what :meth:`prepare` returns can be applied."""
        raise NotImplementedError


Given = ParamSpec("Given")


def _as_method(verb: Callable[Given, Verb]) -> Callable[Concatenate[ReviewVerbs, Given], Edited]:
    """Return a method that takes the fields of a record and applies it."""

    def method(self: ReviewVerbs, /, *args: Given.args, **named: Given.kwargs) -> Edited:
        return self.apply(verb(*args, **named))

    parameters = [
        inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY),
        *inspect.signature(verb).parameters.values(),
    ]
    method.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # for help() and editors
    method.__doc__ = verb.__doc__
    return method


class ReviewVerbs(ABC):
    """Every verb as a method, by the parameters of its record; ``on`` is the last edit that the person has seen.

    A verb is refused with :class:`~opengcd.workspace.ConflictError` if someone has changed since then what it is about;
    other people's other edits do not matter.
    """

    @abstractmethod
    def apply(self, verb: Verb) -> Edited:
        """Make one edit of a verb."""

    name = _as_method(Name)
    confirm = _as_method(Confirm)
    unconfirm = _as_method(Unconfirm)
    move = _as_method(Move)
    separate = _as_method(Separate)
    remove = _as_method(Remove)
    merge = _as_method(Merge)
    split = _as_method(Split)


def _refuse_none(items: Sequence[int]) -> None:
    if not items:
        raise WorkspaceError("No image was chosen.")
