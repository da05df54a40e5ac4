"""A PostgreSQL URL works as SQLite does. The tests start a server of their own, where the programs are installed."""

import os
import threading
from functools import partial
from itertools import count

import numpy as np
import pytest
from sqlalchemy import create_engine, text

from opengcd import Client, Workspace
from opengcd.embed import Pixels, read_image
from opengcd.service import create_app
from opengcd.service.client import ServiceError
from opengcd.workspace import Changes, DamagedError, WorkspaceError, adaptation, readable
from opengcd.workspace.browsing import SORTS, Order, Wanted
from opengcd.workspace.features import FeatureStore
from opengcd.workspace.files import content_hash
from opengcd.workspace.schema import items
from tests.helpers.adapting import Embedded, Trainer, save_network
from tests.helpers.counting import check
from tests.helpers.needed import postgresql
from tests.helpers.older_schemas import WITHOUT_REVIEWERS
from tests.helpers.pictures import RECOGNIZER, paint, truth
from tests.helpers.reviewing import put_in_stack
from tests.helpers.scenes import without_crops
from tests.helpers.serving import API, connect, eventually, get, keep_on, send, server


@pytest.fixture(scope="module")
def url():
    with postgresql() as server:
        yield server.url


def test_the_loop_on_postgresql(url, world, tmp_path):
    known, stream = world
    with Workspace.create(tmp_path / "w", "pixels", recognizer=RECOGNIZER, database=url) as workspace:
        assert workspace.fit(known) == []
        names = ["a\nb.png", os.fsdecode(b"\xff.png")]
        for name in names:
            paint(tmp_path / "odd", "red", [7000 + len(name)])[0].rename(tmp_path / "odd" / name)
        assert len(list(workspace.recognize([stream, tmp_path / "odd"]))) == 48 + 2
        assert workspace.discover(k=6).groups == 2
        out = tmp_path / "review"
        workspace.formats.export_groups(out)
        assert workspace.formats.import_groups(out) == Changes(0, 0, 0, [])
        for folder in [f for f in out.iterdir() if f.is_dir()]:
            folder.rename(out / truth(next(folder.glob("*.png"))))
        assert workspace.formats.import_groups(out).named == 2
        before = workspace.views.labels()
        assert workspace.learn().id == 2
        assert workspace.status().counts["learnt"] == 48
        workspace.undo()
        assert workspace.views.labels() == before
        workspace.undo()
        workspace.undo()
        assert workspace.groups() == []
    assert not (tmp_path / "w" / "workspace.db").exists()
    with Workspace(tmp_path / "w") as again:
        assert len(again.history()) == 8


@pytest.mark.parametrize("kind", ["postgresql", "sqlite"])
def test_lists_of_images_with_any_names(url, world, tmp_path, kind):
    """Every order, page by page; names that are no text in any encoding; who named what."""
    known, _ = world
    database = fresh(url, "lists") if kind == "postgresql" else None
    with Workspace.create(tmp_path / "w", "pixels", recognizer=RECOGNIZER, database=database, who="ann") as workspace:
        workspace.fit(known)
        names = ["a\\b.PNG", "é 1.png", os.fsdecode(b"\xff.png")]
        for number, name in enumerate(names):
            paint(tmp_path / "odd é", "red", [7000 + number])[0].rename(tmp_path / "odd é" / name)
        items = [result.item for result in workspace.recognize([tmp_path / "odd é"])]
        workspace.move(items[:1], "sky", confirm=True)
        whole = {image.id: image for image in workspace.browsing.images(limit=100).images}
        assert len(whole) == 35
        for by in SORTS:
            starts = workspace.browsing.starts(order=Order(by, True), every=10)
            cursors = [None, *starts.cursors]
            pages = [workspace.browsing.images(order=Order(by, True), after=one, limit=10).images for one in cursors]
            assert [len(page) for page in pages] == [10, 10, 10, 5]
            assert {image.id: image for page in pages for image in page} == whole
        for part, name in (("\\B.p", names[0]), ("é", names[1])):
            (found,) = workspace.browsing.images(Wanted(name=part)).images
            assert found.name == name
        found = workspace.browsing.images(Wanted(name=os.fsdecode(b"\xff"))).images
        assert {image.name for image in found} <= {readable(names[2])}
        assert [image.id for image in workspace.browsing.images(Wanted(who="ann")).images] == items[:1]
        assert workspace.browsing.starts(Wanted(folder=str(tmp_path / "odd é"))).total == 3
        choices = workspace.browsing.choices()
        assert choices.folders[str(tmp_path / "odd é")] == 3
        assert choices.labels["sky"] == 1


