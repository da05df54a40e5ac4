import contextlib
import csv
import errno
import io
import json
import os
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sqlalchemy import insert, select

from opengcd import ModelFileError, OpenWorldRecognizer, Workspace
from opengcd import workspace as package
from opengcd.embed import Pixels
from opengcd.workspace import ConflictError, DamagedError, WorkspaceError, versions
from opengcd.workspace import groups as groups_module
from opengcd.workspace.database import Database
from opengcd.workspace.log import editing, undo_last
from opengcd.workspace.migrations import create_tables
from opengcd.workspace.schema import assignments, meta
from tests.helpers.pictures import COLOURS, KNOWN, RECOGNIZER, paint, paint_world, truth

JPEG = b"\xff\xd8"


def colours(workspace, group):
    return Counter(truth(workspace.views.paths(item)[0]) for item in group.items)


def novel(workspace):
    return {max(colours(workspace, group)): group for group in workspace.groups() if group.kind == "novel"}


def labels(workspace):
    """The label and its source of every file."""
    return {path: (one.label, one.source) for one in workspace.views.labels() for path in one.paths}


# The loop.


def test_the_loop(tmp_path):
    known, stream = paint_world(tmp_path)
    workspace = Workspace.create(tmp_path / "birds", "pixels", recognizer=RECOGNIZER, who="ann")
    assert workspace.fit(known) == []
    results = list(workspace.recognize([stream]))
    assert {(truth(r.path), r.label) for r in results} == {
        *((colour, colour) for colour in KNOWN), ("blue", "unknown"), ("yellow", "unknown"),
    }  # fmt: skip
    assert all(len(r.top) == 3 and r.top[0][1] >= r.top[1][1] for r in results)
    assert all((r.unknown > r.top[0][1]) == (r.label == "unknown") for r in results)

    found = workspace.discover(k=6)
    assert (found.k, found.items, found.put_back, found.groups) == (6, 16, 0, 2)
    groups = novel(workspace)
    assert {colour: dict(colours(workspace, group)) for colour, group in groups.items()} == {
        "blue": {"blue": 8},
        "yellow": {"yellow": 8},
    }
    with pytest.raises(WorkspaceError, match="nothing to learn"):
        workspace.learn()
    workspace.name(groups["blue"].id, "blue", confirm=True)
    workspace.name(groups["yellow"].id, "yellow")
    version = workspace.learn()  # yellow is not confirmed yet
    assert (version.id, version.parent, version.phase) == (2, 1, 2)
    assert version.classes == [*sorted(KNOWN), "blue"]
    workspace.confirm(groups["yellow"].id)
    assert workspace.learn().classes == [*sorted(KNOWN), "blue", "yellow"]
    more = [file for colour in COLOURS for file in paint(tmp_path / "more", colour, [500, 501])]
    assert all(r.label == truth(r.path) for r in workspace.recognize(more))
    assert workspace.status().counts == dict.fromkeys(package.SOURCES, 0) | {"learnt": 48, "recognized": 44}
    assert [entry.verb for entry in workspace.history()] == [
        "recognize", "learn", "confirm", "learn", "name", "name", "discover", "recognize", "init",
    ]  # fmt: skip
    assert {entry.who for entry in workspace.history()} == {"ann"}


def test_nothing_is_embedded_twice(world, tmp_path):
    seen = []

    class Counting(Pixels):
        def stream(self, images):
            return super().stream(seen.append(image) or image for image in images)

    known, stream = world
    workspace = Workspace.create(tmp_path / "w", Counting(), recognizer=RECOGNIZER)
    workspace.fit(known)
    first = list(workspace.recognize([stream, stream / "red100.png"]))
    assert len(seen) == 32 + 48
    assert len(first) == 48
    # A copy elsewhere, a link, the same again, and a file that only got a new time.
    shutil.copytree(stream, tmp_path / "copy")
    (tmp_path / "copy" / "link.png").symlink_to(stream / "red100.png")
    (tmp_path / "copy" / "blue100.png").touch()
    again = list(workspace.recognize([stream, tmp_path / "copy", known]))
    assert len(again) == 48 + 49 + 32
    assert len(seen) == 32 + 48
    assert workspace.status().counts["learnt"] == 32
    item = workspace.views.find(stream / "red100.png")
    assert workspace.views.paths(item) == sorted(
        map(str, [stream / "red100.png", tmp_path / "copy" / "link.png", tmp_path / "copy" / "red100.png"])
    )


