"""Take in images: every file becomes an item with a feature vector, and none is read or embedded twice.

A batch is on disk before it is returned: reported results survive a crash, and the same call continues from there.
"""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import NamedTuple

import numpy as np
from sqlalchemy import Connection, delete, insert, select

from opengcd._internal.images import Capture, EmbedderError, decoders
from opengcd._internal.progress import Progress
from opengcd.embed import Decoded, Embedder, embed_files
from opengcd.workspace.database import Database, in_parts
from opengcd.workspace.embedders import embedder_of, without_vector
from opengcd.workspace.files import Found, content_hash, ignore_file, read_file
from opengcd.workspace.image_lists import find_images
from opengcd.workspace.items import paths_of
from opengcd.workspace.log import now
from opengcd.workspace.named_times import named_time
from opengcd.workspace.originals import embed_originals, find_originals, store_vectors
from opengcd.workspace.revision import raise_revision
from opengcd.workspace.schema import captures, failures, features, items, paths, training_labels
from opengcd.workspace.vectors import Vectors
from opengcd.workspace.videos import Frames

SURVEY = 1000
"""Files looked up at a time, while those before are embedded."""
NOT_FINITE = "the embedder returns no finite vector"


class Taken(NamedTuple):
    """A file with its item, or the reason why it cannot be used."""

    path: str
    item: int | None
    reason: str = ""


class _Survey(NamedTuple):
    """What is known about some files before any is decoded."""

    unchanged: list[Taken]
    """Files that were taken before."""
    present: list[tuple[Found, int]]
    """Files with the content of an item that has a vector."""
    new: dict[str, list[Found]]
    """Files by the hash of their content, which has no vector yet."""
    bad: list[tuple[Found, str]]


