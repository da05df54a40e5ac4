"""A failed or interrupted init can be repeated with other settings; a finished one keeps its own."""

import json

import pytest
from filelock import FileLock
from sqlalchemy import func, select

from opengcd import Workspace
from opengcd.embed import Pixels
from opengcd.workspace import UnavailableError, WorkspaceError
from opengcd.workspace.schema import failures, features, items
from tests.helpers.pictures import RECOGNIZER, paint, paint_world


class Failing(Pixels):
    """An embedder that computes the vectors of one batch and then fails."""

    name = "failing"

    @property
    def fingerprint(self):
        return "failing"

    def stream(self, images):
        for number, batch in enumerate(super().stream(images)):
            if number:
                raise KeyboardInterrupt
            yield batch


def rows(workspace, table):
    with workspace.store.database.reading() as connection:
        return connection.scalar(select(func.count()).select_from(table))


def interrupt(*_, **__):
    raise KeyboardInterrupt


def fail_to_fit(path, known, monkeypatch, recognizer=RECOGNIZER):
    """Interrupt the first fit of a workspace after all images were embedded."""
    with Workspace.create(path, "pixels", recognizer=recognizer) as workspace, monkeypatch.context() as patch:
        patch.setattr("opengcd.workspace.versions.save", interrupt)
        with pytest.raises(KeyboardInterrupt):
            workspace.fit(known)


def learnt(path, known, **settings):
    with Workspace.create(path, "pixels", **settings) as workspace:
        assert workspace.fit(known) == []
        return workspace.status(), workspace.check(), rows(workspace, items), rows(workspace, failures)


def test_settings_change_until_classes_are_learnt(tmp_path, world):
    known, _ = world
    path = tmp_path / "birds"
    Workspace.create(path, "no/such-network").close()
    before = json.loads((path / "workspace.json").read_text())["id"]
    status, damage, *_ = learnt(path, known, recognizer=RECOGNIZER)
    assert (status.embedder, status.counts["learnt"], damage) == ("pixels", 32, [])
    assert json.loads((path / "workspace.json").read_text())["id"] == before
    for other in ({"embedder": "other"}, {"embedder": "pixels", "recognizer": {"classifier": "mlp"}}):
        with pytest.raises(WorkspaceError, match="already a workspace, with other settings"):
            Workspace.create(path, **other)
    with Workspace(path) as workspace:
        assert workspace.status() == status
        assert workspace.check() == []


def test_vectors_of_another_embedder_are_deleted(tmp_path):
    for colour in ("red", "green"):
        paint(tmp_path / "known" / colour, colour, range(110))
    path = tmp_path / "birds"
    with Workspace.create(path, Failing()) as workspace, pytest.raises(KeyboardInterrupt):
        workspace.fit(tmp_path / "known")
    with Workspace(path) as workspace:
        assert rows(workspace, features) == 100
    status, damage, images, _ = learnt(path, tmp_path / "known", recognizer=RECOGNIZER)
    assert (status.counts["learnt"], images, damage) == (220, 220, [])
    assert len(list((path / "features").rglob("*.npy"))) == 3


def test_vectors_of_the_same_embedder_are_kept(tmp_path, world, monkeypatch):
    path = tmp_path / "birds"
    fail_to_fit(path, world[0], monkeypatch, {"classifier": "mlp"})
    monkeypatch.setattr(Pixels, "stream", lambda *_: pytest.fail("the vectors are computed again"))
    status, damage, *_ = learnt(path, world[0], recognizer=RECOGNIZER)
    assert (status.counts["learnt"], damage) == (32, [])


def test_images_of_an_earlier_attempt_are_forgotten(tmp_path, monkeypatch):
    wrong, _ = paint_world(tmp_path / "wrong")
    right, _ = paint_world(tmp_path / "right")
    (wrong / "red" / "broken.png").write_bytes(b"nothing")
    for file in (right / "red").iterdir():
        file.unlink()
    (right / "red").rmdir()
    fail_to_fit(tmp_path / "birds", wrong, monkeypatch)
    with Workspace(tmp_path / "birds") as workspace:
        assert (rows(workspace, items), rows(workspace, failures)) == (32, 1)
    status, damage, images, bad = learnt(tmp_path / "birds", right, recognizer=RECOGNIZER)
    assert (status.counts["learnt"], sum(status.counts.values()), images, bad, damage) == (24, 24, 24, 0, [])


def test_nothing_changes_while_another_command_runs(tmp_path):
    path = tmp_path / "birds"
    Workspace.create(path, "pixels").close()
    before = (path / "workspace.json").read_bytes()
    with FileLock(path / ".lock"), pytest.raises(UnavailableError, match="Another command is using"):
        Workspace.create(path, "other")
    assert (path / "workspace.json").read_bytes() == before


def test_the_database_can_change(tmp_path, world):
    path = tmp_path / "birds"
    nowhere = "postgresql+psycopg://nobody@localhost:9/none"
    with pytest.raises(WorkspaceError, match="cannot be used"):
        Workspace.create(path, "pixels", database=nowhere)
    status, damage, *_ = learnt(path, world[0], recognizer=RECOGNIZER)
    assert (status.counts["learnt"], damage) == (32, [])


@pytest.mark.parametrize("place", ["open_database", "shutil.rmtree", "store_settings", "create_database"])
def test_a_change_of_settings_can_be_interrupted(tmp_path, world, place, monkeypatch):
    path = tmp_path / "birds"
    fail_to_fit(path, world[0], monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(f"opengcd.workspace.making.{place}", interrupt)
        with pytest.raises(KeyboardInterrupt):
            Workspace.create(path, "other")
    status, damage, *_ = learnt(path, world[0], recognizer=RECOGNIZER)
    assert (status.counts["learnt"], damage) == (32, [])
