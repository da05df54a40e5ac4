"""All or nothing: what an export that fails, or may not replace its target, leaves behind."""

import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from opengcd.workspace import FORMATS, WorkspaceError
from tests.helpers.reviewing import novel

FOLDERS = [name for name, one in FORMATS.items() if one.is_folder and not one.needs_places]
FILES = [name for name, one in FORMATS.items() if not one.is_folder]


def contents(folder):
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_the_registry_is_consistent():
    assert set(FOLDERS) | set(FILES) | {"camtrap-dp"} == set(FORMATS)
    for name, one in FORMATS.items():
        assert (one.name, one.about[-1]) == (name, ".")
        assert one.is_text == (name in FILES and name != "darwin-core")


@pytest.mark.parametrize("format", FILES)
def test_a_file_is_replaced_only_if_that_is_asked_for(workspace, tmp_path, format):
    out = tmp_path / "new" / "labels"
    workspace.export(format, out)
    first = out.read_bytes()
    out.write_bytes(b"mine")
    with pytest.raises(WorkspaceError, match=r"exists; choose another name, or replace it with --overwrite"):
        workspace.export(format, out)
    assert out.read_bytes() == b"mine"
    workspace.export(format, out, overwrite=True)
    assert out.read_bytes() == first == workspace.formats.export_bytes(format)
    with pytest.raises(WorkspaceError, match="is a folder; name a file"):
        workspace.export(format, tmp_path, overwrite=True)


@pytest.mark.parametrize("format", FOLDERS)
def test_a_folder_is_replaced_only_if_an_export_wrote_it(workspace, tmp_path, format):
    out = tmp_path / "out"
    out.mkdir()  # an empty one will do
    assert workspace.export(format, out, images="reviewed") == []
    before = contents(out)
    with pytest.raises(WorkspaceError, match="not empty; choose a new folder, or replace this export"):
        workspace.export(format, out)
    assert contents(out) == before
    workspace.export(format, out, overwrite=True, copy=True)
    assert len(contents(out)) > len(before)
    assert not any(file.is_symlink() for file in out.rglob("*"))
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "thesis.txt").write_text("years")
    with pytest.raises(WorkspaceError, match="no export wrote it"):
        workspace.export(format, theirs, overwrite=True)
    assert contents(theirs) == {"thesis.txt": b"years"}
    with pytest.raises(WorkspaceError, match="is a file"):
        workspace.export(format, theirs / "thesis.txt", overwrite=True)
    assert sorted(os.listdir(tmp_path)) == ["out", "theirs", "workspace"]


@pytest.mark.parametrize("format", FOLDERS)
def test_an_export_that_fails_leaves_what_was_there(workspace, tmp_path, format):
    workspace.export(format, tmp_path / "old", images="reviewed")
    before = contents(tmp_path / "old")

    def stop(stage, done, total):
        if done == 3:
            raise KeyboardInterrupt

    for out in (tmp_path / "new", tmp_path / "old"):
        with pytest.raises(KeyboardInterrupt):
            workspace.export(format, out, overwrite=True, progress=stop)
    assert contents(tmp_path / "old") == before
    assert sorted(os.listdir(tmp_path)) == ["old", "workspace"]


def test_an_export_that_is_killed_leaves_no_target(workspace, tmp_path):
    code = (
        "import os, sys\n"
        "from opengcd import Workspace\n"
        "stop = lambda stage, done, total: os._exit(9) if done == 3 else None\n"
        "Workspace(sys.argv[1]).export('yolo', sys.argv[2], progress=stop)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(workspace.path), str(tmp_path / "out")], check=False)
    assert done.returncode == 9
    assert not (tmp_path / "out").exists()
    assert workspace.export("yolo", tmp_path / "out") != []


@pytest.mark.parametrize("format", FOLDERS)
def test_a_zip_holds_what_the_folder_holds(workspace, tmp_path, format):
    left_out = workspace.export(format, tmp_path / "out", copy=True)
    expected = contents(tmp_path / "out")
    del expected[".opengcd-export"]
    archive = zipfile.ZipFile(io.BytesIO(b"".join(workspace.formats.export_zip(format))))
    assert archive.testzip() is None
    found = {name: archive.read(name) for name in archive.namelist()}
    listed = found.pop("left-out.txt", b"").decode().splitlines()
    assert listed == [f"{path}: {reason}" for path, reason in left_out]
    assert found == expected
    assert all(not Path(name).is_absolute() and ".." not in Path(name).parts for name in found)


def test_which_images(workspace):
    groups = novel(workspace)
    workspace.name(groups["blue"].id, "sea", confirm=True)
    lines = {
        images: workspace.formats.export_bytes("csv", images=images).decode().splitlines()[1:]
        for images in ("all", "reviewed", "new")
    }
    assert {images: len(found) for images, found in lines.items()} == {"all": 80, "reviewed": 40, "new": 16}
    assert all(",sea,reviewed," in line or ",learnt," in line for line in lines["reviewed"])
    assert {line.split(",")[2] for line in lines["new"]} == {"sea", groups["yellow"].label}
    workspace.learn()
    assert len(workspace.formats.export_bytes("csv", images="new").splitlines()) == 17
    with pytest.raises(WorkspaceError, match="choose from all, reviewed, new"):
        workspace.formats.export_bytes("csv", images="some")


def test_a_folder_is_no_bytes_and_a_file_no_zip(workspace):
    for name in FOLDERS:
        with pytest.raises(WorkspaceError, match="is a folder of files"):
            workspace.formats.export_bytes(name)
    for name in (*FILES, "camtrap-dp"):
        with pytest.raises(WorkspaceError, match="cannot be exported as a zip"):
            workspace.formats.export_zip(name)
