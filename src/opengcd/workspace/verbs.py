"""The verbs of the review, each defined once: its name, its parameters, what it changes and what it returns.

The methods of :class:`opengcd.Workspace`, the commands of ``opengcd edit``, the HTTP route ``POST /edits`` with its
request models, and the entries of the history are all made from the records here. The review page has a button for each
verb: one of its own, or one that it makes from the request model. Undo and redo restore the rows that an edit has
touched, whatever its verb. To add a verb, write its record here and its line in :class:`ReviewVerbs`. The
verbs of questions are in :mod:`opengcd.workspace.answering`, those of known classes and of images that were learnt in
:mod:`opengcd.workspace.class_verbs`, and those by which several people share the work in
:mod:`opengcd.workspace.team_verbs`.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection

from opengcd.workspace import corrections, groups, stacks
from opengcd.workspace.answering import Compare, Divide, Keep, Regroup
from opengcd.workspace.class_verbs import Discard, KeepLabel, MergeClasses, Relabel, RenameClass
from opengcd.workspace.details import (
    ConfirmDetails,
    MergeDetails,
    MoveDetails,
    NameDetails,
    RemoveDetails,
    SplitDetails,
    UnstackDetails,
)
from opengcd.workspace.groups import Part
from opengcd.workspace.log import Edit, Edited
from opengcd.workspace.subclusters import Subclusters
from opengcd.workspace.team_verbs import Assign, Comment
from opengcd.workspace.verb import (
    Flag,
    GroupId,
    GroupOrLabel,
    ItemIds,
    Kind,
    Label,
    Parts,
    TargetId,
    Verb,
    parameters,
)

AnyVerb = TypeVar("AnyVerb", bound=type[Verb])
VERBS: dict[str, type[Verb]] = {}
"""All verbs by name."""


def review_verb(verb: AnyVerb) -> AnyVerb:
    """Enter a verb into :data:`VERBS`; refuse one that no request could hold."""
    names = {one.name: one.kind for one in parameters(verb)}
    targets = [name for name, kind in names.items() if kind is Kind.GROUP_OR_LABEL]
    if targets and (targets != ["group"] or "label" in names):
        raise TypeError(
            f"The verb {verb.act!r} takes a group or label, which a request gives as either `group` or `label`: call "
            "this parameter `group`, and no other one `label`."
        )
    VERBS[verb.act] = verb
    return verb


@review_verb
@dataclass(frozen=True)
class Name(Verb):
    """Name a group; if a known class or another group has this name, the two are merged.

    Parameters
    ----------
    group : int
        Number of the group.
    label : str
        Its name: of a new class, or of a known one. Case, spaces, hyphens and underscores do not count: "blue jay"
        means an existing class Blue_Jay.
    confirm : bool
        Whether to confirm the group, too.

    """

    act = "name"
    group: GroupId
    label: Label
    confirm: Flag = field(default=False, kw_only=True)

    def apply(self, edit: Edit) -> int:
        """Make the change."""
        label = groups.spelling(edit.connection, self.label, of=self.group)
        home = groups.name(edit, self.group, label)
        if self.confirm:
            groups.confirm(edit, home)
        edit.details = NameDetails(self.group, label, self.confirm).as_dict()
        return home


@review_verb
@dataclass(frozen=True)
class Confirm(Verb):
    """Confirm a named group, so that the next learn includes it; a second person who confirms it agrees with the first.

    Parameters
    ----------
    group : int
        Number of the group.

    """

    act = "confirm"
    group: GroupId

    def apply(self, edit: Edit) -> int:
        """Make the change."""
        groups.agree(edit, self.group)
        edit.details = ConfirmDetails(self.group).as_dict() if edit.before else {}
        return self.group


@review_verb
@dataclass(frozen=True)
class Unconfirm(Verb):
    """Withdraw the confirmation of a group.

    Parameters
    ----------
    group : int
        Number of the group.

    """

    act = "unconfirm"
    group: GroupId

    def apply(self, edit: Edit) -> int:
        """Make the change."""
        groups.unconfirm(edit, self.group)
        edit.details = ConfirmDetails(self.group).as_dict() if edit.before else {}
        return self.group


@review_verb
@dataclass(frozen=True)
class Move(Verb):
    """Move images to a group, given by its number or by the name of a class; a new name makes a new group.

    Parameters
    ----------
    items : sequence of int
        Numbers of the images. They need not be under review: moving an image corrects the class it was recognised as,
        and one that was learnt gets the name of the group as its label.
    group : int or str
        Number of the group, or the name of a class or group. What is moved to a known class counts as reviewed.
    confirm : bool
        Whether to confirm the group, too.

    """

    act = "move"
    items: ItemIds
    group: GroupOrLabel
    confirm: Flag = field(default=False, kw_only=True)

    def apply(self, edit: Edit) -> int | None:
        """Make the change; return the group, None if all images were learnt."""
        learnt, others = _by_learning(edit.connection, self.items)
        home, changed = None, 0
        if learnt:
            label = groups.class_of(edit.connection, self.group)
            changed += corrections.correct(edit, dict.fromkeys(learnt, label))
        if others:
            home = self.group if isinstance(self.group, int) else groups.group_named(edit, self.group)
            changed += groups.move(edit, others, home)
        if self.confirm and home is not None:
            groups.confirm(edit, home)
        if edit.before:
            edit.details = MoveDetails(changed, home, self.confirm or None).as_dict()
        return home


@review_verb
@dataclass(frozen=True)
class Separate(Verb):
    """Move images to a group of their own.

    Parameters
    ----------
    items : sequence of int
        Numbers of the images.
    label : str or None
        Name of the new group; without one it stays unnamed.

    """

    act = "separate"
    items: ItemIds
    label: Label | None = None

    def apply(self, edit: Edit) -> int:
        """Make the change."""
        groups.refuse_learnt(edit.connection, self.items)
        home = groups.separate(edit, self.items, self.label)
        edit.details = MoveDetails(len(set(self.items)), home).as_dict()
        return home


@review_verb
@dataclass(frozen=True)
class Remove(Verb):
    """Remove images, so that they are neither learnt nor grouped again; the next learn forgets those that were learnt.

    Parameters
    ----------
    items : sequence of int
        Numbers of the images.

    """

    act = "remove"
    items: ItemIds

    def apply(self, edit: Edit) -> None:
        """Make the change."""
        learnt, others = _by_learning(edit.connection, self.items)
        removed = corrections.correct(edit, dict.fromkeys(learnt)) if learnt else 0
        removed += groups.remove(edit, others) if others else 0
        if removed:
            edit.details = RemoveDetails(removed).as_dict()


@review_verb
@dataclass(frozen=True)
class Unstack(Verb):
    """Open stacks of near copies, such as the images of a burst, so that each image is moved by itself.

    Parameters
    ----------
    items : sequence of int
        Numbers of images; one of each stack is enough.

    """

    act = "unstack"
    items: ItemIds

    def apply(self, edit: Edit) -> None:
        """Make the change."""
        if opened := stacks.open_stacks(edit, self.items):
            edit.details = UnstackDetails(opened).as_dict()


@review_verb
@dataclass(frozen=True)
class Merge(Verb):
    """Merge a group into another one: move all its images there.

    Parameters
    ----------
    group : int
        Number of the group whose images move.
    into : int
        Number of the group that gets them.

    """

    act = "merge"
    group: GroupId
    into: TargetId

    def apply(self, edit: Edit) -> int:
        """Make the change."""
        groups.merge(edit, self.group, self.into)
        edit.details = MergeDetails(self.group, self.into).as_dict()
        return self.into


@dataclass(frozen=True)
class _SplitInto(Verb):
    """Split a group into parts that have been computed."""

    act = "split"
    group: GroupId
    parts: Annotated[Sequence[Part], Kind.PARTS]

    def apply(self, edit: Edit) -> int:
        """Make the change: the largest part stays, the others become groups."""
        homes = groups.split(edit, self.group, self.parts)
        edit.details = SplitDetails(self.group, homes).as_dict()
        return self.group


@review_verb
@dataclass(frozen=True)
class Split(Verb):
    """Split a group into n groups by clustering its images.

    Parameters
    ----------
    group : int
        Number of the group, which keeps the largest part.
    n : int
        Number of parts, from 2 to the number of its images.

    """

    act = "split"
    group: GroupId
    n: Parts

    def prepare(self, subclusters: Subclusters) -> Verb:
        """Cluster the items of the group."""
        seen, parts = subclusters.of_group(self.group, self.n, self.on)
        return _SplitInto(self.group, parts, on=seen)

    def apply(self, edit: Edit) -> int:
        """Refuse: only what :meth:`prepare` returns can be applied."""
        raise NotImplementedError


def _by_learning(connection: Connection, chosen: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return the items that were learnt, and the others."""
    learnt = corrections.learnt_labels(connection, chosen)
    return [item for item in chosen if item in learnt], [item for item in chosen if item not in learnt]


