"""A workspace opens only if its database is there, whole, its own and up to date; a read-only one can be looked at."""

import contextlib
import hashlib
import itertools
import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, insert, select
from typer.testing import CliRunner

from opengcd import Workspace
from opengcd.cli import app
from opengcd.service import create_app
from opengcd.workspace import DamagedError, ReadOnlyError, UnavailableError, WorkspaceError, migrations, opening
from opengcd.workspace import schema as schema_module
from opengcd.workspace.schema import edits, embedders, features, items, meta
from opengcd.workspace.seal import Seal
from tests.helpers.older_schemas import without_networks
from tests.helpers.pictures import RECOGNIZER, paint
from tests.helpers.serving import API, connect, get, send


def opengcd(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def folder(reviewable, tmp_path):
    """A closed workspace."""
    return shutil.copytree(reviewable, tmp_path / "closed")


def seal(folder):
    return folder / "workspace.db.sha256"


# Missing, empty, another one's.


@pytest.mark.parametrize("damage", ["gone", "empty"])
def test_a_lost_database_is_never_replaced_by_an_empty_one(folder, world, damage):
    database = folder / "workspace.db"
    database.unlink()
    if damage == "empty":
        database.touch()
    before = sorted(folder.rglob("*"))
    for command in (
        ["status", folder],
        ["recognize", folder, world[1]],
        ["init", folder, "--known", world[0], "--embedder", "pixels", "--preset", "paper"],
    ):
        done = opengcd(*command)
        assert done.exit_code == 1, command
        assert "Traceback" not in done.output
    with pytest.raises(DamagedError, match=r"workspace\.db is missing or empty\. Restore it from a backup"):
        Workspace(folder)
    with pytest.raises(DamagedError, match=r"Restore it from a backup; nothing was changed\.$"):
        Workspace.create(folder, "pixels", recognizer=RECOGNIZER)
    assert sorted(folder.rglob("*")) == before


def test_lost_tables_are_never_replaced_by_empty_ones(folder):
    seal(folder).unlink()
    (folder / "workspace.db").unlink()
    with contextlib.closing(sqlite3.connect(folder / "workspace.db")) as connection:
        connection.execute("CREATE TABLE other (x)")
    for open_it in (Workspace, lambda path: Workspace.create(path, "pixels", recognizer=RECOGNIZER)):
        with pytest.raises(DamagedError, match=r"no tables\. Restore it from a backup; nothing was changed\.$"):
            open_it(folder)


def test_an_interrupted_init_goes_on(tmp_path, world):
    Workspace.create(tmp_path / "w", "pixels", recognizer=RECOGNIZER).close()
    for file in (tmp_path / "w").glob("workspace.db*"):
        file.unlink()  # killed before the database was made
    with pytest.raises(DamagedError, match="run it again"):
        Workspace(tmp_path / "w")
    with Workspace.create(tmp_path / "w", "pixels", recognizer=RECOGNIZER) as workspace:
        assert workspace.fit(world[0]) == []
        with workspace.store.database.reading() as connection:
            id = connection.scalar(select(meta.c.value).where(meta.c.key == "id"))
        assert id == workspace.settings.id


def test_tables_that_were_never_made(tmp_path):
    Workspace.create(tmp_path / "w", "pixels").close()
    for file in (tmp_path / "w").glob("workspace.db*"):
        file.unlink()
    with sqlite3.connect(tmp_path / "w" / "workspace.db") as connection:
        connection.execute("CREATE TABLE other (x)")
    connection.close()
    with pytest.raises(WorkspaceError, match=r"holds no tables.*run it again"):
        Workspace(tmp_path / "w")


def test_the_database_of_another_workspace(folder, tmp_path):
    Workspace.create(tmp_path / "other", "pixels").close()
    for name in ("workspace.db", "workspace.db.sha256"):
        shutil.copy(tmp_path / "other" / name, folder / name)
    with pytest.raises(WorkspaceError, match="belongs to another workspace"):
        Workspace(folder)


def test_nobody_else_may_read_it(tmp_path):
    Workspace.create(tmp_path / "w", "pixels").close()
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [tmp_path / "w", *(tmp_path / "w").iterdir()]}
    assert modes.pop("w") == 0o700
    assert {name: mode & 0o077 for name, mode in modes.items() if name.startswith("workspace.")} == {
        "workspace.json": 0, "workspace.db": 0, "workspace.db.sha256": 0,
    }  # fmt: skip


