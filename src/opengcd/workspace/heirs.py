"""Assignments and comments of groups that a new grouping replaces: they go to the groups that have most of the images.

Only groups without a name are replaced.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from sqlalchemy import delete, or_, select, update

from opengcd.workspace import comments, groups
from opengcd.workspace.log import Edit
from opengcd.workspace.schema import assignments
from opengcd.workspace.schema import comments as comments_table
from opengcd.workspace.schema import groups as table


class Estate(NamedTuple):
    """A group with an assignment or comments, before the new grouping."""

    group: int
    assignee: str | None
    items: list[int]


def estates(edit: Edit) -> list[Estate]:
    """Return the groups without a name that have comments, or that are assigned to somebody."""
    commented = table.c.id.in_(select(comments_table.c.group_id))
    query = select(table.c.id, table.c.assignee).where(
        table.c.kind == groups.NOVEL, table.c.name.is_(None), or_(table.c.assignee.is_not(None), commented)
    )
    found = edit.connection.execute(query.order_by(table.c.id)).all()
    inside = select(assignments.c.item_id)
    return [
        Estate(row.id, row.assignee, list(edit.connection.scalars(inside.where(assignments.c.group_id == row.id))))
        for row in found
    ]


def pass_on(edit: Edit, before: list[Estate]) -> None:
    """Give the assignments and comments of groups that are empty now to the groups that have most of their images.

    If no image of a group is in a group any more, its comments are in the history only.
    """
    connection = edit.connection
    for group, assignee, items in before:
        if connection.scalar(select(assignments.c.item_id).where(assignments.c.group_id == group).limit(1)):
            continue
        homes = Counter(groups.homes_of(connection, items).values())
        heir = min(homes, key=lambda home: (-homes[home], home), default=None)
        if heir is None:
            chosen = connection.scalars(select(comments_table.c.id).where(comments_table.c.group_id == group)).all()
            edit.touch(comments_table, chosen)
            connection.execute(delete(comments_table).where(comments_table.c.id.in_(chosen)))
            continue
        comments.move(edit, [group], heir)
        free = (table.c.id == heir) & (table.c.kind == groups.NOVEL) & table.c.assignee.is_(None)
        if assignee is not None and connection.scalar(select(table.c.id).where(free)):
            edit.touch(table, [heir])
            connection.execute(update(table).where(table.c.id == heir).values(assignee=assignee))
