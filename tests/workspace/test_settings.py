"""The settings of a workspace: other ones, damaged ones, and folders that have none."""

import json

import pytest

from opengcd import Workspace
from opengcd.workspace import WorkspaceError


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
    with pytest.raises(WorkspaceError, match=r"postgresql\+psycopg"):
        Workspace.create(tmp_path / "db", "pixels", database="nonsense")
    with Workspace(tmp_path / "new") as unfinished:
        assert unfinished.status().version is None
        with pytest.raises(WorkspaceError, match="run opengcd init again"):
            list(unfinished.recognize([world[1]]))


@pytest.mark.parametrize(
    ("setting", "value"), [("embedder", 5), ("pooling", None), ("recognizer", []), ("database", 1), ("precision", {})]
)
def test_settings_of_another_kind(workspace, setting, value):
    file = workspace.path / "workspace.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {setting: value}))
    with pytest.raises(WorkspaceError, match=r"is damaged|database 1 cannot be used"):
        Workspace(workspace.path)