def test_a_folder_that_was_there_is_made_private(tmp_path):
    (tmp_path / "w").mkdir(mode=0o755)
    Workspace.create(tmp_path / "w", "pixels").close()
    assert stat.S_IMODE((tmp_path / "w").stat().st_mode) == 0o700


@pytest.mark.parametrize("linked", ["workspace.db", "models", "features", "workspace.json"])
def test_a_workspace_with_links_into_another_one_is_refused(folder, tmp_path, linked):
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    strange = shutil.copytree(folder, tmp_path / "strange")
    (strange / "workspace.db.sha256").unlink()
    shutil.rmtree(strange / linked) if (strange / linked).is_dir() else (strange / linked).unlink()
    (strange / linked).symlink_to(folder / linked)
    done = opengcd("undo", strange)
    assert (done.exit_code, "is a link" in done.output) == (1, True), done.output
    assert {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()} == before


def test_settings_without_an_id_do_not_fit_the_database_of_another_workspace(folder):
    file = folder / "workspace.json"
    settings = json.loads(file.read_text())
    del settings["id"]
    file.write_text(json.dumps(settings))
    with pytest.raises(WorkspaceError, match="belongs to another workspace"):
        Workspace(folder)


@pytest.mark.parametrize("file", ["workspace.json", "models/0001/model.json"])
def test_files_that_claim_to_be_huge(folder, file):
    with open(folder / file, "rb+") as stream:
        stream.truncate(2**40)
    done = opengcd("recognize", folder, folder)
    assert isinstance(done.exception, SystemExit), done.exception
    assert "Error: " in done.output


@pytest.mark.parametrize("name", ["a b", "50%", "what?", "a#b", "ü"])
def test_any_name_of_a_folder(name, folder, tmp_path):
    folder.rename(tmp_path / name)
    with Workspace(tmp_path / name) as workspace:
        assert len(workspace.views.labels()) == 80
    assert (tmp_path / name / "workspace.db").exists()


# Damage.


def answers(folder):
    with Workspace(folder) as workspace:
        return workspace.formats.export_bytes("json"), workspace.status(), workspace.history(), workspace.groups()


