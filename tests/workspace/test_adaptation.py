"""An adapted network is a new version: everything switches at once, and returns without computing anything."""

import json
import math
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sqlalchemy import func, select

from opengcd import Workspace
from opengcd.adapt import AdaptError, AdaptSettings, TimeEstimate, estimate
from opengcd.service import create_app
from opengcd.workspace import DamagedError, ReadOnlyError, WorkspaceError, adaptation, intake, recognition
from opengcd.workspace.embedders import all_embedders, embedder_of, was_trained_on, without_vector
from opengcd.workspace.predictions import predicted
from opengcd.workspace.schema import embedders, features, models, shards, trained_items
from tests.helpers.adapting import EPOCHS, Embedded, Trainer, save_network
from tests.helpers.older_schemas import without_networks
from tests.helpers.pictures import RECOGNIZER, paint, paint_world
from tests.helpers.places import ROOT
from tests.helpers.serving import connect, get, png


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A workspace with a network that has found two groups, and the folder of its images; tests copy both."""
    folder = tmp_path_factory.mktemp("adapting")
    network = save_network(folder / "network")
    known, stream = paint_world(folder / "world")
    with Workspace.create(folder / "workspace", network, recognizer=RECOGNIZER) as workspace:
        assert workspace.fit(known) == []
        assert len(list(workspace.recognize([stream]))) == 48
        assert workspace.discover(k=6).groups == 2
    return folder


@pytest.fixture
def workspace(template, tmp_path):
    shutil.copytree(template / "workspace", tmp_path / "workspace")
    with Workspace(tmp_path / "workspace", who="ann") as opened:
        yield opened


@pytest.fixture
def trainer(monkeypatch):
    trainer = Trainer()
    monkeypatch.setattr(adaptation, "adapt_network", trainer)
    return trainer


@pytest.fixture
def embedded(monkeypatch):
    return Embedded(monkeypatch)


def vectors(workspace):
    return workspace.vectors.of_items(range(1, 81))


def in_use(workspace):
    with workspace.store.database.reading() as connection:
        return embedder_of(connection).id


def state(workspace):
    """All that a person sees, and all vectors."""
    status = workspace.status()
    labels = [(one.item, one.label, one.source) for one in workspace.views.labels()]
    near = [(one.id, round(one.distance, 5)) for one in workspace.similarity.neighbours(40, 5)]
    return status.version.id, status.network, labels, near, vectors(workspace).tobytes(), workspace.groups()


def rows(workspace, table):
    with workspace.store.database.reading() as connection:
        return connection.scalar(select(func.count()).select_from(table))


def confirm_one(workspace, name="sky"):
    group = next(one for one in workspace.groups() if one.kind == "novel" and not one.confirmed)
    workspace.name(group.id, name, confirm=True)
    return group


# The switch.


def test_everything_switches_at_once_and_returns_without_embedding(workspace, trainer, embedded):
    before = state(workspace)
    seen = []
    done = workspace.adapt(record=lambda connection, found: seen.append(found))
    assert (done.switched, done.version, done.reason, done.missing, done.images) == (True, 2, "", 0, 32)
    assert seen == [done]
    assert embedded.since() == 80
    after = state(workspace)
    assert after[:2] == (2, "networks/0002")
    assert after[3:5] != before[3:5]
    assert after[5] == before[5]  # groups under review stay as they were
    version = workspace.status().version
    assert (version.parent, version.phase, version.classes) == (1, 1, workspace.models.versions()[0].classes)
    assert version.report["adapted"]["rehearsed"] == done.report.rehearsed._asdict()
    assert version.report["adapted"]["curve"][0] == {"epoch": 0, "loss": 1.0, "accuracy": None}
    assert version.report["before"].keys() == version.report["after"].keys() == {"memory"}
    assert workspace.check() == []
    assert not (workspace.path / "adapting").exists()
    workspace.undo()
    assert state(workspace) == before
    workspace.redo()
    assert state(workspace) == after
    workspace.rollback(1)
    assert state(workspace) == before
    workspace.rollback(2)
    assert state(workspace) == after
    with Workspace(workspace.path) as fresh:
        assert state(fresh) == after
    assert embedded.since() == 0
    assert workspace.check() == []


def test_the_recogniser_takes_the_new_vectors_of_the_same_exemplars(workspace, trainer):
    before = workspace.exemplars.by_class()
    workspace.adapt()
    assert workspace.exemplars.by_class() == before
    memory = workspace.recognizers.in_use()[1].memory_
    for label, items in before.items():
        np.testing.assert_array_equal(memory.X[memory.y == label], workspace.vectors.of_items(items))
    assert workspace.exemplars.nearest_to_items([3], 1) == [[3]]


def test_reviewed_groups_are_labels_and_removed_images_are_nothing(workspace, trainer):
    first, second = workspace.groups()
    workspace.remove(second.items[:2])
    workspace.name(first.id, "sky", confirm=True)
    done = workspace.adapt(unlabelled=True)
    labels = list(trainer.calls[0]["labels"].values())
    assert Counter(labels) == {"red": 8, "green": 8, "black": 8, "white": 8, "sky": 8, None: 80 - 40 - 2}
    assert done.images == 78
    assert ("sky", True) in [(one.label, one.confirmed) for one in workspace.groups()]
    assert workspace.status().version.classes == ["black", "green", "red", "white"]  # it is not learnt yet
    assert workspace.learn().classes == ["black", "green", "red", "white", "sky"]


def test_the_same_network_is_not_made_twice(workspace, trainer, embedded):
    workspace.adapt()
    after = state(workspace)
    workspace.undo()
    embedded.since()
    assert workspace.adapt().version == 3
    assert (len(trainer.calls), embedded.since()) == (1, 0)
    assert state(workspace)[1:] == after[1:]


def test_adapting_again_starts_from_the_adapted_network(workspace, trainer):
    workspace.adapt()
    confirm_one(workspace)
    workspace.learn()
    done = workspace.adapt()
    assert done.version == 4
    assert trainer.calls[1]["network"].endswith("networks/0002")
    assert workspace.status().network == "networks/0003"
    with workspace.store.database.reading() as connection:
        _, second, third = all_embedders(connection)
        trained = [was_trained_on(connection, one, range(1, 81)) for one in (second, third)]
        assert list(connection.scalars(select(models.c.embedder_id).order_by(models.c.id))) == [1, 2, 2, 3]
    assert (trained[1] >= trained[0]).all()
    assert trained[1].sum() > trained[0].sum() > 10


def test_learning_says_which_images_the_network_was_trained_on(workspace, trainer, monkeypatch):
    from opengcd.recognizer import OpenWorldRecognizer

    masks = []
    for name in ("learn", "reembed"):
        original = getattr(OpenWorldRecognizer, name)

        def watched(self, *args, original=original, trained=None, **options):
            masks.append(trained)
            return original(self, *args, trained=trained, **options)

        monkeypatch.setattr(OpenWorldRecognizer, name, watched)
    workspace.adapt(unlabelled=True)
    group = confirm_one(workspace)
    workspace.learn()
    reembedded, learnt = masks
    assert 0 < reembedded.sum() < 32
    with workspace.store.database.reading() as connection:
        np.testing.assert_array_equal(learnt, was_trained_on(connection, embedder_of(connection), sorted(group.items)))
    assert 0 < learnt.sum() <= 8


# Images that come and go.


def test_new_images_after_the_switch(workspace, trainer, embedded, tmp_path):
    workspace.adapt()
    embedded.since()
    more = paint(tmp_path / "more", "red", range(5000, 5003))
    assert [one.label for one in workspace.recognize(more)] == ["red"] * 3
    assert embedded.since() == 3  # by the network in use only
    assert rows(workspace, features) == 80 + 83


def test_rollback_and_new_images_and_forward_again(workspace, trainer, embedded, tmp_path):
    workspace.adapt()
    list(workspace.recognize(paint(tmp_path / "more", "blue", range(5000, 5003))))
    workspace.discover(k=6)
    workspace.rollback(1)
    embedded.since()
    # Nothing fails before the new images are embedded by the network in use.
    assert workspace.similarity.neighbours(81) == []
    assert workspace.exemplars.nearest_to_items([81, 1], 1) == [[], [1]]
    assert len(workspace.similarity.map().items) == 16
    assert workspace.check() == []
    assert embedded.since() == 0
    list(workspace.recognize(paint(tmp_path / "more", "green", range(6000, 6002))))
    assert embedded.since() == 2
    stages = set()
    workspace.discover(k=6, progress=lambda stage, *_: stages.add(stage))
    assert "embedding images that were added while another network was in use" in stages
    assert embedded.since() == 3
    assert len(workspace.similarity.neighbours(81)) == 24
    workspace.rollback(2)
    workspace.recognition.catch_up()
    assert embedded.since() == 2
    assert workspace.status().counts["waiting"] == 0
    assert rows(workspace, features) == 2 * 85
    assert workspace.check() == []


def test_splitting_a_group_embeds_what_it_needs(workspace, trainer, embedded, tmp_path):
    workspace.adapt()
    list(workspace.recognize(paint(tmp_path / "more", "blue", range(5000, 5004))))
    workspace.discover(k=6)
    workspace.rollback(1)
    group = max(workspace.groups(), key=len)
    (tmp_path / "more" / "blue5003.png").unlink()
    embedded.since()
    workspace.split(group.id, 2)
    assert embedded.since() == 3
    assert sum(len(one) for one in workspace.groups()) == 20  # the one whose file is gone, too


def test_images_that_are_uploaded_meanwhile(workspace, trainer):
    kept = []

    def upload(stage, done, total):
        if stage == "storing the version" and not kept:
            with Workspace(workspace.path) as service:
                kept.extend(service.recognition.keep([png("red", 9000)]))

    workspace.adapt(progress=upload)
    assert kept[0].label == "red"
    with workspace.store.database.reading() as connection:
        assert without_vector(connection) == []
    assert workspace.status().counts["waiting"] == 0


def test_an_image_that_arrives_while_the_version_is_switched(workspace, trainer, monkeypatch):
    """Its vector is of the network before; it is embedded again, and recognised by the version in use."""
    workspace.adapt()
    workspace.rollback(1)
    store = intake.store_vectors

    def switch_and_store(connection, folder, embedder, *rows):
        store(connection, folder, embedder, *rows)
        done.append(embedder.fingerprint)

    def switch(function):
        def call(*args):
            if done and workspace.status().version.id == 1:
                workspace.rollback(2)
            return function(*args)

        return call

    done = []
    monkeypatch.setattr(intake, "store_vectors", switch_and_store)
    monkeypatch.setattr(recognition, "predicted", switch(recognition.predicted))
    (kept,) = workspace.recognition.keep([png("white", 9000)])
    assert kept.label == "white"
    with workspace.store.database.reading() as connection:
        first, second = all_embedders(connection)
        assert done == [first.fingerprint]
        for embedder in (first, second):
            assert without_vector(connection, embedder, [kept.item]) == []
        assert predicted(connection, [kept.item], 2).keys() == {kept.item}


def test_images_whose_files_are_gone(template, trainer, tmp_path):
    known, stream = paint_world(tmp_path / "world")
    with Workspace.create(tmp_path / "w", str(template / "network"), recognizer=RECOGNIZER) as workspace:
        workspace.fit(known)
        list(workspace.recognize([stream]))
        (known / "red" / "red0.png").unlink()
        (stream / "blue100.png").write_bytes(b"another content")
        done = workspace.adapt(unlabelled=True)
        assert (done.switched, done.missing, done.images) == (True, 2, 78)
        assert {label: len(items) for label, items in workspace.exemplars.by_class().items()} == {
            "black": 8, "green": 8, "red": 7, "white": 8,
        }  # fmt: skip
        workspace.discover(k=6)
        assert workspace.check() == []
        workspace.undo()
        workspace.undo()
        shutil.rmtree(known / "red")
        calls = len(trainer.calls)
        with pytest.raises(WorkspaceError, match=r"'red' among them.*Restore these images"):
            workspace.adapt()
        assert len(trainer.calls) == calls


# Nothing changes.


def test_a_dry_run_changes_nothing_but_the_history(workspace, trainer, embedded):
    before = state(workspace)
    done = workspace.adapt(dry_run=True)
    assert (done.switched, done.version, done.reason) == (False, None, adaptation.DRY_RUN)
    assert done.report.rehearsed.helps
    assert state(workspace) == before
    assert embedded.since() == 0
    assert workspace.check() == []
    entry = workspace.history()[0]
    assert (entry.verb, entry.details["switched"], entry.details["rehearsed"]["adapted_hna"]) == ("adapt", False, 0.7)
    assert workspace.review.undo_state().undo.verb == "discover"
    # What the rehearsal has computed is not computed again.
    assert workspace.adapt().switched
    assert trainer.epochs == EPOCHS


@pytest.mark.parametrize(("rehearses", "reason"), [(True, adaptation.NO_HELP), (False, adaptation.NO_REHEARSAL)])
def test_without_help_the_old_network_stays_unless_forced(workspace, trainer, rehearses, reason):
    trainer.helps, trainer.rehearses = False, rehearses
    before = state(workspace)
    assert workspace.adapt()._replace(report=None) == (False, None, reason, None, 0, 32)
    assert state(workspace) == before
    assert workspace.adapt(force=True).switched
    assert workspace.status().network == "networks/0002"


def test_a_training_that_changes_nothing(workspace, trainer):
    trainer.changes = False
    before = state(workspace)
    assert workspace.adapt().reason == adaptation.NO_CHANGE
    assert state(workspace) == before
    assert workspace.check() == []


def test_another_version_put_to_use_meanwhile(workspace, trainer):
    confirm_one(workspace)
    workspace.learn()
    before = state(workspace)

    def roll_back(stage, done, total):
        if stage == "embedding images by the adapted network" and done:
            with Workspace(workspace.path) as other:
                other.rollback(1)

    with pytest.raises(WorkspaceError, match="Version 1 was put into use while adapt ran with version 2; nothing was"):
        workspace.adapt(progress=roll_back)
    assert workspace.status().version.id == 1
    workspace.undo()
    assert state(workspace) == before
    assert workspace.adapt().version == 3
    assert trainer.epochs == EPOCHS


def test_whoever_records_the_result_can_stop_the_switch(workspace, trainer):
    before = state(workspace)

    def refuse(connection, found):
        raise RuntimeError("cancelled")

    with pytest.raises(RuntimeError, match="cancelled"):
        workspace.adapt(record=refuse)
    assert state(workspace) == before
    assert workspace.adapt().switched


def test_other_input_starts_afresh(workspace, trainer):
    def stop(stage, done, total):
        if stage == "embedding images by the adapted network" and done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        workspace.adapt(progress=stop)
    assert (rows(workspace, embedders), rows(workspace, features)) == (2, 80 + 16)
    assert workspace.adapt(settings=AdaptSettings(method="blocks")).switched
    assert (rows(workspace, embedders), rows(workspace, features)) == (2, 2 * 80)
    assert trainer.epochs == 2 * EPOCHS
    assert [one.name for one in (workspace.path / "networks").iterdir()] == ["0002"]
    assert workspace.check() == []


# Where it is not possible.


def test_pixels_cannot_be_adapted(reviewable, tmp_path, trainer):
    shutil.copytree(reviewable, tmp_path / "w")
    with Workspace(tmp_path / "w") as workspace:
        with pytest.raises(AdaptError, match="pixels has no network"):
            workspace.adapt()
        plan = workspace.adaptation.plan()
        assert (plan.possible, plan.images, plan.unlabelled) == (False, 32, 48)
        assert "pixels" in plan.reason
        assert [entry.verb for entry in workspace.history()] == ["discover", "recognize", "init"]
    assert trainer.calls == []


def test_an_onnx_file_cannot_be_adapted(workspace, trainer):
    object.__setattr__(workspace.settings, "embedder", "/networks/vit.onnx")
    with pytest.raises(AdaptError, match="ONNX"):
        workspace.adapt()
    assert "ONNX" in workspace.adaptation.plan().reason
    assert trainer.calls == []


def test_before_the_first_version(template, tmp_path, trainer):
    with Workspace.create(tmp_path / "w", str(template / "network")) as workspace:
        with pytest.raises(WorkspaceError, match="has not learnt any class yet"):
            workspace.adapt()
        assert "has not learnt any class yet" in workspace.adaptation.plan().reason


def test_a_read_only_workspace(workspace, trainer, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode, **_: not mode & os.W_OK)
    with Workspace(workspace.path) as looked_at:
        with pytest.raises(ReadOnlyError, match="read-only"):
            looked_at.adapt()
        assert "read-only" in looked_at.adaptation.plan().reason


def test_a_network_that_has_changed_is_refused(template, tmp_path, trainer):
    shutil.copytree(template / "network", tmp_path / "network")
    with Workspace.create(tmp_path / "w", str(tmp_path / "network"), recognizer=RECOGNIZER) as workspace:
        workspace.fit(template / "world" / "known")
    torch = pytest.importorskip("torch")
    from transformers import ViTModel

    model = ViTModel.from_pretrained(tmp_path / "network", add_pooling_layer=False)
    with torch.no_grad():
        next(model.parameters()).add_(1)
    model.save_pretrained(tmp_path / "network")
    with Workspace(tmp_path / "w") as workspace, pytest.raises(WorkspaceError, match="not the one that this workspace"):
        workspace.adapt()
    assert trainer.calls == []


# The plan.


def test_the_plan(workspace, trainer, monkeypatch):
    asked = []

    def time(network, labelled, unlabelled, settings, *, pooling, device):
        asked.append((network, labelled, unlabelled, settings.unlabelled, device))
        return TimeEstimate(1.0, 2.0, 2.0, 1.0)

    monkeypatch.setattr(estimate, "estimate_time", time)
    plan = workspace.adaptation.plan(unlabelled=True)
    assert plan._replace(last=None) == (True, "", 32, 48, 6.0, asked[0][4], None)
    assert plan.last is None
    assert asked == [(workspace.settings.embedder, 32, 48, True, asked[0][4])]
    workspace.by("bob").adaptation.plan(unlabelled=True)
    assert len(asked) == 1  # what was measured is kept
    workspace.adapt(dry_run=True)
    last = workspace.adaptation.plan(unlabelled=True).last
    assert (last["switched"], last["who"], last["rehearsed"]["hidden"], last["undone"]) == (False, "ann", 2, False)
    workspace.adapt()
    assert workspace.adaptation.plan(unlabelled=False).last["version"] == 2
    assert asked[-1][0].endswith("networks/0002")
    workspace.undo()
    assert workspace.adaptation.plan(unlabelled=True).last["undone"]


def test_points_of_the_curves_come_as_they_are_computed(workspace, trainer):
    points = []
    report = workspace.adapt(on_epoch=lambda stage, point: points.append((stage, point.epoch))).report
    assert points == [("training", epoch) for epoch in range(EPOCHS)]
    assert math.isnan(report.curve[0].accuracy)


# Damage, leftovers and older workspaces.


def test_a_damaged_network(workspace, trainer, tmp_path):
    workspace.adapt()
    file = workspace.path / "networks" / "0002" / "model.safetensors"
    raw = file.read_bytes()
    file.write_bytes(raw[:-1] + bytes([raw[-1] ^ 1]))
    (found,) = workspace.check()
    assert (found.what, found.repaired) == ("networks/0002", False)
    assert "model.safetensors: its checksum is wrong" in found.problem
    assert not workspace.check(repair=True)[0].repaired
    with Workspace(workspace.path) as opened:
        assert len(opened.groups()) == 2
        with pytest.raises(DamagedError, match="rollback DIR VERSION"):
            list(opened.recognize(paint(tmp_path / "more", "red", [5000])))
        opened.rollback(1)
        with pytest.raises(DamagedError, match="networks/0002 is missing or damaged"):
            opened.rollback(2)
        assert opened.status().version.id == 1
        # The same training makes the same network again.
        assert opened.adapt().version == 3
        assert opened.check() == []
        assert file.read_bytes() == raw


def test_damaged_vectors_come_back_from_the_right_network(workspace, trainer, embedded):
    old = vectors(workspace)
    workspace.adapt()
    new = vectors(workspace)
    embedded.since()
    for file in workspace.path.glob("features/*/*.npy"):
        file.unlink()
    assert all(one.repaired for one in workspace.check(repair=True))
    assert embedded.since() == 160
    np.testing.assert_allclose(vectors(workspace), new, atol=1e-6)
    workspace.rollback(1)
    np.testing.assert_allclose(vectors(workspace), old, atol=1e-6)
    embedded.since()
    with workspace.store.database.reading() as connection:
        home = workspace.vectors.shards(connection).folder
    for file in home.iterdir():
        file.unlink()
    assert all(one.repaired for one in workspace.check(repair=True))
    assert embedded.since() == 80  # those of the other network were whole
    assert workspace.check() == []


def test_leftovers_are_found_and_deleted(workspace, trainer):
    def stop(stage, done, total):
        if stage == "embedding images by the adapted network" and done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        workspace.adapt(progress=stop)
    (workspace.path / "networks" / "0009").mkdir()
    before = state(workspace)
    (found,) = workspace.check()
    assert "not finished" in found.problem
    (found,) = workspace.check(repair=True)
    assert found.repaired
    assert workspace.check() == []
    assert list((workspace.path / "networks").iterdir()) == []
    assert list((workspace.path / "adapting").iterdir()) == []
    assert len(list((workspace.path / "features").iterdir())) == 1
    counts = rows(workspace, embedders), rows(workspace, features), rows(workspace, trained_items)
    assert counts == (1, 80, 0)
    with workspace.store.database.reading() as connection:
        assert set(connection.scalars(select(shards.c.embedder_id))) == {1}
    assert state(workspace) == before


def test_a_workspace_of_the_schema_before(workspace, trainer):
    before = state(workspace)
    without_networks(workspace.path)
    with Workspace(workspace.path) as old:
        with old.store.database.reading() as connection:
            assert list(connection.scalars(select(models.c.embedder_id))) == [1]
        assert state(old) == before
        assert old.check() == []
        old.adapt()
        assert old.status().network == "networks/0002"
        old.undo()
        assert state(old) == before


def test_the_service_follows_the_network_in_use(workspace, trainer):
    app = create_app(workspace)
    with connect(app, workspace.access.make("ann")) as client:

        def ask():
            files = [("files", ("a.png", png("red", 9000), "image/png"))]
            return client.post("/api/v1/recognize", files=files).json()[0]["label"]

        assert ask() == "red"
        workspace.adapt()
        assert ask() == "red"
        version = get(client, "status")["version"]
        assert version["report"]["adapted"]["labelled"] == 32
        assert get(client, "history")[0]["details"]["version"] == 2
        workspace.undo()
        assert ask() == "red"


# Kills.


class Server:
    """Adaptations in processes of their own."""

    def __init__(self, folder):
        environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "tests.helpers.adapting_server"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.report = folder / "report"
        self.process = subprocess.Popen(command, text=True, env=environment, cwd=ROOT, **pipes)

    def adapt(self, folder, kill_at=None):
        """Return the exit status, the number of operations on files, and that of epochs trained."""
        command = {"folder": str(folder), "kill_at": kill_at, "report": str(self.report)}
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        return [int(number) for number in self.process.stdout.readline().split()]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="commands are forked and killed as on POSIX systems")
def test_killed_before_every_few_operations(template, workspace, tmp_path):
    before = state(workspace)
    server, plain, here = Server(tmp_path), tmp_path / "plain", tmp_path / "here"
    shutil.copytree(template / "workspace", plain)
    status, operations, epochs = server.adapt(plain)
    assert (status, epochs) == (0, EPOCHS)
    with Workspace(plain) as finished:
        after = state(finished)
    killed = Counter()
    for kill_at in range(1, operations + 1, max(1, operations // 16)):
        shutil.copytree(template / "workspace", here)
        assert server.adapt(here, kill_at)[0] == -9
        with Workspace(here) as left:
            assert state(left)[:2] in (before[:2], after[:2])
            switched = left.status().version.id == 2
            assert state(left) == (after if switched and not left.status().counts["waiting"] else state(left))
            assert switched or state(left) == before
            assert {one.what for one in left.check()} <= {str(here / "networks"), "features"}
        killed[switched] += 1
        if not switched:
            assert server.adapt(here)[0] == 0
        with Workspace(here) as finished:
            finished.recognition.catch_up()
            finished.check(repair=True)
            assert finished.check() == []
            assert state(finished) == after
            assert Counter(entry.verb for entry in finished.history())["adapt"] == 1
        shutil.rmtree(here)
    server.process.communicate()
    assert killed[False] > 8


def test_a_run_goes_on_where_it_was_interrupted(workspace, trainer, embedded):
    """At every step: epochs that are finished, and vectors that are stored, are not computed again."""
    steps = []
    reference = workspace.path.parent / "reference"
    shutil.copytree(workspace.path, reference)
    with Workspace(reference) as plain:
        plain.adapt(progress=lambda *step: steps.append(step))
        after = state(plain)
    trainer.epochs = 0
    embedded.since()
    stages = list(dict.fromkeys(stage for stage, *_ in steps))
    assert stages[0] == "looking for images"
    assert stages[-1] == "recognising again"
    for name in stages:

        def interrupt(stage, done, total, name=name):
            if stage == name and 2 * done >= total:
                raise KeyboardInterrupt

        with Workspace(workspace.path) as opened, pytest.raises(KeyboardInterrupt):
            opened.adapt(progress=interrupt)
        assert workspace.status().version.id == (2 if name == "recognising again" else 1)
    workspace.recognition.catch_up()
    assert (trainer.epochs, embedded.since()) == (EPOCHS, 80)
    assert state(workspace) == after


def test_bytes_that_are_no_image_any_more(workspace, trainer):
    """An item whose file was replaced by another image is left alone by an adaptation."""
    path = workspace.views.paths(80)[0]
    raw = Path(path).read_bytes()
    try:
        Image.new("RGB", (9, 9)).save(path)
        assert workspace.adapt().missing == 1
        with workspace.store.database.reading() as connection:
            assert without_vector(connection) == [80]
        assert in_use(workspace) == 2
    finally:
        Path(path).write_bytes(raw)
    workspace.recognition.catch_up()
    with workspace.store.database.reading() as connection:
        assert without_vector(connection) == []
