"""Feature vectors on disk: rows of float32 in shards that are only appended to and read through memory maps.

A shard belongs to one embedder, by its fingerprint; the database says which row is which item's. A row is written
before the database names it, so a crash leaves at worst rows that nobody names, and the next are written over them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import Connection, Select, func, insert, select

from opengcd.workspace._database import in_parts
from opengcd.workspace._errors import WorkspaceError
from opengcd.workspace._schema import embedders, features

SHARD_ROWS = 65_536
ROW = np.dtype("<f4")


class FeatureStore:
    """The shards of one embedder; ``id`` is its number in the database."""

    def __init__(self, folder: Path, id: int, fingerprint: str, width: int) -> None:
        self.folder = folder / fingerprint[:16]
        self.id = id
        self.width = width

    @classmethod
    def find(cls, connection: Connection, folder: Path, fingerprint: str) -> FeatureStore | None:
        """Return the shards of an embedder that was used before."""
        row = connection.execute(select(embedders).where(embedders.c.fingerprint == fingerprint)).one_or_none()
        return None if row is None else cls(folder, row.id, fingerprint, row.width)

    @classmethod
    def make(cls, connection: Connection, folder: Path, fingerprint: str, name: str, width: int) -> FeatureStore:
        """Return the shards of an embedder, new ones if need be."""
        if found := cls.find(connection, folder, fingerprint):
            return found
        row = {"fingerprint": fingerprint, "name": name, "width": width}
        (id,) = connection.execute(insert(embedders).values(row)).inserted_primary_key or (0,)
        return cls(folder, id, fingerprint, width)

    def append(self, connection: Connection, ids: Sequence[int], vectors: np.ndarray) -> None:
        """Store one row for each item, to be named by the caller's transaction."""
        self.folder.mkdir(parents=True, exist_ok=True)
        here = features.c.embedder_id == self.id
        shard = connection.scalar(select(func.max(features.c.shard)).where(here)) or 0
        last = connection.scalar(select(func.max(features.c.row)).where(here, features.c.shard == shard))
        start, done = 0 if last is None else last + 1, 0
        while done < len(ids):
            if start == SHARD_ROWS:
                shard, start = shard + 1, 0
            part = slice(done, done + SHARD_ROWS - start)
            _write(self._file(shard), start * self.width * ROW.itemsize, vectors[part].astype(ROW, order="C").tobytes())
            rows = [
                {"item_id": id, "embedder_id": self.id, "shard": shard, "row": start + i}
                for i, id in enumerate(ids[part])
            ]
            connection.execute(insert(features), rows)
            start, done = start + len(rows), done + len(rows)

    def places(self) -> Select[Any]:
        """Select the item, shard and row of all vectors; add conditions to it."""
        return select(features.c.item_id, features.c.shard, features.c.row).where(features.c.embedder_id == self.id)

    def of_items(self, connection: Connection, ids: Sequence[int]) -> np.ndarray:
        """Return the vectors of items, in that order."""
        place = {}
        for part in in_parts(ids):
            found = connection.execute(self.places().where(features.c.item_id.in_(part)))
            place.update({row.item_id: (row.shard, row.row) for row in found})
        return self.read([place[id] for id in ids])

    def read(self, places: Iterable[tuple[int, int]]) -> np.ndarray:
        """Return the vectors at pairs of shard and row."""
        where = np.array(list(places), dtype=np.int64).reshape(-1, 2)
        X = np.empty((len(where), self.width), dtype=np.float32)
        for shard in np.unique(where[:, 0]).tolist():
            chosen = where[:, 0] == shard
            X[chosen] = self._map(shard, int(where[chosen, 1].max()) + 1)[where[chosen, 1]]
        return X

    def _map(self, shard: int, rows: int) -> np.ndarray:
        try:
            return np.memmap(self._file(shard), ROW, "r", shape=(rows, self.width))
        except (OSError, ValueError) as error:
            raise WorkspaceError(
                f"The feature file {self._file(shard)} is missing or cut off ({error}); restore it from a backup."
            ) from None

    def _file(self, shard: int) -> Path:
        return self.folder / f"{shard:06d}.f32"


def _write(file: Path, offset: int, raw: bytes) -> None:
    new = not file.exists()
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
    with open(descriptor, "r+b") as stream:
        stream.seek(offset)
        stream.write(raw)
        stream.flush()
        os.fsync(stream.fileno())
    if new and os.name == "posix":  # there the name of a file is stored apart from the file
        folder = os.open(file.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
