"""Images given to the groups again as a person has answered: one edit, the same groups as in the benchmark."""

from collections import Counter

import numpy as np
import pytest
from sqlalchemy import delete, insert, select, update

from opengcd import Workspace
from opengcd.bench.questioner import answer_questions
from opengcd.recognizer import OpenWorldRecognizer
from opengcd.workspace import ConflictError
from opengcd.workspace.schema import assignments, groups, predictions
from opengcd.workspace.verbs import VERBS
from tests.helpers import pictures
from tests.helpers.reviewing import colours as colours_of
from tests.helpers.reviewing import put_in_stack

NEW = ("yellow", "grey", "purple", "blue", "cyan", "brown")


def colour(workspace, item):
    return pictures.truth(workspace.views.paths(item)[0])


def novel(workspace):
    return [group for group in workspace.groups() if group.kind == "novel"]


def colours(workspace):
    """The colours in each group of new images."""
    return {group.id: dict(colours_of(workspace, group)) for group in novel(workspace)}


def members(workspace):
    return {group.id: set(group.items) for group in novel(workspace)}


def discovered(workspace, parts):
    """Let these be the groups, as if a discovery had found them."""
    with workspace.store.database.writing() as connection:
        novel = select(groups.c.id).where(groups.c.kind == "novel")
        connection.execute(delete(assignments).where(assignments.c.group_id.in_(novel)))
        connection.execute(delete(groups).where(groups.c.kind == "novel"))
        found = []
        for number, items in enumerate(parts):
            values = {"kind": "novel", "label": f"group {number}", "confirmed": False}
            (home,) = connection.execute(insert(groups).values(values)).inserted_primary_key
            rows = [
                {"item_id": item, "group_id": home, "rank": rank, "by_person": False} for rank, item in enumerate(items)
            ]
            connection.execute(insert(assignments), rows)
            found.append(home)
    return found


@pytest.fixture
def swapped(workspace):
    """Two new classes of eight images; the last one of each is in the group of the other."""
    blue, yellow = (
        [item for group in novel(workspace) for item in group.items if colour(workspace, item) == one]
        for one in ("blue", "yellow")
    )
    first, second = discovered(workspace, [[*blue[:7], yellow[7]], [*yellow[:7], blue[7]]])
    return workspace, first, second, blue, yellow


def test_misplaced_images_go_where_they_are_like_what_was_seen(swapped):
    workspace, first, second, blue, yellow = swapped
    workspace.keep(first, seen=blue[:6])
    workspace.keep(second, seen=yellow[:6])
    done = workspace.regroup()
    assert members(workspace) == {first: set(blue), second: set(yellow)}
    assert (done.groups, done.images) == ([first, second], 2)
    entry = workspace.history(1)[0]
    assert (entry.verb, entry.details) == ("regroup", {"images": 2, "started": 0})


def test_undo_and_redo_restore_everything(swapped):
    (
        workspace,
        first,
        *_,
    ) = swapped
    workspace.keep(first)
    before = workspace.groups()
    workspace.regroup()
    after = workspace.groups()
    assert after != before
    workspace.undo()
    assert workspace.groups() == before
    assert workspace.questions.ask().answered
    workspace.redo()
    assert workspace.groups() == after


def test_without_an_answer_nothing_changes(swapped):
    workspace, first, *_ = swapped
    before, history = workspace.groups(), workspace.history()
    assert not workspace.questions.ask().answered
    assert not workspace.regroup().groups
    workspace.keep(first)
    assert workspace.questions.ask().answered
    workspace.undo()
    assert not workspace.regroup().groups
    assert workspace.groups() == before
    assert workspace.history()[2:] == history


def test_the_same_answers_regroup_once(swapped):
    workspace, first, _, blue, _ = swapped
    workspace.keep(first, seen=blue[:6])
    assert workspace.regroup().groups
    assert not workspace.questions.ask().answered
    assert not workspace.regroup().groups


def test_what_a_person_placed_or_named_stays(swapped):
    workspace, first, second, blue, yellow = swapped
    workspace.move([blue[0]], second)
    third = workspace.separate([yellow[0], blue[1]], "dusk").group
    workspace.keep(first, seen=blue[2:4])
    workspace.keep(second, seen=yellow[2:4])
    workspace.regroup()
    assert members(workspace) == {
        first: {*blue[2:]},
        second: {*yellow[1:], blue[0]},
        third: {yellow[0], blue[1]},
    }
    assert (
        next(group.probabilities[group.items.index(blue[0])] for group in novel(workspace) if group.id == second)
        is None
    )


def test_near_copies_move_together(swapped):
    workspace, first, second, blue, yellow = swapped
    with workspace.store.database.writing() as connection:
        connection.execute(update(assignments).where(assignments.c.item_id == blue[6]).values(group_id=second))
    put_in_stack(workspace, blue[6:])
    workspace.keep(first, seen=blue[2:4])
    workspace.keep(second, seen=yellow[2:4])
    assert workspace.regroup().images == 3
    assert members(workspace) == {first: set(blue), second: set(yellow)}


def test_answers_stay_in_force(swapped, tmp_path):
    workspace, first, second, blue, yellow = swapped
    workspace.keep(first, seen=blue[:6])
    workspace.compare(first, second, same=False)
    workspace.regroup()
    assert [question for question in workspace.questions.ask().questions if first in question.groups] == []
    list(workspace.recognize(pictures.paint(tmp_path / "more", "cyan", range(8))))
    workspace.discover(k=7)
    assert members(workspace).items() >= {first: set(blue), second: set(yellow)}.items()