def test_writers_wait_and_readers_do_not(url, tmp_path):
    database = fresh(url, "writers")
    workspace = Workspace.create(tmp_path / "w", "pixels", recognizer=RECOGNIZER, database=database)
    done = []

    def write():
        with Workspace(tmp_path / "w") as other:
            other.store.note("try", {"by": "other"})
        done.append("other")

    with workspace.store.database.writing():
        second = threading.Thread(target=write)
        second.start()
        with Workspace(tmp_path / "w") as reader:
            reader.history()
        second.join(timeout=0.5)
        assert done == []
    second.join()
    assert done == ["other"]
    workspace.close()


def test_a_writer_that_lost_its_connection_cannot_touch_the_vectors_of_others(url, world, tmp_path):
    """It no longer holds the lock of writers, does not know it yet, and goes on."""
    database = fresh(url, "fence")
    with Workspace.create(tmp_path / "w", "pixels", recognizer=RECOGNIZER, database=database) as workspace:
        workspace.fit(world[0])
        late = paint(tmp_path / "late", "red", [500])
        other = paint(tmp_path / "other", "blue", [501])
        results = []

        def write():
            with workspace.store.database.writing() as lost:
                pid = lost.scalar(text("SELECT pg_backend_pid()"))
                store = FeatureStore.find(lost, tmp_path / "w" / "features", Pixels().fingerprint)
                row = {"hash": content_hash(late[0]), "width": 12, "height": 12}
                (id,) = lost.execute(items.insert().values(row)).inserted_primary_key
                with Workspace(tmp_path / "w") as second:
                    with second.store.database.reading() as connection:
                        connection.execute(text(f"SELECT pg_terminate_backend({pid})"))
                    results.extend(second.recognize(other))
                store.append(lost, [id], np.zeros((1, 192), np.float32))

        with pytest.raises(WorkspaceError, match="database cannot be used"):
            write()
        with workspace.store.database.reading() as connection:
            found = workspace.vectors.read(connection, [results[0].item])
        np.testing.assert_array_equal(found, Pixels()([read_image(other[0])]))
        assert [finding.what for finding in workspace.check()] in ([], ["features"])  # at most a file that nobody names


def test_a_database_is_one_workspace_s(url, tmp_path):
    database = fresh(url, "one")
    Workspace.create(tmp_path / "one", "pixels", database=database).close()
    with pytest.raises(WorkspaceError, match="belongs to another workspace"):
        Workspace.create(tmp_path / "two", "pixels", database=database)


def command(url, *commands):
    """Run commands of an administrator."""
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for one in commands:
            connection.execute(text(one))
    engine.dispose()


def fresh(url, name):
    """Return the URL of a new database on the same server."""
    command(url, f"CREATE DATABASE {name}")
    return url.replace("/postgres?", f"/{name}?")


