"""Feature shards: written once, named by their content, and never used when damaged."""

import errno
import hashlib
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import func, insert, select, update

from opengcd.workspace import DamagedError, WorkspaceError
from opengcd.workspace import features as features_module
from opengcd.workspace.database import Database
from opengcd.workspace.features import FeatureStore
from opengcd.workspace.migrations import create_tables
from opengcd.workspace.schema import features, items, shards

FINGERPRINT = "f" * 64


def content(number):
    return hashlib.sha256(str(number).encode()).hexdigest()


def make_items(database, numbers):
    with database.writing() as connection:
        rows = [{"id": i, "hash": content(i), "width": 1, "height": 1} for i in numbers]
        connection.execute(insert(items), rows)


@pytest.fixture
def database(tmp_path):
    opened = Database(f"sqlite:///{tmp_path / 'db'}")
    with opened.writing() as connection:
        create_tables(connection, "an id")
    make_items(opened, range(1, 8))
    yield opened
    opened.close()


X = np.arange(14, dtype=np.float32).reshape(7, 2)


@pytest.fixture
def store(database, tmp_path):
    """Seven vectors in two shards."""
    with database.writing() as connection:
        made = FeatureStore.make(connection, tmp_path, FINGERPRINT, "net", 2)
        made.append(connection, [1, 2], X[:2])
    with database.writing() as connection:
        made.append(connection, [3, 4, 5, 6, 7], X[2:])
    return made


def files(store):
    return sorted(store.folder.iterdir())


def test_shards_by_hand(store, database, tmp_path):
    with database.reading() as connection:
        np.testing.assert_array_equal(store.of_items(connection, [7, 1, 4, 3]), X[[6, 0, 3, 2]])
        assert store.of_items(connection, []).shape == (0, 2)
        assert FeatureStore.find(connection, tmp_path, "e" * 64) is None
        assert [shard.rows for shard in store.shards(connection)] == [2, 5]
    for file in files(store):
        assert file.stem == hashlib.sha256(file.read_bytes()).hexdigest()
        records = np.load(file)
        named = {content(i): X[i - 1] for i in range(1, 8)}
        for record in records:  # a shard says itself whose vectors it holds
            np.testing.assert_array_equal(record["vector"], named[record["item"].tobytes().hex()])


def test_a_rolled_back_writer_changes_nothing(store, database):
    make_items(database, [8])
    before = {file: file.read_bytes() for file in files(store)}
    with database.writing() as connection:
        store.append(connection, [8], X[:1] + 100)
        connection.rollback()
    with database.writing() as connection:
        store.append(connection, [8], X[:1] + 200)
    assert {file: file.read_bytes() for file in before} == before
    with database.reading() as connection:
        np.testing.assert_array_equal(store.of_items(connection, [8, 1]), [X[0] + 200, X[0]])


def test_items_without_a_vector_are_named(store, database):
    make_items(database, [8])
    with database.reading() as connection, pytest.raises(WorkspaceError, match=r"1 images have no vector \(item 8\)"):
        store.of_items(connection, [1, 8])


DAMAGES = {
    "truncated": lambda file: file.write_bytes(file.read_bytes()[:-1]),
    "empty": lambda file: file.write_bytes(b""),
    "gone": lambda file: file.unlink(),
    "zeros": lambda file: file.write_bytes(b"\0" * file.stat().st_size),
    "one bit": lambda file: file.write_bytes(file.read_bytes()[:-1] + bytes([file.read_bytes()[-1] ^ 1])),
    "longer": lambda file: file.write_bytes(file.read_bytes() + b"\0"),
    "a folder": lambda file: (file.unlink(), file.mkdir()),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("was_read", [False, True], ids=["new", "read before"])
def test_a_damaged_shard_is_never_used(store, database, damage, was_read):
    with database.reading() as connection:
        if was_read:
            store.of_items(connection, range(1, 8))
        (file,) = (store.file(shard.sha256) for shard in store.shards(connection) if shard.rows == 5)
        DAMAGES[damage](file)
        with pytest.raises(DamagedError, match=r"check DIR --repair") as told:
            store.of_items(connection, [1, 4])
        assert str(file) in str(told.value)
        np.testing.assert_array_equal(store.of_items(connection, [1, 2]), X[:2])
    make_items(database, [8])
    with database.writing() as connection:  # new images do not need it, and do not hide it
        store.append(connection, [8], X[:1])
    with database.reading() as connection:
        np.testing.assert_array_equal(store.of_items(connection, [8]), X[:1])
        with pytest.raises(DamagedError):
            store.of_items(connection, [4])


@pytest.mark.parametrize("code", [errno.EMFILE, errno.EIO, errno.EACCES, errno.ENOMEM])
@pytest.mark.parametrize("where", ["stat", "open", "read", "map"])
def test_a_shard_that_cannot_be_read_for_now_is_not_called_damaged(store, database, monkeypatch, code, where):
    def fail(*_, **__):
        raise OSError(code, os.strerror(code))

    with database.reading() as connection, monkeypatch.context() as outage:
        target = {
            "stat": (Path, "stat"),
            "open": (features_module, "open"),
            "read": (hashlib, "file_digest"),
            "map": (np, "load"),
        }
        outage.setattr(*target[where], fail, raising=False)
        with pytest.raises(OSError, match=os.strerror(code)) as told:
            store.of_items(connection, [1])
        assert where == "map" or ".npy" in str(told.value)
    with database.reading() as connection:
        np.testing.assert_array_equal(store.of_items(connection, [1]), X[:1])


def test_a_shard_that_the_database_does_not_know(store, database):
    with database.writing() as connection:
        connection.execute(update(features).where(features.c.item_id == 4).values(shard=99))
    with database.reading() as connection, pytest.raises(DamagedError):
        store.of_items(connection, [1, 4])


@settings(max_examples=20)
@given(batches=st.lists(st.integers(1, 9), max_size=60), fanout=st.integers(2, 4))
def test_merged_shards_hold_the_same_vectors(batches, fanout, tmp_path_factory):
    folder = tmp_path_factory.mktemp("merged")
    database = Database(f"sqlite:///{folder / 'db'}")
    expected = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(features_module, "FANOUT", fanout)
        patch.setattr(features_module, "LARGEST_MERGED", fanout**3)
        with database.writing() as connection:
            create_tables(connection, "an id")
            store = FeatureStore.make(connection, folder, FINGERPRINT, "net", 3)
        for size in batches:
            ids = range(len(expected) + 1, len(expected) + 1 + size)
            make_items(database, ids)
            vectors = np.random.default_rng(len(expected)).normal(size=(size, 3)).astype(np.float32)
            with database.writing() as connection:
                store.append(connection, list(ids), vectors)
            expected |= dict(zip(ids, vectors, strict=True))
            with database.reading() as connection:
                found = store.of_items(connection, list(expected))
                np.testing.assert_array_equal(found, np.array(list(expected.values())).reshape(-1, 3))
                named = connection.scalar(select(func.count()).select_from(shards))
                in_use = store.shards(connection)
        if batches:
            # Few of each size, and no file that nobody names: at most one generation waits to be deleted.
            small = [shard for shard in in_use if shard.rows < fanout**3]
            assert len(small) <= 3 * (fanout - 1)
            assert len(files(store)) <= named
    database.close()
