"""A workspace with the default preset: a threshold that follows the stream, and discovery over all of it."""

import shutil
from collections import Counter

import numpy as np
import pytest
import safetensors.numpy
from sqlalchemy import select, update
from typer.testing import CliRunner

from opengcd import OpenWorldRecognizer, Workspace
from opengcd.cli import app
from opengcd.workspace import ConflictError, WorkspaceError, recognizers
from opengcd.workspace.groups import to_learn
from opengcd.workspace.schema import assignments, edits, groups, predictions
from opengcd.workspace.versions import folder_of
from tests.helpers.pictures import paint, truth

KNOWN = ("red", "green", "black", "white", "orange", "purple", "brown", "grey")
NOVEL = ("blue", "yellow", "cyan")


@pytest.fixture(scope="module")
def stream(tmp_path_factory):
    """Files of known and new colours, mixed."""
    folder = tmp_path_factory.mktemp("stream")
    files = [file for n in range(24) for colour in NOVEL for file in paint(folder, colour, [n])]
    files += [file for n in range(12) for colour in KNOWN for file in paint(folder, colour, [n + 100])]
    return [files[i] for i in np.random.default_rng(0).permutation(len(files))]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fitted")
    for colour in KNOWN:
        paint(folder / "known" / colour, colour, range(12))
    # A memory that is as large as the known images keeps the classes balanced when new ones are learnt.
    with Workspace.create(folder / "w", "pixels", recognizer={"max_classes": 30, "memory_size": 96}) as workspace:
        workspace.fit(folder / "known")
    return folder / "w"


@pytest.fixture(scope="module")
def discovered(fitted, stream, tmp_path_factory):
    folder = tmp_path_factory.mktemp("discovered") / "w"
    shutil.copytree(fitted, folder)
    with Workspace(folder) as workspace:
        list(workspace.recognize(stream))
        workspace.discover(11)
    return folder


@pytest.fixture
def workspace(discovered, tmp_path):
    shutil.copytree(discovered, tmp_path / "w")
    with Workspace(tmp_path / "w") as opened:
        yield opened


def novel(workspace):
    found = [group for group in workspace.groups() if group.kind == "novel"]
    return {truth(workspace.views.paths(group.items[0])[0]): group for group in found}


def said(workspace):
    return {path: (one.label, one.unknown) for one in workspace.views.labels() for path in one.paths}


# The threshold.


def test_the_threshold_follows_the_stream_from_one_command_to_the_next(fitted, stream, tmp_path):
    one, many = tmp_path / "one", tmp_path / "many"
    parts = [stream[:90], stream[90:130], stream[130:]]
    thresholds = {}
    for folder in (one, many):
        shutil.copytree(fitted, folder)
        workspace = Workspace(folder)
        assert workspace.status().version.threshold["source"] == "labelled"
        thresholds[folder] = []
        for part in parts:
            list(workspace.recognize(part))
            thresholds[folder].append(workspace.status().version.threshold)
            if folder == many:  # as another process would find it
                workspace.close()
                workspace = Workspace(folder)
        workspace.close()
    assert [t["source"] for t in thresholds[one]] == ["labelled", "stream", "stream"]  # 90 images are too few
    assert thresholds[one] == thresholds[many]
    with Workspace(one) as a, Workspace(many) as b:
        assert said(a) == said(b)
        ids = [a.views.find(file) for file in stream]
        told = OpenWorldRecognizer.load(folder_of(one / "models", 1)).observe(a.vectors.of_items(ids)).threshold_
    last = thresholds[one][-1]
    assert (last["value"], last["known_share"]) == pytest.approx((told.value, told.known_share), rel=1e-4)
    assert last["known_share"] == pytest.approx(96 / 168, abs=0.05)


def test_scores_stored_by_another_process_adapt_the_threshold(fitted, stream, tmp_path):
    shutil.copytree(fitted, tmp_path / "w")
    with Workspace(tmp_path / "w") as watching, Workspace(tmp_path / "w") as other:
        list(watching.recognize(stream[:20]))
        list(other.recognize(stream[20:150]))
        list(watching.recognize(stream[150:]))
        threshold = watching.recognizers.in_use()[1].threshold_
    with Workspace(tmp_path / "w") as fresh:
        fresh.recognizers.recall()
        assert fresh.recognizers.in_use()[1].threshold_ == threshold


def test_an_interrupted_command_loses_no_threshold(fitted, stream, tmp_path):
    shutil.copytree(fitted, tmp_path / "w")
    with Workspace(tmp_path / "w") as workspace:
        results = workspace.recognize(stream)
        next(results)
        results.close()
    with Workspace(tmp_path / "w") as workspace:
        list(workspace.recognize(stream))
        with workspace.store.database.reading() as connection:
            scores = connection.scalars(select(predictions.c.score)).all()
        assert len(scores) == len(stream)
        loaded = OpenWorldRecognizer.load(folder_of(workspace.path / "models", 1)).recall(scores)
        assert workspace.status().version.threshold == loaded.threshold_._asdict()


