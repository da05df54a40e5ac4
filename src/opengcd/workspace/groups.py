"""What a person can do to groups: name, move, merge, split, remove, confirm. Each function is one step of an edit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, bindparam, delete, func, insert, select, update

from opengcd._internal.text import MISLEADING
from opengcd._internal.validation import UNKNOWN_STR
from opengcd.workspace import comments
from opengcd.workspace.database import in_parts
from opengcd.workspace.embedders import with_vector
from opengcd.workspace.errors import MissingError, WorkspaceError
from opengcd.workspace.log import Edit
from opengcd.workspace.names import existing, key
from opengcd.workspace.schema import assignments, groups, items, stack_members, training_labels
from opengcd.workspace.versions import all_versions, learnt, not_learnt

TYPICAL_FIRST = assignments.c.rank, assignments.c.item_id
KINDS = NOVEL, KNOWN, REMOVED = "novel", "known", "removed"


class Group(NamedTuple):
    """A group under review."""

    id: int
    kind: str
    """``novel``; ``known``: items that discovery returned to a class; ``removed``: items that a person removed."""
    label: str
    """The name that a person gave it, or a provisional one."""
    named: bool
    confirmed: bool
    items: list[int]
    """Its items that are not learnt yet, most typical first."""
    hashes: list[str]
    """The same, by their content."""
    spread: float | None
    """Root mean squared distance of its items to their centre: the smaller, the tighter."""
    probability: float | None
    """Probability that it is a class of its own; None if it was not estimated."""
    doubtful: bool
    """Whether it is more likely a random cluster than a class, and nobody has named it."""
    assignee: str | None
    """Who is to review it."""
    confirmed_by: list[str]
    """Who has confirmed it, in the order of time; empty, too, where an older version of OpenGCD stored it."""
    probabilities: list[float | None]
    """Probability of each item to belong to it, by discovery; None for items that a person put there."""
    stacks: list[int | None]
    """The stack of near copies that each item is in; None for most."""

    def __len__(self) -> int:
        return len(self.items)


class Part(NamedTuple):
    """A part of a group that is to be split."""

    items: Sequence[int]
    """The most typical first."""
    spread: float


class GroupSize(NamedTuple):
    """A group under review, without its items."""

    id: int
    kind: str
    label: str
    named: bool
    confirmed: bool
    size: int
    spread: float | None
    probability: float | None
    doubtful: bool
    assignee: str | None
    confirmed_by: list[str]


def group_sizes(connection: Connection, sizes: Mapping[int, int]) -> list[GroupSize]:
    """Return the groups of given sizes, in the order of the review: novel ones first, of them doubtful ones last."""
    found = [
        GroupSize(
            row.id,
            row.kind,
            row.name or row.label,
            row.name is not None,
            row.confirmed,
            sizes[row.id],
            row.cohesion,
            row.probability,
            row.name is None and row.probability is not None and row.probability < 0.5,
            row.assignee,
            (row.confirmed_by or []) if row.confirmed else [],
        )
        for row in connection.execute(select(groups))
        if row.id in sizes
    ]
    return sorted(found, key=lambda group: (KINDS.index(group.kind), group.doubtful, -group.size, group.label))


def open_groups(connection: Connection) -> list[Group]:
    """Return the groups that contain items not learnt yet, with their items, in the order of the review."""
    members: dict[int, list[tuple[int, str, float | None, int | None]]] = {}
    columns = assignments.c.group_id, assignments.c.item_id, items.c.hash, assignments.c.probability
    query = (
        select(*columns, stack_members.c.stack)
        .join(items, items.c.id == assignments.c.item_id)
        .outerjoin(stack_members, stack_members.c.item_id == assignments.c.item_id)
        .where(not_learnt(connection, assignments.c.item_id))
        .order_by(assignments.c.group_id, assignments.c.rank, assignments.c.item_id)
    )
    for home, *member in connection.execute(query):
        members.setdefault(home, []).append(tuple(member))
    found = []
    for group in group_sizes(connection, {id: len(rows) for id, rows in members.items()}):
        ids, hashes, probabilities, stacks = (list(column) for column in zip(*members[group.id], strict=True))
        found.append(Group(*group[:5], ids, hashes, *group[6:], probabilities, stacks))
    return found


def name(edit: Edit, group: int, label: str) -> int:
    """Name a group; with the name of a known class or of another group it joins that one. Return where it is now."""
    label = spelling(edit.connection, label, of=group)
    row = row_of(edit.connection, group)
    if row.kind != NOVEL:
        raise WorkspaceError(
            f"Group {group} holds items of the known class {row.label!r}; only groups of new classes can be named."
        )
    home = _home(edit.connection, label)
    if home is None and label in classes(edit.connection):
        home = make_group(edit, KNOWN, label)
    if home is not None:
        if home != group:
            merge(edit, group, home)
        return home
    edit.touch(groups, [group])
    by = row.confirmed_by if row.name == label else [edit.who]  # nobody else has confirmed the new name
    edit.connection.execute(update(groups).where(groups.c.id == group).values(name=label, confirmed_by=by))
    return group


def move(edit: Edit, chosen: Sequence[int], group: int) -> int:
    """Move items to a group; return how many were not there before. Moved items are its least typical.

    Items that are in no group, such as those that were recognised as a known class, enter one for the first time.
    """
    connection = edit.connection
    row_of(connection, group)
    homes = homes_of(connection, list(dict.fromkeys(chosen)))
    new = [item for item in dict.fromkeys(chosen) if homes.get(item) != group]
    refuse_missing_items(connection, [item for item in new if item not in homes])
    place(edit, new, group)
    return len(new)


def place(edit: Edit, new: Sequence[int], group: int) -> None:
    """Put items into a group by a person's decision, whether they were in another group or in none."""
    if not new:
        return
    connection = edit.connection
    edit.touch(assignments, new)
    rows = edit.before[assignments.name]
    left = {row["group_id"] for item in new if (row := rows[item]) is not None}
    last = connection.scalar(select(func.max(assignments.c.rank)).where(assignments.c.group_id == group))
    start = 0 if last is None else last + 1
    for part in in_parts(new):
        connection.execute(delete(assignments).where(assignments.c.item_id.in_(part)))
    connection.execute(
        insert(assignments),
        [{"item_id": item, "group_id": group, "rank": start + i, "by_person": True} for i, item in enumerate(new)],
    )
    comments.follow(edit, left - {group}, group)


