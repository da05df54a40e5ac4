"""Which images of a workspace a network can be adapted to, and with which labels."""

from __future__ import annotations

from sqlalchemy import Connection, select

from opengcd.workspace import corrections, groups, versions
from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.schema import assignments, items
from opengcd.workspace.schema import groups as group_rows


def labelled_items(connection: Connection) -> dict[int, str]:
    """Return the label of all items that the version in use has learnt, or that a person has given a class."""
    return learnt_items(connection) | groups.to_learn(connection)


def learnt_items(connection: Connection, version: int | None = None) -> dict[int, str]:
    """Return the label of all items that a version, by default the one in use, has learnt."""
    return corrections.labels(connection, version)


def unlabelled_items(connection: Connection) -> list[int]:
    """Return the items of the stream that have no label, and that nobody has removed."""
    labels = labelled_items(connection)
    removed = (
        select(assignments.c.item_id)
        .join(group_rows, group_rows.c.id == assignments.c.group_id)
        .where(group_rows.c.kind == groups.REMOVED)
    )
    query = select(items.c.id).where(items.c.id.not_in(removed)).order_by(items.c.id)
    return [item for item in connection.scalars(query) if item not in labels]


def refuse_lost_classes(connection: Connection, version: int, there: set[int]) -> None:
    """Refuse to adapt if no exemplar of a class has its image any more: the class could not be recognised then."""
    learnt = learnt_items(connection, version)
    classes = next(one.classes for one in versions.all_versions(connection) if one.id == version)
    lost = sorted(set(classes) - {learnt[item] for item in there if item in learnt})
    if lost:
        raise WorkspaceError(
            f"The images that were learnt of {len(lost)} classes ({lost[0]!r} among them) are gone or have changed, so "
            "an adapted network could not recognise them. Restore these images; opengcd export lists their paths."
        )
