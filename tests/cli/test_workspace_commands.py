import csv
import io
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from opengcd import Workspace
from opengcd.cli import app
from opengcd.workspace import FORMATS
from opengcd.workspace.verb import descriptions, parameters
from opengcd.workspace.verbs import VERBS
from tests.helpers.pictures import KNOWN, paint, paint_world, truth


def run(*arguments, code=0, keys=None):
    result = CliRunner().invoke(app, [str(a) for a in arguments], input=keys)
    assert result.exit_code == code, result.output
    return result


def heed_interrupts():
    """A shell lets the commands that it runs in the background ignore them."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_the_commands(tmp_path):
    known, stream = paint_world(tmp_path)
    birds, out = tmp_path / "birds", tmp_path / "review"
    made = run("init", birds, "--known", known, "--embedder", "pixels", "--preset", "paper", "--memory", 32)
    assert "32 images of 4 classes" in made.stdout
    lines = run("recognize", birds, stream).stdout.splitlines()
    assert lines[0].split() == ["label", "unknown", "most", "likely", "classes", "image"]
    assert len(lines) == 50
    rejected = sum(line.startswith("unknown ") for line in lines)
    assert lines[-1] == f"Next: opengcd discover {birds}, to group {rejected} images of classes that may be new."
    assert "2 groups" in run("discover", birds, "--k", 6).stdout
    run("review", birds, "--export", out)
    for folder in (f for f in out.iterdir() if f.is_dir() and not f.name.startswith("_")):
        folder.rename(out / truth(next(folder.glob("*.png"))))
    assert "2 groups named" in run("review", birds, "--import", out).stdout
    assert "6 classes" in run("learn", birds).stdout
    status = run("status", birds).stdout
    assert status.splitlines()[-1].startswith("Next: opengcd ")
    assert "phase 2" in status
    assert "blue" in status
    rows = list(csv.DictReader(io.StringIO(run("export", birds, "--format", "csv").stdout)))
    assert len(rows) == 80
    run("export", birds, "--format", "coco", "--out", tmp_path / "coco.json")
    assert json.loads((tmp_path / "coco.json").read_bytes())["images"]
    run("export", birds, "--format", "folders", code=2)
    assert "Undone: learn" in run("undo", birds).stdout
    assert "Redone: learn" in run("redo", birds).stdout
    assert "Undone: learn" in run("undo", birds).stdout
    assert "* " in run("rollback", birds, 2).stdout
    history = run("history", birds).stdout.splitlines()
    assert [line.split()[3].strip(":") for line in history] == [
        "rollback", "undo", "redo", "undo", "learn", "review", "discover", "recognize", "init",
    ]  # fmt: skip
    assert "[undone]" in history[4]
    assert "no threshold to choose" in run("rejection", birds).stdout
    assert "needs a preset" in run("rejection", birds, "--max-known-rejected", 0.1, code=1).stderr
    with Workspace(birds) as workspace:
        assert workspace.settings.recognizer == {"random_state": 0, "preset": "paper", "memory_size": 32}


def test_results_as_json_lines_and_csv(workspace, world):
    found = [
        json.loads(line) for line in run("recognize", workspace.path, world[1], "--format", "jsonl").stdout.splitlines()
    ]
    assert len(found) == 48
    assert found[0].keys() == {"path", "label", "unknown", "top"}
    assert {one["label"] for one in found} == {*KNOWN, "unknown"}
    text = run("recognize", workspace.path, world[1], "--format", "csv").stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["label"] for row in rows] == [one["label"] for one in found]


def test_exports(workspace, tmp_path):
    listed = run("export", "--formats").stdout.splitlines()
    assert [line.split()[0] for line in listed] == list(FORMATS)
    folder, options = tmp_path / "yolo", ("--format", "yolo", "--images", "reviewed")
    run("export", workspace.path, *options, "--out", folder)
    assert len(list(folder.glob("*/*/*.png"))) == 32
    assert (
        "replace this export with --overwrite"
        in run("export", workspace.path, *options, "--out", folder, code=1).stderr
    )
    run("export", workspace.path, *options, "--out", folder, "--overwrite")
    assert "is not one of csv, json" in run("export", workspace.path, "--format", "xml", code=2).stderr
    for format in ("yolo", "darwin-core"):
        assert "--out" in run("export", workspace.path, "--format", format, code=2).stderr
    (tmp_path / "metadata.json").write_text("[]")
    given = ("--metadata", tmp_path / "metadata.json", "--out", tmp_path / "dp")
    assert "must hold one JSON object" in run("export", workspace.path, "--format", "camtrap-dp", *given, code=1).stderr
    assert not (tmp_path / "dp").exists()


def test_the_help_of_edits_explains_each_parameter(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    for verb in VERBS.values():
        text = run("edit", verb.act, "--help").stdout
        explained = descriptions(verb)
        assert explained.keys() == {one.name for one in parameters(verb)}
        assert all(
            sentence.split(":")[0] in " ".join(text.replace("│", " ").split()) for sentence in explained.values()
        )


def test_bad_images_are_listed_and_the_status_says_so(workspace, tmp_path):
    paint(tmp_path / "new", "red", [1, 2])
    (tmp_path / "new" / "broken.png").write_bytes(b"no image")
    result = run("recognize", workspace.path, tmp_path / "new", tmp_path / "nothing.png", code=3)
    assert len(result.stdout.splitlines()) == 1 + 2 + 1  # heading, images, next step
    assert "broken.png: not a readable image" in result.stderr
    assert "nothing.png: it cannot be read: No such file" in result.stderr
    assert "2 files could not be used; all others were processed." in result.stderr
    assert "2 files could not be used" in run("status", workspace.path).stdout


def test_questions_are_answered_with_one_key(workspace):
    first, second = (group.id for group in workspace.groups() if group.kind == "novel")
    workspace.merge(second, first)
    shown = run("review", workspace.path, "--ask", keys="xnunq").stdout
    assert "\nIs this group one class, or does it split here? (1 question left, about one second each)" in shown
    assert "blue" in shown
    assert "1 question answered." in shown
    assert [entry.verb for entry in workspace.history(3)] == ["divide", "undo", "divide"]
    assert "0 questions answered." in run("review", workspace.path, "--ask", keys="q").stdout


def test_at_the_end_the_images_can_be_regrouped(workspace):
    for group in [group for group in workspace.groups() if group.kind == "novel"]:
        workspace.keep(group.id)
    assert "edit regroup" in (shown := run("review", workspace.path, "--ask", keys="n").stdout)
    assert "0 questions answered." in shown
    shown = run("review", workspace.path, "--ask", keys="y").stdout
    assert "Regroup the images by your answers?" in shown
    assert "0 images moved." in shown
    assert workspace.history(1)[0].verb == "regroup"
    assert "Regroup" not in run("review", workspace.path, "--ask").stdout
    assert run("edit", "regroup", workspace.path).stdout == "Nothing changed.\n"
    run("undo", workspace.path)
    assert "regroup." in run("edit", "regroup", workspace.path).stdout


def test_a_question_can_be_skipped(workspace):
    first, second = (group.id for group in workspace.groups() if group.kind == "novel")
    workspace.merge(second, first)
    assert "0 questions answered." in run("review", workspace.path, "--ask", keys="us").stdout
    assert workspace.history(1)[0].verb == "merge"


def test_errors_are_one_line(tmp_path, workspace):
    assert "There is no workspace" in run("status", tmp_path, code=1).stderr
    run("review", workspace.path, "--export", "a", "--import", "b", code=2)
    result = run("init", tmp_path / "new", "--known", tmp_path / "none", "--embedder", "pixels", code=1)
    assert "Error: There is no folder" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_the_next_command_can_be_pasted_into_a_shell(world, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("init", "my birds", "--known", tmp_path / "none", "--embedder", "pixels", code=1)
    text = run("status", "my birds").stdout
    assert text.splitlines()[-1] == "Next: opengcd init 'my birds' --known FOLDER, to learn the first classes."
    run("init", "my birds", "--known", world[0], "--embedder", "pixels")
    last = run("status", "my birds").stdout.splitlines()[-1]
    assert last == "Next: opengcd recognize 'my birds' IMAGES, with files or folders of new images."
    paint(tmp_path / "more" / "red", "red", [900])
    assert run("teach", "my birds", "more").stdout.splitlines()[-1] == "Next: opengcd learn 'my birds'."


def test_status_needs_no_heavy_library(workspace):
    code = (
        "import sys; from opengcd.cli import app; app(['status', sys.argv[1]], standalone_mode=False);"
        "print([m for m in ('torch', 'sklearn', 'transformers', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code, workspace.path], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.skipif(os.name == "nt", reason="signals are sent as on POSIX systems")
def test_watching_takes_files_when_they_are_whole_and_ends_in_peace(workspace, tmp_path):
    inbox = tmp_path / "inbox"
    first, second = paint(inbox, "red", [1, 2])
    second.rename(tmp_path / "second.png")
    command = [sys.executable, "-m", "opengcd", "recognize", workspace.path, inbox, "--watch", "--format", "jsonl"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heed_interrupts
    ) as process:
        assert json.loads(process.stdout.readline())["path"] == str(first)
        (tmp_path / "second.png").rename(second)
        assert json.loads(process.stdout.readline())["path"] == str(second)
        (inbox / "bad.png").write_bytes(b"no image")
        assert "bad.png: not a readable image" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (3, "")
    assert "Stopped." in err


@pytest.mark.skipif(os.name == "nt", reason="signals are sent as on POSIX systems")
def test_an_interrupted_command_goes_on(tmp_path, workspace):
    for colour in KNOWN:
        paint(tmp_path / "many", colour, range(2000, 2300))
    command = [sys.executable, "-m", "opengcd", "recognize", workspace.path, tmp_path / "many", "--format", "jsonl"]
    with (
        open(tmp_path / "err", "w") as err,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=err, text=True, preexec_fn=heed_interrupts) as process,
    ):
        reported = [json.loads(process.stdout.readline())["path"]]
        process.send_signal(signal.SIGINT)
        reported += [json.loads(line)["path"] for line in process.stdout]
    assert process.returncode == 130
    assert "run the same command again to continue" in (tmp_path / "err").read_text()
    assert len(reported) < 1200
    known = {path for one in workspace.views.labels() for path in one.paths}
    assert set(reported) <= known
    again = run("recognize", workspace.path, tmp_path / "many", "--format", "jsonl").stdout.splitlines()
    assert len(again) == 1200


def test_watch_in_python(workspace, tmp_path, monkeypatch):
    monkeypatch.setattr(time, "sleep", lambda _: None)
    (file,) = paint(tmp_path / "inbox", "red", [1])
    watching = workspace.watch([tmp_path / "inbox"], every=0)
    assert next(watching).path == str(file)
    paint(tmp_path / "inbox", "green", [1])[0].replace(file)
    assert next(watching).label == "green"
    watching.close()


def test_tokens_by_the_commands(workspace):
    secret = run("token", workspace.path, "--scope", "read", "--name", "bob").stdout.strip()
    assert workspace.access.by_token(secret).scopes == ("read",)
    (line,) = run("token", workspace.path, "--list").stdout.splitlines()
    assert line.split()[0] == "1"
    assert line.split()[-2:] == ["read", "bob"]
    assert run("token", workspace.path, "--revoke", 1).stdout == ""
    assert workspace.access.by_token(secret) is None
    assert "no token 1" in run("token", workspace.path, "--revoke", 1, code=1).stderr
