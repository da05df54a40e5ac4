"""Usual mistakes at the command line: one clear line, the right exit status, and nothing half done."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from opengcd import Workspace
from opengcd.cli import app, main
from tests.helpers.pictures import KNOWN, paint, png_header

PIXELS = ("--embedder", "pixels")
NEEDS_POSIX = pytest.mark.skipif(os.name == "nt", reason="pipes and devices are those of POSIX systems")


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


def error_of(*arguments):
    """The one line that a command prints when it fails."""
    told = run(*arguments, code=1)
    *_, line = [line for line in told.stderr.splitlines() if line.strip()]
    assert line.startswith("Error: ")
    return line


def in_a_shell(command, folder):
    """Run a command in bash; return the exit status of its first part, and its errors."""
    script = f'opengcd() {{ "{sys.executable}" -m opengcd "$@"; }}\n{command}\nexit ${{PIPESTATUS[0]}}'
    done = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr.strip().splitlines()


@pytest.fixture
def known(tmp_path):
    """A small folder of known classes."""
    for colour in KNOWN[:2]:
        paint(tmp_path / "known" / colour, colour, range(6))
    return tmp_path / "known"


def test_folders_that_hold_no_classes(tmp_path, known):
    empty, flat, nested = tmp_path / "empty", tmp_path / "flat", tmp_path / "nested"
    empty.mkdir()
    paint(flat, "red", [1, 2])
    shutil.copytree(known, nested / "data" / "train")
    birds = tmp_path / "birds"
    (file,) = paint(tmp_path, "red", [1])
    for folder, told in [
        (tmp_path / "none", "There is no folder"),
        (file, "is neither a folder nor a list of images"),
        (empty, "has no image with a label; it should have images of at least two classes"),
        (flat, "holds files, but no folders; sort the images into one folder for each known class"),
        (nested, f"give {nested / 'data' / 'train'} instead"),
    ]:
        assert told in error_of("init", birds, "--known", folder, *PIXELS)
    shutil.rmtree(known / "green")
    assert "has only the class 'red'" in error_of("init", birds, "--known", known, *PIXELS)
    paint(known / "green", "green", [1])
    for number in range(1, 6):
        (known / "red" / f"red{number}.png").unlink()
    assert "Every class" in error_of("init", birds, "--known", known, *PIXELS)
    paint(known / "red", "red", range(6))
    paint(known / "green", "green", range(6))
    run("init", birds, "--known", known, *PIXELS)


def test_a_workspace_among_the_known_classes_is_not_a_class(known):
    run("init", known / "birds", "--known", known, *PIXELS)
    with Workspace(known / "birds") as workspace:
        assert workspace.status().version.classes == sorted(KNOWN[:2])


def test_names_of_workspaces(tmp_path, known, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = "ünï 'cödé' 🐦"
    run("init", name, "--known", known, *PIXELS)
    assert "Next: " in run("status", name).stdout
    (tmp_path / "file").touch()
    assert "choose a new name" in error_of("init", "file", "--known", known, *PIXELS)
    assert "Not a directory" in error_of("init", "file/birds", "--known", known, *PIXELS)
    assert "File name too long" in error_of("init", "x" * 300, "--known", known, *PIXELS)
    assert "Errno" not in error_of("status", "x" * 300)
    assert "There is no workspace at file" in error_of("status", "file")
    assert sorted(os.listdir()) == ["file", "known", name]


@NEEDS_POSIX
def test_a_name_that_is_not_text(tmp_path, known):
    code, (line,) = in_a_shell("opengcd init $'w\\xff' --known known --embedder pixels", tmp_path)
    assert (code, line) == (1, "Error: The name of w\\xff is not valid text; give the workspace another name.")


def test_files_and_folders_without_images(workspace, tmp_path):
    empty, mixed = tmp_path / "empty", tmp_path / "mixed"
    empty.mkdir()
    assert run("recognize", workspace.path, empty).stderr.strip() == f"There is no image in {empty}."
    paint(mixed, "red", [1])
    for name in ("Thumbs.db", ".DS_Store", "notes.txt", "more.txt", "red1.png.xmp"):
        (mixed / name).write_bytes(b"x")
    assert run("recognize", workspace.path, mixed).stderr.strip() == (
        "Skipped 5 files that are not images (.txt, .xmp, .db, .DS_Store)."
    )
    (mixed / "broken.png").write_bytes(b"x")
    told = run("recognize", workspace.path, mixed, code=3).stderr
    assert "Skipped 5 files" in told
    assert "1 file could not be used" in told
    assert "Skipped" not in run("recognize", workspace.path, mixed / "red1.png").stderr
    shutil.copytree(mixed, tmp_path / "known" / "red")
    paint(tmp_path / "known" / "green", "green", range(4))
    (tmp_path / "known" / "list.csv").touch()
    (tmp_path / "known" / "red" / "broken.png").unlink()
    for command in (
        ("init", tmp_path / "birds", "--known", tmp_path / "known", *PIXELS),
        ("teach", workspace.path, tmp_path / "known"),
    ):
        assert "Skipped 6 files that are not images" in run(*command).stderr


def test_swapped_arguments_print_nothing_but_the_error(workspace, world):
    told = run("recognize", world[1], workspace.path, code=1)
    assert told.stdout == ""
    assert "There is no workspace at" in told.stderr


def test_steps_in_the_wrong_order(tmp_path, known):
    birds = tmp_path / "birds"
    run("init", birds, "--known", known, *PIXELS)
    assert "Recognise more images first" in error_of("discover", birds)
    assert "Name and confirm a group" in error_of("learn", birds)
    assert "There is nothing to undo" in error_of("undo", birds)
    assert "add more with discover and learn" in error_of("init", birds, "--known", known, *PIXELS)
    with Workspace.create(tmp_path / "unfinished", "pixels"):
        pass
    assert "run opengcd init again" in error_of("recognize", tmp_path / "unfinished", known)


def test_rollback_points_to_the_command_that_lists_versions(workspace):
    assert "`opengcd rollback DIR` lists all versions" in error_of("rollback", workspace.path, 7)
    (line,) = run("rollback", workspace.path).stdout.splitlines()
    assert line.split()[:2] == ["*", "1"]


def test_tables_of_times_are_read_before_the_images(workspace, world, tmp_path):
    before = workspace.history()
    (tmp_path / "times.csv").write_text("file,when\n")
    (image,) = paint(tmp_path, "red", [1])
    for table, told in [
        (tmp_path / "none.csv", "cannot be read: No such file or directory"),
        (image, "is not text in UTF-8; save it as"),
        (tmp_path / "times.csv", "has no column 'time'"),
    ]:
        assert told in error_of("recognize", workspace.path, world[1], "--times", table)
    assert workspace.history() == before


def test_outputs_that_cannot_be_written(workspace, tmp_path):
    out = workspace.path / "workspace.json" / "labels.csv"
    told = error_of("export", workspace.path, "--format", "csv", "--out", out)
    assert "Errno" not in told
    assert ".tmp" not in told
    assert "workspace.json" in told
    assert "is not empty" in error_of("export", workspace.path, "--format", "folders", "--out", workspace.path)


def test_pixels_are_called_what_they_are(tmp_path, known):
    said = "for demos and tests only: it compares colours, not what an image shows"
    assert run("init", tmp_path / "birds", "--known", known, *PIXELS).stderr.count(said) == 1
    assert run("status", tmp_path / "birds").stdout.count(said) == 1
    assert "demos and tests only" in " ".join(run("init", "--help").stdout.replace("│", " ").split())


@NEEDS_POSIX
def test_the_reader_of_a_pipe_goes_away(workspace):
    for command in ("status", "export --format json", "history"):
        code, lines = in_a_shell(f"opengcd {command} . | true", workspace.path)
        assert (code, lines) == (
            141,
            ["The output was closed, so the command ended early. Finished work is kept."],
        )


@NEEDS_POSIX
def test_a_full_disk_behind_the_output(workspace):
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    for command in ("status .", "recognize . . --format csv"):
        code, lines = in_a_shell(f"opengcd {command} > /dev/full", workspace.path)
        assert code == 1
        assert lines[-1].startswith("Error: No space left on device")


def test_errors_of_the_system_that_no_command_reports(monkeypatch, capsys):
    def fail():
        raise PermissionError(13, "Permission denied", "demo.html")

    monkeypatch.setattr("opengcd.cli.entry.app", fail)
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 1
    told = "Permission denied: demo.html. Check who may read and write there, or choose another folder."
    assert capsys.readouterr().err == f"Error: {told}\n"


def test_the_decoders_say_what_to_do_about_files_of_phones_and_cameras(workspace, tmp_path):
    (tmp_path / "a.cr2").write_bytes(b"II*\0\x10\0\0\0CR\x02\0")
    (tmp_path / "b.nef").write_bytes(b"II*\0")
    told = run("recognize", workspace.path, tmp_path / "a.cr2", tmp_path / "b.nef", code=3).stderr
    assert told.count("a raw image of a camera; convert it to JPEG or PNG") == 2


def test_small_files_of_huge_images_are_listed_with_what_to_do(workspace, tmp_path, known):
    (known / "red" / "bomb.png").write_bytes(png_header(60_000, 60_000))
    for command in (
        ("recognize", workspace.path, known),
        ("teach", workspace.path, known),
        ("init", tmp_path / "birds", "--known", known, *PIXELS),
    ):
        told = run(*command, code=3).stderr
        assert "bomb.png: the image has more than 80,000,000 pixels; make it smaller" in told
        assert "1 file could not be used; all others were processed." in told