def merge(edit: Edit, group: int, into: int) -> None:
    """Move all items of a group to another one; an empty group is not shown, and its name can be used again."""
    if group == into:
        raise WorkspaceError(f"Group {group} cannot be merged into itself.")
    members = select(assignments.c.item_id).where(assignments.c.group_id == group).order_by(assignments.c.rank)
    row = row_of(edit.connection, group)
    move(edit, edit.connection.scalars(members).all(), into)
    if row.kind == NOVEL and row.name is not None:
        edit.touch(groups, [group])
        edit.connection.execute(update(groups).where(groups.c.id == group).values(name=None, confirmed=False))


def remove(edit: Edit, chosen: Sequence[int]) -> int:
    """Take items out of the review: they are neither learnt nor grouped again. Return how many."""
    home = edit.connection.scalar(select(groups.c.id).where(groups.c.kind == REMOVED))
    return move(edit, chosen, make_group(edit, REMOVED, "removed") if home is None else home)


def confirm(edit: Edit, group: int) -> None:
    """Confirm a group, so that ``learn`` takes it."""
    row = row_of(edit.connection, group)
    if row.kind == REMOVED or row.name is None:
        raise WorkspaceError(f"Group {group} has no name; name it before it is confirmed.")
    if not row.confirmed:
        edit.touch(groups, [group])
        change = update(groups).where(groups.c.id == group)
        edit.connection.execute(change.values(confirmed=True, confirmed_by=[edit.who]))


def agree(edit: Edit, group: int) -> None:
    """Confirm a group, also one that others have confirmed already."""
    row = row_of(edit.connection, group)
    if not row.confirmed:
        confirm(edit, group)
    elif edit.who not in (by := row.confirmed_by or []):
        edit.touch(groups, [group])
        edit.connection.execute(update(groups).where(groups.c.id == group).values(confirmed_by=[*by, edit.who]))


def assign(edit: Edit, group: int, person: str | None) -> None:
    """Assign a group to a person, or to nobody."""
    if row_of(edit.connection, group).assignee != person:
        edit.touch(groups, [group])
        edit.connection.execute(update(groups).where(groups.c.id == group).values(assignee=person))


def unconfirm(edit: Edit, group: int) -> None:
    """Withdraw the confirmation of a group."""
    if row_of(edit.connection, group).confirmed:
        edit.touch(groups, [group])
        edit.connection.execute(update(groups).where(groups.c.id == group).values(confirmed=False))


def separate(edit: Edit, chosen: Sequence[int], label: str | None = None) -> int:
    """Move items to a group of their own, named if a name is given; return its number."""
    if label is not None:
        home = group_named(edit, label)
    else:
        home = make_group(edit, NOVEL, provisional_label(edit.connection), False)
    move(edit, chosen, home)
    return home


