"""Edits, their undoing and redoing, and edits that are refused."""

import pytest

from opengcd.workspace import WorkspaceError
from tests.helpers.pictures import paint
from tests.helpers.reviewing import labels, novel


def test_edits_and_their_undoing(workspace):
    before = workspace.groups()
    blue, yellow = novel(workspace)["blue"], novel(workspace)["yellow"]
    steps = [before]
    for edit in (
        lambda: workspace.move(blue.items[:3], yellow.id),
        lambda: workspace.name(yellow.id, "sun"),
        lambda: workspace.remove(yellow.items[:1]),
        lambda: workspace.confirm(yellow.id),
        lambda: workspace.merge(blue.id, yellow.id),
    ):
        edit()
        steps.append(workspace.groups())
        assert steps[-1] != steps[-2]
    sizes = {group.label: len(group) for group in steps[-1]}
    assert sizes == {"sun": 15, "removed": 1}
    assert steps[-1][0].items[-8:-5] == blue.items[:3]  # what is moved comes last
    for expected in reversed(steps[:-1]):
        workspace.undo()
        assert workspace.groups() == expected
    assert workspace.undo().entry.verb == "discover"
    assert workspace.groups() == []
    with pytest.raises(WorkspaceError, match="nothing to undo"):
        workspace.undo()
    assert sum(entry.verb == "undo" for entry in workspace.history()) == 6
    assert sum(entry.undone for entry in workspace.history()) == 6


def test_redoing_a_discovery_a_phase_and_a_rollback(workspace, tmp_path):
    workspace.name(novel(workspace)["blue"].id, "sky", confirm=True)
    workspace.learn()
    workspace.rollback(1)
    after = labels(workspace)
    undone = [workspace.undo().entry.verb for _ in range(4)]
    assert undone == ["rollback", "learn", "name", "discover"]
    assert workspace.review.can_undo() is None
    assert [workspace.redo().entry.verb for _ in range(4)] == undone[::-1]
    assert labels(workspace) == after
    assert workspace.review.can_redo() is None
    # What cannot be undone, as recognition, is no reason not to redo.
    workspace.undo()
    list(workspace.recognize(paint(tmp_path / "new", "red", [4100])))
    assert workspace.redo().entry.verb == "rollback"
    with pytest.raises(WorkspaceError, match="nothing to redo"):
        workspace.redo()


def test_wrong_edits_are_refused_and_leave_no_trace(workspace):
    groups = novel(workspace)
    blue = groups["blue"].id
    for edit, message in (
        (lambda: workspace.name(blue, "unknown"), "cannot be named 'unknown'"),
        (lambda: workspace.name(blue, "  "), "cannot be named"),
        (lambda: workspace.name(999, "sky"), "no group 999"),
        (lambda: workspace.confirm(blue), "has no name"),
        (lambda: workspace.merge(blue, blue), "into itself"),
        (lambda: workspace.move([10**6], blue), "There is no item 1000000"),
        (lambda: workspace.rollback(7), "no version 7"),
        (lambda: workspace.views.thumbnail(10**6), "no item"),
        (lambda: workspace.formats.export_bytes("xml"), "choose from csv, json, coco, crops, folders, yolo"),
    ):
        with pytest.raises(WorkspaceError, match=message):
            edit()
    assert len(workspace.history()) == 3
    workspace.move(groups["blue"].items, blue)  # where they are already
    assert len(workspace.history()) == 3