def test_a_changed_file_is_another_item(workspace, tmp_path):
    (file,) = paint(tmp_path / "new", "red", [1000])
    (one,) = workspace.recognize([file])
    paint(tmp_path / "new", "green", [1000])[0].rename(file)
    (two,) = workspace.recognize([file])
    assert (one.label, two.label) == ("red", "green")
    assert one.item != two.item
    assert workspace.views.paths(one.item) == []


def test_two_embedders_never_mix(world, workspace, tmp_path):
    (file,) = paint(tmp_path, "red", [2000])
    with (
        Workspace(workspace.path, embedder=Pixels(side=4)) as other,
        pytest.raises(WorkspaceError, match="not the one that this workspace was made with"),
    ):
        list(other.recognize([file]))


def test_vectors_of_networks_have_unit_length_and_pixels_do_not(workspace):
    with workspace.store.database.reading() as connection:
        plain = workspace.vectors.read(connection, [1, 2])
        object.__setattr__(workspace.settings, "embedder", "some/network")
        unit = workspace.vectors.read(connection, [1, 2])
    assert np.linalg.norm(plain, axis=1).min() > 1.5
    np.testing.assert_allclose(unit, plain / np.linalg.norm(plain, axis=1, keepdims=True), rtol=1e-6)


# Review.


def test_edits_and_their_undoing(workspace):
    before = workspace.groups()
    blue, yellow = novel(workspace)["blue"], novel(workspace)["yellow"]
    steps = [before]
    for edit in (
        lambda: workspace.move(blue.items[:3], yellow.id),
        lambda: workspace.name(yellow.id, "sun"),
        lambda: workspace.remove(yellow.items[:1]),
        lambda: workspace.confirm(yellow.id),
        lambda: workspace.merge(blue.id, yellow.id),
    ):
        edit()
        steps.append(workspace.groups())
        assert steps[-1] != steps[-2]
    sizes = {group.label: len(group) for group in steps[-1]}
    assert sizes == {"sun": 15, "removed": 1}
    assert steps[-1][0].items[-8:-5] == blue.items[:3]  # what is moved comes last
    for expected in reversed(steps[:-1]):
        workspace.undo()
        assert workspace.groups() == expected
    assert workspace.undo().entry.verb == "discover"
    assert workspace.groups() == []
    with pytest.raises(WorkspaceError, match="nothing to undo"):
        workspace.undo()
    assert sum(entry.verb == "undo" for entry in workspace.history()) == 6
    assert sum(entry.undone for entry in workspace.history()) == 6


def test_redoing_a_discovery_a_phase_and_a_rollback(workspace, tmp_path):
    workspace.name(novel(workspace)["blue"].id, "sky", confirm=True)
    workspace.learn()
    workspace.rollback(1)
    after = labels(workspace)
    undone = [workspace.undo().entry.verb for _ in range(4)]
    assert undone == ["rollback", "learn", "name", "discover"]
    assert workspace.review.can_undo() is None
    assert [workspace.redo().entry.verb for _ in range(4)] == undone[::-1]
    assert labels(workspace) == after
    assert workspace.review.can_redo() is None
    # What cannot be undone, as recognition, is no reason not to redo.
    workspace.undo()
    list(workspace.recognize(paint(tmp_path / "new", "red", [4100])))
    assert workspace.redo().entry.verb == "rollback"
    with pytest.raises(WorkspaceError, match="nothing to redo"):
        workspace.redo()


