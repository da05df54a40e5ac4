"""What discovery changes in the groups, and what it keeps."""

import contextlib

import pytest

from opengcd.workspace import WorkspaceError
from tests.helpers.pictures import KNOWN, paint
from tests.helpers.reviewing import novel


def test_discovery_keeps_what_a_person_decided(workspace, tmp_path):
    groups = novel(workspace)
    workspace.name(groups["blue"].id, "sky")
    workspace.remove(groups["yellow"].items[-1:])
    list(workspace.recognize(paint(tmp_path / "new", "yellow", range(600, 604))))
    found = workspace.discover(k=5)
    assert found.items == 7 + 4
    by_kind = {group.label: (group.kind, len(group)) for group in workspace.groups()}
    assert by_kind == {"group 1": ("novel", 11), "sky": ("novel", 8), "removed": ("removed", 1)}
    workspace.undo()
    assert {len(group) for group in workspace.groups()} == {8, 7, 1}


def test_items_that_discovery_puts_back(workspace):
    workspace.discover(k=4)  # no room for a new class
    groups = workspace.groups()
    assert {group.kind for group in groups} == {"known"}
    assert {group.label for group in groups} <= set(KNOWN)
    assert sum(map(len, groups)) == 16
    assert workspace.status().counts["returned"] == 16
    with pytest.raises(WorkspaceError, match="nothing to learn"):
        workspace.learn()  # nobody has looked at them
    workspace.confirm(groups[0].id)
    workspace.learn()
    assert workspace.status().counts["learnt"] == 32 + len(groups[0])
    # A later discovery does not forget what was confirmed, though an earlier version does not know it.
    with contextlib.suppress(WorkspaceError):
        workspace.discover(k=4)
    workspace.rollback(1)
    assert workspace.status().counts["reviewed"] == len(groups[0])
