"""Adaptation: a network that has learnt from the workspace's own images, as a new version.

The network is trained (:mod:`opengcd.adapt`), all vectors are computed again by it, the recogniser is fitted again on
the new vectors of the same exemplars, and then one transaction puts all of that into use. Until then, none of it is
visible; after a crash, the same command continues from the last finished epoch, or from the last stored batch of
vectors.
"""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, select

from opengcd._internal.progress import Progress
from opengcd.adapt import (
    AdaptError,
    AdaptReport,
    AdaptSettings,
    EpochPoint,
    TimeEstimate,
    adapt_network,
    check_trainable,
)
from opengcd.workspace import log, networks, versions
from opengcd.workspace.adaptation_images import (
    labelled_items,
    learnt_items,
    refuse_lost_classes,
    unlabelled_items,
)
from opengcd.workspace.details import AdaptDetails
from opengcd.workspace.embedders import (
    StoredEmbedder,
    all_embedders,
    embedder_of,
    was_trained_on,
    with_vector,
    without_vector,
)
from opengcd.workspace.errors import DamagedError, ReadOnlyError, WorkspaceError
from opengcd.workspace.exemplars import Exemplars, store_exemplars
from opengcd.workspace.learning import accuracies, future_scores, learning_report
from opengcd.workspace.originals import Original, embed_originals, find_originals
from opengcd.workspace.predictions import observed_scores
from opengcd.workspace.recognition import Recognition
from opengcd.workspace.recognizers import Recognizers
from opengcd.workspace.revision import raise_revision
from opengcd.workspace.schema import trained_items
from opengcd.workspace.stacks import stacks_of
from opengcd.workspace.store import Store
from opengcd.workspace.vector_intake import AnyIntake
from opengcd.workspace.vectors import Vectors

if TYPE_CHECKING:
    from opengcd.embed import Embedder
    from opengcd.recognizer import OpenWorldRecognizer

SCRATCH = "adapting"
"""The folder for what the training keeps until it has finished."""
VERB = "adapt"
DRY_RUN = "it was a dry run"
NO_HELP = "in the rehearsal, the adapted network was not better than the one in use"
NO_REHEARSAL = "too few classes are known for a rehearsal"
NO_CHANGE = "the training did not change the network"
SAID = ("rehearsed", "curve", "rehearsal_curve", "seconds")
"""The parts of a report that are shown; the rest is only in the folder of its network."""


class Adapted(NamedTuple):
    """The result of an adaptation."""

    switched: bool
    """Whether the adapted network is in use now."""
    version: int | None
    """The new version of the recogniser; None if nothing was changed."""
    reason: str
    """Why nothing was changed; empty if the network is in use."""
    report: AdaptReport
    missing: int
    """Images that were left out because their files are gone or have changed."""
    images: int
    """Images that the network was adapted to, or that were used to rehearse it."""

    def as_dict(self) -> dict[str, Any]:
        """Return the result as JSON, with the rehearsal, curves and seconds of the report.

        Returns
        -------
        dict

        """
        said = self.report.as_dict()
        facts = {key: said[key] for key in SAID}
        return {key: value for key, value in self._asdict().items() if key != "report"} | facts


class AdaptPlan(NamedTuple):
    """What an adaptation would use, whether it is possible here, and how long it would take."""

    possible: bool
    reason: str
    """Why it is not possible; empty if it is."""
    images: int
    """Images with labels that it would use."""
    unlabelled: int
    """Images of the stream without a label that it could use, too."""
    seconds: float | None
    """How many seconds it will take here; None if that is unknown."""
    device: str
    """``"cpu"`` or ``"cuda"``; empty if it is not possible."""
    last: dict[str, Any] | None
    """The last adaptation or rehearsal: its details in the history, its time, and whether it was undone."""


class _Task(NamedTuple):
    """All that an adaptation starts from."""

    version: int
    """The version in use."""
    limit: str | None
    """Its limit on rejection."""
    embedder: StoredEmbedder
    """The embedder in use."""
    exemplars: np.ndarray
    """The item of each exemplar."""
    originals: list[Original]
    """The images, in the order of the hashes of their content."""
    labels: list[str | None]
    missing: int
    settings: AdaptSettings
    seed: int
    run: str
    """A hash of all of these."""