def test_a_group_is_split_as_its_images_fall_apart(workspace):
    groups = novel(workspace)
    both = workspace.merge(groups["blue"].id, groups["yellow"].id).group
    workspace.name(both, "paint", confirm=True)
    done = workspace.split(both, 2)
    one, two = workspace.groups()
    assert sorted(done.groups) == sorted([one.id, two.id])
    assert {tuple(colours(workspace, group).items()) for group in (one, two)} == {(("blue", 8),), (("yellow", 8),)}
    kept, new = (one, two) if one.id == both else (two, one)
    assert (kept.label, kept.named, kept.confirmed) == ("paint", True, False)
    assert (new.label, new.named) == ("paint, part 2", False)
    for group in (one, two):  # the spread around the middle, and the order from there outwards
        with workspace.store.database.reading() as connection:
            X = workspace.vectors.read(connection, group.items)
        gaps = np.linalg.norm(X - X.mean(0), axis=1)
        assert group.spread == pytest.approx(np.sqrt((gaps**2).mean()), rel=1e-4)
        assert (np.diff(gaps) > -1e-5).all()
    with pytest.raises(WorkspaceError, match="cannot be split in 9"):
        workspace.split(both, 9)


def test_an_edit_on_what_someone_else_has_changed_is_refused(workspace):
    """Item by item and group by group: only what an edit is about matters."""
    blue, yellow = novel(workspace)["blue"], novel(workspace)["yellow"]
    on = workspace.review.last_edit()
    workspace.by("bob").move(blue.items[:1], yellow.id)
    refused = (
        lambda: workspace.move(blue.items[:2], "sea", on=on),
        lambda: workspace.separate(blue.items[:1], on=on),
        lambda: workspace.remove(blue.items[:1], on=on),
        lambda: workspace.name(blue.id, "sky", on=on),
        lambda: workspace.name(yellow.id, "sun", on=on),
        lambda: workspace.merge(blue.id, yellow.id, on=on),
        lambda: workspace.split(yellow.id, 2, on=on),
        lambda: workspace.undo(on=on),
        lambda: workspace.redo(on=on),
    )
    for act in refused:
        with pytest.raises(ConflictError, match=r"bob has changed this meanwhile \(move\)") as conflict:
            act()
        assert (conflict.value.entry.id, conflict.value.entry.who) == (on + 1, "bob")
    assert workspace.review.last_edit() == on + 1
    workspace.move(blue.items[1:2], yellow.id, on=on)  # other images, and a target whose name is what it was
    workspace.merge(blue.id, yellow.id)
    with pytest.raises(ConflictError, match="ann has changed this"):
        workspace.move(yellow.items[:1], blue.id, on=on)  # the target is empty now
    workspace.undo(on=workspace.review.last_edit())
    assert workspace.history()[0].who == "ann"


def test_neighbours_by_hand(workspace):
    item = novel(workspace)["blue"].items[0]
    with workspace.store.database.reading() as connection:
        taught = {row.item_id: row.label for row in connection.execute(versions.learnt(connection))}
        homes = {i: group.id for group in workspace.groups() for i in group.items}
        ids = sorted({*taught, *homes} - {item})
        X = workspace.vectors.read(connection, [item, *ids]).astype(float)
    cosines = X[1:] @ X[0] / np.linalg.norm(X[1:], axis=1) / np.linalg.norm(X[0])
    order = np.argsort(-cosines)[:20]
    found = workspace.similarity.neighbours(item, 20)
    assert [one.id for one in found] == [ids[i] for i in order]
    np.testing.assert_allclose([one.distance for one in found], 1 - cosines[order], atol=1e-6)
    assert [one.group for one in found] == [homes.get(ids[i]) for i in order]
    assert all(one.label == taught[one.id] for one in found if one.group is None)