class Intake:
    """Adds files to a workspace; the embedder is loaded when the first image must be embedded."""

    def __init__(self, database: Database, vectors: Vectors, frames: Frames) -> None:
        self._database = database
        self._vectors = vectors
        self._frames = frames

    def find(
        self, starts: Iterable[str | os.PathLike[str]], on_skipped: Callable[[str], object] = ignore_file
    ) -> Iterator[Found]:
        """Find the images under some paths, and those in lists of images."""
        return find_images(starts, on_skipped)

    def expand(self, files: Sequence[Found], fps: float, progress: Progress) -> Iterator[list[Found]]:
        """Replace the videos among some files by their frames; see :meth:`Frames.expand`."""
        for found, made in zip(files, self._frames.expand(files, fps, progress), strict=True):
            if found.is_video and made[-1].path != found.path:
                self._forget_failure(found.path)
            yield made

    def _forget_failure(self, path: str) -> None:
        """Forget that a file could not be used before."""
        here = failures.c.path == path
        with self._database.reading() as connection:
            if connection.scalar(select(failures.c.path).where(here)) is None:
                return
        with self._database.writing() as connection:
            connection.execute(delete(failures).where(here))

    def take(self, files: Sequence[Found], progress: Progress) -> Iterator[list[Taken]]:
        """Yield the files in batches as they are safely stored."""
        done = 0
        progress("reading images", done, len(files))
        with ThreadPoolExecutor(1) as surveyor, ThreadPoolExecutor(decoders().most) as pool:
            parts = deque(files[start : start + SURVEY] for start in range(0, len(files), SURVEY))
            coming = surveyor.submit(self._survey, parts.popleft(), pool) if parts else None
            while coming is not None:
                survey = coming.result()
                coming = surveyor.submit(self._survey, parts.popleft(), pool) if parts else None
                for batch in self._take_surveyed(survey):
                    done += len(batch)
                    progress("reading images", done, len(files))
                    yield batch

    def complete(self, progress: Progress, among: Sequence[int] | None = None, version: int | None = None) -> None:
        """Embed items that were added while another embedder was in use than that of a version; all, or some.

        The version is by default the one in use. Items whose files are gone, or have another content now, stay without
        a vector of its embedder.
        """
        with self._database.reading() as connection:
            lacking = without_vector(connection, embedder_of(connection, version), among)
        if lacking and (originals := find_originals(self._database, lacking, progress)):
            stage = "embedding images that were added while another network was in use"
            embedder = self._vectors.embedder_of(version)
            embed_originals(self._database, self._vectors.folder, embedder, originals, progress, stage)

    def _survey(self, files: Sequence[Found], pool: ThreadPoolExecutor) -> _Survey:
        bad = [(found, found.reason) for found in files if found.reason]
        good = [found for found in files if not found.reason]
        with self._database.reading() as connection:
            known = self._known_paths(connection, good)
        unknown = [found for found in good if found not in known]
        hashes = dict(zip(unknown, pool.map(_hash, unknown), strict=True))
        with self._database.reading() as connection:
            by_hash = self._known_hashes(connection, [h for h in hashes.values() if isinstance(h, str)])
        survey = _Survey([Taken(found.path, id) for found, id in known.items()], [], {}, bad)
        for found, content in hashes.items():
            if isinstance(content, OSError):
                survey.bad.append((found, f"it cannot be read: {content.strerror or content}"))
            elif content in by_hash:
                survey.present.append((found, by_hash[content]))
            else:
                survey.new.setdefault(content, []).append(found)
        return survey

    def _take_surveyed(self, survey: _Survey) -> Iterator[list[Taken]]:
        # Another part of the same call may have stored an image that this survey saw as new.
        with self._database.reading() as connection:
            stored = self._known_hashes(connection, list(survey.new))
        new = {content: copies for content, copies in survey.new.items() if content not in stored}
        present = [*survey.present, *((f, id) for content, id in stored.items() for f in survey.new[content])]
        if survey.unchanged:
            yield survey.unchanged
        if present or survey.bad:
            yield self._store(None, [], None, present, survey.bad)
        if not new:
            return
        bad: deque[tuple[Found, str]] = deque()
        decoded: deque[tuple[str, list[Found], Decoded]] = deque()

        def note(source: tuple[str, list[Found]], found: Decoded | str) -> None:
            content, copies = source
            if isinstance(found, str):
                bad.extend((copy, found) for copy in copies)
            else:
                decoded.append((content, copies, found))

        embedder = self._vectors.embedder
        with closing(embed_files(embedder, new.items(), _read, note)) as stream:
            for vectors in stream:
                batch = [decoded.popleft() for _ in range(len(vectors))]
                finite = np.isfinite(vectors).all(axis=1)
                for row in np.flatnonzero(~finite).tolist():
                    bad.extend((found, NOT_FINITE) for found in batch[row][1])
                kept = [one for one, good in zip(batch, finite.tolist(), strict=True) if good]
                yield self._store(embedder, kept, vectors[finite], [], _drain(bad))
        if bad:
            yield self._store(None, [], None, [], _drain(bad))

    def _store(
        self,
        embedder: Embedder | None,
        batch: list[tuple[str, list[Found], Decoded]],
        vectors: np.ndarray | None,
        present: list[tuple[Found, int]],
        bad: list[tuple[Found, str]],
    ) -> list[Taken]:
        """Write one batch, all or nothing; its vectors are of ``embedder``, even if another one is in use by now."""
        gone = self._gone([id for _, id in present])
        with self._database.writing() as connection:
            placed = list(present)
            if embedder is not None and vectors is not None:
                ids = _make_items(connection, batch)
                store_vectors(connection, self._vectors.folder, embedder, ids, vectors)
                raise_revision(connection)
                placed += [(found, id) for id, (_, copies, _) in zip(ids, batch, strict=True) for found in copies]
            write_paths(connection, placed)
            for part in in_parts(gone):
                connection.execute(delete(paths).where(paths.c.path.in_(part)))
            write_failures(connection, bad)
        return [Taken(f.path, id) for f, id in placed] + [Taken(f.path, None, reason) for f, reason in bad]

    def _gone(self, ids: Sequence[int]) -> list[str]:
        """Return the files of items that are no longer there: each of the items has just been found elsewhere.

        A file that was moved would otherwise be listed twice; so would one whose old link leads nowhere.
        """
        with self._database.reading() as connection:
            found = paths_of(connection, ids)
        return [path for files in found.values() for path in files if not os.path.exists(path)]

    def _known_paths(self, connection: Connection, files: list[Found]) -> dict[Found, int]:
        """Files that have not changed since they were taken, and have a vector."""
        known: dict[str, tuple[int, int, int]] = {}
        for part in in_parts([found.path for found in files]):
            rows = connection.execute(select(paths).where(paths.c.path.in_(part)))
            known.update({row.path: (row.item_id, row.size, row.mtime) for row in rows})
        same = {f: known[f.path][0] for f in files if f.path in known and known[f.path][1:] == (f.size, f.mtime)}
        embedded = self._embedded(connection, list(same.values()))
        return {found: id for found, id in same.items() if id in embedded}

    def _known_hashes(self, connection: Connection, hashes: list[str]) -> dict[str, int]:
        found: dict[str, int] = {}
        for part in in_parts(hashes):
            found.update({row.hash: row.id for row in connection.execute(select(items).where(items.c.hash.in_(part)))})
        embedded = self._embedded(connection, list(found.values()))
        return {content: id for content, id in found.items() if id in embedded}

    def _embedded(self, connection: Connection, ids: list[int]) -> set[int]:
        store = self._vectors.find_shards(connection)
        return set() if store is None else store.having(connection, ids)