def split(edit: Edit, group: int, parts: Sequence[Part]) -> list[int]:
    """Divide a group into parts; return their groups.

    The first part stays, with its name, but unconfirmed; the others are new groups without a name. All parts are
    assigned to whom the group was.
    """
    connection = edit.connection
    row = row_of(connection, group)
    members = [item for part, _ in parts for item in part]
    edit.touch(assignments, members)
    edit.touch(groups, [group])
    connection.execute(
        update(groups).where(groups.c.id == group).values(confirmed=False, cohesion=parts[0].spread, probability=None)
    )
    homes = [group]
    for number, (_, spread) in enumerate(parts[1:], 2):
        label = f"{row.name or row.label}, part {number}"
        homes.append(make_group(edit, NOVEL, label, False, cohesion=spread, assignee=row.assignee))
    place = update(assignments).where(assignments.c.item_id == bindparam("_item"))
    connection.execute(
        place.values(group_id=bindparam("_group"), rank=bindparam("_rank"), probability=None),
        [
            {"_item": item, "_group": home, "_rank": rank}
            for home, (part, _) in zip(homes, parts, strict=True)
            for rank, item in enumerate(part)
        ],
    )
    return homes


def keep(edit: Edit, group: int, decided: bool = True) -> None:
    """Store whether a person has decided that the items of a group belong together."""
    chosen = members(edit.connection, group)
    edit.touch(assignments, chosen)
    for part in in_parts(chosen):
        edit.connection.execute(update(assignments).where(assignments.c.item_id.in_(part)).values(by_person=decided))


def taught_group(edit: Edit, label: str, taught: Sequence[int]) -> int:
    """Return the group for labelled images of a class, so that ``learn`` takes them and nothing that nobody confirmed.

    A group that has the name but is not confirmed keeps its images and becomes "more of" that class.
    """
    home = group_named(edit, label)
    row = row_of(edit.connection, home)
    if row.kind != NOVEL or row.confirmed:
        return home
    if set(members(edit.connection, home)) - set(taught):
        edit.touch(groups, [home])
        change = update(groups).where(groups.c.id == home)
        edit.connection.execute(change.values(name=None, label=f"more of {label}"))
        home = make_group(edit, NOVEL, label)
    confirm(edit, home)
    return home


def rename_class(edit: Edit, old: str, new: str) -> None:
    """Give the groups that are called after a known class its new name, also those that are learnt already."""
    chosen = edit.connection.scalars(select(groups.c.id).where(groups.c.name == old)).all()
    edit.touch(groups, chosen)
    edit.connection.execute(update(groups).where(groups.c.name == old).values(name=new))
    known = (groups.c.kind == KNOWN) & (groups.c.label == old)
    edit.connection.execute(update(groups).where(known).values(label=new))


def merge_known(edit: Edit, known: str, into: str) -> int | None:
    """Move the items that were put into a known class to another one; return their group, None if there are none.

    What a person has decided on each item stays as it is, so that no item becomes one that ``learn`` takes.
    """
    connection = edit.connection
    group = _home(connection, known)
    if group is None or not (moving := members(connection, group)):
        return None
    home = group_named(edit, into)
    for one in (group, home):
        if row_of(connection, one).confirmed:  # that holds for each of its items, and for no others
            keep(edit, one)
            unconfirm(edit, one)
    edit.touch(assignments, moving)
    for part in in_parts(moving):
        connection.execute(update(assignments).where(assignments.c.item_id.in_(part)).values(group_id=home))
    comments.follow(edit, [group], home)
    return home


def make_group(edit: Edit, kind: str, label: str, named: bool = True, **more: Any) -> int:
    """Add an empty group; return its number."""
    values = {"kind": kind, "label": label, "name": label if named else None, "confirmed": False} | more
    (id,) = edit.connection.execute(insert(groups).values(values)).inserted_primary_key or (0,)
    edit.before.setdefault(groups.name, {})[id] = None  # it did not exist before
    return id


def provisional_label(connection: Connection) -> str:
    """Return a label for a group that nobody has named yet, as "new group 3"."""
    taken = set(connection.scalars(select(groups.c.label)))
    number = next(n for n in range(1, len(taken) + 2) if f"new group {n}" not in taken)
    return f"new group {number}"


def group_named(edit: Edit, label: str) -> int:
    """Return the group of that name, a new one if there is none: known if the class is, else novel."""
    label = spelling(edit.connection, label)
    home = _home(edit.connection, label)
    if home is not None:
        return home
    return make_group(edit, KNOWN if label in classes(edit.connection) else NOVEL, label)


def class_of(connection: Connection, group: int | str) -> str | None:
    """Return the class that images in a group have, given its number or a name; None for the bin."""
    if isinstance(group, str):
        return spelling(connection, group)
    row = row_of(connection, group)
    if row.kind == REMOVED:
        return None
    if row.name is None:
        raise WorkspaceError(f"Group {group} has no name, so images that were learnt cannot be of it; name it first.")
    return str(row.name)


