"""Decisions of people about images that were learnt: their label is right, it is another one, or they have none.

The next learning takes corrections; until then they count where labels are shown. A correction holds for all versions:
after a rollback to one that has learnt the old label, it waits to be learnt again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, delete, func, insert, select, update

from opengcd.workspace.database import in_parts
from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.log import Edit
from opengcd.workspace.schema import corrections, training_labels
from opengcd.workspace.versions import FORGOTTEN, learnt


def pending(connection: Connection) -> dict[int, str | None]:
    """Return the learnt items whose label the next learning changes, with the new label; None: it is to forget them."""
    found = learnt(connection).subquery()
    query = (
        select(corrections)
        .join(found, found.c.item_id == corrections.c.item_id)
        .where(func.coalesce(corrections.c.label, FORGOTTEN) != found.c.label)
        .order_by(corrections.c.item_id)
    )
    return {row.item_id: row.label for row in connection.execute(query)}


def count_unlabelled(connection: Connection) -> int:
    """Return how many learnt items have no label, because a person has removed them."""
    found = learnt(connection).subquery()
    query = select(func.count()).select_from(found.outerjoin(corrections, corrections.c.item_id == found.c.item_id))
    label = func.coalesce(corrections.c.label, FORGOTTEN)
    removed = (label == FORGOTTEN) & (corrections.c.item_id.is_not(None) | (found.c.label == FORGOTTEN))
    return connection.scalar(query.where(removed)) or 0


def judged(connection: Connection) -> set[int]:
    """Return the items of which a person has said what they are."""
    return set(connection.scalars(select(corrections.c.item_id)))


def labels(connection: Connection, version: int | None = None) -> dict[int, str]:
    """Return the label of each item that a version, by default the one in use, has learnt, as people see it now."""
    found = {row.item_id: row.label for row in connection.execute(learnt(connection, version))}
    for row in connection.execute(select(corrections)):
        if row.item_id in found:
            found[row.item_id] = FORGOTTEN if row.label is None else row.label
    return {item: label for item, label in found.items() if label != FORGOTTEN}


def learnt_labels(connection: Connection, items: Sequence[int]) -> dict[int, str]:
    """Return the label that people see of those of some items that are learnt; empty for removed ones."""
    found: dict[int, str] = {}
    for part in in_parts(list(dict.fromkeys(items))):
        rows = connection.execute(learnt(connection).where(training_labels.c.item_id.in_(part)))
        found.update({row.item_id: row.label for row in rows})
        said = connection.execute(select(corrections).where(corrections.c.item_id.in_(part)))
        found.update({row.item_id: row.label or FORGOTTEN for row in said if row.item_id in found})
    return found


def correct(edit: Edit, given: Mapping[int, str | None]) -> int:
    """Store the labels that a person gives to learnt items; return how many had another one.

    Parameters
    ----------
    edit : Edit
    given : mapping of int to (str or None)
        The label of each item; None removes it from what is learnt.

    Returns
    -------
    int

    """
    connection = edit.connection
    before = learnt_labels(connection, list(given))
    if others := [item for item in given if item not in before]:
        raise WorkspaceError(
            f"Image {others[0]} is not one that the recogniser has learnt, so its label cannot be corrected here; move "
            "it to a class in the review."
        )
    edit.touch(corrections, given)
    for part in in_parts(list(given)):
        connection.execute(delete(corrections).where(corrections.c.item_id.in_(part)))
        connection.execute(insert(corrections), [{"item_id": item, "label": given[item]} for item in part])
    return sum((label or FORGOTTEN) != before[item] for item, label in given.items())


def rename(edit: Edit, old: str, new: str) -> None:
    """Give the items that a person has labelled as a class its new name."""
    chosen = edit.connection.scalars(select(corrections.c.item_id).where(corrections.c.label == old)).all()
    edit.touch(corrections, chosen)
    edit.connection.execute(update(corrections).where(corrections.c.label == old).values(label=new))
