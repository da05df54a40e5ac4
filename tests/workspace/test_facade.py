"""The loop through the workspace, from known classes to learnt new ones."""

import pytest

from opengcd import Workspace
from opengcd import workspace as package
from opengcd.workspace import WorkspaceError
from tests.helpers.pictures import COLOURS, KNOWN, RECOGNIZER, paint, paint_world, truth
from tests.helpers.reviewing import colours, novel


def test_the_loop(tmp_path):
    known, stream = paint_world(tmp_path)
    workspace = Workspace.create(tmp_path / "birds", "pixels", recognizer=RECOGNIZER, who="ann")
    assert workspace.fit(known) == []
    results = list(workspace.recognize([stream]))
    assert {(truth(r.path), r.label) for r in results} == {
        *((colour, colour) for colour in KNOWN), ("blue", "unknown"), ("yellow", "unknown"),
    }  # fmt: skip
    assert all(len(r.top) == 3 and r.top[0][1] >= r.top[1][1] for r in results)
    assert all((r.unknown > r.top[0][1]) == (r.label == "unknown") for r in results)

    found = workspace.discover(k=6)
    assert (found.k, found.items, found.returned, found.groups) == (6, 16, 0, 2)
    groups = novel(workspace)
    assert {colour: dict(colours(workspace, group)) for colour, group in groups.items()} == {
        "blue": {"blue": 8},
        "yellow": {"yellow": 8},
    }
    with pytest.raises(WorkspaceError, match="nothing to learn"):
        workspace.learn()
    workspace.name(groups["blue"].id, "blue", confirm=True)
    workspace.name(groups["yellow"].id, "yellow")
    version = workspace.learn()  # yellow is not confirmed yet
    assert (version.id, version.parent, version.phase) == (2, 1, 2)
    assert version.classes == [*sorted(KNOWN), "blue"]
    workspace.confirm(groups["yellow"].id)
    assert workspace.learn().classes == [*sorted(KNOWN), "blue", "yellow"]
    more = [file for colour in COLOURS for file in paint(tmp_path / "more", colour, [500, 501])]
    assert all(r.label == truth(r.path) for r in workspace.recognize(more))
    assert workspace.status().counts == dict.fromkeys(package.SOURCES, 0) | {"learnt": 48, "recognized": 44}
    assert [entry.verb for entry in workspace.history()] == [
        "recognize", "learn", "confirm", "learn", "name", "name", "discover", "recognize", "init",
    ]  # fmt: skip
    assert {entry.who for entry in workspace.history()} == {"ann"}