def test_a_lost_database_is_never_replaced_by_an_empty_one(url, world, tmp_path):
    folder, database = tmp_path / "w", fresh(url, "lost")

    def create():
        return Workspace.create(folder, "pixels", recognizer=RECOGNIZER, database=database)

    create().close()
    command(url, "DROP DATABASE lost", "CREATE DATABASE lost")
    with pytest.raises(WorkspaceError, match=r"no tables.*run it again"):
        Workspace(folder)
    with create() as workspace:  # an init that was interrupted before any image was read
        workspace.fit(world[0])
    command(url, "DROP DATABASE lost", "CREATE DATABASE lost")
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    for open_it in (create, lambda: Workspace(folder)):
        with pytest.raises(DamagedError, match=r"no tables\. Restore it from a backup; nothing was changed\.$"):
            open_it()
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_a_database_that_became_read_only_is_an_outage(url, tmp_path):
    """As after a failover to a server that is not yet, or not at all, to be written to."""
    database = fresh(url, "standby")
    log_out = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'standby'"
    workspace = Workspace.create(tmp_path / "w", "pixels", recognizer=RECOGNIZER, database=database)
    with workspace, connect(create_app(workspace), workspace.access.make("ann")) as client:
        command(url, "ALTER DATABASE standby SET default_transaction_read_only = on", log_out)
        eventually(lambda: client.get("/healthz").status_code == 503)
        answer = client.post(f"{API}/jobs", json={"verb": "discover"})
        assert (answer.status_code, "Retry-After" in answer.headers) == (503, True)
        assert "read-only" in answer.json()["detail"]
        assert get(client, "jobs") == []
        command(url, "ALTER DATABASE standby SET default_transaction_read_only = off", log_out)
        eventually(lambda: client.get("/healthz").status_code == 200)
        send(client, "POST", "jobs", {"verb": "discover"}, 202)


def test_cached_counts_equal_the_database(url, world, tmp_path):
    known, stream = world
    database = fresh(url, "kept")
    folder = tmp_path / "w"
    with Workspace.create(folder, "pixels", recognizer=RECOGNIZER, database=database) as one, Workspace(folder) as two:
        one.fit(known)
        list(one.recognize([stream]))
        one.discover(k=6)
        check(one, two)
        first, second = one.groups()
        for act in (
            lambda: two.move(first.items[:3], second.id),
            lambda: one.name(second.id, "sky", confirm=True),
            lambda: list(two.recognize(paint(tmp_path / "more", "blue", [7000]))),
            one.learn,
            lambda: two.rollback(1),
            one.discover,
            two.undo,
        ):
            act()
            check(one, two)


def test_two_servers_share_a_workspace(url, world, tmp_path):
    known, stream = world
    database = fresh(url, "shared")
    with Workspace.create(tmp_path / "w", "pixels", recognizer=RECOGNIZER, database=database) as workspace:
        workspace.fit(known)
        list(workspace.recognize([stream]))
        workspace.discover(k=6)
        tokens = [workspace.access.make(name) for name in ("ann", "bob")]
        with server(workspace.path) as (first, one), server(workspace.path) as (_, two):
            ann, bob = Client(one, tokens[0]), Client(two, tokens[1])
            heard = bob.events()
            blue, yellow = (group["id"] for group in ann.get("groups")["groups"])
            assert bob.get("groups") == ann.get("groups")
            ann.edit("name", group=blue, label="sky")
            with pytest.raises(ServiceError, match="ann has changed this meanwhile") as refused:
                bob.edit("name", group=blue, label="sea")
            assert refused.value.status == 409
            bob.edit("name", group=yellow, label="sun")  # elsewhere
            edits = (content for name, content in heard if name == "edit")
            assert [next(edits)["who"] for _ in range(2)] == ["ann", "bob"]
            acknowledged = {}

            def edit(client, group, numbers):
                label = f"{group} {next(numbers)}"
                what = {"on": 2**31 - 1, "act": "name", "group": group, "label": label}
                acknowledged[client.send("POST", "edits", what)["edit"]] = label

            people = [
                threading.Thread(target=keep_on, args=[partial(edit, client, group, count())])
                for client, group in ((ann, blue), (Client(one, tokens[0]), blue))
            ]
            for person in people:
                person.start()
            while len(acknowledged) < 40:
                edit(bob, yellow, count(len(acknowledged)))
            first.kill()
            for person in people:
                person.join()
            told = {entry.id: entry.details["label"] for entry in workspace.history() if entry.verb == "name"}
            assert {id: told[id] for id in acknowledged} == acknowledged
            # The one that is left does the work from now on.
            bob.get("groups")
            bob.edit("confirm", group=yellow)
            assert len(bob.run("learn")["classes"]) == 5


