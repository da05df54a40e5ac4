"""Learning: the first version of the recogniser from known classes, each later one from reviewed groups."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sqlalchemy import Connection

from opengcd._internal.progress import Progress
from opengcd.workspace import groups, versions
from opengcd.workspace.details import InitDetails, LearnDetails
from opengcd.workspace.embedders import embedder_of, was_trained_on
from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.exemplars import Exemplars, store_exemplars
from opengcd.workspace.image_lists import NO_LABEL, read_known
from opengcd.workspace.intake import Intake, Taken
from opengcd.workspace.predictions import least_of_stacks, unlearnt
from opengcd.workspace.recognition import Recognition
from opengcd.workspace.recognizers import Recognizers
from opengcd.workspace.stacks import stacks_of
from opengcd.workspace.store import Store
from opengcd.workspace.vector_intake import AnyIntake, VectorIntake
from opengcd.workspace.vectors import Vectors
from opengcd.workspace.versions import Version

if TYPE_CHECKING:
    from opengcd.recognizer import OpenWorldRecognizer

LabelledRows = tuple[np.ndarray, np.ndarray]
MEMORY = 20_000
"""Default size of the memory. All images stay on disk, so exemplars are dropped only where learning from all of them
would take minutes."""


class Learning:
    """Train versions of the recogniser and put them to use."""

    def __init__(
        self,
        store: Store,
        vectors: Vectors,
        recognizers: Recognizers,
        exemplars: Exemplars,
        intake: AnyIntake,
        recognition: Recognition,
    ) -> None:
        self._store = store
        self._database = store.database
        self._vectors = vectors
        self._recognizers = recognizers
        self._exemplars = exemplars
        self._intake = intake
        self._recognition = recognition

    def fit(self, known: str | os.PathLike[str], progress: Progress) -> list[tuple[str, str]]:
        """Learn the classes of a folder or a list; return the files that could not be used, with reasons."""
        with self._store.alone(progress):
            with self._database.reading() as connection:
                if versions.in_use(connection) is not None:
                    raise WorkspaceError(
                        f"{self._store.path} has learnt its first classes already; add more with discover and learn."
                    )
            source = self._known_images(known) if isinstance(self._intake, Intake) else self._known_vectors(known)
            from opengcd.recognizer import OpenWorldRecognizer

            recognizer = OpenWorldRecognizer(device=self._store.device, **self._store.settings.recognizer)
            recognizer.check_parameters(len(source.classes))
            labels, unusable = _label_items(source, progress)
            bad = [*source.bad, *unusable]
            if not labels:
                raise WorkspaceError(f"Nothing in {known} can be used: {bad[0][1]}.")
            if "memory_size" not in self._store.settings.recognizer:
                recognizer.set_params(memory_size=max(MEMORY, len(labels)))
            recognizer.fit(self._vectors.of_items(list(labels)), list(labels.values()), progress=progress)
            with self._database.reading() as connection:
                version = versions.next_id(connection)
            digest = versions.save(recognizer, self._store.models, version)
            memory = recognizer.memory_
            report = learning_report(recognizer, accuracies(recognizer, memory=(memory.X, memory.y)))
            with self._store.editing("init") as edit:
                embedder = embedder_of(edit.connection)
                saved = versions.Saved(version, recognizer, digest, None if embedder is None else embedder.id)
                versions.add(edit, saved, labels)
                store_exemplars(edit.connection, version, np.array(list(labels))[memory.kept])
                versions.note_report(edit.connection, version, report)
                edit.before.clear()  # there is no earlier state to restore
                edit.details = InitDetails(len(recognizer.classes_), len(labels), len(bad)).as_dict()
        return bad

    def learn(self, progress: Progress, record: Callable[[Connection, Version], None]) -> Version:
        """Learn the reviewed groups; see :meth:`opengcd.Workspace.learn`."""
        with self._store.alone(progress):
            self._intake.complete(progress)
            with self._database.reading() as connection:
                labels = groups.to_learn(connection)
                version, new = self._recognizers.version(connection), versions.next_id(connection)
                embedder = embedder_of(connection)
                limit = versions.rejection_limit(connection)
                stream: list[int] = list(connection.scalars(unlearnt(connection)))
                copies = stacks_of(connection, stream)
                trained = None if embedder is None else was_trained_on(connection, embedder, list(labels))
            if not labels:
                raise WorkspaceError(
                    "There is nothing to learn: no group is named and confirmed. Name and confirm a group in the "
                    "review first."
                )
            self._recognizers.recall()
            X, y = self._vectors.of_items(list(labels), version), np.array(list(labels.values()))
            recognizer = self._recognizers.read(version, limit)  # one of its own: learning changes it
            rows: dict[str, LabelledRows] = {
                "memory": (recognizer.memory_.X, recognizer.memory_.y),
                "confirmed": (X, y),
            }
            before = accuracies(self._recognizers.in_use()[1], **rows)
            offered = np.concatenate([self._exemplars.of_memory(version, recognizer.memory_), list(labels)])
            together = [copies.get(item, item) for item in labels]
            recognizer.learn(X, y, trained=trained, stacks=together, progress=progress)
            exemplars = offered[recognizer.memory_.kept]
            progress("storing the version", 0, 2)
            digest = versions.save(recognizer, self._store.models, new)
            recognizer = self._recognizers.read(new, limit)  # a version that cannot be read must not be put to use
            rest = [item for item in stream if item not in labels]
            scores = future_scores(recognizer, rest, lambda: self._vectors.of_items(rest, version), copies)
            report = learning_report(recognizer, accuracies(recognizer, **rows), before=before)
            progress("storing the version", 1, 2)
            with self._store.editing("learn") as edit:
                self._recognizers.refuse_other_version(edit.connection, version, "learn")
                _refuse_other_labels(edit.connection, labels)
                new_classes = sorted(set(recognizer.classes_.tolist()) - set(groups.classes(edit.connection)))
                saved = versions.Saved(new, recognizer, digest, None if embedder is None else embedder.id)
                versions.add(edit, saved, labels)
                store_exemplars(edit.connection, new, exemplars)
                versions.note_report(edit.connection, new, report)
                edit.details = LearnDetails(new, len(labels), new_classes).as_dict()
                record(edit.connection, versions.all_versions(edit.connection)[-1])
            try:
                self._recognition.ask_about_unseen(progress, scores)
            except (ValueError, OSError) as error:
                warnings.warn(f"Version {new} is in use, but has not recognised all images yet: {error}", stacklevel=3)
        with self._database.reading() as connection:
            return versions.all_versions(connection)[-1]

    def _known_images(self, known: str | os.PathLike[str]) -> _Known:
        classes, bad = read_known(known)
        label_of = {found.path: label for label, files in classes.items() for found in files}
        files = [found for files in classes.values() for found in files]
        return _Known(sorted(classes), label_of, bad, lambda progress: self._intake.take(files, progress))

    def _known_vectors(self, known: str | os.PathLike[str]) -> _Known:
        intake = self._intake
        assert isinstance(intake, VectorIntake)
        rows = intake.read(known)
        label_of = {name: label for name, label in zip(rows.names, rows.labels, strict=True) if label is not None}
        bad = [(name, NO_LABEL) for name in rows.names if name not in label_of]
        classes = sorted(set(label_of.values()))
        if len(classes) < 2:
            raise WorkspaceError(f"{known} should hold labelled vectors of at least two classes, in labels.")
        kept = rows.only([name in label_of for name in rows.names])
        return _Known(classes, label_of, bad, lambda progress: intake.take_rows(kept, progress))


class _Known(NamedTuple):
    """Labelled images or vectors that were found, and a way to take them in."""

    classes: list[str]
    label_of: dict[str, str]
    """By path."""
    bad: list[tuple[str, str]]
    take: Callable[[Progress], Iterator[list[Taken]]]


def _label_items(known: _Known, progress: Progress) -> tuple[dict[int, str], list[tuple[str, str]]]:
    """Take in known images; return the label of each item, and what cannot be used, with reasons."""
    labels: dict[int, str] = {}
    bad = []
    for batch in known.take(progress):
        for path, item, reason in batch:
            if item is None:
                bad.append((path, reason))
            elif labels.setdefault(item, known.label_of[path]) != known.label_of[path]:
                bad.append((path, f"the same image is in {labels[item]!r}, too; delete one of them"))
    missing = sorted(set(known.classes) - set(labels.values()))
    return labels, bad + [(label, "no image of this class can be used") for label in missing]


def _refuse_other_labels(connection: Connection, labels: Mapping[int, str]) -> None:
    """Refuse to store what was learnt if the label of an item has changed meanwhile."""
    now = groups.to_learn(connection)
    changed = sum(now.get(item) != label for item, label in labels.items())
    if changed:
        raise WorkspaceError(
            f"{changed} of the {len(labels)} images to learn were moved, renamed or unconfirmed while learn ran, so "
            "nothing was changed. Run learn again."
        )


def future_scores(
    recognizer: OpenWorldRecognizer, ids: Sequence[int], features: Callable[[], np.ndarray], stacks: Mapping[int, int]
) -> dict[int, float]:
    """Adapt the threshold of a new version to the stream; return the unknown scores of the stream.

    Empty if the threshold does not follow the stream; then its features are not read. Items of one of ``stacks``
    count once.
    """
    if not ids or not recognizer.adapts:
        return {}
    scores = dict(zip(ids, recognizer.unknown_score(features()).tolist(), strict=True))
    recognizer.recall(least_of_stacks(scores, stacks))
    return scores


def accuracies(recognizer: OpenWorldRecognizer, **rows: LabelledRows) -> dict[str, float]:
    """Return the share of correct predictions on each set of labelled rows."""
    return {name: float((recognizer.predict(X) == y).mean()) for name, (X, y) in rows.items()}


def learning_report(recognizer: OpenWorldRecognizer, after: dict[str, float], **more: Any) -> dict[str, Any]:
    """Return the report of a new version; see :func:`opengcd.workspace.versions.note_report`."""
    memory = recognizer.memory_
    return {"memory": {"size": memory.size, "used": len(memory)}, "after": after} | more
