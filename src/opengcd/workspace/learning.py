"""Learning: the first version of the recogniser from known classes, each later one from reviewed groups."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Connection

from opengcd._internal.progress import Progress
from opengcd.workspace import groups, versions
from opengcd.workspace.boxes import CONFIDENCE, read_boxes
from opengcd.workspace.crops import Crops, starts_of
from opengcd.workspace.details import InitDetails, LearnDetails
from opengcd.workspace.embedders import embedder_of, was_trained_on
from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.exemplars import Exemplars, store_exemplars
from opengcd.workspace.files import Found, find_files, ignore_file, is_stray, look_at, readable
from opengcd.workspace.intake import Intake, forget_unlabelled
from opengcd.workspace.predictions import least_of_stacks, unlearnt
from opengcd.workspace.recognition import Recognition
from opengcd.workspace.recognizers import Recognizers
from opengcd.workspace.settings import FILE as SETTINGS_FILE
from opengcd.workspace.stacks import stacks_of
from opengcd.workspace.store import Store
from opengcd.workspace.vectors import Vectors
from opengcd.workspace.versions import Version

if TYPE_CHECKING:
    from opengcd.recognizer import OpenWorldRecognizer

Known = str | os.PathLike[str] | Mapping[str, Iterable[str | os.PathLike[str]]]
"""A folder with a folder of images per class, or the files and folders of each class."""
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
        intake: Intake,
        recognition: Recognition,
    ) -> None:
        self._store = store
        self._database = store.database
        self._vectors = vectors
        self._recognizers = recognizers
        self._exemplars = exemplars
        self._intake = intake
        self._recognition = recognition

    def fit(
        self,
        known: Known,
        progress: Progress,
        on_skipped: Callable[[str], object] = ignore_file,
        boxes: str | os.PathLike[str] | None = None,
        min_confidence: float = CONFIDENCE,
    ) -> list[tuple[str, str]]:
        """Learn the known classes; return the files that could not be used, with reasons."""
        with self._store.alone(progress):
            with self._database.reading() as connection:
                if versions.in_use(connection) is not None:
                    raise WorkspaceError(
                        f"{self._store.path} has learnt its first classes already; add more with discover and learn."
                    )
            if isinstance(known, Mapping):
                classes, bad = _class_files(known, on_skipped)
            else:
                classes, bad = _class_folders(Path(known), on_skipped)
            from opengcd.recognizer import OpenWorldRecognizer

            recognizer = OpenWorldRecognizer(device=self._store.device, **self._store.settings.recognizer)
            recognizer.check_parameters(len(classes))
            if boxes is not None:
                starts = (
                    [start for paths in known.values() for start in paths] if isinstance(known, Mapping) else [known]
                )
                places, read = starts_of(starts, boxes), read_boxes(boxes)
                for label, files in classes.items():
                    cuts = list(Crops(self._store.path).cut(files, places, read, min_confidence, progress))
                    classes[label] = [look_at(crop) for cut in cuts for crop in cut.crops]
                    bad += [(cut.path, cut.reason) for cut in cuts if cut.reason]
                if not any(classes.values()):
                    why = bad[0][1] if bad else "no box has the confidence that is needed"
                    raise WorkspaceError(f"{boxes} has no boxes for these images: {why}.")
            labels, unusable = self._take_classes(classes, progress)
            bad += unusable
            where = "" if isinstance(known, Mapping) else f" in {known}"
            if not labels:
                why = f": {bad[0][1]}" if bad else ""
                raise WorkspaceError(f"No image{where} can be used{why}.")
            if len(labels) == len(classes):
                raise WorkspaceError(f"Every class{where} has a single image; add more images, at least ten each.")
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
                forget_unlabelled(edit.connection, {path for path, _ in bad})
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

    def _take_classes(
        self, classes: Mapping[str, list[Found]], progress: Progress
    ) -> tuple[dict[int, str], list[tuple[str, str]]]:
        """Take in the files of class folders; return the label of each item, and what cannot be used, with reasons."""
        labels: dict[int, str] = {}
        bad = []
        label_of = {found.path: label for label, files in classes.items() for found in files}
        for batch in self._intake.take([found for files in classes.values() for found in files], progress):
            for path, item, reason in batch:
                if item is None:
                    bad.append((path, reason))
                elif labels.setdefault(item, label_of[path]) != label_of[path]:
                    bad.append((path, f"the same image is in {labels[item]!r}, too; delete one of them"))
        missing = sorted(set(classes) - set(labels.values()))
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


def _class_files(
    known: Mapping[str, Iterable[str | os.PathLike[str]]], on_skipped: Callable[[str], object]
) -> tuple[dict[str, list[Found]], list[tuple[str, str]]]:
    """Return the files of each class."""
    if len(known) < 2:
        raise WorkspaceError("Give images of at least two classes.")
    return {groups.check_label(label): list(find_files(starts, on_skipped)) for label, starts in known.items()}, []


def _class_folders(
    known: Path, on_skipped: Callable[[str], object]
) -> tuple[dict[str, list[Found]], list[tuple[str, str]]]:
    """Return the files of each class folder, and the files outside of them, with reasons."""
    if not known.is_dir():
        raise WorkspaceError(f"There is no folder {known}; it should hold a folder of images for each known class.")
    found: dict[str, list[Found]] = {}
    bad = []
    for entry in sorted(known.iterdir()):
        if entry.is_dir():
            if not entry.name.startswith(".") and not (entry / SETTINGS_FILE).exists():
                found[groups.check_label(readable(entry.name))] = list(find_files([entry], on_skipped))
        elif is_stray(entry.name):
            on_skipped(str(entry))
        else:
            bad.append((str(entry), "not in the folder of a class"))
    if not found and bad:
        raise WorkspaceError(
            f"{known} holds files, but no folders; sort the images into one folder for each known class, named after "
            "the class."
        )
    if len(found) < 2:
        deeper = _single_folders(known)
        if deeper != known:
            raise WorkspaceError(
                f"{known} holds one folder only, and those of the classes seem to be deeper; give {deeper} instead."
            )
        there = f"has only the class {next(iter(found))!r}" if found else "is empty"
        raise WorkspaceError(f"{known} {there}; it should hold a folder of images for each of at least two classes.")
    return found, bad


def _single_folders(folder: Path) -> Path:
    """Return the folder itself, or the first one below it that holds several folders, if each above holds only one."""
    start = folder
    while True:
        inner = [one for one in folder.iterdir() if one.is_dir() and not one.name.startswith(".")]
        if len(inner) != 1:
            return folder if inner else start
        folder = inner[0]