def test_what_someone_changed_meanwhile_is_not_overwritten(swapped):
    workspace, first, second, *_ = swapped
    seen = workspace.keep(first).id
    workspace.by("bob").name(second, "sun")
    workspace.by("bob").unconfirm(second)
    workspace.by("bob").undo()
    before = workspace.groups()
    with pytest.raises(ConflictError, match="bob"):
        workspace.regroup(on=seen)
    assert workspace.groups() == before


def test_a_failure_leaves_nothing_behind(swapped, monkeypatch):
    workspace, first, *_ = swapped
    workspace.keep(first)
    before, history = workspace.groups(), workspace.history()

    def fail(*_):
        raise RuntimeError("killed")

    monkeypatch.setattr("opengcd.workspace.regrouping.predicted", fail)
    with pytest.raises(RuntimeError, match="killed"):
        workspace.regroup()
    assert (workspace.groups(), workspace.history()) == (before, history)


@pytest.fixture
def wide(world, tmp_path):
    """A workspace in whose stream there are six new classes of eight images, and the items of each class."""
    stream = tmp_path / "stream"
    for one in (*pictures.KNOWN, *NEW):
        pictures.paint(stream, one, range(100, 108))
    with Workspace.create(tmp_path / "wide", "pixels", recognizer=pictures.RECOGNIZER) as workspace:
        workspace.fit(world[0])
        found = list(workspace.recognize([stream]))
        items = {one: [row.item for row in found if pictures.truth(row.path) == one] for one in (*pictures.KNOWN, *NEW)}
        assert all(row.label == "unknown" for row in found if pictures.truth(row.path) in NEW)
        yield workspace, items


def class_of(workspace, items):
    """The colour of more than half of some items; None if there is none."""
    (one, number), *_ = Counter(colour(workspace, item) for item in items).most_common()
    return one if 2 * number > len(items) else None


def answer_all(workspace):
    """Answer questions as the annotator of the benchmark does; return how many there were."""
    answered = 0
    while questions := workspace.questions.ask().questions:
        for question in questions:
            one, two = (class_of(workspace, items) for items in question.shown)
            if question.kind == "same":
                key = "y" if one is not None and one == two else "n"
            elif one is None or two is None:
                key = "0" if one is two else "b" if one is None else "a"
            else:
                key = "y" if one == two else "n"
            edit = next(dict(answer.edit) for answer in question.answers if answer.key == key)
            workspace.apply(VERBS[edit.pop("act")](**edit))
            answered += 1
    return answered


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize(
    ("source", "whole", "mixed", "started"), [("rejected", 1, 4, 4), ("rejected", 2, 3, 1), ("stream", 2, 3, 1)]
)
def test_groups_are_those_of_the_benchmark(wide, monkeypatch, source, whole, mixed, started):
    workspace, items = wide
    monkeypatch.setattr(OpenWorldRecognizer, "discovers_from", source)
    scattered = [item for one in NEW[whole:] for item in items[one]]
    parts = [items[one] for one in NEW[:whole]] + [scattered[start::mixed] for start in range(mixed)]
    discovered(workspace, parts)

    order = sorted(item for one, found in items.items() if source == "stream" or one in NEW for item in found)
    recognizer = workspace.recognizers.in_use()[1]
    rows = recognizer.metric_rows(workspace.vectors.of_items(order))
    truth = np.array([colour(workspace, item) for item in order])
    expected = answer_questions([np.searchsorted(order, sorted(part)) for part in parts], rows, truth)

    answered = answer_all(workspace)
    workspace.regroup()
    assert workspace.history(1)[0].details["started"] == started
    answered += answer_all(workspace)
    workspace.regroup()
    assert answered == expected.asked.total()
    found = {frozenset(order[row] for row in group) for group in expected.groups}
    assert {frozenset(found) for found in members(workspace).values()} == found


def test_an_image_of_a_known_class_leaves_the_review(wide, monkeypatch):
    workspace, items = wide
    monkeypatch.setattr(OpenWorldRecognizer, "discovers_from", "stream")
    (red, *_), (green, *_) = items["red"], items["green"]
    with workspace.store.database.writing() as connection:
        wrong = update(predictions).where(predictions.c.item_id == green).values(label="white")
        connection.execute(wrong)
    first, second = discovered(workspace, [[*items["blue"], red], [*items["cyan"], green]])
    workspace.keep(first, seen=items["blue"])
    workspace.keep(second, seen=items["cyan"])
    before = workspace.groups()
    workspace.regroup()
    found = {item: group for group in workspace.groups() for item in group.items}
    assert red not in found  # it was recognised as what it is
    assert (found[green].kind, found[green].label) == ("known", "green")
    workspace.undo()
    assert workspace.groups() == before


def test_nothing_joins_a_confirmed_class_unseen(wide, monkeypatch):
    workspace, items = wide
    monkeypatch.setattr(OpenWorldRecognizer, "discovers_from", "stream")
    green, other = items["green"][:2]
    with workspace.store.database.writing() as connection:
        connection.execute(update(predictions).where(predictions.c.item_id == green).values(label="white"))
    first, second, third = discovered(workspace, [[*items["blue"], items["red"][0]], [*items["cyan"], green], [other]])
    workspace.confirm(workspace.name(third, "green").group)
    workspace.keep(first, seen=items["blue"])
    workspace.keep(second, seen=items["cyan"])
    workspace.regroup()
    assert green not in members(workspace)[second]
    assert [group.items for group in workspace.groups() if group.label == "green"] == [[other]]
