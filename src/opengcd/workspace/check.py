"""Verification of a workspace: whether everything is as it was written, and repair of what can be computed again."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, delete, select

from opengcd._internal.images import EmbedderError, decoders
from opengcd._internal.progress import Progress
from opengcd.workspace import versions
from opengcd.workspace.database import Database, in_parts
from opengcd.workspace.errors import DamagedError
from opengcd.workspace.features import FeatureStore
from opengcd.workspace.files import Found, content_hash, look_at
from opengcd.workspace.log import RESTORABLE
from opengcd.workspace.projection import read_drawing
from opengcd.workspace.revision import raise_revision
from opengcd.workspace.schema import edits, embedders, features, items, models, paths

MOST_SHOWN = 20
"""Messages of SQLite's own check."""


class Finding(NamedTuple):
    """Something that is not as it should be."""

    what: str
    """A file, or what it concerns."""
    problem: str
    remedy: str
    """What to do, or what was done."""
    repaired: bool = False


class _Lost(NamedTuple):
    """Items whose vectors are lost, and why."""

    what: str
    problem: str
    items: list[int]


class Check:
    """Verify all parts of a workspace; with ``repair``, restore what can be computed from the rest.

    Parameters
    ----------
    database : Database
    path : Path
        The folder of the workspace.
    repair : bool
        Whether to restore vectors, and to delete files that nothing uses or that are made again when needed.
    embed : callable
        Computes the vectors of files whose items have none.
    progress : callable
        See :data:`opengcd._internal.progress.Progress`.

    """

    def __init__(
        self, database: Database, path: Path, repair: bool, embed: Callable[[Sequence[Found]], None], progress: Progress
    ) -> None:
        self.database = database
        self.path = path
        self.repair = repair
        self.embed = embed
        self.progress = progress

    def run(self) -> Iterator[Finding]:
        """Yield what is wrong, part by part."""
        parts: dict[str, Callable[[], Iterator[Finding]]] = {
            "the database": self._check_database,
            "the edit log": self._check_log,
            "vectors": self._check_vectors,
            "models": self._check_models,
            "uploads": self._check_uploads,
            "thumbnails": lambda: self._check_pictures("thumbnails", "*/*.jpg", _is_picture),
            "maps": lambda: self._check_pictures("maps", "*.f64", _is_map),
        }
        for done, (name, check) in enumerate(parts.items()):
            self.progress(f"checking {name}", done, len(parts))
            yield from check()
        self.progress("checking", len(parts), len(parts))

    def _check_database(self) -> Iterator[Finding]:
        if self.database.engine.dialect.name != "sqlite":  # a server checks its own files
            return
        remedy = "restore workspace.db from a backup"
        with self.database.reading() as connection:
            for (problem,) in connection.exec_driver_sql(f"PRAGMA integrity_check({MOST_SHOWN})").all():
                if problem != "ok":
                    yield Finding("workspace.db", problem, remedy)
            for table, row, parent, _ in connection.exec_driver_sql("PRAGMA foreign_key_check").all()[:MOST_SHOWN]:
                yield Finding("workspace.db", f"row {row} of {table} refers to a missing row of {parent}", remedy)

    def _check_log(self) -> Iterator[Finding]:
        """Yield the entries that lack what an undo needs."""
        tables = {table.name: {column.name for column in table.columns} for table in RESTORABLE}
        with self.database.reading() as connection:
            for row in connection.execute(select(edits).order_by(edits.c.id)):
                try:
                    good = row.undoes is None or row.undoes < row.id
                    for name, rows in (row.before or {}).items():
                        good &= all(old is None or old.keys() <= tables[name] for _, old in rows)
                except (AttributeError, KeyError, TypeError, ValueError):
                    good = False
                if not good:
                    yield Finding(f"edit {row.id}", "it cannot be undone: its record is damaged", "restore a backup")

    def _check_vectors(self) -> Iterator[Finding]:
        with self.database.reading() as connection:
            stores = [
                FeatureStore(self.path / "features", row.id, row.fingerprint, row.width)
                for row in connection.execute(select(embedders))
            ]
        found = self._find_lost(stores)
        left = _items_of(found)
        if self.repair and left:
            self._restore_vectors(stores, left)
            left = _items_of(self._find_lost(stores))
        for lost in found:
            yield _vectors_finding(lost, left, self.repair)
        if not left:
            yield from self._check_unused_shards(stores)

    def _find_lost(self, stores: Sequence[FeatureStore]) -> list[_Lost]:
        """Return the damaged shards, and the items that have no vector at all."""
        with self.database.reading() as connection:
            found = [lost for store in stores for lost in self._damaged_shards(connection, store)]
            if without := _without_vector(connection):
                found.append(_Lost("features", "images without a vector", without))
        return found

    def _damaged_shards(self, connection: Connection, store: FeatureStore) -> Iterator[_Lost]:
        """Yield shards whose file is not as written, or whose rows are of other images than the database says."""
        known = store.shards(connection)
        for done, shard in enumerate(known):
            self.progress("checking vectors", done, len(known))
            query = select(items.c.id, items.c.hash, features.c.row).join(features, features.c.item_id == items.c.id)
            query = query.where(features.c.embedder_id == store.id, features.c.shard == shard.id)
            here = connection.execute(query).all()
            try:
                problem, bad = "rows of other images, or not finite", _wrong_rows(store.open(shard), here)
            except DamagedError as error:
                problem, bad = error.reason, [row.id for row in here]
            except OSError as error:  # an error of the system: the file itself may be intact
                problem, bad = f"it cannot be read ({error.strerror})", [row.id for row in here]
            if bad:
                yield _Lost(str(store.file(shard.sha256)), problem, bad)
        unknown = store.places().where(features.c.shard.not_in([shard.id for shard in known]))
        if bad := [row.item_id for row in connection.execute(unknown)]:
            yield _Lost("workspace.db", "it names vectors in a file that it does not know", bad)

    def _restore_vectors(self, stores: Sequence[FeatureStore], lost: Iterable[int]) -> None:
        """Find the vectors of items in other files of the folder, or compute them from the images."""
        with self.database.writing() as connection:
            for part in in_parts(sorted(lost)):
                connection.execute(delete(features).where(features.c.item_id.in_(part)))
            for store in stores:
                store.recover(connection)
            raise_revision(connection)
        with self.database.reading() as connection:
            without = _without_vector(connection)
        self.embed(self._files(without))

    def _files(self, wanted: Sequence[int]) -> list[Found]:
        """Return one file of each item, if one still has its content."""
        found: dict[int, Found] = {}
        with self.database.reading() as connection:
            query = select(paths.c.path, items.c.id, items.c.hash).join(items, items.c.id == paths.c.item_id)
            rows = [row for part in in_parts(wanted) for row in connection.execute(query.where(items.c.id.in_(part)))]
        for done, (path, item, content) in enumerate(rows):
            self.progress("looking for images", done, len(rows))
            if item not in found and os.path.isfile(path) and _hash(path) == content:
                found[item] = look_at(path)
        return list(found.values())

    def _check_unused_shards(self, stores: Sequence[FeatureStore]) -> Iterator[Finding]:
        """Yield a finding if there are files of interrupted commands that nothing refers to."""

        def unused(connection: Connection) -> list[Path]:
            known = {store.file(row.sha256) for store in stores for row in store.shards(connection)}
            return [file for store in stores for file in store.folder.glob("*") if file not in known]

        with self.database.reading() as connection:
            number = len(unused(connection))
        if number:
            yield self._delete("features", f"{number} files that no image uses", unused)

    def _check_models(self) -> Iterator[Finding]:
        with self.database.reading() as connection:
            for id in connection.scalars(select(models.c.id).order_by(models.c.id)).all():
                try:
                    versions.verify(connection, self.path / "models", id)
                except DamagedError as error:
                    remedy = "restore it from a backup, or use another version by opengcd rollback"
                    yield Finding(f"version {id}", error.reason, remedy)
                except OSError as error:
                    yield Finding(f"version {id}", f"it cannot be read ({error})", "check again when it can be read")

    def _check_uploads(self) -> Iterator[Finding]:
        with self.database.reading() as connection:
            query = select(paths.c.path, items.c.hash).join(items, items.c.id == paths.c.item_id)
            named = [Path(path).name for path, content in connection.execute(query) if Path(path).stem == content]
        for name in named:
            if not (self.path / "uploads" / name[:2] / name).exists():
                yield Finding(f"uploads/{name[:2]}/{name}", "an uploaded image is missing", "restore a backup")
        for file in sorted((self.path / "uploads").glob("*/*")):
            if not file.name.startswith(".") and _hash(file) != file.stem:
                yield Finding(str(file), "its content is not what was uploaded", "restore it from a backup")

    def _check_pictures(self, folder: str, pattern: str, is_good: Callable[[Path], bool]) -> Iterator[Finding]:
        """Yield a finding if files that are made again when needed are damaged."""
        bad = [file for file in (self.path / folder).glob(pattern) if not is_good(file)]
        if bad:
            yield self._delete(folder, f"{len(bad)} damaged files, such as {bad[0].name}", lambda _: bad)

    def _delete(self, what: str, problem: str, files: Callable[[Connection], Sequence[Path]]) -> Finding:
        if not self.repair:
            return Finding(what, problem, "--repair deletes them; they are not needed, or are made again when needed")
        with self.database.writing() as connection:  # nobody can add a file and refer to it meanwhile
            for file in files(connection):
                file.unlink(missing_ok=True)
        return Finding(what, problem, "deleted", True)