def members(connection: Connection, group: int) -> list[int]:
    """Return the items of a group that are not learnt yet, the most typical first."""
    refuse_missing(connection, group)
    query = select(assignments.c.item_id).where(in_group(connection, group))
    return list(connection.scalars(query.order_by(*TYPICAL_FIRST)))


def refuse_missing(connection: Connection, group: int) -> None:
    """Raise an error if there is no such group."""
    row_of(connection, group)


def refuse_missing_items(connection: Connection, chosen: Sequence[int]) -> None:
    """Raise an error if there is no such item."""
    for part in in_parts(chosen):
        there = set(connection.scalars(select(items.c.id).where(items.c.id.in_(part))))
        if missing := [item for item in part if item not in there]:
            raise MissingError(f"There is no item {missing[0]}.")


def refuse_learnt(connection: Connection, chosen: Sequence[int]) -> None:
    """Raise an error if the version in use has learnt an item: it is in no group."""
    for part in in_parts(chosen):
        known = learnt(connection).where(training_labels.c.item_id.in_(part)).order_by(training_labels.c.item_id)
        if row := connection.execute(known.limit(1)).one_or_none():
            raise WorkspaceError(
                f"The recogniser has already learnt item {row.item_id} as {row.label!r}, so it is in no group. "
                "Move it to another class to correct its label, or remove it."
            )


def in_group(connection: Connection, group: int) -> ColumnElement[bool]:
    """Return the condition that an item is in a group and not learnt yet."""
    return (assignments.c.group_id == group) & not_learnt(connection, assignments.c.item_id)


def to_learn(connection: Connection) -> dict[int, str]:
    """Return the items that a person has given a class and that are not learnt yet, with their classes.

    That is all of confirmed groups, and what a person put into a known class.
    """
    # As count_to_learn counts it.
    decided = groups.c.confirmed | ((groups.c.kind == KNOWN) & assignments.c.by_person)
    query = (
        select(assignments.c.item_id, groups.c.name)
        .join(groups, groups.c.id == assignments.c.group_id)
        .where(
            decided, not_learnt(connection, assignments.c.item_id), assignments.c.item_id.in_(with_vector(connection))
        )
        .order_by(assignments.c.item_id)
    )
    return {row.item_id: row.name for row in connection.execute(query)}


def count_to_learn(group: GroupSize, by_person: int) -> int:
    """Return how many items of a group :func:`to_learn` takes; a person put ``by_person`` of them there."""
    if group.confirmed:
        return group.size
    return by_person if group.kind == KNOWN else 0


def homes_of(connection: Connection, chosen: Sequence[int]) -> dict[int, int]:
    """Return the groups of items; those that are in none are left out."""
    found: dict[int, int] = {}
    for part in in_parts(chosen):
        query = select(assignments.c.item_id, assignments.c.group_id).where(assignments.c.item_id.in_(part))
        found.update({row.item_id: row.group_id for row in connection.execute(query)})
    return found


def classes(connection: Connection) -> list[str]:
    """Return the classes that the version in use knows."""
    return next((version.classes for version in all_versions(connection) if version.in_use), [])


def spelling(connection: Connection, label: str, of: int | None = None) -> str:
    """Return a name as the workspace spells it: as the class or group that has it already, else as given.

    Parameters
    ----------
    connection : Connection
    label : str
    of : int or None
        The group that is to have the name: its present name may be spelt differently.

    Returns
    -------
    str

    Raises
    ------
    WorkspaceError
        As :func:`check_label`.

    """
    label = check_label(label)
    given = select(groups.c.name).where(groups.c.name.is_not(None), groups.c.kind != REMOVED)
    others = given if of is None else given.where(groups.c.id != of)
    names = [*classes(connection), *connection.scalars(others.order_by(groups.c.id))]
    return existing(label, names) or label


def check_label(label: str) -> str:
    """Return the name of a class without spaces around it.

    Parameters
    ----------
    label : str

    Returns
    -------
    str

    Raises
    ------
    WorkspaceError
        If it is empty, a spelling of ``"unknown"``, or has invisible or misleading characters.

    """
    label = label.strip()
    if not label or key(label) == UNKNOWN_STR or MISLEADING.search(label):
        raise WorkspaceError(f"A class cannot be named {label!r}; choose another name, without invisible characters.")
    return label


def _home(connection: Connection, label: str) -> int | None:
    # A group whose class was learnt since keeps its name; what is returned to the class now is a group of its own.
    kind = KNOWN if label in classes(connection) else NOVEL
    return connection.scalar(select(groups.c.id).where(groups.c.name == label, groups.c.kind == kind))


def row_of(connection: Connection, group: int) -> Any:
    """Return the row of a group; raise an error if there is none."""
    row = connection.execute(select(groups).where(groups.c.id == group)).one_or_none()
    if row is None:
        raise MissingError(f"There is no group {group}; `opengcd status` lists all groups.")
    return row