for _verb in (Keep, Compare, Divide, Regroup, RenameClass, MergeClasses, Relabel, KeepLabel, Discard, Assign, Comment):
    review_verb(_verb)


Given = ParamSpec("Given")
COMMON_SECTIONS = """
on : int or None
    The last edit that the person has seen; with None, conflicts are not checked.

Returns
-------
Edited

Raises
------
ConflictError
    If someone has changed the same items or groups since ``on``.
"""
"""What the docstrings of all methods have after the parameters of their record."""


def _as_method(verb: Callable[Given, Verb]) -> Callable[Concatenate[ReviewVerbs, Given], Edited]:
    """Return a method that takes the fields of a record and applies it."""

    def method(self: ReviewVerbs, /, *args: Given.args, **named: Given.kwargs) -> Edited:
        return self.apply(verb(*args, **named))

    parameters = [
        inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY),
        *inspect.signature(verb).parameters.values(),
    ]
    method.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # for help() and editors
    heading = "" if len(parameters) > 2 else "\n\nParameters\n----------"  # of a verb that has none of its own
    method.__doc__ = f"{inspect.getdoc(verb)}{heading}{COMMON_SECTIONS}"
    return method


class ReviewVerbs(ABC):
    """Every verb as a method; ``on`` is the last edit that the person has seen.

    A verb raises :class:`~opengcd.workspace.ConflictError` if someone has since changed the items or groups that it is
    about; other edits of other people do not matter.
    """

    @abstractmethod
    def apply(self, verb: Verb) -> Edited:
        """Make one edit of a verb.

        Parameters
        ----------
        verb : Verb
            The verb with its parameters.

        Returns
        -------
        Edited

        """

    name = _as_method(Name)
    confirm = _as_method(Confirm)
    unconfirm = _as_method(Unconfirm)
    move = _as_method(Move)
    separate = _as_method(Separate)
    remove = _as_method(Remove)
    unstack = _as_method(Unstack)
    merge = _as_method(Merge)
    split = _as_method(Split)
    keep = _as_method(Keep)
    compare = _as_method(Compare)
    divide = _as_method(Divide)
    regroup = _as_method(Regroup)
    rename_class = _as_method(RenameClass)
    merge_classes = _as_method(MergeClasses)
    relabel = _as_method(Relabel)
    keep_label = _as_method(KeepLabel)
    discard = _as_method(Discard)
    assign = _as_method(Assign)
    comment = _as_method(Comment)
