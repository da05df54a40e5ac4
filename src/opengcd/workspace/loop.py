"""The loop on images: fit, recognise, discover, learn. Long work is done in batches and goes on where it stopped."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sqlalchemy import Connection

from opengcd._internal.images import decoders
from opengcd._internal.progress import Progress, silent
from opengcd._internal.validation import UNKNOWN_STR
from opengcd.workspace import groups as review
from opengcd.workspace import log
from opengcd.workspace import versions as models
from opengcd.workspace.database import in_parts
from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.files import Found, find_files, look_at, readable
from opengcd.workspace.grouping import Proposal, regroup, to_group
from opengcd.workspace.intake import NOT_FINITE, Intake, Taken
from opengcd.workspace.predictions import (
    Prediction,
    Result,
    count_scores,
    observed_scores,
    predicted,
    unlearnt,
    unseen,
    write_predictions,
)
from opengcd.workspace.project import Project
from opengcd.workspace.uploads import check_pixels, store_uploads

if TYPE_CHECKING:
    from PIL.Image import Image

    from opengcd.discover import Discovery
    from opengcd.recognizer import OpenWorldRecognizer

MOMENT = 5.0
"""Seconds for which the threshold may stay behind the stream while images come one by one."""


class Discovered(NamedTuple):
    """What a discovery found."""

    k: int
    """Number of classes, known ones included."""
    k_interval: tuple[int, int] | None
    """k lies between these with a probability of 90 %, if the search can tell."""
    items: int
    """Items that were looked at and that no person had decided on: all of the stream, or the rejected ones."""
    put_back: int
    """Items that look like a known class, and not like what recognition said."""
    groups: int
    trusted: bool
    reason: str
    left_alone: int = 0
    """Items that a person has changed while the discovery ran; they stay as that person left them."""


def ignore(connection: Connection, result: object) -> None:
    """Record nothing."""


class Loop(Project):
    """The verbs that embed, compute and take time."""

    _scores: np.ndarray
    """Unknown scores of all that the version in use was asked about, while a command runs."""

    def fit(self, known: str | os.PathLike[str], *, progress: Progress = silent) -> list[tuple[str, str]]:
        """Learn the classes of a folder of folders; return the files that could not be used, with reasons."""
        with self._alone(progress):
            with self._database.reading() as connection:
                if models.in_use(connection) is not None:
                    raise WorkspaceError(
                        f"{self.path} has been set up already; new classes come by discover and learn."
                    )
            classes, bad = _classes(Path(known))
            from opengcd.recognizer import OpenWorldRecognizer

            recognizer = OpenWorldRecognizer(device=self.device, **self.settings.recognizer)
            recognizer._check_settings(len(classes))
            taught: dict[int, str] = {}
            label_of = {found.path: label for label, files in classes.items() for found in files}
            for batch in self._take([found for files in classes.values() for found in files], progress):
                for path, item, reason in batch:
                    if item is None:
                        bad.append((path, reason))
                    elif taught.setdefault(item, label_of[path]) != label_of[path]:
                        bad.append((path, f"the same image is in {taught[item]!r} too"))
            bad += [
                (label, "no image of this class can be used") for label in sorted(set(classes) - set(taught.values()))
            ]
            if not taught:
                raise WorkspaceError(f"No image in {known} can be used: {bad[0][1]}.")
            recognizer.fit(self._all_vectors(list(taught)), list(taught.values()), progress=progress)
            with self._database.reading() as connection:
                version = models.next_id(connection)
            digest = models.save(recognizer, self.path / "models", version)
            report = _report(recognizer, _rightness(recognizer, memory=(recognizer.memory_.X, recognizer.memory_.y)))
            with self._database.writing() as connection, log.editing(connection, self.who, "init") as edit:
                models.add(edit, version, recognizer, taught, digest)
                models.note_report(connection, version, report)
                edit.before.clear()  # there is nothing before it to go back to
                edit.details = {"classes": len(recognizer.classes_), "images": len(taught), "bad": len(bad)}
        return bad

    def recognize(self, sources: Iterable[str | os.PathLike[str]], *, progress: Progress = silent) -> Iterator[Result]:
        """Yield what is said of each file under some paths, as soon as it is safely stored."""
        return self.recognize_files(list(find_files(sources)), progress=progress)

    def recognize_files(self, files: Sequence[Found], *, progress: Progress = silent) -> Iterator[Result]:
        """Yield what is said of files that :func:`find_files` found."""
        counts = {"images": 0, "rejected": 0, "bad": 0}
        with self._alone(progress):
            self._recall()
            for batch in self._take(files, progress):
                for result in self._recognize(batch):
                    counts["bad" if result.reason else "images"] += 1
                    counts["rejected"] += result.label == UNKNOWN_STR
                    yield result
            if files:
                self._note("recognize", counts)

    def keep(self, contents: Sequence[bytes]) -> list[Result]:
        """Take images into the stream that come as bytes, and recognise them, also while a long command runs.

        They are stored in the folder ``uploads``. Unlike :meth:`recognize` the threshold follows only now and then.
        """
        check_pixels(contents)
        self.follow()
        homes = store_uploads(self.path / "uploads", contents)
        files = {home: look_at(home) for home, reason in homes if not reason}
        batches = self._take(list(files.values()), silent)
        said = {result.path: result for batch in batches for result in self._recognize(batch, observe=False)}
        results = [Result("", None, "", 0.0, [], reason) if reason else said[home] for home, reason in homes]
        bad = sum(bool(result.reason) for result in results)
        rejected = sum(result.label == UNKNOWN_STR for result in results)
        self._note("recognize", {"images": len(results) - bad, "rejected": rejected, "bad": bad})
        return results

    def embed(self, contents: Sequence[bytes]) -> tuple[np.ndarray, list[str]]:
        """Return features of images that come as bytes, and for each the reason why it has no row, or nothing."""
        check_pixels(contents)
        reasons: list[str] = []

        def images() -> Iterator[Image]:
            with closing(decoders().stream(contents, bytes)) as found:
                for _, image in found:
                    reasons.append(image if isinstance(image, str) else "")
                    if not isinstance(image, str):
                        yield image

        parts = list(self._embedder.stream(images()))
        X = np.concatenate(parts) if parts else np.empty((0, 0), np.float32)
        finite = np.isfinite(X).all(axis=1)
        rows = [place for place, reason in enumerate(reasons) if not reason]
        for row in np.flatnonzero(~finite).tolist():
            reasons[rows[row]] = NOT_FINITE
        return self.scaled(X[finite]), reasons

    def follow(self) -> tuple[int, OpenWorldRecognizer]:
        """Return the version in use and its number; its threshold is not far behind the stream."""
        version, recognizer = self._load_recognizer()
        if recognizer.adapts and time.monotonic() - self._open.recalled > MOMENT:
            with self._database.reading() as connection:
                seen = count_scores(connection)
            self._open.recalled = time.monotonic()
            if seen != self._open.seen:
                self._recall()
        return version, recognizer

    def watch(self, sources: Sequence[str | os.PathLike[str]], every: float = 2.0) -> Iterator[Result]:
        """Yield what is said of files as they appear or change, for ever.

        A file is taken when it looks as it did ``every`` seconds before: until then someone may be writing it.
        """
        taken: set[Found] = set()
        before: set[Found] = set()
        while True:
            now = set(find_files(sources))
            settled = sorted((now & before) - taken)
            if settled:
                yield from self.recognize_files(settled)
            taken, before = (taken & now) | set(settled), now
            time.sleep(every)

    def discover(
        self,
        k: int | None = None,
        *,
        progress: Progress = silent,
        record: Callable[[Connection, Discovered], None] = ignore,
    ) -> Discovered:
        """Group what is new; groups that a person has named or changed, also while it ran, stay as they are.

        Where the preset takes the whole stream, as the default does, images that were accepted may turn out to be new,
        too. Those that a person has given a class serve as examples of it.
        ``k`` is the number of classes, known ones included; without it, it is estimated.
        ``record`` is called with the result in the transaction that stores it: what it writes is stored with it, and if
        it raises, nothing is.
        """
        with self._alone(progress):
            self._catch_up(progress)
            version, recognizer = self._load_recognizer()
            whole = recognizer.discovers_from == "stream"
            with self._database.reading() as connection:
                since, ids, told = log.last_edit(connection), to_group(connection, whole), review.to_learn(connection)
            if not ids:
                raise WorkspaceError("There is nothing to discover: no image has been rejected, or all are reviewed.")
            X = self._all_vectors([*ids, *told])
            found = recognizer.discover(
                X,
                k,
                # By the threshold of now: what was said of an early image by an early one does not count.
                rejected=recognizer.predict(X) == UNKNOWN_STR if whole else None,
                confirmed=[UNKNOWN_STR] * len(ids) + list(told.values()),
                progress=progress,
            )
            progress("storing the groups", 0, 1)
            with self._editing("discover") as edit:
                self._refuse_other_version(edit.connection, version, "discover")
                groups, put_back, left_alone = regroup(edit, Proposal(since, ids, told, found))
                facts = (found.trusted, found.reason, left_alone)
                done = Discovered(int(found.k), found.k_interval, len(ids), put_back, groups, *facts)
                edit.details = _as_history(done, version, found)
                record(edit.connection, done)
        return done

    def learn(
        self,
        *,
        progress: Progress = silent,
        record: Callable[[Connection, models.Version], None] = ignore,
    ) -> models.Version:
        """Enter the next phase with what was reviewed; return the new version of the recogniser.

        It is refused if someone takes back what it learns from while it runs; other edits do not matter.
        ``record`` is called with the new version in the transaction that puts it to use: what it writes is stored with
        it, and if it raises, nothing is.
        """
        with self._alone(progress):
            with self._database.reading() as connection:
                taught = review.to_learn(connection)
                version, new = self._version(connection), models.next_id(connection)
                limit = models.limit(connection)
                stream: list[int] = list(connection.scalars(unlearnt(connection)))
            if not taught:
                raise WorkspaceError("There is nothing to learn: no group is named and confirmed.")
            self._recall()
            X, y = self._all_vectors(list(taught)), np.array(list(taught.values()))
            recognizer = self._read_recognizer(version, limit)  # one of its own: learning changes it
            rows: dict[str, Rows] = {"memory": (recognizer.memory_.X, recognizer.memory_.y), "confirmed": (X, y)}
            before = _rightness(self._load_recognizer()[1], **rows)
            recognizer.learn(X, y, progress=progress)
            progress("storing the version", 0, 2)
            digest = models.save(recognizer, self.path / "models", new)
            recognizer = self._read_recognizer(new, limit)  # what cannot be read must not be put to use
            scores = self._foresee(recognizer, [item for item in stream if item not in taught])
            report = _report(recognizer, _rightness(recognizer, **rows), before=before)
            progress("storing the version", 1, 2)
            with self._editing("learn") as edit:
                self._refuse_other_version(edit.connection, version, "learn")
                _refuse_other_lessons(edit.connection, taught)
                classes = sorted(set(recognizer.classes_.tolist()) - set(review.classes(edit.connection)))
                models.add(edit, new, recognizer, taught, digest)
                models.note_report(edit.connection, new, report)
                edit.details = {"version": new, "images": len(taught), "new classes": classes}
                record(edit.connection, models.versions(edit.connection)[-1])
            try:
                self._catch_up(progress, scores)
            except (ValueError, OSError) as error:
                warnings.warn(f"Version {new} is in use, but not asked about all images yet: {error}", stacklevel=2)
        with self._database.reading() as connection:
            return models.versions(connection)[-1]

    def catch_up(self, *, progress: Progress = silent) -> None:
        """Ask the version in use about all items that only other versions were asked about."""
        with self._database.reading() as connection:
            if connection.scalar(unseen(connection).limit(1)) is None:
                return
        with self._alone(progress):
            self._catch_up(progress)

    def _take(self, files: Sequence[Found], progress: Progress) -> Iterator[list[Taken]]:
        intake = Intake(self._database, self.path / "features", self._fingerprint(), lambda: self._embedder)
        return intake.take(files, progress)

    def _all_vectors(self, ids: Sequence[int]) -> np.ndarray:
        with self._database.reading() as connection:
            return self._vectors(connection, ids)

    def _recognize(self, batch: list[Taken], observe: bool = True) -> list[Result]:
        ids = list(dict.fromkeys(taken.item for taken in batch if taken.item is not None))
        with self._database.reading() as connection:
            said = predicted(connection, ids)
        if new := [item for item in ids if item not in said]:
            said |= self._predict(new, observe)
        results = []
        for path, item, reason in batch:
            if item is None:
                results.append(Result(path, None, "", 0.0, [], reason))
            else:
                label, unknown, top = said[item]
                results.append(Result(path, item, UNKNOWN_STR if label is None else label, unknown, top))
        return results

    def _recall(self) -> None:
        """Let the threshold be what the stored stream makes of it, whoever has recognised it."""
        with self._database.reading() as connection:
            self._scores = observed_scores(connection)
        recognizer = self._load_recognizer()[1]
        self._open.recalled, self._open.seen = time.monotonic(), len(self._scores)
        recognizer.recall(self._scores)

    def _observe(self, scores: np.ndarray) -> None:
        """Let the threshold follow the stream."""
        self._scores = np.concatenate([self._scores, scores])
        self._load_recognizer()[1].recall(self._scores)

    def _predict(self, ids: Sequence[int], observe: bool = True) -> dict[int, Prediction]:
        """Ask the version in use about items, and store what it says; what it learns from them serves later ones."""
        version, recognizer = self._load_recognizer()
        said = recognizer.recognize(self._all_vectors(ids))
        if observe:
            self._observe(said.unknown_score)
        with self._database.writing() as connection:
            write_predictions(connection, version, ids, recognizer.classes_, said)
            models.note_threshold(connection, version, recognizer)
            return predicted(connection, ids, version)

    def _foresee(self, recognizer: OpenWorldRecognizer, ids: Sequence[int]) -> dict[int, float]:
        """Let the threshold of a version be what the stream will make of it; return the scores of the stream.

        Empty where the threshold does not follow the stream.
        """
        if not ids or not recognizer.adapts:
            return {}
        scores = recognizer.unknown_score(self._all_vectors(ids))
        recognizer.recall(scores)
        return dict(zip(ids, scores.tolist(), strict=True))

    def _catch_up(self, progress: Progress, scores: Mapping[int, float] = MappingProxyType({})) -> None:
        """Ask the version in use about all that it has not seen; some scores may be known already."""
        self._recall()
        with self._database.reading() as connection:
            waiting: list[int] = list(connection.scalars(unseen(connection)))
        recognizer = self._load_recognizer()[1]
        if waiting and recognizer.adapts:  # this stream is known to its end
            known = scores.keys() >= set(waiting)
            self._observe(
                np.array([scores[item] for item in waiting])
                if known
                else recognizer.unknown_score(self._all_vectors(waiting))
            )
        done = 0
        for part in in_parts(waiting):
            progress("recognising anew", done, len(waiting))
            self._predict(part, observe=False)
            done += len(part)
        if waiting:
            progress("recognising anew", done, len(waiting))

    def _refuse_other_version(self, connection: Connection, version: int, verb: str) -> None:
        """Refuse to store what was computed by a version that is no longer in use."""
        current = self._version(connection)
        if current != version:
            raise WorkspaceError(
                f"Version {current} was put to use while {verb} ran with version {version}; nothing was changed. "
                f"Run {verb} again."
            )


def _refuse_other_lessons(connection: Connection, taught: Mapping[int, str]) -> None:
    """Refuse to store what was learnt if a person no longer says so of every item."""
    said = review.to_learn(connection)
    changed = sum(said.get(item) != label for item, label in taught.items())
    if changed:
        raise WorkspaceError(
            f"{changed} of the {len(taught)} images to learn were moved, renamed or unconfirmed while learn ran; "
            "nothing was changed. Run learn again."
        )


def _as_history(done: Discovered, version: int, found: Discovery) -> dict[str, Any]:
    details: dict[str, Any] = {"k": done.k, "images": done.items, "put back": done.put_back, "groups": done.groups}
    details |= {"version": version, "trusted": found.trusted, "reason": found.reason}
    if done.left_alone:
        details |= {"left alone": done.left_alone}
    if found.k_interval is not None:
        details |= {"k interval": list(found.k_interval)}
    if found.curve:
        details |= {"curve": sorted((point.k, point.score) for point in found.curve)}
    return details


Rows = tuple[np.ndarray, np.ndarray]


def _rightness(recognizer: OpenWorldRecognizer, **rows: Rows) -> dict[str, float]:
    """Shares of labelled rows that are recognised as what they are."""
    return {name: float((recognizer.predict(X) == y).mean()) for name, (X, y) in rows.items()}


def _report(recognizer: OpenWorldRecognizer, after: dict[str, float], **more: dict[str, float]) -> dict[str, Any]:
    memory = recognizer.memory_
    return {"memory": {"size": memory.size, "used": len(memory)}, "after": after} | more


def _classes(known: Path) -> tuple[dict[str, list[Found]], list[tuple[str, str]]]:
    """The files of each class folder, and what lies in none."""
    if not known.is_dir():
        raise WorkspaceError(f"There is no folder {known}; it should hold a folder of images for each known class.")
    found: dict[str, list[Found]] = {}
    bad = []
    for entry in sorted(known.iterdir()):
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            found[review.check_label(readable(entry.name))] = list(find_files([entry]))
        else:
            bad.append((str(entry), "it lies in no class folder"))
    if len(found) < 2:
        raise WorkspaceError(f"{known} should hold a folder of images for each of at least two classes.")
    return found, bad