def forget_unlabelled(connection: Connection, bad: Container[str]) -> None:
    """Delete the items that no version has learnt, and the failures of all but some files.

    Only for the first version: items without a label come from an earlier attempt with other folders, and would
    otherwise count as new images.
    """
    others = select(items.c.id).where(items.c.id.not_in(select(training_labels.c.item_id)))
    for table in (features, captures, paths):
        connection.execute(delete(table).where(table.c.item_id.in_(others)))
    connection.execute(delete(items).where(items.c.id.in_(others)))
    old = [path for path in connection.scalars(select(failures.c.path)) if path not in bad]
    for part in in_parts(old):
        connection.execute(delete(failures).where(failures.c.path.in_(part)))
    raise_revision(connection)


def _hash(found: Found) -> str | OSError:
    try:
        return content_hash(found.path)
    except OSError as error:
        return error


def _read(entry: tuple[str, list[Found]]) -> bytes:
    content, copies = entry
    raw = read_file(copies[0].path)
    if hashlib.sha256(raw).hexdigest() != content:
        raise EmbedderError("the file changed while it was read; try again when it is complete")
    return raw


def _make_items(connection: Connection, new: list[tuple[str, list[Found], Decoded]]) -> list[int]:
    hashes = [content for content, *_ in new]
    query = select(items.c.hash, items.c.id).where(items.c.hash.in_(hashes))
    there = {row.hash for row in connection.execute(query)}
    made = [one for one in new if one[0] not in there]
    if made:
        rows = [{"hash": content, "width": one.size[0], "height": one.size[1]} for content, _, one in made]
        connection.execute(insert(items), rows)
    ids = {row.hash: row.id for row in connection.execute(query)}
    seen = [(ids[content], one.capture, _taken(one.capture, copies)) for content, copies, one in made if one.capture]
    if seen:
        rows = [{"item_id": id, "hash": f"{capture.hash:016x}", "taken": taken} for id, capture, taken in seen]
        connection.execute(insert(captures), rows)
    return [ids[content] for content in hashes]


def _taken(capture: Capture, copies: list[Found]) -> float | None:
    """Return when an image was taken: by its EXIF data, or else by the name of one of its files."""
    if capture.taken is not None:
        return capture.taken
    return next((time for one in copies if (time := named_time(one.path)) is not None), None)


def write_paths(connection: Connection, placed: Sequence[tuple[Found, int]]) -> None:
    """Note of which item each file is."""
    for part in in_parts(placed):
        names = [found.path for found, _ in part]
        connection.execute(delete(paths).where(paths.c.path.in_(names)))
        connection.execute(delete(failures).where(failures.c.path.in_(names)))
        rows = [{"path": f.path, "item_id": id, "size": f.size, "mtime": f.mtime} for f, id in part]
        connection.execute(insert(paths), rows)


def write_failures(connection: Connection, bad: Sequence[tuple[Found, str]]) -> None:
    """Note files that cannot be used, with reasons."""
    for part in in_parts(bad):
        for table in (failures, paths):  # a file that could be used before has changed
            connection.execute(delete(table).where(table.c.path.in_([found.path for found, _ in part])))
        rows = [{"path": found.path, "reason": reason, "at": now()} for found, reason in part]
        connection.execute(insert(failures), rows)


def _drain(waiting: deque[tuple[Found, str]]) -> list[tuple[Found, str]]:
    return [waiting.popleft() for _ in range(len(waiting))]
