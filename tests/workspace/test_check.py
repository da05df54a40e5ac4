"""`opengcd check` finds damage to every part of a workspace, and repairs what can be made again."""

import errno
import io
import shutil
import sqlite3
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from PIL import Image
from sqlalchemy import select, update
from typer.testing import CliRunner

from opengcd import Workspace
from opengcd.cli import app
from opengcd.workspace import DamagedError, WorkspaceError
from opengcd.workspace import features as feature_files
from opengcd.workspace.schema import edits, features, items, models
from tests.helpers.pictures import RECOGNIZER, paint_world


@pytest.fixture
def workspace(tmp_path):
    """One of its own, whose images may be deleted."""
    known, stream = paint_world(tmp_path / "world")
    with Workspace.create(tmp_path / "w", "pixels", recognizer=RECOGNIZER) as made:
        made.fit(known)
        list(made.recognize([stream]))
        made.discover(k=6)
        made.views.thumbnail(1)
        made.similarity.draw_map()
        yield made


def shard_files(workspace):
    return sorted(workspace.path.glob("features/*/*.npy"))


def vectors(workspace):
    with workspace.store.database.reading() as connection:
        return workspace.vectors.read(connection, range(1, 81))


def opengcd(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_nothing_is_wrong(workspace):
    assert workspace.check() == []
    assert workspace.check(repair=True) == []
    done = opengcd("check", workspace.path)
    assert (done.exit_code, done.stdout) == (0, "No damage found.\n")


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("damage", ["gone", "truncated", "changed"])
def test_damaged_vectors_come_back_from_the_images(workspace, damage, number):
    before, labels = vectors(workspace), workspace.formats.export_bytes("csv")
    damaged = shard_files(workspace)[:number]
    for file in damaged:
        raw = file.read_bytes()
        file.unlink()
        if damage != "gone":
            file.write_bytes(raw[:100] if damage == "truncated" else raw[:-1] + bytes([raw[-1] ^ 1]))
    with pytest.raises(DamagedError, match="check DIR --repair"):
        vectors(workspace)
    with pytest.raises(DamagedError):
        workspace.discover(k=6)
    done = opengcd("check", workspace.path)
    assert done.exit_code == 1
    assert done.output.count("--repair computes the vectors from the images") == number
    assert all(file.name in done.output for file in damaged)
    done = opengcd("check", workspace.path, "--repair")
    assert done.exit_code == 0, done.output
    np.testing.assert_array_equal(vectors(workspace), before)
    assert workspace.formats.export_bytes("csv") == labels
    assert workspace.check() == []
    workspace.discover(k=6)


def test_vectors_come_back_with_their_file_where_the_images_are_gone(workspace, tmp_path):
    """As when a disk was not mounted: a repair in between loses nothing."""
    before = vectors(workspace)
    (workspace.path / "features").rename(tmp_path / "away")
    (tmp_path / "world").rename(tmp_path / "away too")
    assert not any(one.repaired for one in workspace.check(repair=True))
    (tmp_path / "away").rename(workspace.path / "features")
    assert {one.what for one in workspace.check()} == {"features"}
    assert all(one.repaired for one in workspace.check(repair=True))
    np.testing.assert_array_equal(vectors(workspace), before)
    assert workspace.check() == []


def test_a_repair_deletes_no_vector_that_is_stored_meanwhile(workspace, monkeypatch):
    (shard_files(workspace)[0].parent / ("0" * 64 + ".npy")).write_bytes(b"of a command that was killed")
    image, glob, kept = io.BytesIO(), Path.glob, []
    Image.new("RGB", (9, 9), "purple").save(image, "PNG")

    def keep_and_glob(path, pattern):
        if pattern == "*" and "features" in path.parts and not kept:
            with Workspace(workspace.path) as service:
                kept.extend(service.recognition.keep([image.getvalue()]))
        return glob(path, pattern)

    monkeypatch.setattr(Path, "glob", keep_and_glob)
    workspace.check(repair=True)
    assert workspace.check() == []
    assert len(workspace.similarity.neighbours(kept[0].item)) > 0


def test_vectors_whose_images_are_gone_are_named_and_do_not_stop_the_rest(workspace, tmp_path):
    for file in shard_files(workspace):
        file.unlink()
    shutil.rmtree(tmp_path / "world" / "stream")
    found = workspace.check(repair=True)
    assert not all(one.repaired for one in found)
    assert any("missing or unreadable" in one.remedy for one in found)
    with workspace.store.database.reading() as connection:
        kept = list(connection.scalars(select(features.c.item_id).order_by(features.c.item_id)))
    assert kept == list(range(1, 33))  # the known ones
    with pytest.raises(WorkspaceError, match="nothing to discover"):
        workspace.discover(k=6)
    paint_world(tmp_path / "world")  # the images are brought back
    assert all(one.repaired for one in workspace.check(repair=True))
    workspace.discover(k=6)


def test_an_image_that_was_replaced_does_not_give_its_vector(workspace, tmp_path):
    before = vectors(workspace)
    (first, *_) = sorted((tmp_path / "world" / "known" / "black").iterdir())
    shutil.copy(tmp_path / "world" / "known" / "red" / "red0.png", first)
    for file in shard_files(workspace):
        file.unlink()
    (found,) = [one for one in workspace.check(repair=True) if not one.repaired]
    assert "1 are missing or unreadable" in found.remedy
    with workspace.store.database.reading() as connection:
        rest = list(connection.scalars(select(features.c.item_id).order_by(features.c.item_id)))
        np.testing.assert_array_equal(workspace.vectors.read(connection, rest), before[np.array(rest) - 1])
    assert len(rest) == 79


def test_the_vector_of_another_image(workspace):
    before = vectors(workspace)
    with workspace.store.database.writing() as connection:  # as by a writer that had lost its lock
        one, two = connection.execute(select(features).where(features.c.item_id.in_([1, 2]))).all()
        for item, row in ((1, -1), (2, one.row), (1, two.row)):
            connection.execute(update(features).where(features.c.item_id == item).values(row=row))
    assert not np.array_equal(vectors(workspace), before)
    (found,) = workspace.check()
    assert "other images" in found.problem
    assert "2 images" in found.problem
    assert all(one.repaired for one in workspace.check(repair=True))
    np.testing.assert_array_equal(vectors(workspace), before)


def damage_model(workspace, name):
    (file,) = (workspace.path / "models" / "0001").glob(name)
    raw = file.read_bytes()
    file.write_bytes(raw[: len(raw) // 2] + bytes([raw[len(raw) // 2] ^ 1]) + raw[len(raw) // 2 + 1 :])


@pytest.mark.parametrize("name", ["model.json", "header-*.json", "arrays-*.safetensors"])
def test_a_damaged_model(workspace, name):
    for group in workspace.groups():
        workspace.name(group.id, f"class {group.id}", confirm=True)
    workspace.learn()
    damage_model(workspace, name)
    (found,) = workspace.check()
    assert (found.what, found.repaired) == ("version 1", False)
    assert "0001" in found.problem
    workspace.status()
    with Workspace(workspace.path) as opened:
        opened.models.rejection()  # version 2 is whole


def test_a_model_that_is_whole_but_another_one(workspace, tmp_path):
    """A model folder with checksums of its own that are right does not pass for the one that was saved."""
    with Workspace(workspace.path) as opened:
        recognizer = opened.recognizers.follow()[1]
        recognizer.random_state = 5
        recognizer.save(workspace.path / "models" / "0001")
    with Workspace(workspace.path) as opened, pytest.raises(DamagedError, match="Version 1 of the recogniser"):
        opened.models.rejection()


def test_damaged_pictures_are_made_again(workspace):
    good = workspace.views.thumbnail(1)
    (picture,) = (workspace.path / "thumbnails").rglob("*.jpg")
    (drawing,) = (workspace.path / "maps").iterdir()
    picture.write_bytes(good[:50])
    drawing.write_bytes(b"short")
    assert {one.what for one in workspace.check()} == {"thumbnails", "maps"}
    assert all(one.repaired for one in workspace.check(repair=True))
    assert workspace.views.thumbnail(1) == good
    assert not workspace.similarity.map().drawn


def test_a_damaged_upload(workspace, tmp_path):
    image = (tmp_path / "world" / "known" / "red" / "red3.png").read_bytes() + b"end"
    (kept,) = workspace.recognition.keep([image])
    assert workspace.check() == []
    Path(kept.path).write_bytes(b"other")
    (found,) = workspace.check(repair=True)
    assert (found.what, found.repaired) == (kept.path, False)
    Path(kept.path).write_bytes(bytes(len(image)))
    assert workspace.recognition.keep([image])[0].item == kept.item  # sent again, it is stored again
    assert workspace.check() == []
    Path(kept.path).unlink()
    (found,) = workspace.check(repair=True)
    assert found.what in kept.path
    assert "missing" in found.problem


def test_a_damaged_log(workspace):
    with workspace.store.database.writing() as connection:
        connection.execute(update(edits).where(edits.c.verb == "discover").values(before={"groups": [[1, {"x": 1}]]}))
    (found,) = workspace.check()
    assert "cannot be undone" in found.problem


def test_rows_that_refer_to_nothing(workspace):
    with sqlite3.connect(workspace.path / "workspace.db") as connection:
        connection.execute("DELETE FROM models")
    connection.close()
    found = workspace.check()
    assert any("refers to a missing row of models" in one.problem for one in found)


def test_files_that_nobody_names_are_deleted(workspace):
    left = shard_files(workspace)[0].parent / ("0" * 64 + ".npy")
    left.write_bytes(b"of a command that was killed")
    (found,) = workspace.check()
    assert "1 files that no image uses" in found.problem
    assert workspace.check(repair=True)[0].repaired
    assert not left.exists()


def test_files_that_were_merged_are_no_damage(tmp_path, monkeypatch):
    """They stay until the next merge, for readers that are about to open them."""
    monkeypatch.setattr(feature_files, "FANOUT", 2)
    known, stream = paint_world(tmp_path / "world")
    with Workspace.create(tmp_path / "w", "pixels", recognizer=RECOGNIZER) as merged:
        merged.fit(known)
        for image in sorted(stream.iterdir())[:3]:
            list(merged.recognize([image]))
        assert merged.check() == []


def test_an_interrupted_repair_goes_on(workspace):
    before = vectors(workspace)
    for file in shard_files(workspace):
        file.unlink()

    def interrupt(stage, done, total):
        if stage == "reading images" and done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        workspace.check(repair=True, progress=interrupt)
    assert all(one.repaired for one in workspace.check(repair=True))
    np.testing.assert_array_equal(vectors(workspace), before)
    with workspace.store.database.reading() as connection:
        assert connection.scalar(select(models.c.digest)) is not None
        assert connection.scalar(select(items.c.id).where(items.c.id == 80)) == 80


def test_temporarily_unreadable_vectors_are_reported_and_kept(workspace, monkeypatch, tmp_path):
    before = vectors(workspace)
    shutil.rmtree(tmp_path / "world")
    with monkeypatch.context() as patch:
        patch.setattr(feature_files, "verify_file", Mock(side_effect=OSError(errno.EIO, "Input/output error")))
        assert {one.repaired for one in workspace.check()} == {False}
        assert any("cannot be read (Input/output error)" in one.problem for one in workspace.check(repair=True))
    workspace.check(repair=True)
    np.testing.assert_array_equal(vectors(workspace), before)
