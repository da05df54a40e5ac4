"""The known classes and groups that images may belong to, the most likely first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from sqlalchemy import Connection

from opengcd._internal.unit_length import unit_rows
from opengcd.workspace import class_names, groups, log
from opengcd.workspace.counts import Counts
from opengcd.workspace.exemplars import Exemplars
from opengcd.workspace.groups import REMOVED
from opengcd.workspace.items import hash_of
from opengcd.workspace.predictions import predicted
from opengcd.workspace.recognizers import Recognizers
from opengcd.workspace.store import Store
from opengcd.workspace.vectors import Vectors

LOOKED_AT = 100
"""Images that a suggestion is based on; the others are left out."""


class Suggestion(NamedTuple):
    """A known class or a group that images may belong to."""

    label: str
    group: int | None
    """The number of the group; None for a known class without images under review."""
    known: bool
    """Whether it is a known class."""
    likeness: float
    """Cosine of the centres in the metric of the recogniser, from -1 to 1."""
    image: int | None
    """A typical image of it."""


class Suggested(NamedTuple):
    """All known classes and groups, the most likely first, as of an edit."""

    edit: int
    homes: list[Suggestion]


class _Kept(NamedTuple):
    """The centres of the known classes, in the metric of a version."""

    version: int
    classes: list[str]
    centres: np.ndarray


class Suggestions:
    """Suggests where images belong."""

    def __init__(
        self, store: Store, vectors: Vectors, recognizers: Recognizers, exemplars: Exemplars, counts: Counts
    ) -> None:
        self._database = store.database
        self._vectors = vectors
        self._recognizers = recognizers
        self._exemplars = exemplars
        self._counts = counts
        self._kept: _Kept | None = None

    def of_items(self, items: Sequence[int]) -> Suggested:
        """Return all known classes and groups, the most likely for some images first.

        Groups and classes are ordered by the cosine between the centre of their most typical images and that of the
        given ones, in the metric of the recogniser. Among each other, the known classes are in the order of the
        classifier: by its mean probability for the given images.

        Parameters
        ----------
        items : sequence of int
            Numbers of images; the first :data:`LOOKED_AT` count.

        Returns
        -------
        Suggested
            Without a likeness (0) if the network in use has embedded none of the images yet.

        Raises
        ------
        MissingError
            If there is no such image.

        """
        version, recognizer = self._recognizers.in_use()
        kept = self._known(version, recognizer)
        chosen = list(dict.fromkeys(items))[:LOOKED_AT]
        with self._database.reading() as connection:
            for item in chosen:
                hash_of(connection, item)  # raises if there is no such image
            edit = log.last_edit(connection)
            counts = self._counts.of_groups(connection)
            sizes = {id: count.size for id, count in counts.items()}
            found = [group for group in groups.group_sizes(connection, sizes) if group.kind != REMOVED]
            samples = [chosen, *(counts[group.id].typical for group in found)]
            vectors = self._vectors_of(connection, version, samples)
            opinion, names = _opinion(connection, chosen), class_names.read(connection)
        rows = [unit_rows(recognizer.in_metric(X)).mean(0) if len(X) else None for X in vectors]
        centre = rows[0]

        def likeness(other: np.ndarray | None) -> float:
            if centre is None or other is None:
                return 0.0
            norms = float(np.linalg.norm(centre) * np.linalg.norm(other))
            return float(centre @ other) / norms if norms else 0.0

        by_class = dict(zip(class_names.present(names, kept.classes), map(likeness, kept.centres), strict=True))
        of_known = {group.label: group.id for group in found if group.label in by_class}
        novel = [
            Suggestion(group.label, group.id, False, likeness(row), counts[group.id].typical[0])
            for group, row in zip(found, rows[1:], strict=True)
            if group.label not in by_class
        ]
        shown = {label: next(iter(found), None) for label, found in self._exemplars.by_class().items()}
        known = [
            Suggestion(label, of_known.get(label), True, cosine, shown.get(label)) for label, cosine in by_class.items()
        ]
        return Suggested(edit, _in_order(novel, known, opinion))

    def _vectors_of(self, connection: Connection, version: int, samples: list[list[int]]) -> list[np.ndarray]:
        """Return the features of the items of each sample that the network of the version has embedded."""
        store = self._vectors.shards(connection, version)
        there = store.having(connection, [item for sample in samples for item in sample])
        kept = [[item for item in sample if item in there] for sample in samples]
        items = [item for sample in kept for item in sample]
        X = self._vectors.scaled(store.of_items(connection, items)) if items else np.empty((0, 1))
        return np.split(X, np.cumsum([len(sample) for sample in kept])[:-1])

    def _known(self, version: int, recognizer: object) -> _Kept:
        """Return the centres of the known classes; they are kept for the version in use."""
        kept = self._kept
        if kept is None or kept.version != version:
            memory, classes = recognizer.memory_, [str(label) for label in recognizer.classes_.tolist()]  # type: ignore[attr-defined]
            Z = unit_rows(recognizer.in_metric(memory.X))  # type: ignore[attr-defined]
            centres = np.stack([Z[memory.y == label].mean(0) for label in classes])
            kept = self._kept = _Kept(version, classes, centres)
        return kept


def _opinion(connection: Connection, items: Sequence[int]) -> dict[str, float]:
    """Return the classifier's probability of each class, summed over items that it has recognised."""
    found: defaultdict[str, float] = defaultdict(float)
    for prediction in predicted(connection, items).values():
        for label, probability in prediction.top:
            found[label] += probability
    return found


def _in_order(novel: list[Suggestion], known: list[Suggestion], opinion: dict[str, float]) -> list[Suggestion]:
    """Order by likeness; at the places of known classes, put these in the order of the classifier's opinion."""
    places = sorted([*novel, *known], key=lambda one: (-one.likeness, one.label))
    ranked = iter(sorted(known, key=lambda one: (-opinion.get(one.label, 0.0), -one.likeness, one.label)))
    return [next(ranked) if one.known else one for one in places]
