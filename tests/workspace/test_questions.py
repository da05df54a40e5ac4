"""Questions about the groups of a workspace, and what answers change."""

from pathlib import Path

import pytest

from opengcd.workspace import ConflictError, WorkspaceError
from opengcd.workspace.verbs import VERBS
from tests.helpers import pictures


@pytest.fixture
def mixed(workspace):
    """The two new classes in one group."""
    first, second = (group.id for group in workspace.groups() if group.kind == "novel")
    workspace.merge(second, first)
    return workspace


@pytest.fixture
def more(tmp_path):
    """More images of a new class, without which there would be nothing to discover."""
    return pictures.paint(tmp_path / "more", "blue", range(200, 212))


def colour(workspace, item):
    return Path(workspace.views.item(item)[0].paths[0]).stem.rstrip("0123456789")


def colours(workspace):
    """The colours in each group of a new class."""
    groups = [group for group in workspace.groups() if group.kind == "novel"]
    return {group.id: {colour(workspace, item) for item in group.items} for group in groups}


def discover_more(workspace, files, k):
    list(workspace.recognize(files))
    workspace.discover(k=k)


def answer(workspace, question, key):
    (edit,) = (dict(one.edit) for one in question.answers if one.key == key)
    return workspace.apply(VERBS[edit.pop("act")](**edit))


def test_a_group_of_two_classes_is_asked_about_and_the_answer_splits_it(mixed):
    asked = mixed.questions.ask()
    (question,) = asked.questions
    assert (question.kind, asked.edit, asked.seconds) == ("split", mixed.review.last_edit(), 1.0)
    # This preset has no calibration, so two classes are as likely as one: eight of 16 images would be selected.
    assert question.gain == pytest.approx(0.5 * 8 - 1)
    assert [len(shown) for shown in question.shown] == [8, 8]
    answer(mixed, question, "n")
    assert sorted(map(sorted, colours(mixed).values())) == [["blue"], ["yellow"]]


@pytest.mark.parametrize("key", ["y", "n", "a", "b", "0"])
def test_an_answered_question_returns_only_if_the_answer_is_undone(mixed, key):
    (question,) = mixed.questions.ask().questions
    answer(mixed, question, key)
    later = [one for one in mixed.questions.ask().questions if one.shown == question.shown]
    assert not later
    mixed.undo()
    assert mixed.questions.ask().questions[0].shown == question.shown
    mixed.redo()
    assert not [one for one in mixed.questions.ask().questions if one.shown == question.shown]


def test_discover_keeps_together_what_a_person_called_one_class(mixed, more):
    (group,) = colours(mixed)
    mixed.keep(group)
    discover_more(mixed, more, k=7)
    assert colours(mixed)[group] == {"blue", "yellow"}


def test_discover_keeps_apart_what_a_person_called_different(workspace, more):
    before = colours(workspace)
    workspace.compare(*before, same=False)
    discover_more(workspace, more, k=5)
    assert colours(workspace).items() >= before.items()


def test_two_groups_of_one_class_are_merged_and_stay_so(workspace, more):
    first, second = colours(workspace)
    assert workspace.compare(second, first).group == first
    assert colours(workspace) == {first: {"blue", "yellow"}}
    discover_more(workspace, more, k=7)
    assert colours(workspace)[first] == {"blue", "yellow"}


def test_what_is_no_class_is_grouped_again(mixed):
    (question,) = mixed.questions.ask().questions
    answer(mixed, question, "0")
    mixed.discover(k=6)
    assert sorted(map(sorted, colours(mixed).values())) == [["blue"], ["yellow"]]


def test_an_answer_says_who_gave_it(mixed):
    (group,) = colours(mixed)
    mixed.by("bob").keep(group)
    entry = mixed.history(1)[0]
    assert (entry.who, entry.verb, entry.details) == ("bob", "keep", {"group": group})


def test_images_of_another_group_cannot_be_divided_off(workspace):
    first, second = workspace.groups()[:2]
    with pytest.raises(WorkspaceError, match=f"is not in group {second.id}"):
        workspace.divide(second.id, first.items[:1])


def test_an_answer_is_refused_if_someone_changed_the_group(mixed):
    asked = mixed.questions.ask()
    (group,) = colours(mixed)
    mixed.name(group, "colourful")
    with pytest.raises(ConflictError):
        mixed.keep(group, on=asked.edit)


def test_groups_that_have_a_name_are_not_asked_about(mixed):
    (group,) = colours(mixed)
    mixed.name(group, "colourful")
    assert mixed.questions.ask().questions == []
