"""Learning: the first version of the recogniser from known classes, each later one from reviewed groups."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Connection

from opengcd._internal.progress import Progress
from opengcd.workspace import class_names, corrections, groups, versions
from opengcd.workspace.crops import Crops
from opengcd.workspace.details import InitDetails, LearnDetails
from opengcd.workspace.embedders import embedder_of, was_trained_on
from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.exemplars import Exemplars, store_exemplars
from opengcd.workspace.files import ignore_file
from opengcd.workspace.held_out import HeldOut
from opengcd.workspace.image_lists import Known, KnownImages, find_images, read_known
from opengcd.workspace.intake import forget_unlabelled
from opengcd.workspace.labelled_crops import Cutting
from opengcd.workspace.labelled_intake import ToTake, images_to_take, vectors_to_take
from opengcd.workspace.predictions import least_of_stacks, unlearnt
from opengcd.workspace.recognition import Recognition
from opengcd.workspace.recognizers import Recognizers
from opengcd.workspace.stacks import stacks_of
from opengcd.workspace.store import Store
from opengcd.workspace.vector_intake import AnyIntake, VectorIntake
from opengcd.workspace.vectors import Vectors
from opengcd.workspace.versions import Version
from opengcd.workspace.videos import FPS

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
        held_out: HeldOut,
    ) -> None:
        self._store = store
        self._database = store.database
        self._vectors = vectors
        self._recognizers = recognizers
        self._exemplars = exemplars
        self._intake = intake
        self._recognition = recognition
        self._held_out = held_out

    def fit(
        self,
        known: Known,
        progress: Progress,
        on_skipped: Callable[[str], object] = ignore_file,
        cutting: Cutting | None = None,
        box_labels: bool = False,
        fps: float = FPS,
    ) -> list[tuple[str, str]]:
        """Learn the known classes; return the files that could not be used, with reasons."""
        with self._store.alone(progress):
            with self._database.reading() as connection:
                if versions.in_use(connection) is not None:
                    raise WorkspaceError(
                        f"{self._store.path} has learnt its first classes already; add more with discover and learn."
                    )
            if isinstance(self._intake, VectorIntake):
                source = vectors_to_take(self._intake, known, 2)
            else:
                crops = Crops(self._store)
                images = _read_known(crops, known, cutting, box_labels, progress, on_skipped)
                source = images_to_take(self._intake, images, fps, progress)
            from opengcd.recognizer import OpenWorldRecognizer

            recognizer = OpenWorldRecognizer(device=self._store.device, **self._store.settings.recognizer)
            recognizer.check_parameters(len(source.classes))
            labels, unusable = _label_items(source, progress)
            bad = [*source.bad, *unusable]
            where = "" if isinstance(known, Mapping) else f" in {known}"
            if not labels:
                why = f": {bad[0][1]}" if bad else ""
                raise WorkspaceError(f"No image{where} can be used{why}.")
            if len(labels) == len(source.classes):
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
            self._measure(progress)
        return bad

    def learn(self, progress: Progress, record: Callable[[Connection, Version], None]) -> Version:
        """Learn the reviewed groups; see :meth:`opengcd.Workspace.learn`."""
        with self._store.alone(progress):
            self._intake.complete(progress)
            with self._database.reading() as connection:
                names, corrected = class_names.read_all(connection), corrections.pending(connection)
                labels = _to_learn(connection, corrected)
                version, new = self._recognizers.version(connection), versions.next_id(connection)
                embedder = embedder_of(connection)
                limit = versions.rejection_limit(connection)
                stream: list[int] = list(connection.scalars(unlearnt(connection)))
                copies = stacks_of(connection, stream)
                trained = None if embedder is None else was_trained_on(connection, embedder, list(labels))
            if not labels and not corrected:
                raise WorkspaceError(
                    "There is nothing to learn: no group is named and confirmed, and no label is corrected. Name and "
                    "confirm a group in the review first, or teach labelled images."
                )
            self._recognizers.recall()
            stored = {item: names.label(name) for item, name in labels.items()}
            recognizer = self._recognizers.read(version, limit)  # one of its own: learning changes it
            y = np.array(list(stored.values()), dtype=str)
            X = self._vectors.of_items(list(labels), version) if labels else recognizer.memory_.X[:0]
            known = self._exemplars.of_memory(version, recognizer.memory_)
            forget = np.isin(known, list(corrected))
            rows: dict[str, LabelledRows] = {
                "memory": (recognizer.memory_.X[~forget], recognizer.memory_.y[~forget]),
                "confirmed": (X, y),
            }
            before = accuracies(self._recognizers.in_use()[1], **rows)
            offered = np.concatenate([known, np.array(list(labels), dtype=np.int64)])
            together = [copies.get(item, item) for item in labels]
            recognizer.learn(X, y, trained=trained, stacks=together, forget=forget, progress=progress)
            exemplars = offered[recognizer.memory_.kept]
            progress("storing the version", 0, 2)
            digest = versions.save(recognizer, self._store.models, new)
            recognizer = self._recognizers.read(new, limit)  # a version that cannot be read must not be put into use
            rest = [item for item in stream if item not in labels]
            scores = future_scores(recognizer, rest, lambda: self._vectors.of_items(rest, version), copies)
            report = learning_report(recognizer, accuracies(recognizer, **rows), before=before)
            progress("storing the version", 1, 2)
            with self._store.editing("learn") as edit:
                self._recognizers.refuse_other_version(edit.connection, version, "learn")
                _refuse_other_labels(edit.connection, labels, corrected)
                if class_names.read_all(edit.connection) != names:
                    raise WorkspaceError(
                        "A class was renamed while learn ran, so nothing was changed. Run learn again."
                    )
                fresh = {label: name for name, label in zip(labels.values(), stored.values(), strict=True)}
                class_names.write(edit, {label: name for label, name in fresh.items() if label not in names.known})
                new_classes = sorted(set(fresh.values()) - set(groups.classes(edit.connection)))
                saved = versions.Saved(new, recognizer, digest, None if embedder is None else embedder.id)
                versions.add(edit, saved, dict.fromkeys(corrected, versions.FORGOTTEN) | stored)
                store_exemplars(edit.connection, new, exemplars)
                versions.note_report(edit.connection, new, report)
                edit.details = LearnDetails(new, len(labels), new_classes, len(corrected) or None).as_dict()
                record(edit.connection, versions.all_versions(edit.connection)[-1])
            try:
                self._recognition.ask_about_unseen(progress, scores)
            except (ValueError, OSError) as error:
                warnings.warn(f"Version {new} is in use, but has not recognised all images yet: {error}", stacklevel=3)
            self._measure(progress)
        with self._database.reading() as connection:
            return versions.all_versions(connection)[-1]

    def _measure(self, progress: Progress) -> None:
        """Measure the new version on held-out images; it stays in use if that fails."""
        try:
            self._held_out.measure_now(progress)
        except (ValueError, OSError) as error:
            warnings.warn(f"The new version is in use, but was not measured: {error}", stacklevel=4)


def _read_known(
    crops: Crops,
    known: Known,
    cutting: Cutting | None,
    box_labels: bool,
    progress: Progress,
    on_skipped: Callable[[str], object],
) -> KnownImages:
    """Return the images of each class, or the crops of their boxes."""
    if box_labels and cutting is None:
        raise WorkspaceError("Labels of boxes need a file of boxes.")
    if cutting is None:
        return read_known(known, on_skipped)
    starts = [] if isinstance(known, Mapping) else [known]
    if not box_labels:
        return cutting.by_image(crops, read_known(known, on_skipped), starts, progress)
    sources = [path for some in known.values() for path in some] if isinstance(known, Mapping) else [known]
    found = cutting.by_box(crops, list(find_images(sources, on_skipped)), starts, progress)
    if len(found.classes) < 2:
        raise WorkspaceError(
            f"The boxes in {cutting.boxes} have only the class {next(iter(found.classes))!r}; at least two are needed."
        )
    return found


def _label_items(known: ToTake, progress: Progress) -> tuple[dict[int, str], list[tuple[str, str]]]:
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


def _to_learn(connection: Connection, corrected: Mapping[int, str | None]) -> dict[int, str]:
    """Return the items to learn with their classes: newly labelled ones, and those with a corrected label."""
    again = {item: label for item, label in corrected.items() if label is not None}
    return dict(sorted((groups.to_learn(connection) | again).items()))


def _refuse_other_labels(
    connection: Connection, labels: Mapping[int, str], corrected: Mapping[int, str | None]
) -> None:
    """Refuse to store what was learnt if the label of an item has changed meanwhile."""
    again = corrections.pending(connection)
    now = _to_learn(connection, again)
    changed = sum(now.get(item) != label for item, label in labels.items())
    changed += sum(again.get(item, item) != label for item, label in corrected.items() if label is None)
    if changed or set(corrected) - set(again):
        images = len(labels.keys() | corrected.keys())
        raise WorkspaceError(
            f"{max(changed, 1)} of the {images} images to learn were moved, renamed or unconfirmed while learn ran, so "
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
    return {name: float((recognizer.predict(X) == y).mean()) for name, (X, y) in rows.items() if len(X)}


def learning_report(recognizer: OpenWorldRecognizer, after: dict[str, float], **more: Any) -> dict[str, Any]:
    """Return the report of a new version; see :func:`opengcd.workspace.versions.note_report`."""
    memory = recognizer.memory_
    return {"memory": {"size": memory.size, "used": len(memory)}, "after": after} | more