def test_a_group_that_looks_like_a_known_class(workspace):
    """What was learnt as red, moved to a group of its own among the new ones, is said to look like red."""
    assert workspace.views.suggestions() == {}
    workspace.discover(k=4)  # no room for new classes: all are put back
    reds = [one.item for one in workspace.views.labels() if truth(one.paths[0]) == "red" and one.source == "recognized"]
    with workspace.store.editing("try") as edit:
        home = groups_module.make_group(edit, "novel", "odd", False)
        edit.touch(assignments, reds)
        edit.connection.execute(
            insert(assignments),
            [{"item_id": item, "group_id": home, "rank": i, "by_person": True} for i, item in enumerate(reds)],
        )
    assert workspace.views.suggestions() == {home: "red"}


def test_images_that_come_as_bytes(workspace, tmp_path):
    (file,) = paint(tmp_path, "blue", [5000])
    with workspace.store.alone(lambda *_: None):  # a long command runs
        good, bad, copy = workspace.recognition.keep([file.read_bytes(), b"", file.read_bytes()])
    assert (good.label, bad.reason) == ("unknown", "the file is empty")
    assert copy == good
    assert workspace.history()[0].details == {"images": 2, "rejected": 2, "bad": 1}
    file.unlink()
    assert workspace.views.thumbnail(good.item).startswith(JPEG)
    assert labels(workspace)[good.path] == ("unknown", "rejected")


def test_a_group_named_after_a_known_class_is_put_back_and_learnt(workspace):
    groups = novel(workspace)
    home = workspace.name(groups["blue"].id, "red").group
    assert workspace.name(groups["yellow"].id, " red ").group == home
    (group,) = workspace.groups()
    assert (group.kind, group.label, len(group)) == ("known", "red", 16)
    assert {one.source for one in workspace.views.labels()} == {"learnt", "recognized", "reviewed"}
    assert workspace.learn().classes == sorted(KNOWN)
    assert workspace.groups() == []


def test_groups_of_one_name_become_one(workspace):
    groups = novel(workspace)
    assert workspace.name(groups["blue"].id, "sky").group == groups["blue"].id
    assert workspace.name(groups["yellow"].id, "sky").group == groups["blue"].id
    (group,) = workspace.groups()
    assert len(group) == 16


def test_discovery_keeps_what_a_person_decided(workspace, tmp_path):
    groups = novel(workspace)
    workspace.name(groups["blue"].id, "sky")
    workspace.remove(groups["yellow"].items[-1:])
    list(workspace.recognize(paint(tmp_path / "new", "yellow", range(600, 604))))
    found = workspace.discover(k=5)
    assert found.items == 7 + 4
    by_kind = {group.label: (group.kind, len(group)) for group in workspace.groups()}
    assert by_kind == {"group 1": ("novel", 11), "sky": ("novel", 8), "removed": ("removed", 1)}
    workspace.undo()
    assert {len(group) for group in workspace.groups()} == {8, 7, 1}


def test_items_that_discovery_puts_back(workspace):
    workspace.discover(k=4)  # no room for a new class
    groups = workspace.groups()
    assert {group.kind for group in groups} == {"known"}
    assert {group.label for group in groups} <= set(KNOWN)
    assert sum(map(len, groups)) == 16
    assert workspace.status().counts["put back"] == 16
    with pytest.raises(WorkspaceError, match="nothing to learn"):
        workspace.learn()  # nobody has looked at them
    workspace.confirm(groups[0].id)
    workspace.learn()
    assert workspace.status().counts["learnt"] == 32 + len(groups[0])
    # A later discovery does not forget what was confirmed, though an earlier version does not know it.
    with contextlib.suppress(WorkspaceError):
        workspace.discover(k=4)
    workspace.rollback(1)
    assert workspace.status().counts["reviewed"] == len(groups[0])


