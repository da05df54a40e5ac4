"""Versions of the recogniser: rolled back, undone, and unreadable for now or for good."""

import errno
import os
from collections import Counter
from pathlib import Path

import pytest

from opengcd import ModelFileError, OpenWorldRecognizer, Workspace
from opengcd.workspace import DamagedError
from tests.helpers.pictures import KNOWN, paint
from tests.helpers.reviewing import labels, novel


def test_rollback_and_undo_of_a_phase(workspace, tmp_path):
    before = labels(workspace)
    workspace.name(novel(workspace)["blue"].id, "sky", confirm=True)
    named = labels(workspace)
    workspace.learn()
    learnt = labels(workspace)
    assert Counter(learnt.values())["sky", "learnt"] == 8
    workspace.rollback(1)
    assert labels(workspace) == named
    workspace.rollback(2)
    assert labels(workspace) == learnt
    # What only another version has seen waits to be asked about.
    (file,) = paint(tmp_path / "new", "red", [4000])
    (result,) = workspace.recognize([file])
    workspace.rollback(1)
    assert labels(workspace) == named | {result.path: ("unknown", "waiting")}
    assert workspace.learn().id == 3  # another version; 2 is kept
    assert [(v.id, v.parent) for v in workspace.models.versions()] == [(1, None), (2, 1), (3, 1)]
    assert labels(workspace) == learnt | {result.path: ("red", "recognized")}
    for _ in range(5):
        workspace.undo()
    waiting = {result.path: ("unknown", "waiting")}
    assert labels(workspace) == named | waiting
    workspace.undo()
    assert labels(workspace) == before | waiting
    workspace.discover(k=6)
    assert labels(workspace)[result.path] == ("red", "recognized")


@pytest.mark.parametrize("code", [errno.EMFILE, errno.EIO, errno.EACCES])
@pytest.mark.parametrize("part", ["model.json", "header", "arrays"])
def test_a_version_that_cannot_be_read_for_now_is_not_called_damaged(workspace, monkeypatch, part, code):
    open_file = Path.open

    def fail(file, *how, **more):
        if file.name.startswith(part):
            raise OSError(code, os.strerror(code))
        return open_file(file, *how, **more)

    with monkeypatch.context() as outage:
        outage.setattr(Path, "open", fail)
        with pytest.raises(OSError, match=f"{os.strerror(code)}.*models"):
            workspace.exemplars.by_class()
        with pytest.raises(OSError, match=os.strerror(code)):
            OpenWorldRecognizer.load(workspace.path / "models" / "0001")
    assert set(workspace.exemplars.by_class()) == set(KNOWN)
    (file,) = (workspace.path / "models" / "0001").glob(f"{part}*")
    for damage in (file.unlink, file.mkdir):
        damage()
        with Workspace(workspace.path) as fresh, pytest.raises(DamagedError, match=r"Version 1 .* is damaged"):
            fresh.exemplars.by_class()
        with pytest.raises(ModelFileError, match=r"no model at|incomplete|is a folder"):
            OpenWorldRecognizer.load(workspace.path / "models" / "0001")
