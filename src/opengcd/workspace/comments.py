"""Comments on groups. Who wrote one, and when, is in the edit log; a comment follows the images of its group."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import Connection, func, insert, select, update

from opengcd._internal.text import MISLEADING
from opengcd.workspace import log
from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.log import Edit
from opengcd.workspace.schema import assignments, comments

ACT = "comment"
"""The verb that adds one."""
LONGEST = 500


class Comment(NamedTuple):
    """A comment on a group."""

    id: int
    at: str
    who: str
    text: str


def check_comment(text: str) -> str:
    """Return the text of a comment without spaces around it.

    Parameters
    ----------
    text : str

    Returns
    -------
    str

    Raises
    ------
    WorkspaceError
        If it is empty or too long, or has control characters, which line breaks are, too.

    """
    text = text.strip()
    if not text or len(text) > LONGEST or MISLEADING.search(text):
        raise WorkspaceError(
            f"This cannot be a comment; write one line of 1 to {LONGEST} characters, without control characters."
        )
    return text


def add(edit: Edit, group: int, text: str) -> int:
    """Add a comment to a group; return its number."""
    row = {"group_id": group, "text": text}
    (id,) = edit.connection.execute(insert(comments).values(row)).inserted_primary_key or (0,)
    edit.before.setdefault(comments.name, {})[id] = None  # it did not exist before
    return id


def of_group(connection: Connection, group: int) -> list[Comment]:
    """Return the comments on a group, the oldest first."""
    written = {entry.details["comment"]: entry for entry in log.standing(connection, [ACT])}
    rows = connection.execute(select(comments).where(comments.c.group_id == group).order_by(comments.c.id))
    return [Comment(row.id, written[row.id].at, written[row.id].who, row.text) for row in rows]


def counts(connection: Connection) -> dict[int, int]:
    """Return how many comments each group has; groups without one are left out."""
    query = select(comments.c.group_id, func.count().label("n")).group_by(comments.c.group_id)
    return {row.group_id: row.n for row in connection.execute(query)}


def follow(edit: Edit, left: Iterable[int], home: int) -> None:
    """Give the comments of those groups that are empty now to the group that their images went to."""
    commented = set(edit.connection.scalars(select(comments.c.group_id).where(comments.c.group_id.in_(set(left)))))
    if not commented:
        return
    occupied = select(assignments.c.group_id).where(assignments.c.group_id.in_(commented)).distinct()
    move(edit, commented - set(edit.connection.scalars(occupied)), home)


def move(edit: Edit, groups: Iterable[int], home: int) -> None:
    """Give all comments of some groups to another one."""
    chosen = edit.connection.scalars(select(comments.c.id).where(comments.c.group_id.in_(set(groups)))).all()
    edit.touch(comments, chosen)
    edit.connection.execute(update(comments).where(comments.c.id.in_(chosen)).values(group_id=home))
