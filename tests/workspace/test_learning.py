"""The first fit of a workspace."""

import pytest

from opengcd.workspace import WorkspaceError


def test_a_workspace_is_set_up_once(workspace, world):
    with pytest.raises(WorkspaceError, match="set up already"):
        workspace.fit(world[0])
