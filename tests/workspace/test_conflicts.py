"""Edits on what someone else has changed meanwhile."""

import pytest

from opengcd.workspace import ConflictError
from tests.helpers.reviewing import novel


def test_an_edit_on_what_someone_else_has_changed_is_refused(workspace):
    """Item by item and group by group: only what an edit is about matters."""
    blue, yellow = novel(workspace)["blue"], novel(workspace)["yellow"]
    on = workspace.review.last_edit()
    workspace.by("bob").move(blue.items[:1], yellow.id)
    refused = (
        lambda: workspace.move(blue.items[:2], "sea", on=on),
        lambda: workspace.separate(blue.items[:1], on=on),
        lambda: workspace.remove(blue.items[:1], on=on),
        lambda: workspace.name(blue.id, "sky", on=on),
        lambda: workspace.name(yellow.id, "sun", on=on),
        lambda: workspace.merge(blue.id, yellow.id, on=on),
        lambda: workspace.split(yellow.id, 2, on=on),
        lambda: workspace.undo(on=on),
        lambda: workspace.redo(on=on),
    )
    for act in refused:
        with pytest.raises(ConflictError, match=r"bob has changed this meanwhile \(move\)") as conflict:
            act()
        assert (conflict.value.entry.id, conflict.value.entry.who) == (on + 1, "bob")
    assert workspace.review.last_edit() == on + 1
    workspace.move(blue.items[1:2], yellow.id, on=on)  # other images, and a target whose name is what it was
    workspace.merge(blue.id, yellow.id)
    with pytest.raises(ConflictError, match="ann has changed this"):
        workspace.move(yellow.items[:1], blue.id, on=on)  # the target is empty now
    workspace.undo(on=workspace.review.last_edit())
    assert workspace.history()[0].who == "ann"
