"""The commands that teach labelled images, look for wrong labels, and edit known classes."""

import json

from typer.testing import CliRunner

from opengcd import Workspace
from opengcd.cli import app
from tests.helpers.pictures import paint


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    return result


def test_teach_tells_what_was_labelled_and_what_was_not(workspace, tmp_path):
    paint(tmp_path / "more" / "orange", "orange", range(500, 504))
    (red,) = paint(tmp_path / "more" / "green", "red", [0])  # learnt as red
    told = run("teach", workspace.path, tmp_path / "more", code=3)
    assert "4 orange" in told.stdout
    assert "4 images were labelled." in told.stdout
    assert f"conflict: {red} is red, not green" in told.stderr
    assert "add --replace" in told.stderr
    assert workspace.views.learnable() == {"orange": 4}
    told = run("teach", workspace.path, tmp_path / "more", "--replace", "--learn")
    assert "1 image was labelled, 1 of which had another label; 4 had their label already." in told.stdout
    assert "Version 2, phase 2: 5 classes." in told.stdout
    assert "held-out" in told.stdout
    run("teach", workspace.path, tmp_path / "gone", code=1)
    table = tmp_path / "labels.csv"
    table.write_text("file,label\norange/orange500.png,orange\nnone.png,orange\n")
    told = run("teach", workspace.path, tmp_path / "more", "--labels", table, code=3)
    assert "none.png: it cannot be read" in told.stderr


def test_suspects_are_listed_until_they_are_judged(workspace, tmp_path):
    with Workspace(workspace.path) as other:
        wrong = other.views.find(paint(tmp_path, "red", [0])[0])
        other.relabel([wrong], "green")
        other.learn()
        assert [one.item for one in other.held_out.suspects().suspects] == []  # a person has said so
        other.undo()
        other.undo()
        paint(tmp_path / "more" / "green", "red", [700])
        other.teach(tmp_path / "more")
        other.learn()
    lines = run("suspects", workspace.path).stdout.splitlines()
    assert lines[0].split()[1:2] == ["green"]
    assert lines[0].endswith("red700.png")
    assert lines[1].startswith("1 label is suspected.")
    found = json.loads(run("suspects", workspace.path, "--format", "jsonl").stdout)
    assert (found["label"], found["suggested"]) == ("green", "red")
    assert "mixed up  green as red 1" in run("status", workspace.path).stdout
    edited = run("edit", "relabel", workspace.path, found["item"], "red").stdout
    assert "Next: opengcd learn" in edited
    assert run("suspects", workspace.path).stdout == "No label is suspected.\n"


def test_classes_are_renamed_and_merged(workspace):
    assert run("edit", "rename_class", workspace.path, "red", "scarlet").stdout.endswith("rename_class.\n")
    assert run("edit", "rename_class", workspace.path, "scarlet", "scarlet").stdout == "Nothing changed.\n"
    assert "merge_classes" in run("edit", "rename_class", workspace.path, "scarlet", "green", code=1).stderr
    told = run("edit", "merge_classes", workspace.path, "scarlet", "green").stdout
    assert "learns the new labels of 8 images that were learnt before" in told
    assert "Undone: merge_classes" in run("undo", workspace.path).stdout
