"""The taxonomy of a workspace, and for each item the deepest taxon that is sure."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, Row, select

from opengcd._internal.progress import Progress, silent
from opengcd.taxonomy import NO_TAXONOMY, SEPARATOR, Taxon, Taxonomy, risk_threshold, walk
from opengcd.workspace import class_names, groups, versions
from opengcd.workspace.conflicts import Concerns, refuse_conflict
from opengcd.workspace.database import in_parts
from opengcd.workspace.decisions import decisions
from opengcd.workspace.details import TaxonomyDetails
from opengcd.workspace.embedders import without_vector
from opengcd.workspace.errors import ReadOnlyError, WorkspaceError
from opengcd.workspace.labels import BY_PERSON
from opengcd.workspace.log import Edited
from opengcd.workspace.recognizers import Recognizers
from opengcd.workspace.schema import assignments, items, meta, write_meta
from opengcd.workspace.store import Store
from opengcd.workspace.vectors import Vectors

if TYPE_CHECKING:
    from opengcd.recognizer import OpenWorldRecognizer

TAXONOMY, THRESHOLDS = "taxonomy", "taxon thresholds"
"""Keys of ``meta``: the taxonomy, and thresholds that follow from it and from the version in use."""
ACCEPTED, REJECTED = ("recognized", "returned"), ("rejected", "grouped")
"""Sources of the labels of items that are taken to be of known and of new classes."""
MOST_OF_GROUP = 2000
"""Items of a group that are judged for a view of it."""
ERROR = 0.05
"""Largest share of wrong answers, unless a person chooses another."""


class Setting(NamedTuple):
    """The taxonomy of a workspace."""

    taxonomy: Taxonomy
    error: float
    """Largest share of items that may get a wrong taxon."""


class Thresholds(NamedTuple):
    """The probability that a taxon must exceed to be sure."""

    known: float
    """For accepted items."""
    new: float
    """For rejected items, which are taken to be of new classes."""


class Answer(NamedTuple):
    """The deepest sure taxon of an item."""

    taxon: Taxon
    probability: float
    """1 if a person gave the label."""


class Share(NamedTuple):
    """How many items of a group surely belong to a taxon of its class."""

    name: str
    rank: str
    items: int


class Namer(NamedTuple):
    """Names rows by the deepest sure taxon, with the version in use and its thresholds."""

    taxonomy: Taxonomy
    classes: list[str]
    """Present names of the classes, in the order of the recogniser."""
    thresholds: Thresholds
    error: float
    """Largest share of rows that may get a wrong taxon."""
    labels: list[str]
    """The classes as the recogniser calls them."""

    def is_for(self, recognizer: OpenWorldRecognizer) -> bool:
        """Return whether a recogniser has the classes that are meant."""
        return self.labels == recognizer.classes_.tolist()

    def name(self, p: np.ndarray, rejected: Sequence[bool]) -> list[Answer | None]:
        """Return the deepest sure taxon of rows.

        Parameters
        ----------
        p : array of shape (n, C)
            Their probabilities, from ``predict_proba``.
        rejected : sequence of bool
            Whether they were rejected, so that they are taken to be of new classes.

        Returns
        -------
        list of Answer or None
            None where not even the broadest taxon is sure.

        """
        answers: list[Answer | None] = [None] * len(p)
        mask = np.asarray(rejected, bool)
        for new, threshold in ((False, self.thresholds.known), (True, self.thresholds.new)):
            rows = np.flatnonzero(mask == new)
            found = walk(self.taxonomy, self.classes, p[rows], to_class=not new).deepest(threshold)
            for row, one in zip(rows.tolist(), found, strict=True):
                answers[row] = None if one is None else Answer(*one)
        return answers


class Taxonomies:
    """Sets the taxonomy of a workspace, and names items by it."""

    def __init__(self, store: Store, vectors: Vectors, recognizers: Recognizers) -> None:
        self._store = store
        self._database = store.database
        self._vectors = vectors
        self._recognizers = recognizers

    def set(self, taxonomy: Taxonomy, error: float = ERROR, *, on: int | None = None) -> Edited:
        """Set the taxonomy; an edit that can be undone.

        Parameters
        ----------
        taxonomy : Taxonomy
            Without a line for any class, only classes whose names are paths (``Corvidae/Corvus``) have taxa above them.
        error : float
            Largest share of items that may get a wrong taxon, between 0 and 1.
        on : int or None
            The last edit that the person has seen; a newer change of the taxonomy is then a conflict.

        Returns
        -------
        Edited

        """
        if not 0 < error < 1:
            raise WorkspaceError(f"The share of wrong answers must be between 0 and 1, such as 0.05, not {error}.")
        with self._store.editing("taxonomy") as edit:
            refuse_conflict(edit.connection, on, Concerns(settings=[TAXONOMY]))
            versions.set_value(edit, TAXONOMY, _as_json(Setting(taxonomy, error)))
            edit.details = TaxonomyDetails(len(taxonomy.lineages), list(taxonomy.ranks), error).as_dict()
        return edit.done

    def setting(self) -> Setting:
        """Return the taxonomy and the error that it is used with."""
        with self._database.reading() as connection:
            return _read(connection)[0]

    def missing(self) -> list[str]:
        """Return the known classes that have no taxon above them."""
        taxonomy = self.setting().taxonomy
        return [name for name in self.classes() if len(taxonomy.lineage(name)) < 2]

    def in_use(self) -> bool:
        """Return whether any known class has a taxon above it."""
        with self._database.reading() as connection:
            if versions.in_use(connection) is None:
                return False
        return len(self.missing()) < len(self.classes())

    def answers(
        self, ids: Collection[int] | None = None, *, wait: bool = True, progress: Progress = silent
    ) -> dict[int, Answer]:
        """Return the deepest sure taxon of items.

        Accepted items are judged so that at most the chosen share of items of known classes gets a wrong taxon, and
        rejected items so that this holds for items of new classes, as measured on known classes that were hidden.

        Parameters
        ----------
        ids : collection of int or None
            Items; None means all.
        wait : bool
            As for :meth:`namer`; meanwhile, only items with a label that a person gave have an answer.
        progress : callable
            Called with a stage, the steps done and their total (0: not known).

        Returns
        -------
        dict of int to Answer
            Without items of which not even the broadest taxon is sure, and empty if no known class has a taxon above
            it.

        """
        taxonomy = self.setting().taxonomy
        if not self.in_use():
            return {}
        with self._database.reading() as connection:
            found = _labels(connection, ids)
        answers = {one.id: Answer(_leaf(taxonomy, one.label), 1.0) for one in found if one.source in BY_PERSON}
        judged = {one.id: one.source in REJECTED for one in found if one.source in (*ACCEPTED, *REJECTED)}
        return answers | self.of_predictions(judged, wait=wait, progress=progress)

    def of_group(self, group: int) -> list[Share] | None:
        """Return how many items of a group that was returned to a known class surely belong to each taxon of it.

        Each item counts by its own deepest sure taxon, so the chosen error holds for these answers, too. Of a group of
        a new class the taxa are not known.

        Parameters
        ----------
        group : int

        Returns
        -------
        list of Share or None
            From the broadest taxon to the class itself; None if it is another group, or has over :data:`MOST_OF_GROUP`
            items.

        Raises
        ------
        MissingError
            If there is no such group.

        """
        with self._database.reading() as connection:
            found = groups.row_of(connection, group)
            query = select(assignments.c.item_id).where(groups.in_group(connection, group)).limit(MOST_OF_GROUP + 1)
            ids = connection.scalars(query).all()
        if found.kind != groups.KNOWN or len(ids) > MOST_OF_GROUP:
            return None
        paths = [answer.taxon.path for answer in self.answers(ids, wait=False).values()]
        line = self.setting().taxonomy.lineage(found.name or found.label)
        names = tuple(name for _, name in line)
        return [
            Share(name, rank, sum(path[:depth] == names[:depth] for path in paths))
            for depth, (rank, name) in enumerate(line, 1)
        ]

    def of_predictions(
        self, rejected: Mapping[int, bool], *, wait: bool = True, progress: Progress = silent
    ) -> dict[int, Answer]:
        """Return the deepest sure taxon of items that were recognised, whatever a person has decided since.

        Parameters
        ----------
        rejected : mapping of int to bool
            Items, with whether they were rejected.
        wait : bool
            As for :meth:`namer`.
        progress : callable
            As for :meth:`answers`.

        Returns
        -------
        dict of int to Answer
            As from :meth:`answers`.

        """
        if not rejected or (namer := self.namer(wait=wait, progress=progress)) is None:
            return {}
        answers: dict[int, Answer] = {}
        version, recognizer = self._recognizers.in_use()
        with self._database.reading() as connection:
            missing = set(without_vector(connection, among=list(rejected)))
        for part in in_parts([id for id in rejected if id not in missing]):
            p = recognizer.predict_proba(self._vectors.of_items(part, version))
            found = namer.name(p, [rejected[id] for id in part])
            answers |= {id: one for id, one in zip(part, found, strict=True) if one is not None}
        return answers

    def namer(self, *, wait: bool = True, progress: Progress = silent) -> Namer | None:
        """Return what names rows; None if no known class has a taxon above it.

        Parameters
        ----------
        wait : bool
            Whether thresholds that are not stored yet are computed. If not, None is returned meanwhile.
        progress : callable
            As for :meth:`answers`.

        Returns
        -------
        Namer or None

        """
        if not self.in_use() or (thresholds := self.thresholds(wait=wait, progress=progress)) is None:
            return None
        taxonomy, error = self.setting()
        labels = self._recognizers.in_use()[1].classes_.tolist()
        return Namer(taxonomy, self.classes(), thresholds, error, labels)

    def summary(self, *, progress: Progress = silent) -> dict[str, Counter[str]]:
        """Return how many accepted and rejected items are sure at each rank; the rank "" means at none.

        Parameters
        ----------
        progress : callable
            As for :meth:`answers`.

        Returns
        -------
        dict of str to Counter
            For ``accepted`` and ``rejected``.

        """
        answers = self.answers(progress=progress)
        with self._database.reading() as connection:
            found = _labels(connection)
        counts: dict[str, Counter[str]] = {"accepted": Counter(), "rejected": Counter()}
        for one in found:
            for kind, sources in (("accepted", ACCEPTED), ("rejected", REJECTED)):
                if one.source in sources:
                    counts[kind][answers[one.id].taxon.rank if one.id in answers else ""] += 1
        return counts

    def thresholds(self, *, wait: bool = True, progress: Progress = silent) -> Thresholds | None:
        """Return the thresholds of the version in use; they are computed once and stored.

        Parameters
        ----------
        wait : bool
            Whether they are computed if they are not stored yet. If not, None is returned.
        progress : callable
            As for :meth:`answers`.

        Returns
        -------
        Thresholds or None

        """
        version, recognizer = self._recognizers.in_use()
        classes = self.classes()
        with self._database.reading() as connection:
            (taxonomy, error), value = _read(connection)
            stored = connection.scalar(select(meta.c.value).where(meta.c.key == THRESHOLDS))
        basis = hashlib.sha256(json.dumps([version, value, classes]).encode()).hexdigest()
        if stored and (entry := json.loads(stored))["basis"] == basis:
            return Thresholds(entry["known"], entry["new"])
        if not wait:
            return None
        found = calibrate(recognizer, classes, taxonomy, error, progress)
        content = json.dumps({"basis": basis, "known": found.known, "new": found.new})
        with suppress(ReadOnlyError), self._database.writing() as connection:
            write_meta(connection, THRESHOLDS, content)
        return found

    def classes(self) -> list[str]:
        """Return the present names of the known classes, in the order of the recogniser."""
        with self._database.reading() as connection:
            version = self._recognizers.version(connection)
            labels = next(one.classes for one in versions.all_versions(connection) if one.id == version)
            names = class_names.read(connection)
        return [names.get(label, label) for label in labels]


def calibrate(
    recognizer: OpenWorldRecognizer,
    classes: Sequence[str],
    taxonomy: Taxonomy,
    error: float,
    progress: Progress = silent,
) -> Thresholds:
    """Return the thresholds with which at most a share of answers is wrong.

    Parameters
    ----------
    recognizer : OpenWorldRecognizer
        Its exemplars are held out: some of each class for accepted items, whole classes for rejected ones. Those that
        the network itself was trained on are left out, if there are others.
    classes : sequence of str
        Names of its classes, in its order; classes with the same name are one.
    taxonomy : Taxonomy
    error : float
        The largest share.
    progress : callable
        Called with a stage, the steps done and their total.

    Returns
    -------
    Thresholds

    """
    name_of = dict(zip(recognizer.classes_.tolist(), classes, strict=True))
    found, trained = [], recognizer.memory_.trained
    for hidden in (False, True):
        p = recognizer.held_out(hide_classes=hidden, progress=progress)
        judged = np.isfinite(p).all(1)
        if not trained[judged].all():
            judged &= ~trained
        truth = [name_of[label] for label in recognizer.memory_.y[judged].tolist()]
        walks = walk(taxonomy, classes, p[judged], to_class=not hidden)
        found.append(risk_threshold(walks.first_wrong(truth, taxonomy), error))
    return Thresholds(*found)


def _labels(connection: Connection, ids: Collection[int] | None = None) -> list[Row[Any]]:
    """Return the label of each item and the source of it, of some items or of all, in the order of their arrival."""
    decided = decisions(connection, next(iter(ids)) if ids is not None and len(ids) == 1 else None)
    columns = [items.c.id, decided.label.label("label"), decided.source.label("source")]
    query = select(*columns).select_from(decided.joined).order_by(items.c.id)
    if ids is None:
        return list(connection.execute(query))
    return [row for part in in_parts(sorted(ids)) for row in connection.execute(query.where(items.c.id.in_(part)))]


def _leaf(taxonomy: Taxonomy, label: str) -> Taxon:
    line = taxonomy.lineage(label)
    rank, name = line[-1]
    return Taxon(name, rank, tuple(taxon for _, taxon in line), True)


def _as_json(setting: Setting) -> str:
    taxonomy = setting.taxonomy
    return json.dumps(
        {
            "ranks": taxonomy.ranks,
            "class_rank": taxonomy.class_rank,
            "lineages": taxonomy.lineages,
            "error": setting.error,
        }
    )


def _read(connection: Connection) -> tuple[Setting, str]:
    """Return the setting, and how it is stored."""
    value = connection.scalar(select(meta.c.value).where(meta.c.key == TAXONOMY))
    if value is None:
        return Setting(NO_TAXONOMY, ERROR), ""
    stored = json.loads(value)
    return Setting(Taxonomy(stored["ranks"], stored["lineages"], stored["class_rank"]), stored["error"]), value


def path_of(answer: Answer) -> str:
    """Return the names from the broadest taxon to the sure one, such as ``Corvidae/Corvus``.

    Parameters
    ----------
    answer : Answer

    Returns
    -------
    str

    """
    return SEPARATOR.join(answer.taxon.path)


def columns_of(answer: Answer | None) -> dict[str, Any]:
    """Return the columns of the deepest sure taxon, as tables have them.

    Parameters
    ----------
    answer : Answer or None
        None if not even the broadest taxon is sure.

    Returns
    -------
    dict of str to str or float
        Of None, all values are None.

    """
    if answer is None:
        return dict.fromkeys(("taxon", "rank", "taxon_probability"))
    return {"taxon": path_of(answer), "rank": answer.taxon.rank, "taxon_probability": answer.probability}