def test_a_new_version_judges_the_old_stream_by_a_threshold_of_its_own(workspace):
    before = workspace.status().version.threshold
    workspace.name(novel(workspace)["blue"].id, "blue", confirm=True)
    version = workspace.learn()
    assert version.threshold["source"] == "stream"
    assert version.threshold["known_share"] > before["known_share"]
    with workspace.store.database.reading() as connection:
        query = select(predictions.c.label, predictions.c.score).where(predictions.c.model_id == version.id)
        rows = connection.execute(query).all()
    # All of it was there at once, so one threshold holds for all.
    assert [row.label is None for row in rows] == [row.score > version.threshold["value"] for row in rows]
    workspace.rollback(1)
    assert workspace.status().version.threshold == before


def test_a_bound_on_rejected_known_images(fitted, tmp_path):
    command = ["init", tmp_path / "w", "--known", fitted.parent / "known", "--embedder", "pixels"]
    result = CliRunner().invoke(app, [str(a) for a in [*command, "--max-known-rejected", 0.25]])
    assert result.exit_code == 0, result.output
    with Workspace(tmp_path / "w") as workspace:
        assert workspace.settings.recognizer["max_known_rejected"] == 0.25
        threshold = workspace.status().version.threshold
        assert threshold["source"] == "bound"
        # As many as the bound allows; items with equal scores are rejected together or not at all.
        (arrays,) = (tmp_path / "w" / "models" / "0001").glob("arrays-*.safetensors")
        scores = safetensors.numpy.load_file(arrays)["novelty.known_scores"]
        assert threshold["known_rejected"] == (scores > threshold["value"]).mean()
        assert threshold["known_rejected"] <= 0.25 < (scores >= threshold["value"]).mean()
        list(workspace.recognize(paint(tmp_path / "new", "red", range(500, 620))))
        assert workspace.status().version.threshold == threshold


def test_the_bound_can_be_changed_and_that_undone(workspace, tmp_path):
    before = workspace.models.rejection()
    assert before.max_known_rejected is None
    assert before.seen == 24 * len(NOVEL) + 12 * len(KNOWN)
    by_share = {choice.max_known_rejected: choice for choice in before.choices}
    with workspace.store.database.reading() as connection:
        scores = np.array(connection.scalars(select(predictions.c.score)).all())
    for share, choice in by_share.items():
        if share is not None:
            assert choice.rejected_known <= share
    assert by_share[None].rejected_stream == (scores > before.threshold["value"]).sum()
    rejected = [choice.rejected_stream for share, choice in by_share.items() if share is not None]
    assert rejected == sorted(rejected)
    workspace.models.limit_rejection(0.3)
    after = workspace.models.rejection()
    assert after.max_known_rejected == 0.3
    assert (after.threshold["source"], after.choices) == ("bound", before.choices)
    assert workspace.status().version.threshold == after.threshold
    list(workspace.recognize(paint(tmp_path / "new", "red", range(500, 640))))
    assert workspace.models.rejection().threshold == after.threshold  # it does not follow
    workspace.name(novel(workspace)["blue"].id, "blue", confirm=True)
    assert workspace.learn().threshold["source"] == "bound"  # later versions keep to it
    for _ in range(3):
        workspace.undo()
    with Workspace(workspace.path) as again:
        assert again.models.rejection().max_known_rejected is None
        assert again.status().version.threshold["source"] == "stream"
        assert again.redo().entry.verb == "rejection"
        assert again.status().version.threshold == after.threshold


def test_limits_that_make_no_sense(workspace):
    with pytest.raises(WorkspaceError, match="share from 0 to 1"):
        workspace.models.limit_rejection(2)
    seen = workspace.review.last_edit()
    workspace.models.limit_rejection(0.2)
    with pytest.raises(ConflictError):
        workspace.models.limit_rejection(0.1, on=seen)
    assert workspace.history()[0].details == {"max_known_rejected": 0.2}


def test_the_threshold_follows_images_that_come_one_by_one(workspace, tmp_path, monkeypatch):
    before = workspace.status().version.threshold
    monkeypatch.setattr(recognizers, "FOLLOW_SECONDS", 0.0)
    for file in paint(tmp_path / "new", "red", range(500, 530)):
        workspace.recognition.keep([file.read_bytes()])
    after = workspace.status().version.threshold
    assert after["known_share"] > before["known_share"]
    with workspace.store.database.reading() as connection:
        scores = connection.scalars(select(predictions.c.score).order_by(predictions.c.item_id)).all()
    loaded = OpenWorldRecognizer.load(folder_of(workspace.path / "models", 1)).recall(scores[:-1])
    assert after == loaded.threshold_._asdict()


# Discovery.


