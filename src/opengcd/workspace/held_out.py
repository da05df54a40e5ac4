"""How well a version recognises images that it was not fitted on: by class, by pair of classes, and image by image."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, case, func, insert, or_, select

from opengcd._internal.progress import Progress, silent
from opengcd._internal.unit_length import unit_rows
from opengcd.workspace import class_names, corrections, log, versions
from opengcd.workspace.database import in_parts
from opengcd.workspace.embedders import embedder_of, was_trained_on
from opengcd.workspace.exemplars import NOT_FOUND, Exemplars
from opengcd.workspace.recognizers import Recognizers
from opengcd.workspace.schema import held_out
from opengcd.workspace.stacks import stacks_of
from opengcd.workspace.store import Store
from opengcd.workspace.vectors import Vectors

if TYPE_CHECKING:
    from opengcd.recognizer import OpenWorldRecognizer

LEAST = 1e-12
"""Added to probabilities before they are divided."""
NEAREST = 6
"""Images of a class that are shown beside a suspect."""


class ClassAccuracy(NamedTuple):
    """How many held-out images of a class are recognised."""

    label: str
    images: int
    right: int
    before: float | None
    """Share that was recognised in the version before; None if it did not know the class or was not measured."""

    @property
    def accuracy(self) -> float:
        """Share that is recognised."""
        return self.right / self.images


class ConfusedPair(NamedTuple):
    """How many held-out images of a class are taken for another class."""

    label: str
    predicted: str
    images: int
    before: int | None
    """The same in the version before; None if it did not know both classes or was not measured."""


class Measured(NamedTuple):
    """How well a version recognises its exemplars when they are held out."""

    version: int
    previous: int | None
    """The version that it is compared with; None if there is none that was measured."""
    accuracy: float
    """Share of all held-out images that are recognised."""
    accuracy_before: float | None
    """The same for the version before, on its own exemplars."""
    images: int
    classes: list[ClassAccuracy]
    """By name."""
    pairs: list[ConfusedPair]
    """The most confused first."""
    trained: bool
    """Whether the network was trained on some of these images, so that the result is too optimistic."""


class Suspect(NamedTuple):
    """A learnt image whose label may be wrong."""

    item: int
    label: str
    suggested: str
    own: float
    """Held-out probability of the label."""
    rival: float
    """Held-out probability of the suggested class."""
    copy: int | None
    """A near copy of it with another label; None if there is none."""
    like_label: list[int]
    """Images of the class of its label that look most like it."""
    like_suggested: list[int]
    """Images of the suggested class that look most like it."""


class Suspects(NamedTuple):
    """Learnt images whose labels may be wrong."""

    edit: int
    """The last edit that they show."""
    measured: bool
    """Whether the version in use was measured; if not, :meth:`HeldOut.measure` does it."""
    total: int
    suspects: list[Suspect]
    """The most doubtful first."""


def record_nothing(connection: Connection, version: int) -> None:
    """Record nothing."""


class HeldOut:
    """Measures versions of the recogniser on held-out exemplars, and reads what was measured.

    The exemplars of each class are divided into five parts; each part is judged by a classifier that is fitted on the
    others. Near copies are held out together.
    """

    def __init__(self, store: Store, vectors: Vectors, recognizers: Recognizers, exemplars: Exemplars) -> None:
        self._store = store
        self._database = store.database
        self._vectors = vectors
        self._recognizers = recognizers
        self._exemplars = exemplars

    def measure(
        self, *, progress: Progress = silent, record: Callable[[Connection, int], None] = record_nothing
    ) -> None:
        """Measure the version in use, unless that was done before; :meth:`opengcd.Workspace.learn` does it.

        Parameters
        ----------
        progress : callable
            Called with a stage, the steps done and their total (0: not known).
        record : callable
            Called with the connection and the number of the version in the transaction that stores the result.

        """
        with self._store.alone(progress):
            self.measure_now(progress, record)

    def measure_now(self, progress: Progress, record: Callable[[Connection, int], None] = record_nothing) -> None:
        """Do what :meth:`measure` does, within a long command.

        Parameters
        ----------
        progress : callable
            Called with a stage, the steps done and their total (0: not known).
        record : callable
            As for :meth:`measure`.

        """
        version, recognizer = self._recognizers.in_use()
        with self._database.reading() as connection:
            done = _is_measured(connection, version)
        rows = [] if done else self._judge(version, recognizer, progress)
        with self._database.writing() as connection:
            for part in in_parts(rows):
                connection.execute(insert(held_out), part)
            record(connection, version)

    def _judge(self, version: int, recognizer: OpenWorldRecognizer, progress: Progress) -> list[dict[str, Any]]:
        """Return the rows of the table for a version."""
        from opengcd.classify import suspect_labels

        memory = recognizer.memory_
        items = self._exemplars.of_memory(version, memory)
        with self._database.reading() as connection:
            stacks = stacks_of(connection, items.tolist())
        together = np.array([stacks.get(item, -row) for row, item in enumerate(items.tolist(), 1)])
        p = recognizer.held_out(stacks=together, progress=progress)
        number = {label: code for code, label in enumerate(recognizer.classes_.tolist())}
        codes = np.array([number[label] for label in memory.y.tolist()])
        found = suspect_labels(p, codes)
        copies = _copies_with_other_labels(memory.X, codes, recognizer.stacks(memory.X))
        rows: list[dict[str, Any]] = []
        seen = {NOT_FOUND}
        for row in np.flatnonzero(np.isfinite(p).all(1)).tolist():
            if (item := int(items[row])) in seen:
                continue
            seen.add(item)
            copy = copies.get(row)
            other = codes[copy] if copy is not None and not found.suspect[row] else found.other[row]
            rows.append(
                {
                    "model_id": version,
                    "item_id": item,
                    "label": str(memory.y[row]),
                    "other": str(recognizer.classes_[other]),
                    "own": float(p[row, codes[row]]),
                    "rival": float(p[row, other]),
                    "suspect": bool(found.suspect[row]),
                    "copy_id": None if copy is None or items[copy] == NOT_FOUND else int(items[copy]),
                }
            )
        return rows

    def report(self, version: int | None = None) -> Measured | None:
        """Return how well a version recognises held-out images, compared with the version before it.

        Parameters
        ----------
        version : int or None
            The number of the version; None for the one in use.

        Returns
        -------
        Measured or None
            None if the version was not measured.

        """
        with self._database.reading() as connection:
            current = versions.in_use(connection) if version is None else version
            names = class_names.read(connection)
            if current is None or not (counts := _counts(connection, current, names)):
                return None
            ancestors = versions.lineage(connection, current)[1:]
            previous = next((one for one in ancestors if _is_measured(connection, one)), None)
            earlier = _counts(connection, previous, names) if previous is not None else Counter[tuple[str, str]]()
            embedder = embedder_of(connection, current)
            images = connection.scalars(select(held_out.c.item_id).where(held_out.c.model_id == current)).all()
            trained = embedder is not None and bool(was_trained_on(connection, embedder, images).any())
        totals, before = _totals(counts), _totals(earlier)
        classes = [
            ClassAccuracy(
                label, totals[label], counts[label, label],
                earlier[label, label] / before[label] if before[label] else None,
            )
            for label in sorted(totals)
        ]  # fmt: skip
        pairs = [
            ConfusedPair(
                label, predicted, n, earlier[label, predicted] if before[label] and before[predicted] else None
            )
            for (label, predicted), n in counts.items()
            if label != predicted
        ]
        pairs.sort(key=lambda pair: (-pair.images, pair.label, pair.predicted))
        return Measured(
            current, previous, _share_right(counts), _share_right(earlier) if earlier else None, counts.total(),
            classes, pairs, trained,
        )  # fmt: skip

    def accuracies(self) -> dict[int, float]:
        """Return the share of held-out images that each version recognises, for those that were measured."""
        wrong = func.avg(case((held_out.c.rival > held_out.c.own, 1.0), else_=0.0))
        with self._database.reading() as connection:
            rows = connection.execute(select(held_out.c.model_id, wrong).group_by(held_out.c.model_id))
            return {version: 1.0 - float(share) for version, share in rows}

    def cell(self, label: str, predicted: str, version: int | None = None) -> list[int]:
        """Return the held-out images of a class that a version takes for a class, which may be the same.

        Parameters
        ----------
        label : str
            The class that they were learnt under.
        predicted : str
            The class that they are taken for.
        version : int or None
            The number of the version; None for the one in use.

        Returns
        -------
        list of int
            Numbers of items, the clearest cases first.

        """
        with self._database.reading() as connection:
            names = class_names.read(connection)
            current = versions.in_use(connection) if version is None else version
            query = select(held_out).where(held_out.c.model_id == current)
            rows = [row for row in connection.execute(query) if names.get(row.label, row.label) == label]
        chosen = [row for row in rows if names.get(_predicted(row), _predicted(row)) == predicted]
        return [row.item_id for row in sorted(chosen, key=lambda row: (-max(row.own, row.rival), row.item_id))]

    def suspects(self, limit: int | None = None, offset: int = 0) -> Suspects:
        """Return the learnt images whose labels may be wrong, the most doubtful first.

        They are those that held-out judgements contradict (:func:`opengcd.classify.suspect_labels`), and near copies
        with different labels. An image that a person has judged is not returned again.

        Parameters
        ----------
        limit : int or None
            Largest number of images; None for all.
        offset : int
            How many to skip.

        Returns
        -------
        Suspects

        """
        with self._database.reading() as connection:
            version, edit = versions.in_use(connection), log.last_edit(connection)
            measured = version is not None and _is_measured(connection, version)
            names, judged = class_names.read(connection), corrections.judged(connection)
            doubtful = or_(held_out.c.suspect, held_out.c.copy_id.is_not(None))
            order = ((held_out.c.own + LEAST) / (held_out.c.rival + LEAST), held_out.c.item_id)
            query = select(held_out).where(held_out.c.model_id == version, doubtful).order_by(*order)
            rows = [row for row in connection.execute(query) if row.item_id not in judged]
        chosen = rows[offset : None if limit is None else offset + limit]
        like = self._exemplars.most_like([(row.item_id, (row.label, row.other)) for row in chosen], NEAREST)
        found = [
            Suspect(
                row.item_id, names.get(row.label, row.label), names.get(row.other, row.other), row.own, row.rival,
                None if row.copy_id in judged else row.copy_id, *near,
            )
            for row, near in zip(chosen, like, strict=True)
        ]  # fmt: skip
        return Suspects(edit, measured, len(rows), found)


def _is_measured(connection: Connection, version: int) -> bool:
    return connection.scalar(select(held_out.c.item_id).where(held_out.c.model_id == version).limit(1)) is not None


def _predicted(row: tuple[object, ...]) -> str:
    """Return the label that a row of the table says the image is taken for."""
    return row.other if row.rival > row.own else row.label  # type: ignore[attr-defined]


def _counts(connection: Connection, version: int, names: dict[str, str]) -> Counter[tuple[str, str]]:
    """Return how many held-out images of each class are taken for each class."""
    wrong = held_out.c.rival > held_out.c.own
    columns = held_out.c.label, held_out.c.other, wrong.label("wrong")
    query = select(*columns, func.count().label("n")).where(held_out.c.model_id == version).group_by(*columns)
    found: Counter[tuple[str, str]] = Counter()
    for label, other, is_wrong, n in connection.execute(query):
        predicted = other if is_wrong else label
        found[names.get(label, label), names.get(predicted, predicted)] += n
    return found


def _totals(counts: Counter[tuple[str, str]]) -> Counter[str]:
    found: Counter[str] = Counter()
    for (label, _), n in counts.items():
        found[label] += n
    return found


def _share_right(counts: Counter[tuple[str, str]]) -> float:
    return sum(n for (label, predicted), n in counts.items() if label == predicted) / counts.total()


def _copies_with_other_labels(X: np.ndarray, codes: np.ndarray, stacks: np.ndarray) -> dict[int, int]:
    """Return for each row that has near copies with another label the nearest of them."""
    found: dict[int, int] = {}
    order = np.argsort(stacks, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(stacks[order])) + 1):
        if len(rows) > 1 and len(set(codes[rows].tolist())) > 1:
            unit = unit_rows(X[rows])
            likeness = np.where(codes[rows][:, None] == codes[rows], -2.0, unit @ unit.T)
            found |= {int(row): int(rows[best]) for row, best in zip(rows, likeness.argmax(1), strict=True)}
    return found
