"""The image files of items: which of them still have the content that was taken in, and vectors computed from them."""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sqlalchemy import Connection, select

from opengcd._internal.images import EmbedderError, decoders
from opengcd._internal.progress import Progress
from opengcd.embed import Decoded, Embedder, embed_files
from opengcd.workspace.database import Database, in_parts
from opengcd.workspace.features import FeatureStore
from opengcd.workspace.files import content_hash, read_file
from opengcd.workspace.items import paths_of
from opengcd.workspace.revision import raise_revision
from opengcd.workspace.schema import items


class Original(NamedTuple):
    """A file that has the content of an item."""

    item: int
    path: str
    hash: str
    """SHA-256 of the content."""


def find_originals(database: Database, wanted: Sequence[int], progress: Progress) -> list[Original]:
    """Return one file of each item that still has its content; items that have none are left out."""
    hashes: dict[int, str] = {}
    with database.reading() as connection:
        files = paths_of(connection, wanted)
        for part in in_parts(wanted):
            rows = connection.execute(select(items.c.id, items.c.hash).where(items.c.id.in_(part)))
            hashes.update({row.id: row.hash for row in rows})

    def intact(item: int) -> str | None:
        return next((path for path in files.get(item, ()) if _has_content(path, hashes[item])), None)

    found = []
    with ThreadPoolExecutor(decoders().most) as pool:
        for done, (item, path) in enumerate(zip(wanted, pool.map(intact, wanted), strict=True)):
            progress("looking for images", done, len(wanted))
            if path is not None:
                found.append(Original(item, path, hashes[item]))
    if wanted:
        progress("looking for images", len(wanted), len(wanted))
    return found


def embed_originals(
    database: Database,
    folder: Path,
    embedder: Embedder,
    originals: Sequence[Original],
    progress: Progress,
    stage: str = "reading images",
    *,
    in_use: bool = True,
) -> None:
    """Compute and store the vectors of items; each batch is stored in a transaction of its own.

    Images that cannot be read any more are left out. Vectors of an embedder that is not ``in_use`` yet do not outdate
    what was counted before.
    """
    decoded: deque[int] = deque()

    def note(original: Original, found: Decoded | str) -> None:
        if not isinstance(found, str):
            decoded.append(original.item)

    done = 0
    progress(stage, done, len(originals))
    with closing(embed_files(embedder, originals, _read, note)) as stream:
        for vectors in stream:
            batch = [decoded.popleft() for _ in range(len(vectors))]
            finite = np.isfinite(vectors).all(axis=1)
            kept = [item for item, good in zip(batch, finite.tolist(), strict=True) if good]
            with database.writing() as connection:
                store_vectors(connection, folder, embedder, kept, vectors[finite])
                if in_use:
                    raise_revision(connection)
            done += len(batch)
            progress(stage, done, len(originals))


def store_vectors(
    connection: Connection, folder: Path, embedder: Embedder, ids: Sequence[int], vectors: np.ndarray
) -> None:
    """Store one vector per item, except for items that have one of this embedder.

    Two commands may have embedded the same image side by side; the first one's vector stays.
    """
    store = FeatureStore.make(connection, folder, embedder.fingerprint, embedder.name, vectors.shape[1])
    there = store.having(connection, ids)
    rows = [row for row, id in enumerate(ids) if id not in there]
    store.append(connection, [ids[row] for row in rows], vectors[rows])


def _has_content(path: str, content: str) -> bool:
    try:
        return os.path.isfile(path) and content_hash(path) == content
    except OSError:
        return False


def _read(original: Original) -> bytes:
    raw = read_file(original.path)
    if hashlib.sha256(raw).hexdigest() != original.hash:
        raise EmbedderError("the file has changed")
    return raw
