"""Take in vectors: every row of a file becomes an item, known by a hash of its vector.

It has the methods of :class:`~opengcd.workspace.intake.Intake`; a file of which a part cannot be used is refused whole.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from sqlalchemy import insert, select

from opengcd._internal.durable_files import make_folder, replace_file
from opengcd._internal.images import EmbedderError, decoders
from opengcd._internal.progress import Progress
from opengcd.embed.given import GivenVectors
from opengcd.workspace.database import Database, in_parts
from opengcd.workspace.embedders import embedder_of
from opengcd.workspace.errors import DamagedError, UnavailableError, WorkspaceError
from opengcd.workspace.files import Found, ignore_file, look_at, read_file
from opengcd.workspace.intake import Intake, Taken, write_failures, write_paths
from opengcd.workspace.originals import store_vectors
from opengcd.workspace.revision import raise_revision
from opengcd.workspace.schema import items
from opengcd.workspace.settings import FILE
from opengcd.workspace.thumbnails import SIDE, thumbnail_file
from opengcd.workspace.vector_files import DATASET, VectorRows, is_vector_file, read_vectors
from opengcd.workspace.vectors import Vectors

BATCH = 1000
"""Rows that are stored in one transaction."""
NOT_VECTORS = "not a file of vectors: this workspace takes .npz, .npy and .parquet files, and datasets on disk"


class VectorIntake:
    """Adds the rows of files to a workspace whose items are vectors."""

    def __init__(self, database: Database, vectors: Vectors, thumbnails: Path) -> None:
        self._database = database
        self._vectors = vectors
        self._thumbnails = thumbnails

    def find(
        self, starts: Iterable[str | os.PathLike[str]], on_skipped: Callable[[str], object] = ignore_file
    ) -> Iterator[Found]:
        """Find the files of vectors under some paths; of a dataset on disk, the one that describes it."""
        for start in starts:
            if not os.path.isdir(start):
                yield look_at(os.path.abspath(start))
                continue
            for folder, inner, names in os.walk(os.path.abspath(start)):
                inner[:] = sorted(name for name in inner if not name.startswith("."))
                if FILE in names:  # a workspace among the files holds none itself
                    inner.clear()
                    continue
                chosen = [DATASET] if DATASET in names else sorted(name for name in names if is_vector_file(name))
                for name in sorted(set(names).difference(chosen)):
                    on_skipped(os.path.join(folder, name))
                yield from (look_at(os.path.join(folder, name)) for name in chosen)

    def expand(self, files: Sequence[Found], fps: float, progress: Progress) -> Iterator[list[Found]]:
        """Yield the files as they are: none is a video."""
        return ([found] for found in files)

    def complete(self, progress: Progress, among: Sequence[int] | None = None, version: int | None = None) -> None:
        """Do nothing: every item has come with its vector."""

    def read(self, path: str | os.PathLike[str]) -> VectorRows:
        """Return the rows of a file that belong into this workspace; nothing is stored."""
        with self._database.reading() as connection:
            stored = embedder_of(connection)
        return read_vectors(path, None if stored is None else stored.width)

    def take(self, files: Sequence[Found], progress: Progress) -> Iterator[list[Taken]]:
        """Yield the rows of files in batches as they are safely stored, and the files that cannot be used."""
        for found in files:
            reason = found.reason or ("" if is_vector_file(found.path) else NOT_VECTORS)
            rows = None
            if not reason:
                try:
                    rows = self.read(found.path)
                except (DamagedError, UnavailableError):
                    raise
                except WorkspaceError as error:
                    reason = str(error)
            if rows is not None:
                yield from self.take_rows(rows, progress, found)
                continue
            with self._database.writing() as connection:
                write_failures(connection, [(found, reason)])
            yield [Taken(found.path, None, reason)]

    def take_rows(self, rows: VectorRows, progress: Progress, source: Found | None = None) -> Iterator[list[Taken]]:
        """Yield rows in batches as they are safely stored."""
        n = len(rows.names)
        size, mtime = (0, 0) if source is None else (source.size, source.mtime)
        for start in range(0, n, BATCH):
            progress("reading vectors", start, n)
            part = slice(start, start + BATCH)
            hashes = rows.hashes[part]
            for content, picture in zip(hashes, rows.pictures[part], strict=True):
                self._keep_picture(content, picture)
            with self._database.writing() as connection:
                ids: dict[str, int] = {}
                for some in in_parts(list(dict.fromkeys(hashes))):
                    query = select(items.c.hash, items.c.id).where(items.c.hash.in_(some))
                    there = {row.hash for row in connection.execute(query)}
                    if new := [{"hash": one, "width": 0, "height": 0} for one in some if one not in there]:
                        connection.execute(insert(items), new)
                    ids.update({row.hash: row.id for row in connection.execute(query)})
                first = {content: start + place for place, content in reversed(list(enumerate(hashes)))}
                store_vectors(
                    connection,
                    self._vectors.folder,
                    GivenVectors(),
                    [ids[content] for content in first],
                    rows.X[list(first.values())],
                )
                raise_revision(connection)
                taken = [Taken(name, ids[one]) for name, one in zip(rows.names[part], hashes, strict=True)]
                write_paths(connection, [(Found(one.path, size, mtime), one.item or 0) for one in taken])
            yield taken
        progress("reading vectors", n, n)

    def _keep_picture(self, content: str, picture: str | bytes | None) -> None:
        """Keep a small picture of an item; without one, a card with its name is shown."""
        if picture is None:
            return
        file = thumbnail_file(self._thumbnails, content)
        if file.exists():
            return
        with suppress(EmbedderError, OSError):
            raw = picture if isinstance(picture, bytes) else read_file(picture)
            make_folder(file.parent)
            replace_file(file, decoders().jpeg(raw, SIDE))


AnyIntake = Intake | VectorIntake
"""Takes in the items of a workspace: images or vectors."""