def test_discovery_over_the_stream(workspace):
    assert {colour: len(group) for colour, group in novel(workspace).items()} == dict.fromkeys(NOVEL, 24)
    for group in novel(workspace).values():
        assert all(0 < p <= 1 for p in group.probabilities)
        assert group.spread > 0
    by_item = {one.item: one.probability for one in workspace.views.labels()}
    assert [by_item[item] for item in group.items] == group.probabilities
    # Accepted images that stay what they are need no review, and do not swell the log.
    with workspace.store.database.reading() as connection:
        reviewed = set(connection.scalars(select(assignments.c.item_id)))
        accepted = set(connection.scalars(select(predictions.c.item_id).where(predictions.c.label.is_not(None))))
        log = connection.scalar(select(edits.c.before).where(edits.c.verb == "discover"))
    assert len(reviewed & accepted) < 3 < len(accepted)
    assert {item for item, _ in log["assignments"]} == reviewed


def test_accepted_images_that_discovery_thinks_otherwise_of(workspace, stream):
    def item(colour):
        return workspace.views.find(next(file for file in stream if truth(file) == colour))

    with workspace.store.database.writing() as connection:
        for colour, label in (("blue", "red"), ("green", "black")):
            connection.execute(update(predictions).where(predictions.c.item_id == item(colour)).values(label=label))
    found = workspace.discover(11)
    assert found.items == len(stream)
    assert item("blue") in novel(workspace)["blue"].items
    (green,) = (group for group in workspace.groups() if group.label == "green")
    assert (green.kind, green.items) == ("known", [item("green")])
    sources = {one.item: (one.label, one.source) for one in workspace.views.labels()}
    assert sources[item("green")] == ("green", "returned")
    assert sources[item("red")] == ("red", "recognized")
    workspace.undo()
    sources = {one.item: (one.label, one.source) for one in workspace.views.labels()}
    assert sources[item("green")] == ("black", "recognized")


def test_confirmed_images_are_examples_and_stay(workspace, tmp_path):
    sky = workspace.name(novel(workspace)["blue"].id, "sky", confirm=True).group
    yellow = novel(workspace)["yellow"]
    home = workspace.name(yellow.id, "sand").group  # named, but not confirmed: kept, and no example
    list(workspace.recognize(paint(tmp_path / "new", "blue", range(700, 706))))
    found = workspace.discover(10)  # the known ones, sky, cyan
    assert found.groups == 2
    by_label = {group.label: group for group in workspace.groups() if group.kind == "novel"}
    assert {truth(workspace.views.paths(item)[0]) for item in by_label["more of sky"].items} == {"blue"}
    assert {label: len(group) for label, group in by_label.items() if label != "group 1"} == {
        "sky": 24,
        "sand": 24,
        "more of sky": 6,
    }
    assert Counter(truth(workspace.views.paths(item)[0]) for item in by_label["group 1"].items) == {"cyan": 24}
    assert (by_label["sky"].id, by_label["sand"].id) == (sky, home)
    with workspace.store.database.reading() as connection:
        assert Counter(to_learn(connection).values()) == {"sky": 24}  # nobody has looked at the others
    assert workspace.name(by_label["more of sky"].id, "sky").group == sky
    assert len({group.id: group for group in workspace.groups()}[sky]) == 30


def test_the_interval_and_the_groups_are_shown(workspace):
    def show(*arguments):
        result = CliRunner().invoke(app, [*arguments, str(workspace.path)])
        assert result.exit_code == 0, result.output
        return result.stdout

    low, high = workspace.discover().k_interval
    assert low < 11 < high
    status = show("status")
    assert "threshold estimated from the stream" in status
    assert "of the stream is of known classes" in status
    for text in (status, show("discover")):
        assert f"k         11 classes, known ones included, very likely {low} to {high}\n" in text
        assert "24 in group" in text
        assert text.count("spread 0.") == 3
        assert "probability" not in text  # of groups that are likely classes, it says nothing
    assert f"k interval {low}, {high}" in show("history")
    workspace.undo()
    workspace.undo()
    workspace.undo()
    assert workspace.status().discovered == {}


def test_doubtful_groups_come_last_and_are_marked(workspace, tmp_path):
    first, *others = [group.id for group in workspace.groups() if group.kind == "novel"]
    with workspace.store.database.writing() as connection:
        connection.execute(update(groups).where(groups.c.id == first).values(probability=0.2))
    assert [group.id for group in workspace.groups() if group.kind == "novel"] == [*others, first]
    status = CliRunner().invoke(app, ["status", str(workspace.path)]).stdout
    assert status.count("doubtful: a class with probability 0.20)") == status.count("probability") == 1
    workspace.formats.export_groups(tmp_path / "out")
    assert [f.name for f in (tmp_path / "out").iterdir() if "doubtful" in f.name] == ["group 1 (doubtful)"]
    assert workspace.formats.import_groups(tmp_path / "out")[:3] == (0, 0, 0)
    (tmp_path / "out" / "group 1 (doubtful)").rename(tmp_path / "out" / "sky")
    workspace.formats.import_groups(tmp_path / "out")
    (sky,) = (group for group in workspace.groups() if group.label == "sky")
    assert (sky.id, sky.confirmed, sky.doubtful) == (first, True, False)
