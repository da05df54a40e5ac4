"""Predictions of the recogniser: label, probability of "unknown", the most likely classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sqlalchemy import ColumnElement, Connection, Select, and_, func, insert, select

from opengcd._internal.validation import UNKNOWN_STR
from opengcd.workspace import class_names
from opengcd.workspace.database import in_parts
from opengcd.workspace.embedders import with_vector
from opengcd.workspace.revision import raise_revision
from opengcd.workspace.schema import items, predictions, stack_members, training_labels
from opengcd.workspace.versions import in_use, learnt

if TYPE_CHECKING:
    from opengcd.recognizer import Recognition
    from opengcd.workspace.crops import Origin
    from opengcd.workspace.taxonomies import Answer

TOP = 3
"""Classes that are kept with each prediction, the most likely first."""


class Prediction(NamedTuple):
    """The prediction of a version of the recogniser for an item."""

    label: str | None
    """None where it was rejected."""
    unknown: float
    top: list[tuple[str, float]]


class Result(NamedTuple):
    """The prediction for a file; one that cannot be used has a reason instead."""

    path: str
    item: int | None
    label: str
    """A known class, or ``"unknown"``."""
    unknown: float
    """Probability of "unknown"."""
    top: list[tuple[str, float]]
    """The most likely known classes with their probabilities."""
    reason: str = ""
    taxon: Answer | None = None
    """The deepest sure taxon; None if there is none, or without a taxonomy."""
    origin: Origin | None = None
    """Where it was cut out; None for an image that is not a crop."""


def predicted(connection: Connection, ids: Sequence[int], version: int | None = None) -> dict[int, Prediction]:
    """Return the predictions of a version, by default the one in use; items that it has not recognised are left out."""
    found = {}
    model = in_use(connection) if version is None else version
    names = class_names.read(connection)
    for part in in_parts(ids):
        query = select(predictions).where(predictions.c.model_id == model, predictions.c.item_id.in_(part))
        for row in connection.execute(query):
            label = None if row.label is None else names.get(row.label, row.label)
            found[row.item_id] = Prediction(label, row.unknown, present_top(names, row.top))
    return found


def present_top(names: Mapping[str, str], top: Iterable[tuple[str, float]]) -> list[tuple[str, float]]:
    """Return stored pairs of a class and its probability with the present names of the classes."""
    return [(names.get(label, label), p) for label, p in top]


def write_predictions(
    connection: Connection, model: int, ids: Sequence[int], classes: np.ndarray, recognition: Recognition
) -> None:
    """Store the predictions of a version, except for items whose prediction another process has stored meanwhile."""
    there = predicted(connection, ids, model)
    best = np.argsort(-recognition.probabilities[:, 1:], axis=1, kind="stable")[:, :TOP]
    rows = [
        {
            "model_id": model,
            "item_id": item,
            "label": None if label == UNKNOWN_STR else label,
            "unknown": float(p[0]),
            "score": float(score),
            "top": [(str(classes[c]), round(float(p[1 + c]), 6)) for c in columns],
        }
        for item, label, score, p, columns in zip(
            ids, recognition.labels.tolist(), recognition.unknown_score, recognition.probabilities, best, strict=True
        )
        if item not in there
    ]
    for part in in_parts(rows):
        connection.execute(insert(predictions), part)
    if rows:
        raise_revision(connection)


def observed_scores(connection: Connection, stacks: Mapping[int, int] | None = None) -> np.ndarray:
    """Return the unknown scores of all items that the version in use has recognised; of a stack only the smallest.

    Parameters
    ----------
    connection : Connection
    stacks : mapping of int to int or None
        The stack of an item, for items whose stack is not the one that is stored.

    Returns
    -------
    array of shape (n,)
        In the order of the items.

    """
    query = (
        select(predictions.c.item_id, predictions.c.score, stack_members.c.stack)
        .outerjoin(stack_members, stack_members.c.item_id == predictions.c.item_id)
        .where(_scored(connection))
        .order_by(predictions.c.item_id)
    )
    rows = connection.execute(query).all()
    stored = {row.item_id: row.stack for row in rows if row.stack is not None}
    return least_of_stacks({row.item_id: row.score for row in rows}, stored | dict(stacks or {}))


def least_of_stacks(scores: Mapping[int, float], stacks: Mapping[int, int]) -> np.ndarray:
    """Return the smallest unknown score of each stack: near copies count once, by the clearest image.

    Parameters
    ----------
    scores : mapping of int to float
        By item.
    stacks : mapping of int to int
        The stack of each item that has one; any other is one of its own.

    Returns
    -------
    array of shape (n,)
        In the order of the first items.

    """
    least: dict[int, float] = {}
    for item, score in scores.items():
        stack = stacks.get(item, item)
        least[stack] = min(score, least.get(stack, score))
    return np.array(list(least.values()), dtype=np.float64)


def count_scores(connection: Connection) -> int:
    """Return the number of stored unknown scores of the version in use."""
    return connection.scalar(select(func.count()).select_from(predictions).where(_scored(connection))) or 0


def _scored(connection: Connection) -> ColumnElement[bool]:
    known = predictions.c.score.is_not(None)  # older versions of OpenGCD did not keep them
    return and_(predictions.c.model_id == in_use(connection), known)


def unlearnt(connection: Connection) -> Select[tuple[int]]:
    """Select items that the version in use has not learnt, and for which it has a vector."""
    learnt_items = learnt(connection).with_only_columns(training_labels.c.item_id)
    there = items.c.id.in_(with_vector(connection))
    return select(items.c.id).where(items.c.id.not_in(learnt_items), there).order_by(items.c.id)


def unseen(connection: Connection) -> Select[tuple[int]]:
    """Select items that the version in use has neither learnt nor recognised."""
    asked = select(predictions.c.item_id).where(predictions.c.model_id == in_use(connection))
    return unlearnt(connection).where(items.c.id.not_in(asked))
