"""The verbs that answer questions about groups, and the one that regroups the images as they were answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

from opengcd.workspace import groups
from opengcd.workspace.conflicts import Concerns
from opengcd.workspace.details import CompareDetails, DivideDetails, KeepDetails, RegroupDetails
from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.log import Edit
from opengcd.workspace.regrouping import Regrouping, plan_regrouping, regroup
from opengcd.workspace.subclusters import Subclusters
from opengcd.workspace.verb import Flag, GroupId, ItemIds, Kind, SeenIds, TargetId, Verb


@dataclass(frozen=True)
class Keep(Verb):
    """Say that a group is one class: discover leaves its images together.

    Parameters
    ----------
    group : int
        Number of the group.
    seen : sequence of int or None
        Numbers of the images that the person has looked at (default: all); regroup leaves these in the group.

    """

    act = "keep"
    group: GroupId
    seen: SeenIds | None = field(default=None, kw_only=True)

    def apply(self, edit: Edit) -> int:
        """Make the change."""
        seen = _among(self.seen, groups.members(edit.connection, self.group))
        groups.keep(edit, self.group)
        edit.details = KeepDetails(self.group, seen).as_dict()
        return self.group


@dataclass(frozen=True)
class Compare(Verb):
    """Say whether two groups are the same class: they are merged, or discover keeps them apart.

    Parameters
    ----------
    group : int
        Number of the group whose images move if they are the same.
    into : int
        Number of the other group.
    same : bool
        Whether they are the same class.

    """

    act = "compare"
    group: GroupId
    into: TargetId
    same: Flag = field(default=True, kw_only=True)

    def apply(self, edit: Edit) -> int:
        """Make the change."""
        groups.keep(edit, self.into)
        if self.same:
            groups.merge(edit, self.group, self.into)
        else:
            groups.keep(edit, self.group)
        edit.details = CompareDetails(self.group, self.into, self.same).as_dict()
        return self.into


@dataclass(frozen=True)
class Divide(Verb):
    """Say that some images of a group are not of its class; they become a group of their own.

    Parameters
    ----------
    group : int
        Number of the group.
    items : sequence of int
        Numbers of the images that are not of its class.
    one : bool
        Whether the images that stay are a class: discover leaves the images of a class together, and groups others
        again.
    other : bool
        Whether the images that move are a class.
    seen : sequence of int or None
        Numbers of the images of either class that the person has looked at (default: all); regroup leaves these in
        their group.

    """

    act = "divide"
    group: GroupId
    items: ItemIds
    one: Flag = field(default=True, kw_only=True)
    other: Flag = field(default=True, kw_only=True)
    seen: SeenIds | None = field(default=None, kw_only=True)

    def apply(self, edit: Edit) -> int:
        """Make the change."""
        members = groups.members(edit.connection, self.group)
        if strange := set(self.items) - set(members):
            raise WorkspaceError(f"Item {min(strange)} is not in group {self.group}.")
        home = groups.separate(edit, self.items)
        groups.keep(edit, self.group, self.one)
        groups.keep(edit, home, self.other)
        edit.details = DivideDetails(self.group, home, self.one, self.other, _among(self.seen, members)).as_dict()
        return home


def _among(seen: Sequence[int] | None, members: Sequence[int]) -> list[int] | None:
    """Return the items of the group that were seen; None means all."""
    return None if seen is None else sorted(set(seen) & set(members))


@dataclass(frozen=True)
class _RegroupTo(Verb):
    """Move items to the groups that were computed for them."""

    act = "regroup"
    plan: Annotated[Regrouping | None, Kind.PARTS]
    """None if no question was answered."""

    def concerns(self) -> Concerns:
        """Return all items and groups that may change."""
        return Concerns() if self.plan is None else Concerns(self.plan.items, self.plan.parts)

    def apply(self, edit: Edit) -> None:
        """Make the change."""
        if self.plan is not None:
            regroup(edit, self.plan)
            edit.details = RegroupDetails(self.plan.moved, len(self.plan.started)).as_dict()


@dataclass(frozen=True)
class Regroup(Verb):
    """Assign images to the unnamed groups again, by the answers to questions about them."""

    act = "regroup"

    def prepare(self, subclusters: Subclusters) -> Verb:
        """Compute where images go."""
        edit, plan = plan_regrouping(subclusters, self.on)
        return _RegroupTo(plan, on=edit)

    def apply(self, edit: Edit) -> None:
        """Refuse: only what :meth:`prepare` returns can be applied."""
        raise NotImplementedError
