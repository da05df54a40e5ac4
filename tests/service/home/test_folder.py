"""The folder of projects: names, what is listed, and what a killed creation leaves."""

import shutil
import sys
from pathlib import Path

import pytest

from opengcd.service.home.folder import UNFINISHED, ProjectFolder, check_project_name, default_folder
from opengcd.workspace import MissingError, WorkspaceError


@pytest.mark.parametrize("name", ["birds", "Vögel 2", "a.b-c_d", "x" * 60, " two  words "])
def test_names_of_projects(name):
    assert check_project_name(name) == " ".join(name.split())


@pytest.mark.parametrize(
    "name", ["", "  ", ".hidden", "..", "a/b", "a\\b", "a~b", "x" * 61, "con", "NUL.txt", "end.", "_x", "a\nb\0", "a:b"]
)
def test_names_that_no_folder_can_have_everywhere(name):
    with pytest.raises(WorkspaceError):
        check_project_name(name)


def test_the_default_folder(monkeypatch):
    monkeypatch.setenv("OPENGCD_PROJECTS", "/somewhere")
    assert default_folder() == Path("/somewhere")
    monkeypatch.delenv("OPENGCD_PROJECTS")
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    if sys.platform == "linux":
        assert default_folder() == Path("/data/opengcd/projects")


def test_what_is_listed(tmp_path, reviewable):
    folder = ProjectFolder(tmp_path / "projects")
    elsewhere = tmp_path / "other" / "birds"
    shutil.copytree(reviewable, elsewhere)
    shutil.copytree(reviewable, folder.path / "Birds")
    (folder.path / "images").mkdir()
    key = folder.add(elsewhere)
    assert folder.add(str(elsewhere)) == key
    assert folder.add(folder.path / "Birds") == "Birds"
    assert folder.projects() == {"Birds": folder.path / "Birds", key: elsewhere}
    assert ProjectFolder(folder.path).projects() == folder.projects()
    assert folder.is_elsewhere(key)
    folder.forget(key)
    assert list(folder.projects()) == ["Birds"]
    assert elsewhere.exists()
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(WorkspaceError, match="is not a project"):
            folder.add(path)
    for name in (key, "Birds"):
        with pytest.raises(MissingError):
            folder.forget(name)


def test_a_name_is_given_once(tmp_path):
    folder = ProjectFolder(tmp_path)
    (tmp_path / "Birds").mkdir()
    with pytest.raises(WorkspaceError, match="already something called 'birds'"):
        folder.check_new("birds")


def test_what_is_unfinished_is_not_listed_and_goes_away(tmp_path):
    folder = ProjectFolder(tmp_path)
    made = folder.begin("birds")
    (made / "models").mkdir()
    (made / "models" / "x").write_bytes(b"x")
    (made / "workspace.json").write_text("{}")
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "precious").write_text("keep")
    assert folder.projects() == {}
    ProjectFolder(tmp_path).clean()
    assert not made.exists()
    assert (mine / "precious").exists()
    done = folder.begin("birds")
    (done / "workspace.json").write_text("{}")
    folder.finish(done)
    folder.clean()
    assert list(folder.projects()) == ["birds"]
    assert not (done / UNFINISHED).exists()


def test_a_workspace_and_a_file_are_no_folders_of_projects(tmp_path, reviewable):
    with pytest.raises(WorkspaceError, match="is itself a workspace"):
        ProjectFolder(reviewable)
    (tmp_path / "file").write_text("")
    with pytest.raises(WorkspaceError, match="is not a folder"):
        ProjectFolder(tmp_path / "file")


def test_one_server_at_a_time(tmp_path):
    one, other = ProjectFolder(tmp_path), ProjectFolder(tmp_path)
    with one.serving() as free:
        assert free
        one.address = "http://localhost:1/"
        with other.serving() as also:
            assert not also
        assert other.address == "http://localhost:1/"
    assert other.address is None
    with other.serving() as free:
        assert free
