"""Discovery: from images of new classes in the stream to groups under review."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sqlalchemy import Connection

from opengcd._internal.progress import Progress
from opengcd._internal.validation import UNKNOWN_STR
from opengcd.workspace import class_names, groups, log, stacks
from opengcd.workspace.details import DiscoverDetails
from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.grouping import Proposal, regroup, to_group
from opengcd.workspace.predictions import observed_scores
from opengcd.workspace.recognition import Recognition
from opengcd.workspace.recognizers import Recognizers
from opengcd.workspace.store import Store
from opengcd.workspace.vectors import Vectors

if TYPE_CHECKING:
    from opengcd.discover import Discovery
    from opengcd.recognizer import OpenWorldRecognizer


class Discovered(NamedTuple):
    """The result of a discovery."""

    k: int
    """Number of classes, known ones included."""
    k_interval: tuple[int, int] | None
    """k lies between these two with a probability of 90 %; None if the search gives no interval."""
    items: int
    """Number of items that were grouped: those of the stream, or the rejected ones, that no person had decided on."""
    returned: int
    """Items that were returned to a known class other than the one recognised."""
    groups: int
    trusted: bool
    reason: str
    left_alone: int = 0
    """Items that a person changed while the discovery ran; they were left unchanged."""


class GroupDiscovery:
    """Finds groups of new classes, and stores them for review."""

    def __init__(self, store: Store, vectors: Vectors, recognizers: Recognizers, recognition: Recognition) -> None:
        self._store = store
        self._vectors = vectors
        self._recognizers = recognizers
        self._recognition = recognition

    def discover(
        self, k: int | None, progress: Progress, record: Callable[[Connection, Discovered], None]
    ) -> Discovered:
        """Group images of new classes; see :meth:`opengcd.Workspace.discover`."""
        with self._store.alone(progress):
            self._recognition.ask_about_unseen(progress)
            version, recognizer = self._recognizers.in_use()
            whole_stream = recognizer.discovers_from == "stream"
            with self._store.database.reading() as connection:
                since = log.last_edit(connection)
                ids, examples = to_group(connection, whole_stream), groups.to_learn(connection)
                labels = class_names.read_all(connection)
            if not ids:
                raise WorkspaceError(
                    "There is nothing to discover: no image was rejected, or all are reviewed. Recognise more images "
                    "first."
                )
            X = self._vectors.of_items([*ids, *examples], version)
            numbers = self._count_once(recognizer, [*ids, *examples], X)
            found = recognizer.discover(
                X,
                k,
                # By the present threshold: early images were judged by an earlier one.
                rejected=recognizer.predict(X) == UNKNOWN_STR if whole_stream else None,
                confirmed=[UNKNOWN_STR] * len(ids) + [labels.label(name) for name in examples.values()],
                stacks=numbers,
                progress=progress,
            )
            found = _with_names(found, labels, examples.values())
            progress("storing the groups", 0, 1)
            with self._store.editing("discover") as edit:
                self._recognizers.refuse_other_version(edit.connection, version, "discover")
                number, returned, left_alone, stacked = regroup(edit, Proposal(since, ids, examples, found, numbers))
                facts = (found.trusted, found.reason, left_alone)
                done = Discovered(int(found.k), found.k_interval, len(ids), returned, number, *facts)
                edit.details = _details(done, version, found, stacked).as_dict()
                record(edit.connection, done)
        return done

    def _count_once(self, recognizer: OpenWorldRecognizer, items: Sequence[int], X: np.ndarray) -> np.ndarray:
        """Return the stack of each item, and let the threshold count each stack once."""
        by_vector = recognizer.stacks(X)
        with self._store.database.reading() as connection:
            numbers = stacks.find(connection, items, by_vector)
            first = np.unique(numbers, return_index=True)[1]
            recognizer.recall(
                observed_scores(
                    connection, {item: items[row] for item, row in zip(items, first[numbers].tolist(), strict=True)}
                )
            )
        return numbers


def _with_names(found: Discovery, labels: class_names.Labels, examples: Iterable[str]) -> Discovery:
    """Return a discovery with the present names of classes in place of the labels that the recogniser has."""
    names = labels.names | {labels.label(name): name for name in examples}
    if all(label == name for label, name in names.items()):
        return found
    named = [replace(group, label=names.get(str(group.label), group.label)) for group in found.groups]
    return replace(found, labels=np.array(class_names.present(names, found.labels.tolist())), groups=named)


def _details(done: Discovered, version: int, found: Discovery, stacked: int) -> DiscoverDetails:
    """Return the details of a discovery for the history."""
    return DiscoverDetails(
        k=done.k,
        images=done.items,
        returned=done.returned,
        groups=done.groups,
        version=version,
        trusted=done.trusted,
        reason=done.reason,
        left_alone=done.left_alone or None,
        k_interval=None if done.k_interval is None else list(done.k_interval),
        stacks=stacked or None,
        curve=sorted([point.k, point.score] for point in found.curve) or None,
    )
