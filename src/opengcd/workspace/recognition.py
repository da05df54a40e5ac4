"""Recognition of images from files or bytes; predictions are stored before they are returned."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType

import numpy as np

from opengcd._internal.progress import Progress, silent
from opengcd._internal.validation import UNKNOWN_STR
from opengcd.embed import Decoded, GivenVectors, embed_files
from opengcd.workspace import versions
from opengcd.workspace.boxes import CONFIDENCE, Boxes, read_boxes
from opengcd.workspace.crops import Crops, starts_of
from opengcd.workspace.database import in_parts
from opengcd.workspace.details import RecognizeDetails
from opengcd.workspace.embedders import without_vector
from opengcd.workspace.files import Found, ignore_file, look_at
from opengcd.workspace.intake import NOT_FINITE, Taken
from opengcd.workspace.predictions import Prediction, Result, predicted, unseen, write_predictions
from opengcd.workspace.recognizers import ObservedScores, Recognizers
from opengcd.workspace.store import Store
from opengcd.workspace.taxonomies import Taxonomies
from opengcd.workspace.uploads import check_pixels, store_uploads
from opengcd.workspace.vector_intake import AnyIntake
from opengcd.workspace.vectors import Vectors
from opengcd.workspace.videos import FPS


class Recognition:
    """Recognise images with the version in use, and store its predictions."""

    def __init__(
        self, store: Store, vectors: Vectors, recognizers: Recognizers, intake: AnyIntake, taxonomies: Taxonomies
    ) -> None:
        self._store = store
        self._taxonomies = taxonomies
        self._database = store.database
        self._vectors = vectors
        self._recognizers = recognizers
        self._intake = intake

    def recognize(
        self,
        sources: Iterable[str | os.PathLike[str]],
        *,
        boxes: str | os.PathLike[str] | None = None,
        min_confidence: float = CONFIDENCE,
        fps: float = FPS,
        progress: Progress = silent,
        on_skipped: Callable[[str], object] = ignore_file,
    ) -> Iterator[Result]:
        """Recognise the images under some paths, or their crops: see :meth:`Workspace.recognize`."""
        sources = list(sources)
        files = list(self.find(sources, on_skipped))
        if boxes is None:
            return self.recognize_files(files, fps=fps, progress=progress)
        starts = starts_of(sources, files, boxes)
        return self._recognize_crops(files, starts, read_boxes(boxes), min_confidence, progress)

    def find(
        self, sources: Iterable[str | os.PathLike[str]], on_skipped: Callable[[str], object] = ignore_file
    ) -> Iterator[Found]:
        """Find the files under some paths that may hold items: images, or files of vectors.

        Parameters
        ----------
        sources : iterable of path
        on_skipped : callable
            Called with the path of each file in a folder that is skipped.

        Returns
        -------
        iterator of Found

        """
        return self._intake.find(sources, on_skipped)

    def _recognize_crops(
        self, files: Sequence[Found], starts: Sequence[str], boxes: Boxes, min_confidence: float, progress: Progress
    ) -> Iterator[Result]:
        """Yield what has no crop first: it is recorded, but no item, so that discovery does not see it."""
        crops = []
        parts = Crops(self._store)
        with self._store.alone(progress):
            for cut in parts.cut(files, starts, boxes, min_confidence, progress):
                crops += cut.crops
                if not cut.crops:
                    yield Result(cut.path, None, cut.label, 0.0, [], cut.reason)
        for result in self.recognize_files([look_at(file) for file in crops], progress=progress):
            yield result._replace(origin=parts.origin([result.path]))

    def recognize_files(
        self, files: Sequence[Found], *, fps: float = FPS, progress: Progress = silent
    ) -> Iterator[Result]:
        """Recognise files and add them to the stream.

        Parameters
        ----------
        files : sequence of Found
            From :func:`find_files`.
        fps : float
            Frames per second that are taken of videos.
        progress : callable
            Called with a stage, the steps done and their total (0: not known).

        Yields
        ------
        Result
            The prediction for a file, as soon as it is safely stored.

        """
        counts = {"images": 0, "rejected": 0, "bad": 0}
        with self._store.alone(progress):
            stream = self._recognizers.recall()
            images = list(chain.from_iterable(self._intake.expand(files, fps, progress)))
            for batch in self._intake.take(images, progress):
                for result in self._recognize(batch, stream):
                    counts["bad" if result.reason else "images"] += 1
                    counts["rejected"] += result.label == UNKNOWN_STR
                    yield result
            if files:
                self._store.note("recognize", RecognizeDetails(**counts).as_dict())

    def watch(
        self, sources: Sequence[str | os.PathLike[str]], every: float = 2.0, fps: float = FPS
    ) -> Iterator[Result]:
        """Recognise files as they appear or change, without end: see :meth:`Workspace.watch`."""
        taken: set[Found] = set()
        before: set[Found] = set()
        while True:
            now = set(self.find(sources))
            settled = sorted((now & before) - taken)
            if settled:
                yield from self.recognize_files(settled, fps=fps)
            taken, before = (taken & now) | set(settled), now
            time.sleep(every)

    def keep(self, contents: Sequence[bytes]) -> list[Result]:
        """Recognise images that come as bytes and add them to the stream, even while a long command runs.

        They are stored in the folder ``uploads``. Unlike in :meth:`recognize`, the threshold is updated only every few
        seconds.

        Parameters
        ----------
        contents : sequence of bytes
            The content of image files.

        Returns
        -------
        list of Result
            One for each image.

        Raises
        ------
        TooLargeError
            If the images have too many pixels together.

        """
        self._refuse_images()
        check_pixels(contents)
        self._recognizers.follow()
        stored = store_uploads(self._store.path / "uploads", contents)
        files = {file: look_at(file) for file, reason in stored if not reason}
        batches = self._intake.take(list(files.values()), silent)
        by_file = {result.path: result for batch in batches for result in self._recognize(batch)}
        results = [Result("", None, "", 0.0, [], reason) if reason else by_file[file] for file, reason in stored]
        bad = sum(bool(result.reason) for result in results)
        rejected = sum(result.label == UNKNOWN_STR for result in results)
        self._store.note("recognize", {"images": len(results) - bad, "rejected": rejected, "bad": bad})
        return results

    def embed(self, contents: Sequence[bytes]) -> tuple[np.ndarray, list[str]]:
        """Return the features of images that come as bytes; nothing is stored.

        Parameters
        ----------
        contents : sequence of bytes
            The content of image files.

        Returns
        -------
        X : array of shape (m, d)
            One row for each image that can be used.
        reasons : list of str
            For each image the reason why it has no row; empty if it has one.

        Raises
        ------
        TooLargeError
            If the images have too many pixels together.

        """
        self._refuse_images()
        check_pixels(contents)
        reasons: list[str] = []

        def note(_: bytes, found: Decoded | str) -> None:
            reasons.append(found if isinstance(found, str) else "")

        parts = list(embed_files(self._vectors.embedder, contents, bytes, note))
        X = np.concatenate(parts) if parts else np.empty((0, 0), np.float32)
        finite = np.isfinite(X).all(axis=1)
        rows = [place for place, reason in enumerate(reasons) if not reason]
        for row in np.flatnonzero(~finite).tolist():
            reasons[rows[row]] = NOT_FINITE
        return self._vectors.scaled(X[finite]), reasons

    def catch_up(self, *, progress: Progress = silent) -> None:
        """Recognise all items that only other versions have recognised, by the version in use.

        Items that came while another network was in use are embedded by the one in use before.

        Parameters
        ----------
        progress : callable
            Called with a stage, the steps done and their total (0: not known).

        """
        with self._database.reading() as connection:
            if connection.scalar(unseen(connection).limit(1)) is None and not without_vector(connection):
                return
        with self._store.alone(progress):
            self.ask_about_unseen(progress)

    def ask_about_unseen(self, progress: Progress, scores: Mapping[int, float] = MappingProxyType({})) -> None:
        """Do what :meth:`catch_up` does, within a long command.

        Parameters
        ----------
        progress : callable
            Called with a stage, the steps done and their total (0: not known).
        scores : mapping of int to float
            Unknown scores by item, as far as they are known; they save computing them again if they cover all items.

        """
        self._intake.complete(progress)
        stream = self._recognizers.recall()
        with self._database.reading() as connection:
            waiting: list[int] = list(connection.scalars(unseen(connection)))
        version, recognizer = self._recognizers.in_use()
        if waiting and recognizer.adapts:  # the whole stream is known
            known = scores.keys() >= set(waiting)
            stream.add(
                np.array([scores[item] for item in waiting])
                if known
                else recognizer.unknown_score(self._vectors.of_items(waiting, version))
            )
        done = 0
        for part in in_parts(waiting):
            progress("recognising again", done, len(waiting))
            self._predict(part)
            done += len(part)
        if waiting:
            progress("recognising again", done, len(waiting))

    def _refuse_images(self) -> None:
        if self._store.settings.takes_vectors:
            GivenVectors().refuse()

    def _recognize(self, batch: list[Taken], stream: ObservedScores | None = None) -> list[Result]:
        """Return the predictions for files that were added; new ones are appended to ``stream``."""
        ids = list(dict.fromkeys(taken.item for taken in batch if taken.item is not None))
        with self._database.reading() as connection:
            known = predicted(connection, ids)
        if new := [item for item in ids if item not in known]:
            known |= self._predict(new, stream)
        rejected = {item: known[item].label is None for item in ids}
        # A long command waits for the thresholds of a taxonomy; a request, which has no stream, does not.
        taxa = self._taxonomies.of_predictions(rejected, wait=stream is not None)
        results = []
        for path, item, reason in batch:
            if item is None:
                results.append(Result(path, None, "", 0.0, [], reason))
            else:
                label, unknown, top = known[item]
                shown = UNKNOWN_STR if label is None else label
                results.append(Result(path, item, shown, unknown, top, taxon=taxa.get(item)))
        return results

    def _predict(self, ids: Sequence[int], stream: ObservedScores | None = None) -> dict[int, Prediction]:
        """Recognise items by the version in use and store its predictions; the threshold follows them afterwards."""
        version, recognizer = self._recognizers.in_use()
        self._intake.complete(silent, ids, version)  # they may have been embedded for another one a moment ago
        recognition = recognizer.recognize(self._vectors.of_items(ids, version))
        if stream is not None:
            stream.add(recognition.unknown_score)
        with self._database.writing() as connection:
            write_predictions(connection, version, ids, recognizer.classes_, recognition)
            versions.note_threshold(connection, version, recognizer)
            return predicted(connection, ids, version)