class _Network(NamedTuple):
    """An adapted network in its folder, and what is known of its training."""

    stored: StoredEmbedder
    report: AdaptReport


class Adaptation:
    """Adapts the network in use to the images of a workspace; ``estimates`` keeps what was measured before."""

    def __init__(
        self,
        store: Store,
        vectors: Vectors,
        recognizers: Recognizers,
        exemplars: Exemplars,
        intake: AnyIntake,
        recognition: Recognition,
        estimates: MutableMapping[Any, TimeEstimate],
    ) -> None:
        self._store = store
        self._database = store.database
        self._vectors = vectors
        self._recognizers = recognizers
        self._exemplars = exemplars
        self._intake = intake
        self._recognition = recognition
        self._estimates = estimates

    def plan(
        self,
        settings: AdaptSettings | None = None,
        *,
        unlabelled: bool | None = None,
        dry_run: bool = False,
        measure: bool = True,
    ) -> AdaptPlan:
        """Return what an adaptation would use, whether it is possible here, and how long it would take.

        The first call measures a step of the training, which takes some seconds. What it has found is used again as
        long as the number of images is about the same.

        Parameters
        ----------
        settings, unlabelled, dry_run
            As for :meth:`opengcd.Workspace.adapt`.
        measure : bool
            Whether to measure if that has not been done yet; otherwise the time may be unknown.

        Returns
        -------
        AdaptPlan

        """
        with self._database.reading() as connection:
            known, embedder = versions.in_use(connection) is not None, embedder_of(connection)
            labelled, rest = (len(labelled_items(connection)), len(unlabelled_items(connection))) if known else (0, 0)
            last = _last(connection)
        try:
            self._refuse_impossible()
            chosen = self._settings(settings, unlabelled)
            device = _device(self._store.device)
            found = self._estimate(embedder, labelled, rest, chosen, device, measure)
        except (ValueError, OSError, ImportError) as error:
            return AdaptPlan(False, str(error), labelled, rest, None, "", last)
        seconds = None if found is None else found.reading + found.rehearsing if dry_run else found.total
        return AdaptPlan(True, "", labelled, rest, seconds, device, last)

    def _estimate(
        self,
        embedder: StoredEmbedder | None,
        labelled: int,
        others: int,
        settings: AdaptSettings,
        device: str,
        measure: bool,
    ) -> TimeEstimate | None:
        """Return how long an adaptation takes; None if that was not measured, or memory does not suffice for it."""
        key = embedder, _magnitude(labelled), _magnitude(others), json.dumps(asdict(settings)), device
        if key not in self._estimates and measure:
            from opengcd.adapt import estimate_time  # torch takes seconds

            network, pooling = self._vectors.network(embedder), self._store.settings.pooling
            try:
                self._estimates[key] = estimate_time(
                    network, labelled, others, settings, pooling=pooling, device=device
                )
            except RuntimeError as error:  # as torch reports it; the training itself can take smaller batches
                warnings.warn(f"The time that an adaptation takes cannot be measured: {error}", stacklevel=3)
        return self._estimates.get(key)

    def folder(self) -> Path | None:
        """Return the folder of the network in use if it is an adapted one; None if not."""
        with self._database.reading() as connection:
            embedder = embedder_of(connection)
        if embedder is None or embedder.digest is None:
            return None
        return networks.verify_network(self._store.path, embedder)[0]

    def write_onnx(self, file: Path) -> None:
        """Write the adapted network in use to an ONNX file; see :func:`opengcd.adapt.export_onnx`.

        Parameters
        ----------
        file : Path
            Its name must end in ``.onnx``.

        Raises
        ------
        WorkspaceError
            If no adapted network is in use, or the file would compute other vectors.

        """
        from opengcd.adapt import export_onnx

        folder = self.folder()
        if folder is None:
            raise WorkspaceError("No adapted network is in use, so none can be written as ONNX; adapt it first.")
        try:
            export_onnx(folder, file, pooling=self._store.settings.pooling)
        except AdaptError as error:
            raise WorkspaceError(str(error)) from None

    def adapt(
        self,
        settings: AdaptSettings | None,
        unlabelled: bool | None,
        progress: Progress,
        record: Callable[[Connection, Adapted], None],
        on_epoch: Callable[[str, EpochPoint], None],
        *,
        force: bool,
        dry_run: bool,
    ) -> Adapted:
        """Adapt the network; see :meth:`opengcd.Workspace.adapt`."""
        self._refuse_impossible()
        with self._store.alone(progress):
            task = self._begin(self._settings(settings, unlabelled), progress)
            network = self._made_before(task)
            if network is None:
                report = self._train(task, progress, on_epoch, force=force, dry_run=dry_run)
                if not report.written:
                    return self._decline(task, report, DRY_RUN if dry_run else _reason(report), record)
                network = self._place(task, report)
            if network is None:
                return self._decline(task, report, NO_CHANGE, record)
            if dry_run or not (force or _helps(network.report)):
                return self._decline(task, network.report, DRY_RUN if dry_run else NO_HELP, record)
            embedder, missing = self._embed_all(network.stored, progress)
            done, scores = self._switch(task, network, missing, progress, record)
            self._vectors.keep(embedder)
            networks.delete_folder(self._store.path / SCRATCH)
            try:
                self._recognition.ask_about_unseen(progress, scores)
            except (ValueError, OSError) as error:
                message = f"Version {done.version} is in use, but has not recognised all images yet: {error}"
                warnings.warn(message, stacklevel=3)
        return done

    def _refuse_impossible(self) -> None:
        if self._database.read_only:
            raise ReadOnlyError(f"{self._store.path} is read-only; its network cannot be adapted here.")
        with self._database.reading() as connection:
            self._recognizers.version(connection)  # raises if there is none
        check_trainable(self._store.settings.embedder)

    def _settings(self, settings: AdaptSettings | None, unlabelled: bool | None) -> AdaptSettings:
        chosen = settings or AdaptSettings()
        return chosen if unlabelled is None else replace(chosen, unlabelled=unlabelled)

    def _begin(self, settings: AdaptSettings, progress: Progress) -> _Task:
        """Collect the images; delete what other runs that were interrupted have left."""
        self._intake.complete(progress)
        with self._database.reading() as connection:
            version, limit = self._recognizers.version(connection), versions.rejection_limit(connection)
            embedder = embedder_of(connection)
            labels = labelled_items(connection)
            wanted = [*labels, *(unlabelled_items(connection) if settings.unlabelled else ())]
        assert embedder is not None  # there is a version
        originals = sorted(find_originals(self._database, wanted, progress), key=lambda one: one.hash)
        exemplars = self._exemplars.of_memory(version, self._recognizers.read(version, limit).memory_)
        with self._database.reading() as connection:
            refuse_lost_classes(connection, version, set(exemplars.tolist()) & {one.item for one in originals})
        seed = self._store.settings.recognizer.get("random_state")
        task = _Task(
            version,
            limit,
            embedder,
            exemplars,
            originals,
            [labels.get(one.item) for one in originals],
            len(wanted) - len(originals),
            settings,
            seed if isinstance(seed, int) else 0,
            "",
        )
        task = task._replace(run=_hash(task, self._store.settings.pooling))
        networks.delete_unfinished(self._database, self._store.path, keep=task.run)
        for left in (self._store.path / SCRATCH).glob("*"):
            if left.name != task.run:
                networks.delete_folder(left)
        return task

    def _made_before(self, task: _Task) -> _Network | None:
        """Return the network that an interrupted or undone run with the same inputs has made, if it is intact."""
        with self._database.reading() as connection:
            same = [one for one in all_embedders(connection) if one.run == task.run]
        for stored in reversed(same):
            try:
                return _Network(stored, AdaptReport.from_dict(networks.verify_network(self._store.path, stored)[1]))
            except DamagedError:  # it is made again
                continue
        return None

    def _train(
        self,
        task: _Task,
        progress: Progress,
        on_epoch: Callable[[str, EpochPoint], None],
        *,
        force: bool,
        dry_run: bool,
    ) -> AdaptReport:
        network = self._vectors.network(task.embedder)
        if task.embedder.digest is None:
            self._vectors.load(task.embedder)  # raises if its files have changed
        self._vectors.keep(None)  # the training loads the network itself
        scratch = self._store.path / SCRATCH
        scratch.mkdir(exist_ok=True)
        out = _out(self._store.path, task)
        networks.delete_folder(out)
        return adapt_network(
            network,
            [one.path for one in task.originals],
            task.labels,
            out,
            keys=[one.hash for one in task.originals],
            known_before=self._trained_classes(task),
            pooling=self._store.settings.pooling,
            settings=task.settings,
            force=force,
            dry_run=dry_run,
            scratch=scratch / task.run,
            device=self._store.device,
            random_state=task.seed,
            progress=progress,
            on_epoch=on_epoch,
        )

    def _trained_classes(self, task: _Task) -> list[str]:
        """Return the classes that the network in use was trained on."""
        with self._database.reading() as connection:
            trained = was_trained_on(connection, task.embedder, [one.item for one in task.originals])
        return sorted({label for label, used in zip(task.labels, trained, strict=True) if used and label is not None})

    def _place(self, task: _Task, report: AdaptReport) -> _Network | None:
        """Move the network that was made to its place and enter it; None if it is the one that is in use."""
        path, made = self._store.path, _out(self._store.path, task)
        with self._database.reading() as connection:
            id, folder = networks.next_folder(connection, path)
        digest = networks.place_network(made, folder, report.as_dict())
        name = f"{networks.FOLDER}/{folder.name}"
        fingerprint = self._vectors.fingerprint_of(folder)
        stored = StoredEmbedder(id, fingerprint, name, task.embedder.width, digest, task.run)
        with self._database.writing() as connection:
            same = [one for one in all_embedders(connection) if one.fingerprint == stored.fingerprint]
            if not same:
                trained = {one.item for one, used in zip(task.originals, report.trained, strict=True) if used}
                before = select(trained_items.c.item_id).where(trained_items.c.embedder_id == task.embedder.id)
                networks.add_network(connection, stored, trained | set(connection.scalars(before)))
                return _Network(stored, report)
            if same[0].digest is None or same[0].id == task.embedder.id:
                networks.delete_folder(folder)
                return None
            networks.replace_network(connection, path, same[0], folder, digest)
            return _Network(same[0]._replace(digest=digest), report)

    def _embed_all(self, stored: StoredEmbedder, progress: Progress) -> tuple[Embedder, int]:
        """Compute the vectors of all items by a new network; return it, and how many items stay without a vector.

        Images that arrive meanwhile are embedded, too.
        """
        embedder = self._vectors.load(stored)
        tried: set[int] = set()
        while True:
            with self._database.reading() as connection:
                lacking = without_vector(connection, stored)
            new = [item for item in lacking if item not in tried]
            if not new:
                return embedder, len(lacking)
            tried.update(new)
            originals = find_originals(self._database, new, progress)
            stage = "embedding images by the adapted network"
            embed_originals(self._database, self._vectors.folder, embedder, originals, progress, stage, in_use=False)

    def _switch(
        self,
        task: _Task,
        network: _Network,
        missing: int,
        progress: Progress,
        record: Callable[[Connection, Adapted], None],
    ) -> tuple[Adapted, dict[int, float]]:
        """Fit the recogniser on the new vectors and put it into use with them; also return the scores of the stream."""
        recognizer, kept, before = self._reembed(task, network.stored, progress)
        progress("storing the version", 0, 2)
        with self._database.reading() as connection:
            new = versions.next_id(connection)
            learnt = learnt_items(connection, task.version)
            there: list[int] = list(connection.scalars(with_vector(connection, network.stored)))
        stream = sorted(set(there) - learnt.keys())
        digest = versions.save(recognizer, self._store.models, new)
        recognizer = self._recognizers.read(new, task.limit)  # a version that cannot be read must not be put into use
        with self._database.reading() as connection:
            copies = stacks_of(connection, stream)
        scores = future_scores(recognizer, stream, lambda: self._read(network.stored, stream), copies)
        memory = recognizer.memory_
        after = accuracies(recognizer, memory=(memory.X, memory.y))
        report = learning_report(recognizer, after, before=before, adapted=_facts(task, network.report))
        progress("storing the version", 1, 2)
        done = Adapted(True, new, "", network.report, missing, len(task.originals))
        with self._store.editing(VERB) as edit:
            self._recognizers.refuse_other_version(edit.connection, task.version, VERB)
            versions.add(edit, versions.Saved(new, recognizer, digest, network.stored.id), {})
            store_exemplars(edit.connection, new, kept)
            versions.note_report(edit.connection, new, report)
            raise_revision(edit.connection)  # vectors of another embedder are in use
            edit.details = _details(task, done)
            record(edit.connection, done)
        return done, scores

    def _reembed(
        self, task: _Task, stored: StoredEmbedder, progress: Progress
    ) -> tuple[OpenWorldRecognizer, np.ndarray, dict[str, float]]:
        """Return the recogniser on new vectors, the items of its exemplars, and the accuracy that it had before.

        Exemplars whose images are gone have no new vector, and are left out.
        """
        recognizer = self._recognizers.read(task.version, task.limit)
        with self._database.reading() as connection:
            there = self._vectors.shards_of(stored).having(connection, task.exemplars.tolist())
            stays = np.isin(task.exemplars, list(there))
            kept = task.exemplars[stays]
            trained = was_trained_on(connection, stored, kept.tolist())
            recognizer.recall(observed_scores(connection))
        memory = recognizer.memory_
        memory.keep_only(stays)
        before = accuracies(recognizer, memory=(memory.X, memory.y))
        recognizer.reembed(self._read(stored, kept.tolist()), trained=trained, progress=progress)
        return recognizer, kept, before

    def _read(self, stored: StoredEmbedder, chosen: Sequence[int]) -> np.ndarray:
        """Return the features of items by an embedder, whether it is in use or not."""
        with self._database.reading() as connection:
            return self._vectors.scaled(self._vectors.shards_of(stored).of_items(connection, chosen))

    def _decline(
        self, task: _Task, report: AdaptReport, reason: str, record: Callable[[Connection, Adapted], None]
    ) -> Adapted:
        """Change nothing, except for an entry in the history."""
        done = Adapted(False, None, reason, report, task.missing, len(task.originals))
        with self._store.editing(VERB) as edit:
            edit.details = _details(task, done)
            record(edit.connection, done)
        return done