def test_wrong_edits_are_refused_and_leave_no_trace(workspace):
    groups = novel(workspace)
    blue = groups["blue"].id
    for edit, message in (
        (lambda: workspace.name(blue, "unknown"), "cannot be named 'unknown'"),
        (lambda: workspace.name(blue, "  "), "cannot be named"),
        (lambda: workspace.name(999, "sky"), "no group 999"),
        (lambda: workspace.confirm(blue), "has no name"),
        (lambda: workspace.merge(blue, blue), "into itself"),
        (lambda: workspace.move([10**6], blue), "is in no group"),
        (lambda: workspace.rollback(7), "no version 7"),
        (lambda: workspace.views.thumbnail(10**6), "no item"),
        (lambda: workspace.formats.export_bytes("xml"), "choose from csv, json, coco or folders"),
    ):
        with pytest.raises(WorkspaceError, match=message):
            edit()
    assert len(workspace.history()) == 3
    workspace.move(groups["blue"].items, blue)  # where they are already
    assert len(workspace.history()) == 3


# Versions.


def test_rollback_and_undo_of_a_phase(workspace, tmp_path):
    before = labels(workspace)
    workspace.name(novel(workspace)["blue"].id, "sky", confirm=True)
    named = labels(workspace)
    workspace.learn()
    learnt = labels(workspace)
    assert Counter(learnt.values())["sky", "learnt"] == 8
    workspace.rollback(1)
    assert labels(workspace) == named
    workspace.rollback(2)
    assert labels(workspace) == learnt
    # What only another version has seen waits to be asked about.
    (file,) = paint(tmp_path / "new", "red", [4000])
    (result,) = workspace.recognize([file])
    workspace.rollback(1)
    assert labels(workspace) == named | {result.path: ("unknown", "waiting")}
    assert workspace.learn().id == 3  # another version; 2 is kept
    assert [(v.id, v.parent) for v in workspace.models.versions()] == [(1, None), (2, 1), (3, 1)]
    assert labels(workspace) == learnt | {result.path: ("red", "recognized")}
    for _ in range(5):
        workspace.undo()
    waiting = {result.path: ("unknown", "waiting")}
    assert labels(workspace) == named | waiting
    workspace.undo()
    assert labels(workspace) == before | waiting
    workspace.discover(k=6)
    assert labels(workspace)[result.path] == ("red", "recognized")


@pytest.mark.parametrize("code", [errno.EMFILE, errno.EIO, errno.EACCES])
@pytest.mark.parametrize("part", ["model.json", "header", "arrays"])
def test_a_version_that_cannot_be_read_for_now_is_not_called_damaged(workspace, monkeypatch, part, code):
    open_file = Path.open

    def fail(file, *how, **more):
        if file.name.startswith(part):
            raise OSError(code, os.strerror(code))
        return open_file(file, *how, **more)

    with monkeypatch.context() as outage:
        outage.setattr(Path, "open", fail)
        with pytest.raises(OSError, match=f"{os.strerror(code)}.*models"):
            workspace.exemplars.by_class()
        with pytest.raises(OSError, match=os.strerror(code)):
            OpenWorldRecognizer.load(workspace.path / "models" / "0001")
    assert set(workspace.exemplars.by_class()) == set(KNOWN)
    (file,) = (workspace.path / "models" / "0001").glob(f"{part}*")
    for damage in (file.unlink, file.mkdir):
        damage()
        with Workspace(workspace.path) as fresh, pytest.raises(DamagedError, match=r"Version 1 .* is damaged"):
            fresh.exemplars.by_class()
        with pytest.raises(ModelFileError, match=r"no model at|incomplete|is a folder"):
            OpenWorldRecognizer.load(workspace.path / "models" / "0001")


# What comes out.


