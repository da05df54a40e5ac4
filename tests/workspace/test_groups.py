"""Groups that are split, or named like a known class or another group."""

import numpy as np
import pytest

from opengcd.workspace import WorkspaceError
from tests.helpers.pictures import KNOWN
from tests.helpers.reviewing import colours, novel


def test_a_group_is_split_as_its_images_fall_apart(workspace):
    groups = novel(workspace)
    both = workspace.merge(groups["blue"].id, groups["yellow"].id).group
    workspace.name(both, "paint", confirm=True)
    done = workspace.split(both, 2)
    one, two = workspace.groups()
    assert sorted(done.groups) == sorted([one.id, two.id])
    assert {tuple(colours(workspace, group).items()) for group in (one, two)} == {(("blue", 8),), (("yellow", 8),)}
    kept, new = (one, two) if one.id == both else (two, one)
    assert (kept.label, kept.named, kept.confirmed) == ("paint", True, False)
    assert (new.label, new.named) == ("paint, part 2", False)
    for group in (one, two):  # the spread around the middle, and the order from there outwards
        with workspace.store.database.reading() as connection:
            X = workspace.vectors.read(connection, group.items)
        gaps = np.linalg.norm(X - X.mean(0), axis=1)
        assert group.spread == pytest.approx(np.sqrt((gaps**2).mean()), rel=1e-4)
        assert (np.diff(gaps) > -1e-5).all()
    with pytest.raises(WorkspaceError, match="cannot be split in 9"):
        workspace.split(both, 9)


def test_a_group_named_after_a_known_class_is_put_back_and_learnt(workspace):
    groups = novel(workspace)
    home = workspace.name(groups["blue"].id, "red").group
    assert workspace.name(groups["yellow"].id, " red ").group == home
    (group,) = workspace.groups()
    assert (group.kind, group.label, len(group)) == ("known", "red", 16)
    assert {one.source for one in workspace.views.labels()} == {"learnt", "recognized", "reviewed"}
    assert workspace.learn().classes == sorted(KNOWN)
    assert workspace.groups() == []


def test_groups_of_one_name_become_one(workspace):
    groups = novel(workspace)
    assert workspace.name(groups["blue"].id, "sky").group == groups["blue"].id
    assert workspace.name(groups["yellow"].id, "sky").group == groups["blue"].id
    (group,) = workspace.groups()
    assert len(group) == 16
