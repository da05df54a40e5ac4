"""The first fit of a workspace."""

import pytest

from opengcd.workspace import WorkspaceError


def test_a_workspace_is_set_up_once(workspace, world):
    with pytest.raises(WorkspaceError, match="learnt its first classes already"):
        workspace.fit(world[0])


def test_no_labelled_image_is_forgotten_below_the_limit(workspace):
    memory = workspace.recognizers.in_use()[1].memory_
    assert memory.size == 20_000
    assert len(memory) == sum(memory.seen.values())