def test_a_network_is_adapted_on_postgresql(url, world, tmp_path, monkeypatch):
    known, stream = world
    monkeypatch.setattr(adaptation, "adapt_network", Trainer())
    embedded = Embedded(monkeypatch)
    network = save_network(tmp_path / "network")
    database = fresh(url, "adapted")

    def stop(stage, done, total):
        if stage == "embedding images by the adapted network" and done:
            raise KeyboardInterrupt

    with Workspace.create(tmp_path / "w", network, recognizer=RECOGNIZER, database=database) as workspace:
        workspace.fit(known)
        list(workspace.recognize([stream]))
        workspace.discover(k=6)
        before, old = workspace.views.labels(), workspace.vectors.of_items(range(1, 81))
        with pytest.raises(KeyboardInterrupt):
            workspace.adapt(progress=stop)
        (found,) = workspace.check()
        assert "not finished" in found.problem
        assert workspace.views.labels() == before
        assert workspace.adapt().version == 2
        assert embedded.since() == 2 * 80
        assert workspace.check() == []
        new = workspace.vectors.of_items(range(1, 81))
        assert not np.array_equal(new, old)
        workspace.undo()
        np.testing.assert_array_equal(workspace.vectors.of_items(range(1, 81)), old)
        assert workspace.views.labels() == before
        workspace.redo()
        workspace.rollback(1)
        workspace.rollback(2)
        np.testing.assert_array_equal(workspace.vectors.of_items(range(1, 81)), new)
        assert embedded.since() == 0
        list(workspace.recognize(paint(tmp_path / "more", "red", [5000])))
        with pytest.raises(KeyboardInterrupt):
            workspace.adapt(progress=stop, unlabelled=True)
        assert all(one.repaired for one in workspace.check(repair=True))
        assert workspace.check() == []


def test_a_workspace_of_the_schema_before_on_postgresql(url, world, tmp_path):
    database = fresh(url, "before")
    boxes = without_crops(tmp_path / "trap")
    with Workspace.create(tmp_path / "w", "pixels", recognizer=RECOGNIZER, database=database) as workspace:
        workspace.fit(world[0])
        before = workspace.vectors.of_items(range(1, 33))
        list(workspace.recognize([tmp_path / "trap"], boxes=boxes))
        whole = workspace.without_crop.images()
    command(
        database,
        *WITHOUT_REVIEWERS,
        "DROP TABLE trained_items, captures, stack_members, class_names, corrections, held_out",
        "ALTER TABLE models DROP COLUMN embedder_id",
        "ALTER TABLE embedders DROP COLUMN digest, DROP COLUMN run",
        "ALTER TABLE jobs DROP COLUMN seconds_left, DROP COLUMN curves",
        "UPDATE meta SET value = '5' WHERE key = 'schema'",
    )
    with Workspace(tmp_path / "w") as workspace:
        np.testing.assert_array_equal(workspace.vectors.of_items(range(1, 33)), before)
        with workspace.store.database.reading() as connection:
            assert connection.scalar(text("SELECT embedder_id FROM models")) == 1
        assert workspace.check() == []
        assert workspace.without_crop.images() == whole
        assert workspace.status().without_crop == {"empty": 1, "person": 1}
        list(workspace.recognize([tmp_path / "trap"], boxes=boxes, min_confidence=0.05))
        assert workspace.status().without_crop == {"person": 1}


def test_stacks_on_postgresql(url, world, tmp_path):
    known, stream = world
    with Workspace.create(tmp_path / "w", "pixels", recognizer=RECOGNIZER, database=fresh(url, "stacks")) as workspace:
        workspace.fit(known)
        list(workspace.recognize([stream]))
        workspace.discover(k=6)
        first, second = workspace.groups()[:2]
        put_in_stack(workspace, first.items[1:4])
        members = workspace.views.members(first.id, stacked=True)
        assert [(one.id, one.copies) for one in members.items][:3] == [
            (first.items[0], 1), (first.items[1], 3), (first.items[4], 1),
        ]  # fmt: skip
        workspace.move(first.items[2:3], second.id)
        assert {workspace.views.item(item).group for item in first.items[1:4]} == {second.id}
        workspace.unstack(first.items[1:2])
        workspace.move(first.items[1:2], first.id)
        assert [workspace.views.item(item).group for item in first.items[1:4]] == [first.id, second.id, second.id]
        for _ in range(3):
            workspace.undo()
        assert workspace.groups()[0].stacks[1:4] == [min(first.items[1:4])] * 3
        workspace.discover(k=6)
        assert set(workspace.groups()[0].stacks) == {None}, "the vectors of these pictures are no copies"