@settings(max_examples=60)
@given(data=st.data())
def test_no_wrong_answer_from_a_damaged_database(reviewable, tmp_path_factory, data):
    """Whatever is done to the bytes of a closed database: the answers are the same, or there are none."""
    folder = shutil.copytree(reviewable, tmp_path_factory.mktemp("damaged") / "w")
    expected = answers(folder)
    file = folder / "workspace.db"
    raw = bytearray(file.read_bytes())
    kind = data.draw(st.sampled_from(["bit", "bytes", "zero page", "swap pages", "cut", "longer"]))
    place = data.draw(st.integers(0, len(raw) - 1))
    page = place // 4096 * 4096
    if kind == "bit":
        raw[place] ^= 1 << data.draw(st.integers(0, 7))
    elif kind == "bytes":
        raw[place : place + 8] = data.draw(st.binary(min_size=8, max_size=8))
    elif kind == "zero page":
        raw[page : page + 4096] = bytes(4096)
    elif kind == "swap pages":
        other = data.draw(st.integers(0, len(raw) // 4096 - 1)) * 4096
        raw[page : page + 4096], raw[other : other + 4096] = raw[other : other + 4096], raw[page : page + 4096]
    elif kind == "cut":
        del raw[place:]
    else:
        raw += bytes(4096)
    file.write_bytes(raw)
    with contextlib.suppress(DamagedError):
        assert answers(folder) == expected
    shutil.rmtree(folder)


def test_the_seal_is_true_or_absent(folder, tmp_path):
    assert seal(folder).exists()
    with Workspace(folder) as workspace:
        workspace.status()
        assert seal(folder).exists()  # who only looks leaves it
        with Workspace(folder) as other:
            other.name(other.groups()[0].id, "sky")
            assert not seal(folder).exists()
        assert seal(folder).exists()
        workspace.name(workspace.groups()[0].id, "sea")
        assert not seal(folder).exists()
    sealed = seal(folder).read_text()
    with sqlite3.connect(folder / "workspace.db") as connection:
        assert hashlib.sha256(connection.serialize()).hexdigest() == sealed
    connection.close()


def test_who_may_read_the_database_may_read_its_seal(folder):
    (folder / "workspace.db").chmod(0o644)
    with Workspace(folder) as workspace:
        workspace.name(1, "sky")
    assert stat.S_IMODE(seal(folder).stat().st_mode) == 0o644


def test_no_seal_while_somebody_writes(folder):
    with Workspace(folder) as writer:
        with writer.store.database.writing() as connection:
            connection.execute(insert(items).values(hash="0" * 64, width=1, height=1))
            Workspace(folder).close()
            assert not seal(folder).exists()
        Workspace(folder).close()
        assert seal(folder).exists()
    with Workspace(folder) as found:
        assert len(found.views.labels()) == 81


def test_a_database_that_is_locked_is_not_called_damaged(folder):
    """SQLite locks everybody out for a moment, for example while the last connection of a process closes."""
    assert seal(folder).exists()
    with contextlib.closing(sqlite3.connect(folder / "workspace.db", isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode=EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        Seal(folder / "workspace.db").verify()
        other.execute("ROLLBACK")


@pytest.mark.parametrize("code", [sqlite3.SQLITE_BUSY_RECOVERY, sqlite3.SQLITE_BUSY_SNAPSHOT, sqlite3.SQLITE_PROTOCOL])
def test_no_way_of_being_in_use_is_called_damage(folder, monkeypatch, code):
    error = sqlite3.OperationalError("locked")
    error.sqlite_errorcode = code
    monkeypatch.setattr(sqlite3, "connect", Mock(side_effect=error))
    Seal(folder / "workspace.db").verify()
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT_INDEX
    with pytest.raises(DamagedError):
        Seal(folder / "workspace.db").verify()


def test_without_a_seal_the_structure_is_checked(folder):
    seal(folder).unlink()
    raw = bytearray((folder / "workspace.db").read_bytes())
    raw[4096 * 3 : 4096 * 3 + 100] = b"\xff" * 100
    (folder / "workspace.db").write_bytes(raw)
    with pytest.raises(DamagedError, match=r"workspace\.db is damaged"):
        Workspace(folder)
    assert "Restore it from a backup" in opengcd("status", folder).output


# Read-only.


def states(folder):
    """How all files look; thumbnails are left out, since who is root can write them anywhere."""
    files = [path for path in folder.rglob("*") if path.is_file() and "thumbnails" not in path.parts]
    return {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in files}


@pytest.fixture
def read_only(folder, monkeypatch):
    """A folder that cannot be written to; who is root may write anyway, so the question is answered instead."""
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    ask = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and ask(path, mode))
    before = states(folder)
    yield folder
    assert states(folder) == before
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)


def test_a_folder_that_is_mounted_read_only(folder):
    mount = f"mount --bind {folder} {folder} && mount -o remount,ro,bind {folder}"
    if subprocess.run(["unshare", "-m", "sh", "-c", mount], check=False, capture_output=True).returncode:
        pytest.skip("a folder cannot be mounted read-only here")
    commands = (
        f"cd {folder} && {sys.executable} -m opengcd status . && {sys.executable} -m opengcd export . --format csv"
    )
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", f"{mount} && {commands}"], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("recognized") > 30
    undo = f"{mount} && cd {folder} && {sys.executable} -m opengcd undo ."
    done = subprocess.run(["unshare", "-m", "sh", "-c", undo], check=False, capture_output=True, text=True)
    assert (done.returncode, "read-only" in done.stderr) == (1, True)


def test_a_read_only_workspace_can_be_looked_at(read_only, reviewable, tmp_path):
    with Workspace(reviewable) as workspace:
        expected = workspace.formats.export_bytes("csv"), workspace.groups()
    with Workspace(read_only) as workspace:
        assert workspace.read_only
        assert (workspace.formats.export_bytes("csv"), workspace.groups()) == expected
        assert workspace.views.members(1).total == 8
        assert len(workspace.similarity.neighbours(60)) == 24
        assert workspace.check() == []
        for change in (
            lambda: workspace.name(1, "sky"),
            lambda: workspace.discover(),
            lambda: workspace.undo(),
            lambda: list(workspace.recognize(paint(tmp_path, "red", [1]))),
        ):
            with pytest.raises(ReadOnlyError, match="read-only"):
                change()
    for command in (["status"], ["history"], ["export", "--format", "csv"], ["rollback"]):
        assert opengcd(command[0], read_only, *command[1:]).exit_code == 0
    done = opengcd("undo", read_only)
    assert (done.exit_code, "read-only" in done.output) == (1, True)


def test_a_read_only_workspace_is_served(read_only, reviewable):
    with Workspace(read_only) as workspace, connect(create_app(workspace)) as browser:
        secret = workspace.access.make("ann")
        session = send(browser, "POST", "session", {"token": secret})
        assert len(get(browser, "groups")["groups"]) == 2
        assert get(browser, "map")["items"]
        assert browser.get(f"{API}/items/1/thumbnail").status_code == 200
        name = {"on": 2**31 - 1, "act": "name", "group": 1, "label": "sky"}
        headers = {"x-csrf-token": session["csrf"]}
        for path, content in (("edits", name), ("jobs", {"verb": "discover"})):
            assert "read-only" in send(browser, "POST", path, content, 403, headers=headers)["detail"]
    with Workspace(reviewable) as workspace:
        assert workspace.access.tokens() == []


@pytest.fixture
def killed(folder, tmp_path):
    """A workspace whose last edits are in SQLite's log alone, as after a kill."""
    with Workspace(folder) as workspace:
        workspace.name(1, "sky")
        left = shutil.copytree(folder, tmp_path / "killed")  # as it lies there while it is open
    assert (left / "workspace.db-wal").stat().st_size > 0
    (left / "workspace.db-shm").unlink(missing_ok=True)
    return left


def look_at(folder):
    """Open a workspace as someone who may not write to its folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
        return Workspace(folder)


def names(workspace):
    return sorted(group.label for group in workspace.groups())


def test_a_read_only_workspace_shows_what_is_only_in_the_log(killed, tmp_path, monkeypatch):
    """The log cannot be cleared in a read-only folder."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = sorted(path.name for path in killed.iterdir()), sorted(tmp_path.iterdir())
    with look_at(killed) as workspace:
        assert "sky" in names(workspace)
    assert (sorted(path.name for path in killed.iterdir()), sorted(tmp_path.iterdir())) == before


def test_damage_to_a_read_only_workspace_that_was_killed(killed, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = sorted(tmp_path.iterdir())
    raw = bytearray((killed / "workspace.db").read_bytes())
    raw[4096 * 3 : 4096 * 3 + 100] = b"\xff" * 100
    (killed / "workspace.db").write_bytes(raw)
    with pytest.raises(DamagedError, match=rf"{killed}/workspace\.db is damaged"):
        look_at(killed)
    assert sorted(tmp_path.iterdir()) == before


def test_a_read_only_user_sees_each_edit_of_others(folder):
    """Whether others had it open before, have it open, or have closed it."""
    with look_at(folder) as early:
        assert early.read_only
        with Workspace(folder) as owner, look_at(folder) as late:
            for number in range(3):
                owner.name(1, f"sky {number}")
                with contextlib.closing(sqlite3.connect(folder / "workspace.db")) as connection:
                    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                assert names(early) == names(late) == names(owner) == ["group 2", f"sky {number}"]
                assert len(early.history()) == len(late.history()) == len(owner.history())
        assert names(early) == ["group 2", "sky 2"]
        with Workspace(folder) as owner:
            owner.undo()
        assert names(early) == ["group 2", "sky 1"]
    with look_at(folder) as early:
        Workspace(folder).close()
        assert names(early) == ["group 2", "sky 1"]


@pytest.fixture
def busy(folder, monkeypatch):
    """A workspace whose owner makes edits, and moves them from the log to the file, whenever a file was copied."""
    with Workspace(folder) as owner:
        owner.name(1, "sky")
        edits = iter([])

        def copy_file(source, target, copy=shutil.copyfile):
            copy(source, target)
            for label in itertools.islice(edits, 1):
                owner.name(2, label)
                with contextlib.closing(sqlite3.connect(folder / "workspace.db")) as connection:
                    connection.execute("PRAGMA wal_checkpoint(RESTART)")
                owner.move(owner.groups()[0].items[:1], 2)

        def begin(*labels):
            nonlocal edits
            edits = iter(labels)

        monkeypatch.setattr(shutil, "copyfile", copy_file)
        yield owner, begin


@pytest.mark.parametrize("index", ["there", "not there"])
def test_a_database_that_is_written_to_is_seen_as_at_one_moment(busy, monkeypatch, index):
    owner, begin = busy
    if index == "not there":  # as on a drive of another machine
        monkeypatch.setattr(opening, "hold_open", lambda *_: None)
    begin("sea", "lake")
    with look_at(owner.path) as workspace:
        assert workspace.check() == []
        assert [len(group) for group in workspace.groups()] == [len(group) for group in owner.groups()]
        assert names(workspace) == names(owner)
        assert workspace.history() == owner.history()


def test_a_database_that_never_rests_is_not_copied(busy, monkeypatch):
    owner, begin = busy
    monkeypatch.setattr(opening, "hold_open", lambda *_: None)
    begin(*map(str, range(20)))
    with pytest.raises(UnavailableError, match=r"in use.*try again"):
        look_at(owner.path)


# Older ones.


def downgrade(workspace, version):
    """Turn a workspace into one of an older schema."""
    with workspace.store.database.reading() as connection:
        (embedder,) = connection.execute(select(embedders)).all()
        ids = list(connection.scalars(select(features.c.item_id).order_by(features.c.item_id)))
        X = workspace.vectors.read(connection, ids)
    without_networks(workspace.path)
    with workspace.store.database.writing() as connection:
        home = workspace.path / "features" / embedder.fingerprint[:16]
        shutil.rmtree(home)
        home.mkdir()
        for shard, start in enumerate(range(0, len(ids), 50)):
            X[start : start + 50].astype("<f4").tofile(home / f"{shard:06d}.f32")
        connection.execute(delete(features))
        rows = [{"item_id": id, "embedder_id": 1, "shard": i // 50, "row": i % 50} for i, id in enumerate(ids)]
        connection.execute(insert(features), rows)
        schema_module.exemplars.drop(connection)
        connection.exec_driver_sql("ALTER TABLE training_labels RENAME TO lessons")
        schema_module.shards.drop(connection)
        connection.exec_driver_sql("ALTER TABLE models DROP COLUMN digest")
        if version == 1:
            for column in ("models DROP COLUMN threshold", "predictions DROP COLUMN score",
                           "assignments DROP COLUMN probability", "models DROP COLUMN report",
                           "edits DROP COLUMN members"):  # fmt: skip
                connection.exec_driver_sql(f"ALTER TABLE {column}")
            for table in (schema_module.jobs, schema_module.sessions, schema_module.tokens):
                table.drop(connection)
            for id, before in connection.execute(select(edits.c.id, edits.c.before)).all():
                for _, row in (before or {}).get("assignments", ()):
                    (row or {}).pop("probability", None)
                connection.execute(edits.update().where(edits.c.id == id).values(before=before))
        connection.execute(meta.update().where(meta.c.key == "schema").values(value=str(version)))
    return ids, X, home


@pytest.mark.parametrize("version", [1, 3])
def test_an_older_workspace_goes_on(workspace, tmp_path, version):
    workspace.discover(k=5)
    ids, X, home = downgrade(workspace, version)
    file = workspace.path / "workspace.json"
    stored = json.loads(file.read_text())
    file.write_text(json.dumps(stored | {"id": None}))  # those versions had none there
    with Workspace(workspace.path) as old:
        assert json.loads(file.read_text()) == stored
        with old.store.database.reading() as connection:
            np.testing.assert_array_equal(old.vectors.read(connection, ids), X)
        assert list(home.glob("*.f32")) == []
        assert old.check() == []
        old.undo()
        assert sorted(len(group) for group in old.groups()) == [8, 8]
        old.remove(old.groups()[0].items[:1])
        old.undo()
        list(old.recognize(paint(tmp_path / "new", "yellow", [600])))
        assert old.discover(k=6).items == 17


def test_a_shard_that_was_cut_off_before_shards_had_checksums(workspace):
    ids, X, home = downgrade(workspace, 3)
    with open(home / "000001.f32", "rb+") as file:
        file.truncate(10 * X.shape[1] * 4 + 2)
    with Workspace(workspace.path) as old:
        with old.store.database.reading() as connection:
            np.testing.assert_array_equal(old.vectors.read(connection, ids[:60]), X[:60])
            with pytest.raises(WorkspaceError, match="20 images have no vector"):
                old.vectors.read(connection, ids)
        (found,) = old.check(repair=True)
        assert found.repaired
        with old.store.database.reading() as connection:
            np.testing.assert_array_equal(old.vectors.read(connection, ids), X)


def test_a_newer_workspace_is_left_alone(workspace, monkeypatch):
    def add_a_column(connection, _):
        connection.exec_driver_sql("ALTER TABLE items ADD COLUMN note VARCHAR")

    newer = schema_module.SCHEMA_VERSION + 1
    monkeypatch.setattr(migrations, "MIGRATIONS", {newer - 1: add_a_column})
    for module in (migrations, opening):
        monkeypatch.setattr(module, "SCHEMA_VERSION", newer)
    with Workspace(workspace.path) as migrated, migrated.store.database.reading() as connection:
        assert connection.exec_driver_sql("SELECT note FROM items").first() == (None,)
        assert schema_module.schema_version(connection) == newer
    monkeypatch.undo()
    with pytest.raises(WorkspaceError, match="install a newer OpenGCD"):
        Workspace(workspace.path)
