"""Verification of a workspace: whether everything is as it was written, and repair of what can be computed again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, delete, func, or_, select

from opengcd._internal.images import EmbedderError, decoders
from opengcd._internal.progress import Progress
from opengcd.workspace import networks, versions
from opengcd.workspace.adaptation import SCRATCH, rehearsed_run
from opengcd.workspace.database import Database, in_parts
from opengcd.workspace.embedders import StoredEmbedder, all_embedders, embedder_of, unfinished
from opengcd.workspace.errors import DamagedError
from opengcd.workspace.features import FeatureStore
from opengcd.workspace.files import content_hash
from opengcd.workspace.log import RESTORABLE
from opengcd.workspace.originals import Original, find_originals
from opengcd.workspace.projection import read_drawing
from opengcd.workspace.revision import raise_revision
from opengcd.workspace.schema import edits, exemplars, features, items, models, paths, predictions, training_labels

MOST_SHOWN = 20
"""Messages of SQLite's own check."""


class Finding(NamedTuple):
    """Damage that was found."""

    what: str
    """The damaged file, or the part of the workspace."""
    problem: str
    remedy: str
    """What to do, or what was done."""
    repaired: bool = False


class _Lost(NamedTuple):
    """Items whose vectors of an embedder are lost, and why."""

    embedder: StoredEmbedder
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
        Computes the vectors of items by an embedder that was used for them.
    progress : callable
        See :data:`opengcd._internal.progress.Progress`.

    """

    def __init__(
        self,
        database: Database,
        path: Path,
        repair: bool,
        embed: Callable[[StoredEmbedder, Sequence[Original]], None],
        progress: Progress,
    ) -> None:
        self.database = database
        self.path = path
        self.repair = repair
        self.embed = embed
        self.progress = progress

    def run(self) -> Iterator[Finding]:
        """Yield the damage, part by part."""
        parts: dict[str, Callable[[], Iterator[Finding]]] = {
            "the database": self._check_database,
            "the edit log": self._check_log,
            "networks": self._check_networks,
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

    def _check_networks(self) -> Iterator[Finding]:
        """Yield damaged networks that versions use, and what adaptations that were interrupted have left."""
        with self.database.reading() as connection:
            left = unfinished(connection)
            for embedder in all_embedders(connection):
                if embedder.digest is None or embedder in left:
                    continue
                try:
                    networks.verify_network(self.path, embedder)
                except DamagedError as error:
                    remedy = "restore it from a backup, or use a version with another network by opengcd rollback"
                    yield Finding(embedder.name, error.reason, remedy)
                except OSError as error:
                    yield Finding(embedder.name, f"it cannot be read ({error})", "check again when it can be read")
            folders = networks.unused_folders(connection, self.path)
            kept = rehearsed_run(connection)
            scratch = [one for one in (self.path / SCRATCH).glob("*") if one.name != kept]
        if not left and not folders and not scratch:
            return
        problem = "an adaptation of the network was not finished"
        if not self.repair:
            remedy = "run opengcd adapt to continue it, if nothing else has changed, or --repair to delete its files"
            yield Finding(str(self.path / networks.FOLDER), problem, remedy)
            return
        networks.delete_unfinished(self.database, self.path)
        for one in scratch:
            networks.delete_folder(one)
        yield Finding(str(self.path / networks.FOLDER), problem, "its files were deleted", True)

    def _check_vectors(self) -> Iterator[Finding]:
        with self.database.reading() as connection:
            stores = {one: self._store_of(one) for one in all_embedders(connection)}
        found = self._find_lost(stores)
        left = _items_of(found)
        if self.repair and left:
            self._restore_vectors(stores, left)
            left = _items_of(self._find_lost(stores))
        for lost in found:
            yield _vectors_finding(lost, left, self.repair)
        if not left:
            yield from self._check_unused_shards(list(stores.values()))

    def _store_of(self, embedder: StoredEmbedder) -> FeatureStore:
        return FeatureStore(self.path / "features", embedder.id, embedder.fingerprint, embedder.width)

    def _find_lost(self, stores: Mapping[StoredEmbedder, FeatureStore]) -> list[_Lost]:
        """Return the damaged shards, and the items that have lost their vector altogether."""
        found: list[_Lost] = []
        with self.database.reading() as connection:
            for embedder, store in stores.items():
                found += self._damaged_shards(connection, embedder, store)
                if without := _without_vector(connection, embedder):
                    found.append(_Lost(embedder, "features", "images without a vector", without))
        return found

    def _damaged_shards(self, connection: Connection, embedder: StoredEmbedder, store: FeatureStore) -> Iterator[_Lost]:
        """Yield shards whose file has changed, or whose rows are of other images than in the database."""
        known = store.shards(connection)
        for done, shard in enumerate(known):
            self.progress("checking vectors", done, len(known))
            query = select(items.c.id, items.c.hash, features.c.row).join(features, features.c.item_id == items.c.id)
            query = query.where(features.c.embedder_id == store.id, features.c.shard == shard.id)
            here = connection.execute(query).all()
            try:
                problem, bad = (
                    "rows of other images, or numbers that are not finite",
                    _wrong_rows(store.open(shard), here),
                )
            except DamagedError as error:
                problem, bad = error.reason, [row.id for row in here]
            except OSError as error:  # an error of the system: the file itself may be intact
                problem, bad = f"it cannot be read ({error.strerror})", [row.id for row in here]
            if bad:
                yield _Lost(embedder, str(store.file(shard.sha256)), problem, bad)
        unknown = store.places().where(features.c.shard.not_in([shard.id for shard in known]))
        if bad := [row.item_id for row in connection.execute(unknown)]:
            yield _Lost(embedder, "workspace.db", "it names vectors in a file that it does not know", bad)

    def _restore_vectors(
        self, stores: Mapping[StoredEmbedder, FeatureStore], lost: Collection[tuple[int, int]]
    ) -> None:
        """Find the vectors of items in other files of the folder, or compute them from the images.

        Each is computed by its own embedder; vectors of other embedders stay unchanged.
        """
        for embedder, store in stores.items():
            mine = sorted(item for id, item in lost if id == embedder.id)
            if not mine:
                continue
            with self.database.writing() as connection:
                for part in in_parts(mine):
                    here = features.c.item_id.in_(part) & (features.c.embedder_id == embedder.id)
                    connection.execute(delete(features).where(here))
                store.recover(connection)
                raise_revision(connection)
                there = store.having(connection, mine)
            originals = find_originals(self.database, [item for item in mine if item not in there], self.progress)
            if originals:
                try:
                    self.embed(embedder, originals)
                except DamagedError:  # the check of networks reports it
                    continue

    def _check_unused_shards(self, stores: Sequence[FeatureStore]) -> Iterator[Finding]:
        """Yield a finding if there are files of interrupted commands that nothing refers to."""

        def unused(connection: Connection) -> list[Path]:
            known = {
                store.file(row.sha256)
                for store in stores
                for row in (*store.shards(connection), *store.retired(connection))
            }
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


def _without_vector(connection: Connection, embedder: StoredEmbedder) -> list[int]:
    """Return the items that have lost their vector of an embedder: a version has used it, or it would be the only one.

    Other items were never embedded by it: they came while another one was in use.
    """
    has = select(features.c.item_id).where(features.c.embedder_id == embedder.id)
    first = all_embedders(connection)[0].id
    same = func.coalesce(models.c.embedder_id, first) == embedder.id
    used = [
        select(table.c.item_id).join(models, models.c.id == table.c.model_id).where(same, table.c.item_id.is_not(None))
        for table in (predictions, training_labels, exemplars)
    ]
    lost = or_(*(items.c.id.in_(one) for one in used))
    if embedder == embedder_of(connection):
        lost |= items.c.id.not_in(select(features.c.item_id))
    return list(connection.scalars(select(items.c.id).where(lost, items.c.id.not_in(has)).order_by(items.c.id)))


def _items_of(found: Sequence[_Lost]) -> set[tuple[int, int]]:
    """Return the number of the embedder and the item of each lost vector."""
    return {(lost.embedder.id, item) for lost in found for item in lost.items}


def _vectors_finding(lost: _Lost, left: set[tuple[int, int]], repair: bool) -> Finding:
    """Return the finding for lost vectors, given those that are ``left``."""
    missing = sum((lost.embedder.id, item) in left for item in lost.items)
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