def test_export(workspace, tmp_path):
    workspace.name(novel(workspace)["blue"].id, "a/b: .", confirm=True)
    rows = list(csv.DictReader(io.StringIO(workspace.formats.export_bytes("csv").decode())))
    assert len(rows) == 80
    assert Counter((row["label"], row["source"]) for row in rows) == {
        **{(colour, "learnt"): 8 for colour in KNOWN},
        **{(colour, "recognized"): 8 for colour in KNOWN},
        ("a/b: .", "reviewed"): 8,
        (novel(workspace)["yellow"].label, "grouped"): 8,
    }
    document = json.loads(workspace.formats.export_bytes("json"))
    assert [one["hash"] for one in document] == [row["hash"] for row in rows]
    coco = json.loads(workspace.formats.export_bytes("coco"))
    assert len(coco["images"]) == len(coco["annotations"]) == 80
    assert [one["sha256"] for one in coco["images"]] == [row["hash"] for row in rows]
    assert {c["name"] for c in coco["categories"]} == {row["label"] for row in rows}
    assert coco["annotations"][0]["bbox"] == [0, 0, 12, 12]
    assert workspace.export("folders", tmp_path / "out") == []
    found = Counter(file.parent.name for file in (tmp_path / "out").rglob("*.png"))
    assert found["a%2Fb%3A %2E"] == 8
    assert found["red"] == 16
    workspace.export("csv", tmp_path / "labels.csv")
    assert (tmp_path / "labels.csv").read_bytes() == workspace.formats.export_bytes("csv")
    with pytest.raises(WorkspaceError, match="not empty"):
        workspace.export("folders", tmp_path / "out", copy=True)


def test_rejected_items_have_no_coco_label(workspace):
    workspace.undo()
    coco = json.loads(workspace.formats.export_bytes("coco"))
    assert (len(coco["images"]), len(coco["annotations"])) == (80, 64)
    assert "unknown" not in {category["name"] for category in coco["categories"]}


def test_thumbnails(workspace, tmp_path):
    Image.new("RGB", (900, 300), "red").save(tmp_path / "wide.png")
    (result,) = workspace.recognize([tmp_path / "wide.png"])
    small = workspace.views.thumbnail(result.item)
    assert Image.open(io.BytesIO(small)).size == (256, 85)
    (tmp_path / "wide.png").unlink()
    assert workspace.views.thumbnail(result.item) == small
    shutil.rmtree(workspace.path / "thumbnails")
    with pytest.raises(WorkspaceError, match="moved or deleted"):
        workspace.views.thumbnail(result.item)


def test_a_thumbnail_is_of_the_item_and_not_of_what_took_its_place(workspace, tmp_path):
    file = tmp_path / "a.png"
    Image.new("RGB", (20, 10), "red").save(file)
    (result,) = workspace.recognize([file])
    raw = file.read_bytes()
    Image.new("RGB", (10, 20), "blue").save(file)
    with pytest.raises(WorkspaceError, match="moved or deleted"):
        workspace.views.thumbnail(result.item)
    os.remove(file)
    os.mkfifo(file)  # nobody writes to it
    with pytest.raises(WorkspaceError, match="moved or deleted"):
        workspace.views.thumbnail(result.item)
    os.remove(file)
    file.write_bytes(raw)
    assert Image.open(io.BytesIO(workspace.views.thumbnail(result.item))).size == (20, 10)


def test_a_thumbnail_that_an_older_version_made_of_another_image_is_not_shown(workspace):
    item = workspace.views.labels()[0].item
    content = workspace.views.content(item)
    old = workspace.path / "thumbnails" / content[:2] / f"{content}.jpg"
    old.parent.mkdir(parents=True)
    old.write_bytes(b"another image")
    assert workspace.views.thumbnail(item).startswith(JPEG)


def test_a_thumbnail_where_none_can_be_stored(workspace):
    (workspace.path / "thumbnails").write_text("the administrator may write to any folder, but not into a file")
    assert workspace.views.thumbnail(workspace.views.labels()[0].item).startswith(JPEG)


# The parts.


