"""What to do next, in each state of a workspace."""

import pytest
from filelock import FileLock

from opengcd import Workspace
from opengcd.workspace import NextStep
from opengcd.workspace.next_step import next_step
from tests.helpers.pictures import RECOGNIZER
from tests.helpers.reviewing import novel

NONE = dict.fromkeys(("learnt", "rejected", "recognized", "waiting"), 0)


def test_the_steps_of_the_loop(tmp_path, world):
    known, stream = world
    with Workspace.create(tmp_path / "birds", "pixels", recognizer=RECOGNIZER) as workspace:
        step = workspace.views.next_step
        assert step() == NextStep("init")
        workspace.fit(known)
        assert step() == NextStep("recognize")
        list(workspace.recognize([stream]))
        assert step() == NextStep("discover", 16)
        workspace.discover(k=6)
        assert step() == NextStep("review", 16, 2)
        groups = novel(workspace)
        workspace.name(groups["blue"].id, "blue", confirm=True)
        assert step() == NextStep("review", 8, 1, 8)
        workspace.name(groups["yellow"].id, "yellow", confirm=True)
        assert step() == NextStep("learn", 16, learnable=16)
        workspace.learn()
        assert step() == NextStep("export", 80)


@pytest.mark.parametrize(
    ("counts", "given", "expected"),
    [
        ({}, {}, NextStep("recognize")),
        ({"recognized": 3}, {}, NextStep("export", 3)),
        ({"rejected": 2, "waiting": 3}, {}, NextStep("discover", 5)),
        ({"rejected": 2}, {"learnable": 4}, NextStep("learn", 4, learnable=4)),
        ({"rejected": 2}, {"interrupted": True}, NextStep("adapt")),
        ({"rejected": 2}, {"interrupted": True, "read_only": True}, NextStep("view", 2)),
    ],
)
def test_what_comes_first(counts, given, expected):
    state = {"groups": [], "learnable": 0, "read_only": False, "interrupted": False} | given
    assert next_step(NONE | counts, **state) == expected


def test_an_interrupted_adaptation_is_continued(workspace):
    left = workspace.path / "adapting" / "ab12.network"
    left.mkdir(parents=True)
    assert workspace.views.next_step().step == "adapt"
    with FileLock(workspace.path / ".lock"):  # it still runs
        assert workspace.views.next_step().step == "review"
    workspace.store.note("adapt", {"run": "ab12"})  # it was declined
    assert workspace.views.next_step().step == "review"
