"""What decides on the label of an item, as columns of a query: its present label, the source of it, and its doubt."""

from __future__ import annotations

from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, FromClause, Subquery, case, func, literal, true

from opengcd._internal.validation import UNKNOWN_STR
from opengcd.workspace.groups import KNOWN, REMOVED
from opengcd.workspace.schema import (
    assignments,
    class_names,
    corrections,
    groups,
    items,
    predictions,
    training_labels,
)
from opengcd.workspace.versions import FORGOTTEN, in_use, learnt


class Decisions(NamedTuple):
    """Items joined with all that decides on their labels, and the columns that follow from it."""

    joined: FromClause
    """Items with their assignments, groups and predictions by the version in use, as far as there are any."""
    learnt: Subquery
    """The labels that the version in use has learnt."""
    source: ColumnElement[str]
    """One of :data:`opengcd.workspace.SOURCES`."""
    label: ColumnElement[str]
    """The present label; ``"unknown"`` if there is none."""
    doubt: ColumnElement[float]
    """How likely the label is wrong; NULL if it was learnt, decided by a person, or there is none yet."""


def decisions(connection: Connection, only: int | None = None) -> Decisions:
    """Return what decides on all items, or on one of them."""
    learnt_labels = learnt(connection).where(true() if only is None else training_labels.c.item_id == only).subquery()
    names = class_names.alias()
    joined = (
        items.outerjoin(learnt_labels, learnt_labels.c.item_id == items.c.id)
        .outerjoin(corrections, corrections.c.item_id == items.c.id)
        .outerjoin(assignments, assignments.c.item_id == items.c.id)
        .outerjoin(groups, groups.c.id == assignments.c.group_id)
        .outerjoin(predictions, (predictions.c.item_id == items.c.id) & (predictions.c.model_id == in_use(connection)))
        .outerjoin(names, names.c.label == predictions.c.label)
    )
    corrected = case(
        (corrections.c.item_id.is_not(None), func.coalesce(corrections.c.label, FORGOTTEN)), else_=learnt_labels.c.label
    )
    by_learning, in_group = learnt_labels.c.item_id.is_not(None), groups.c.kind.is_not(None)
    asked, rejected = predictions.c.unknown.is_not(None), predictions.c.label.is_(None)
    grouped: ColumnElement[bool] = in_group & source_in_group(assignments.c.by_person).in_(("returned", "grouped"))
    source: ColumnElement[str] = case(
        (by_learning & (corrected == FORGOTTEN), literal("removed")),
        (by_learning & (corrected != learnt_labels.c.label), literal("reviewed")),
        (by_learning, literal("learnt")),
        (in_group, source_in_group(assignments.c.by_person)),
        (~asked, literal("waiting")),
        (rejected, literal("rejected")),
        else_=literal("recognized"),
    )
    label: ColumnElement[str] = case(
        (by_learning & (corrected == FORGOTTEN), literal(UNKNOWN_STR)),
        (by_learning, corrected),
        (groups.c.kind == REMOVED, literal(UNKNOWN_STR)),
        (in_group, func.coalesce(groups.c.name, groups.c.label)),
        (rejected, literal(UNKNOWN_STR)),  # or not asked: then there is no row of predictions
        else_=func.coalesce(names.c.name, predictions.c.label),
    )
    doubt: ColumnElement[Any] = case(
        (by_learning, None),
        (grouped, 1.0 - assignments.c.probability),
        (in_group | ~asked, None),
        (rejected, 1.0 - predictions.c.unknown),
        else_=1.0 - predictions.c.top[(0, 1)].as_float(),
    )
    return Decisions(joined, learnt_labels, source, label, doubt)


def source_in_group(by_person: ColumnElement[bool]) -> ColumnElement[str]:
    """Return the source of the label of an item that is in a group and not learnt.

    Parameters
    ----------
    by_person : column
        Whether a person put it there.

    Returns
    -------
    column
        One of :data:`opengcd.workspace.SOURCES`.

    """
    return case(
        (groups.c.kind == REMOVED, literal("removed")),
        (groups.c.confirmed | ((groups.c.kind == KNOWN) & by_person), literal("reviewed")),
        (groups.c.kind == KNOWN, literal("returned")),
        else_=literal("grouped"),
    )