def test_the_log_restores_rows_of_all_kinds(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'db'}")
    with database.writing() as connection:
        create_tables(connection, "an id")
        connection.execute(insert(meta), [{"key": "kept", "value": "1"}, {"key": "gone", "value": "2"}])
        with editing(connection, "ann", "try") as edit:
            edit.touch(meta, ["kept", "gone", "new"])
            connection.execute(meta.update().where(meta.c.key == "kept").values(value="9"))
            connection.execute(meta.delete().where(meta.c.key == "gone"))
            connection.execute(insert(meta).values(key="new", value="3"))
    with database.writing() as connection:
        undo_last(connection, "bob")
        found = {row.key: row.value for row in connection.execute(select(meta))}
    assert {key: found.get(key) for key in ("kept", "gone", "new")} == {"kept": "1", "gone": "2", "new": None}


def test_folders_that_are_no_workspace(tmp_path, world):
    with pytest.raises(WorkspaceError, match="There is no workspace"):
        Workspace(tmp_path / "none")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    with pytest.raises(WorkspaceError, match="choose a new name"):
        Workspace.create(tmp_path / "other", "pixels")
    (tmp_path / "workspace.json").write_text("{")
    with pytest.raises(WorkspaceError, match="cannot be read"):
        Workspace(tmp_path)
    (tmp_path / "workspace.json").write_text('{"format": "x"}')
    with pytest.raises(WorkspaceError, match="not written by OpenGCD"):
        Workspace(tmp_path)
    Workspace.create(tmp_path / "new", "pixels").close()
    Workspace.create(tmp_path / "new", "pixels").close()  # goes on
    with pytest.raises(WorkspaceError, match="other settings"):
        Workspace.create(tmp_path / "new", "pixels", recognizer={"classifier": "mlp"})
    with pytest.raises(WorkspaceError, match=r"postgresql\+psycopg"):
        Workspace.create(tmp_path / "db", "pixels", database="nonsense")
    with Workspace(tmp_path / "new") as unfinished:
        assert unfinished.status().version is None
        with pytest.raises(WorkspaceError, match="finish opengcd init"):
            list(unfinished.recognize([world[1]]))


def test_a_workspace_is_set_up_once(workspace, world):
    with pytest.raises(WorkspaceError, match="set up already"):
        workspace.fit(world[0])


def test_how_a_network_computes_is_kept_with_the_workspace(tmp_path, monkeypatch):
    asked = {}

    def load(name, **options):
        asked.update(options)
        return Pixels()

    monkeypatch.setattr("opengcd.workspace.vectors.load_embedder", load)
    Workspace.create(tmp_path / "w", "network", pooling="mean", precision="half").close()
    with Workspace(tmp_path / "w", device="cpu") as workspace:
        assert workspace.vectors.embedder.name == "pixels"
    assert asked == {"device": "cpu", "pooling": "mean", "precision": "half"}


@pytest.mark.parametrize(
    ("setting", "value"), [("embedder", 5), ("pooling", None), ("recognizer", []), ("database", 1), ("precision", {})]
)
def test_settings_of_another_kind(workspace, setting, value):
    file = workspace.path / "workspace.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {setting: value}))
    with pytest.raises(WorkspaceError, match=r"is damaged|database 1 cannot be used"):
        Workspace(workspace.path)


@pytest.mark.parametrize(
    "damage", [lambda r: r[:-1], lambda r: r[:-8], lambda r: r[:8] + b"\xff" * 8 + r[16:], lambda _: b"x"]
)
def test_a_damaged_drawing_of_the_map_is_drawn_again(workspace, damage):
    workspace.similarity.draw_map()
    good = workspace.similarity.map()
    (file,) = (workspace.path / "maps").iterdir()
    file.write_bytes(damage(file.read_bytes()))
    assert not workspace.similarity.map().drawn
    workspace.similarity.draw_map()
    np.testing.assert_array_equal(workspace.similarity.map().places, good.places)
