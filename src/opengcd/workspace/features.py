"""Feature vectors on disk, in files that are written once and never changed.

A shard is one array in numpy's format; each of its records has the SHA-256 of an image and the vector of that image.
Its name is the SHA-256 of the file, so two writers can never overwrite each other's rows, and damage to a shard is
noticed before it is used. It is on disk before the database names it: a crash leaves at worst an unused file.
"""

from __future__ import annotations

import hashlib
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, Select, delete, insert, select, update

from opengcd._internal.durable_files import make_folder, store_file
from opengcd._internal.limited_reading import MISSING
from opengcd.workspace.database import in_parts
from opengcd.workspace.errors import DamagedError, WorkspaceError
from opengcd.workspace.schema import embedders, features, items, shards

FANOUT = 32
"""Shards of about one size that are merged into one."""
LARGEST_MERGED = FANOUT**3
"""Rows of a shard that is not merged any more."""
verified: dict[Path, tuple[int, ...]] = {}
"""Shards whose checksum was right in this process, with the inode, size and times of the file then."""


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
        """Store one row per item, named in the caller's transaction; small shards are merged from time to time."""
        if not len(ids):
            return
        hashes: dict[int, str] = {}
        for part in in_parts(ids):
            rows = connection.execute(select(items.c.id, items.c.hash).where(items.c.id.in_(part)))
            hashes.update({row.id: row.hash for row in rows})
        records = np.empty(len(ids), self._record)
        records["item"] = np.frombuffer(b"".join(bytes.fromhex(hashes[id]) for id in ids), np.uint8).reshape(-1, 32)
        records["vector"] = vectors
        self._place(connection, self._write(connection, records), {id: row for row, id in enumerate(ids)})
        self._merge(connection)

    def recover(self, connection: Connection) -> None:
        """Enter the vectors of items that have none, where an intact file in the folder has them.

        Each record names its image, so a file that was missing for a while can be used when it is back.
        """
        bare = select(items.c.hash, items.c.id).where(
            items.c.id.not_in(self.places().with_only_columns(features.c.item_id))
        )
        wanted = {bytes.fromhex(row.hash): row.id for row in connection.execute(bare)}
        numbers = {shard.sha256: shard.id for shard in self.shards(connection)}
        for file in sorted(self.folder.glob("*.npy")):
            try:
                records = self._read(file, file.stem)
            except (DamagedError, OSError):
                continue
            finite = np.isfinite(records["vector"]).all(1)
            keys = [item.tobytes() for item in records["item"]]
            rows = {wanted[key]: row for row, key in enumerate(keys) if finite[row] and key in wanted}
            if rows:
                self._place(connection, numbers.get(file.stem) or self._enter(connection, file.stem, len(keys)), rows)
                wanted = {key: id for key, id in wanted.items() if id not in rows}

    def places(self) -> Select[Any]:
        """Select the item, shard and row of all vectors; add conditions to it."""
        return select(features.c.item_id, features.c.shard, features.c.row).where(features.c.embedder_id == self.id)

    def having(self, connection: Connection, ids: Sequence[int]) -> set[int]:
        """Return those of some items that have a vector."""
        return {
            row.item_id
            for part in in_parts(list(ids))
            for row in connection.execute(self.places().where(features.c.item_id.in_(part)))
        }

    def of_items(self, connection: Connection, ids: Sequence[int]) -> np.ndarray:
        """Return the vectors of items, in that order."""
        place = {}
        for part in in_parts(ids):
            found = connection.execute(self.places().where(features.c.item_id.in_(part)))
            place.update({row.item_id: (row.shard, row.row) for row in found})
        if missing := [id for id in ids if id not in place]:
            raise WorkspaceError(f"{len(missing)} images have no vector (item {missing[0]}); opengcd check says why.")
        where = np.array([place[id] for id in ids], dtype=np.int64).reshape(-1, 2)
        X = np.empty((len(where), self.width), dtype=np.float32)
        used = np.unique(where[:, 0]).tolist()
        known = self.shards(connection, used)
        if len(known) < len(used):
            raise _damaged(self.folder, "the database does not know all its files")
        for shard in known:
            chosen = where[:, 0] == shard.id
            X[chosen] = self.open(shard)["vector"][where[chosen, 1]]
        return X

    def shards(self, connection: Connection, ids: Sequence[int] | None = None) -> list[Row[Any]]:
        """Return the shards of some numbers, or all that hold vectors in use."""
        if ids is not None:
            return [row for part in in_parts(ids)
                    for row in connection.execute(select(shards).where(shards.c.id.in_(part)))]  # fmt: skip
        query = select(shards).where(shards.c.embedder_id == self.id, ~shards.c.retired)
        return list(connection.execute(query.order_by(shards.c.id)))

    def retired(self, connection: Connection) -> list[Row[Any]]:
        """Return the shards that were merged into others, and whose files the next merge deletes."""
        return list(connection.execute(select(shards).where(shards.c.embedder_id == self.id, shards.c.retired)))

    def open(self, shard: Row[Any]) -> np.ndarray:
        """Return the records of a shard through a memory map, its checksum compared."""
        file = self.file(shard.sha256)
        records = self._read(file, shard.sha256)
        if len(records) != shard.rows:
            raise _damaged(file, f"it holds {len(records)} rows instead of {shard.rows}")
        return records

    def file(self, digest: str) -> Path:
        """Return the file of a shard."""
        return self.folder / f"{digest}.npy"

    @property
    def _record(self) -> np.dtype[Any]:
        return np.dtype([("item", "u1", 32), ("vector", "<f4", self.width)])

    def _read(self, file: Path, digest: str) -> np.ndarray:
        verify_file(file, digest)
        try:
            records = np.load(file, mmap_mode="r", allow_pickle=False)
        except (*MISSING, ValueError) as error:
            raise _damaged(file, str(error)) from None
        if records.dtype != self._record or records.ndim != 1:
            raise _damaged(file, f"it holds {records.shape} of {records.dtype}")
        return records

    def _place(self, connection: Connection, shard: int, rows: Mapping[int, int]) -> None:
        """Store the shard and row of the vectors of items."""
        places = [{"item_id": id, "embedder_id": self.id, "shard": shard, "row": row} for id, row in rows.items()]
        for part in in_parts(places):
            connection.execute(insert(features), part)

    def _write(self, connection: Connection, records: np.ndarray) -> int:
        """Write a shard and enter it; return its number."""
        raw = io.BytesIO()
        np.lib.format.write_array(raw, records, (1, 0), allow_pickle=False)
        content = raw.getvalue()
        digest = hashlib.sha256(content).hexdigest()
        make_folder(self.folder)
        store_file(self.file(digest), content)
        return self._enter(connection, digest, len(records))

    def _enter(self, connection: Connection, digest: str, rows: int) -> int:
        row = {"embedder_id": self.id, "sha256": digest, "rows": rows, "retired": False}
        (id,) = connection.execute(insert(shards).values(row)).inserted_primary_key or (0,)
        return id

    def _merge(self, connection: Connection) -> None:
        """Merge shards of about one size when there are many, so that reading all vectors opens few files.

        A merged shard is retired, and its file is deleted at a later merge: a reader may still be about to open it.
        """
        tiers: dict[int, list[Row[Any]]] = {}
        for shard in self.shards(connection):
            if shard.rows < LARGEST_MERGED:
                tiers.setdefault(int(math.log(shard.rows, FANOUT)), []).append(shard)
        for small in tiers.values():
            if len(small) < FANOUT:
                continue
            try:
                merged = np.concatenate([self.open(shard) for shard in small])
            except (DamagedError, OSError):  # whoever reads it reports the damage; new images do not need it
                continue
            self._delete_retired(connection)
            home, start = self._write(connection, merged), 0
            for shard in small:
                here = (features.c.embedder_id == self.id) & (features.c.shard == shard.id)
                connection.execute(update(features).where(here).values(shard=home, row=features.c.row + start))
                start += shard.rows
            chosen = [shard.id for shard in small]
            connection.execute(update(shards).where(shards.c.id.in_(chosen)).values(retired=True))

    def _delete_retired(self, connection: Connection) -> None:
        """Delete files of shards that were merged in an earlier transaction."""
        used = {shard.sha256 for shard in self.shards(connection)}
        for shard in self.retired(connection):
            if shard.sha256 not in used:
                file = self.file(shard.sha256)
                file.unlink(missing_ok=True)
                verified.pop(file, None)
            connection.execute(delete(shards).where(shards.c.id == shard.id))


def verify_file(file: Path, digest: str) -> None:
    """Compare a shard with its checksum; one that has not changed since is not read again.

    An error of the system while reading does not mean damage: it is raised as it is.
    """
    try:
        status = file.stat()
        state = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        if verified.get(file) == state:
            return
        with open(file, "rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
    except MISSING as error:
        raise _damaged(file, error.strerror or str(error)) from None
    except OSError as error:
        error.filename = error.filename or str(file)  # an error of reading does not name the file
        raise
    if found != digest:
        raise _damaged(file, "its checksum is wrong")
    verified[file] = state


def _damaged(file: Path, reason: str) -> DamagedError:
    return DamagedError(
        f"The feature file {file} is missing or damaged ({reason}). `opengcd check DIR --repair` computes it again "
        "from the images.",
        reason,
    )