def test_teaching_and_known_classes_on_postgresql(url, world, tmp_path):
    known, stream = world
    database = fresh(url, "teaching")
    with Workspace.create(tmp_path / "w", "pixels", recognizer=RECOGNIZER, database=database) as workspace:
        workspace.fit(known)
        list(workspace.recognize([stream]))
        paint(tmp_path / "more" / "orange", "orange", range(500, 506))
        assert workspace.teach(tmp_path / "more").classes == {"orange": 6}
        workspace.rename_class("red", "scarlet")
        before = workspace.views.labels()
        workspace.merge_classes("black", "white")
        workspace.relabel([1], "green")
        workspace.discard([2])
        check(workspace)
        assert sorted(workspace.learn().classes) == ["green", "orange", "scarlet", "white"]
        report = workspace.held_out.report()
        assert (report.previous, {one.label for one in report.classes}) == (1, {"green", "orange", "scarlet", "white"})
        assert workspace.held_out.suspects().measured
        for _ in range(4):
            workspace.undo()
        assert workspace.views.labels() == before
        workspace.rollback(2)
        check(workspace)
    command(
        database,
        *WITHOUT_REVIEWERS,
        "DROP TABLE class_names, corrections, held_out",
        "UPDATE meta SET value = '7' WHERE key = 'schema'",
    )
    with Workspace(tmp_path / "w") as workspace:
        assert workspace.held_out.report() is None
        workspace.held_out.measure()
        assert workspace.held_out.report().images > 0
        assert workspace.check() == []


def test_several_reviewers_on_postgresql(url, world, tmp_path):
    """A workspace of schema 8 gains assignments and comments; both outlive a merge, a grouping, undo and redo."""
    database = fresh(url, "reviewers")
    with Workspace.create(tmp_path / "w", "pixels", recognizer=RECOGNIZER, database=database) as workspace:
        workspace.fit(world[0])
        list(workspace.recognize([world[1]]))
        workspace.discover(k=6)
    command(database, *WITHOUT_REVIEWERS)
    with Workspace(tmp_path / "w", who="Ana") as ana:
        ben = ana.by("Ben")
        first, second = ana.groups()
        assert (first.assignee, first.confirmed_by) == (None, [])
        ana.assign(first.id, "Ben")
        ben.comment(first.id, "Two kinds?")
        ana.discover(k=6)
        (group,) = (one for one in ana.groups() if one.assignee == "Ben")
        assert set(group.items) == set(first.items)
        assert [(one.who, one.text) for one in ana.views.comments(group.id)] == [("Ben", "Two kinds?")]
        ana.undo()
        assert [(one.id, one.items, one.assignee) for one in ana.groups()] == [
            (first.id, first.items, "Ben"),
            (second.id, second.items, None),
        ]
        ana.redo()
        other = next(one for one in ana.groups() if one.id != group.id)
        ana.merge(group.id, other.id)
        assert [one.text for one in ana.views.comments(other.id)] == ["Two kinds?"]
        ana.name(other.id, "sky", confirm=True)
        ben.confirm(other.id)
        assert [one.confirmed_by for one in ana.groups()] == [["Ana", "Ben"]]
        for _ in range(6):
            ana.undo()
        assert [one.assignee for one in ana.groups()] == [None, None]
        assert ana.views.comments(first.id) == []
        for _ in range(6):
            ana.redo()
        assert [one.confirmed_by for one in ana.groups()] == [["Ana", "Ben"]]
        assert ana.check() == []