def rehearsed_run(connection: Connection) -> str | None:
    """Return the run of the last adaptation that changed nothing: the next one can continue from its files."""
    last = _last(connection)
    return None if last is None or last["switched"] else last["run"]


def _last(connection: Connection) -> dict[str, Any] | None:
    entry = log.last_entry(connection, VERB)
    return None if entry is None else {"at": entry.at, "who": entry.who, "undone": entry.undone, **entry.details}


def _hash(task: _Task, pooling: str) -> str:
    """Return a hash of all that the result of a training depends on."""
    settings = {"network": task.embedder.fingerprint, "pooling": pooling, "seed": task.seed} | asdict(task.settings)
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for one, label in zip(task.originals, task.labels, strict=True):
        digest.update(json.dumps([one.hash, label]).encode())
    return digest.hexdigest()


def _out(path: Path, task: _Task) -> Path:
    """Return where the training writes the network, in the workspace, so that it can be moved to its place."""
    return path / SCRATCH / f"{task.run}.network"


def _helps(report: AdaptReport) -> bool:
    """Whether a network that was made is to be put into use without being forced."""
    return report.rehearsed is not None and report.rehearsed.helps


def _reason(report: AdaptReport) -> str:
    return NO_REHEARSAL if report.rehearsed is None else NO_HELP


def _facts(task: _Task, report: AdaptReport) -> dict[str, Any]:
    """Return the adaptation in the report of a version."""
    labelled = sum(label is not None for label in task.labels)
    facts = {"labelled": labelled, "unlabelled": len(task.labels) - labelled}
    said = report.as_dict()
    return facts | {key: said[key] for key in SAID}


def _details(task: _Task, done: Adapted) -> dict[str, Any]:
    facts = _facts(task, done.report)
    return AdaptDetails(
        switched=done.switched,
        images=done.images,
        unlabelled=facts["unlabelled"],
        missing=done.missing,
        reason=done.reason,
        run=task.run,
        seconds=facts["seconds"],
        version=done.version,
        rehearsed=facts["rehearsed"],
    ).as_dict()


def _magnitude(n: int) -> int:
    """Return a number that stays the same as long as ``n`` changes by less than a tenth or so."""
    return round(10 * math.log1p(n))


def _device(device: str) -> str:
    from opengcd._internal.kernels import resolve_device  # torch takes seconds

    return resolve_device(device).type
