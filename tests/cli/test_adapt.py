"""The command adapt, and --adapt of init and learn."""

import pytest
from typer.testing import CliRunner

from opengcd import Workspace
from opengcd.adapt import TimeEstimate, estimate
from opengcd.cli import app
from opengcd.cli.display import as_duration
from opengcd.workspace import adaptation
from tests.helpers.adapting import Trainer, save_network
from tests.helpers.pictures import paint_world


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def trainer(monkeypatch):
    trainer = Trainer()
    monkeypatch.setattr(adaptation, "adapt_network", trainer)
    monkeypatch.setattr(estimate, "estimate_time", lambda *args, **named: TimeEstimate(60.0, 300.0, 200.0, 40.0))
    return trainer


@pytest.fixture
def init(tmp_path):
    """The arguments that make a workspace, and the folder of its stream."""
    known, stream = paint_world(tmp_path)
    network = save_network(tmp_path / "network")
    options = ("--known", known, "--embedder", network)
    return ("init", tmp_path / "birds", *options), stream


def test_the_command(init, trainer, tmp_path, monkeypatch):
    arguments, stream = init
    birds = arguments[1]
    run(*arguments)
    run("recognize", birds, stream)
    said = run("adapt", birds, "--dry-run", "--unlabelled", "--epochs", 5, "--method", "blocks", "--blocks", 2).stdout
    assert "Training on 32 images with labels and 48 without: about 10 minutes on this machine (cpu)." in said
    assert "HNA  60.0%  70.0%" in said
    assert "HCA  50.0%  60.0%" in said
    assert "Nothing was changed: it was a dry run." in said
    assert "embedder" in run("status", birds).stdout
    assert "adapted" not in run("status", birds).stdout
    written = []
    monkeypatch.setattr(
        "opengcd.adapt.export_onnx",
        lambda folder, file, *, pooling: written.append((folder, file, pooling)),
    )
    said = run("adapt", birds, "--labelled-only", "--onnx", tmp_path / "birds.onnx").stdout
    assert "32 images with labels: about" in said
    assert "Version 2 uses the adapted network. To return to the previous network, run opengcd " in said
    assert f"opengcd undo {birds}, or after further edits opengcd rollback {birds} 1." in said
    assert written == [(birds / "networks" / "0002", tmp_path / "birds.onnx", "cls")]
    assert "adapted to these images: networks/0002" in run("status", birds).stdout
    assert "network adapted here" in run("rollback", birds).stdout
    lines = run("history", birds).stdout.splitlines()
    assert "rehearsed (present HNA 0.6, present HCA 0.5, adapted HNA 0.7" in lines[0]
    assert "adapted network in use yes" in lines[0]
    assert "run" not in lines[0]
    assert "Undone: adapt" in run("undo", birds).stdout
    assert "adapted" not in run("status", birds).stdout


def test_what_does_not_help_is_not_used_unless_forced(init, trainer, tmp_path):
    arguments, _ = init
    trainer.helps = False
    said = run(*arguments, "--adapt").stdout
    assert "Nothing was changed: in the rehearsal" in said
    assert "add --force" in said
    assert "No adapted network is in use" in run("adapt", arguments[1], "--onnx", tmp_path / "x.onnx", code=1).stderr
    assert "Version 2 uses the adapted network" in run("adapt", arguments[1], "--force").stdout


def test_on_the_way(init, trainer):
    arguments, stream = init
    birds = arguments[1]
    said = run(*arguments, "--adapt").stdout
    assert f"If this is interrupted, run opengcd adapt {birds} to continue." in said
    assert "Version 2 uses the adapted network" in said
    run("recognize", birds, stream)
    run("discover", birds, "--k", 6)
    with Workspace(birds) as workspace:
        novel = [group for group in workspace.groups() if group.kind == "novel"]
        workspace.name(novel[0].id, "sky", confirm=True)
    said = run("learn", birds, "--adapt").stdout
    assert "Version 3, phase 2: 5 classes." in said
    assert "Version 4 uses the adapted network" in said
    assert "sky" in trainer.calls[-1]["labels"].values()


def test_what_cannot_be_trained(workspace, trainer, tmp_path):
    found = run("adapt", workspace.path, code=1)
    assert found.stderr.startswith("Error: The embedder pixels has no network that could be trained")
    known, _ = paint_world(tmp_path / "world")
    run("init", tmp_path / "new", "--known", known, "--embedder", "pixels", "--adapt", code=1)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "a few seconds"), (89, "about 89 seconds"), (100, "about 2 minutes"), (7300, "about 2 hours")],
)
def test_durations(seconds, text):
    assert as_duration(seconds) == text