def _wrong_rows(records: np.ndarray, here: Sequence[Any]) -> list[int]:
    """Return the items whose row is missing, is that of another image, or is not finite."""
    rows = np.array([one.row for one in here], dtype=np.int64)
    expected = np.frombuffer(b"".join(bytes.fromhex(one.hash) for one in here), np.uint8).reshape(-1, 32)
    inside = rows < len(records)
    found = records[np.where(inside, rows, 0)]
    good = inside & (found["item"] == expected).all(1) & np.isfinite(found["vector"]).all(1)
    return [one.id for one, is_good in zip(here, good.tolist(), strict=True) if not is_good]


def _without_vector(connection: Connection) -> list[int]:
    """Return the items that no shard has a vector of."""
    return list(connection.scalars(select(items.c.id).where(items.c.id.not_in(select(features.c.item_id)))))


def _items_of(found: Sequence[_Lost]) -> set[int]:
    return {item for lost in found for item in lost.items}


def _vectors_finding(lost: _Lost, left: set[int], repair: bool) -> Finding:
    """Return the finding for lost vectors, given the items that are ``left`` without one."""
    missing = len(left.intersection(lost.items))
    problem = f"{lost.problem}: {len(lost.items)} images"
    if not repair:
        return Finding(lost.what, problem, "--repair computes the vectors from the images")
    if missing:
        remedy = f"{len(lost.items) - missing} computed again; the images of {missing} are missing or unreadable"
        return Finding(lost.what, problem, f"{remedy}: restore them and repair again")
    return Finding(lost.what, problem, "computed again from the images", True)


def _is_picture(file: Path) -> bool:
    try:
        decoders().check(file.read_bytes())
    except (OSError, EmbedderError):
        return False
    return True


def _is_map(file: Path) -> bool:
    return bool(read_drawing(file)) or not file.stat().st_size


def _hash(path: str | Path) -> str:
    try:
        return content_hash(path)
    except OSError:
        return ""
