"""Several reviewers: groups are assigned, commented on, and confirmed by more than one person."""

import shutil

import pytest

from opengcd import Workspace
from opengcd.workspace import ConflictError, MissingError, WorkspaceError, comments, people
from tests.helpers.older_schemas import without_reviewers


def assignees(workspace):
    return {group.id: group.assignee for group in workspace.groups()}


def said(workspace, group):
    return [(one.who, one.text) for one in workspace.views.comments(group)]


# Assignments.


def test_a_group_is_assigned_and_given_back(workspace):
    first, second = workspace.groups()
    edited = workspace.assign(first.id, "Ben")
    assert (edited.group, edited.groups) == (first.id, [first.id])
    assert assignees(workspace) == {first.id: "Ben", second.id: None}
    assert workspace.history()[0].details == {"group": first.id, "person": "Ben"}
    assert workspace.assign(first.id, "Ben").id == edited.id  # nothing has changed
    workspace.assign(first.id)
    assert assignees(workspace) == {first.id: None, second.id: None}
    workspace.undo()
    assert assignees(workspace)[first.id] == "Ben"
    workspace.assign(first.id, "  ")
    assert assignees(workspace)[first.id] is None


def test_a_person_is_one_under_any_spelling(workspace):
    first, second = workspace.groups()
    workspace.access.make("Ana Lee", "read")
    workspace.by("Ben (team)").name(second.id, "sky")
    for typed, person in ((" ana  lee ", "Ana Lee"), ("BEN (TEAM)", "Ben (team)"), ("Cem <b>", "Cem <b>")):
        workspace.assign(first.id, typed)
        assert assignees(workspace)[first.id] == person
    assert workspace.views.people() == ["Ana Lee", "Ben (team)", "Cem <b>", "ann", workspace.history()[-1].who]


@pytest.mark.parametrize("name", ["a\nb", "a\x1b[2J", "\u202eeve", "e" * (people.LONGEST + 1)])
def test_names_that_mislead_are_refused(workspace, name):
    with pytest.raises(WorkspaceError, match="cannot be the name of a person"):
        workspace.assign(workspace.groups()[0].id, name)
    assert set(assignees(workspace).values()) == {None}


def test_two_people_who_assign_one_group_at_once(workspace):
    first, second = workspace.groups()
    seen = workspace.review.last_edit()
    workspace.by("Ben").assign(first.id, "Ben", on=seen)
    with pytest.raises(ConflictError, match="Ben has changed this meanwhile"):
        workspace.assign(first.id, "ann", on=seen)
    workspace.assign(second.id, "ann", on=seen)
    assert assignees(workspace) == {first.id: "Ben", second.id: "ann"}
    with pytest.raises(MissingError, match="no group 99"):
        workspace.assign(99, "ann")


def test_a_merge_keeps_the_assignment_of_the_target_and_a_split_passes_it_on(workspace):
    first, second = workspace.groups()
    workspace.assign(first.id, "Ana")
    workspace.assign(second.id, "Ben")
    workspace.merge(first.id, second.id)
    assert assignees(workspace) == {second.id: "Ben"}
    workspace.split(second.id, 3)
    assert list(assignees(workspace).values()) == ["Ben"] * 3
    alone = workspace.separate(workspace.groups()[0].items[:1]).group
    assert assignees(workspace)[alone] is None


def test_a_new_grouping_passes_on_what_was_said_of_the_groups_that_it_replaces(workspace):
    first, second = workspace.groups()
    workspace.assign(first.id, "Ben")
    workspace.comment(first.id, "Two kinds?")
    workspace.comment(second.id, "Fine.")
    workspace.name(second.id, "sky")  # a named group stays as it is
    workspace.discover(k=5)
    (made,) = (group for group in workspace.groups() if group.id != second.id)
    assert made.id != first.id
    assert set(made.items) == set(first.items)
    assert assignees(workspace) == {made.id: "Ben", second.id: None}
    assert said(workspace, made.id) == [("ann", "Two kinds?")]
    assert said(workspace, second.id) == [("ann", "Fine.")]
    workspace.undo()
    assert assignees(workspace) == {first.id: "Ben", second.id: None}
    assert said(workspace, first.id) == [("ann", "Two kinds?")]


def test_regrouping_by_answers_keeps_what_was_said(workspace):
    first = workspace.groups()[0]
    workspace.assign(first.id, "Ben")
    workspace.comment(first.id, "No class.")
    workspace.divide(first.id, first.items[:4], one=False, other=False)
    workspace.regroup()
    (group,) = (group for group in workspace.groups() if set(group.items) == set(first.items))
    assert group.id != first.id
    assert (group.assignee, said(workspace, group.id)) == ("Ben", [("ann", "No class.")])
    workspace.undo()
    assert said(workspace, first.id) == [("ann", "No class.")]


# Comments.


def test_a_comment_has_an_author_and_a_time_and_can_be_undone(workspace):
    group = workspace.groups()[0].id
    ben = workspace.by("Ben")
    edited = ben.comment(group, "  <b>Is this</b> one class? ")
    assert (edited.group, edited.groups) == (group, [group])
    workspace.comment(group, "Yes.")
    first, second = workspace.views.comments(group)
    assert (first.who, first.text, second.who) == ("Ben", "<b>Is this</b> one class?", "ann")
    assert first.at == workspace.history()[1].at <= second.at
    assert {card.group.id: card.comments for card in workspace.views.overview().cards}[group] == 2
    undone = workspace.undo()
    assert undone.groups == [group]
    assert workspace.views.comments(group) == [first]
    workspace.redo()
    assert workspace.views.comments(group) == [first, second]
    workspace.undo()
    workspace.comment(group, "No.")  # not under the number of the one that was undone
    assert [one.text for one in workspace.views.comments(group)] == ["<b>Is this</b> one class?", "No."]


@pytest.mark.parametrize("text", ["", " ", "a\nb", "\x1b[2J", "a\u202eb", "\ud800", "e" * (comments.LONGEST + 1)])
def test_texts_that_cannot_be_comments(workspace, text):
    group, before = workspace.groups()[0].id, workspace.history()
    with pytest.raises(WorkspaceError, match="one line of 1 to 500 characters"):
        workspace.comment(group, text)
    assert workspace.history() == before
    workspace.comment(group, "e" * comments.LONGEST)


def test_a_comment_is_never_in_the_way(workspace):
    first, second = workspace.groups()
    seen = workspace.review.last_edit()
    workspace.by("Ben").comment(first.id, "Sky, I think.", on=seen)
    workspace.name(first.id, "sky", on=seen)  # is not refused because of the comment
    workspace.by("Ben").comment(first.id, "Good.", on=seen)  # nor the other way round
    assert len(workspace.views.comments(first.id)) == 2
    workspace.merge(first.id, second.id)
    with pytest.raises(WorkspaceError, match="no images under review, so nobody would see the comment"):
        workspace.comment(first.id, "Too late.")
    with pytest.raises(MissingError, match="no group 99"):
        workspace.comment(99, "Where?")
    with pytest.raises(MissingError, match="no group 99"):
        workspace.views.comments(99)


@pytest.mark.parametrize("how", ["merge", "name", "move", "compare", "remove", "known"])
def test_comments_follow_the_images_of_a_group_that_ends(workspace, how):
    first, second = workspace.groups()
    workspace.name(second.id, "sky")
    workspace.comment(first.id, "One.")
    workspace.comment(second.id, "Two.")
    home = {
        "merge": lambda: workspace.merge(first.id, second.id),
        "name": lambda: workspace.name(first.id, "sky"),
        "move": lambda: workspace.move(first.items, second.id),
        "compare": lambda: workspace.compare(first.id, second.id),
        "remove": lambda: workspace.remove(first.items),
        "known": lambda: workspace.name(first.id, "red"),
    }[how]().group
    home = home or next(group.id for group in workspace.groups() if group.kind == "removed")
    kept = ["Two."] if home == second.id else []
    assert [one.text for one in workspace.views.comments(home)] == ["One.", *kept]
    assert workspace.views.comments(first.id) == []
    workspace.undo()
    assert [one.text for one in workspace.views.comments(first.id)] == ["One."]
    assert [one.text for one in workspace.views.comments(second.id)] == ["Two."]
    workspace.move(first.items[1:], second.id)  # one image is left, and so the group and its comment
    assert [one.text for one in workspace.views.comments(first.id)] == ["One."]


# Confirmed by several people.


def test_a_second_person_confirms_what_the_first_has_confirmed(workspace):
    group = workspace.groups()[0].id
    ben = workspace.by("Ben")

    def by():
        return next(one.confirmed_by for one in workspace.groups() if one.id == group)

    workspace.name(group, "sky", confirm=True)
    assert by() == ["ann"]
    edited = ben.confirm(group)
    assert by() == ["ann", "Ben"]
    assert ben.confirm(group).id == edited.id  # once is enough
    workspace.undo()
    assert by() == ["ann"]
    workspace.redo()
    ben.name(group, "sea")  # nobody else has confirmed this name
    assert by() == ["Ben"]
    workspace.confirm(group)
    assert by() == ["Ben", "ann"]
    ben.unconfirm(group)
    assert by() == []
    ben.confirm(group)
    assert by() == ["Ben"]
    other = workspace.groups()[1].id
    workspace.name(other, "sea", confirm=True)  # the images join it; that does not confirm the others
    assert by() == ["Ben"]


def test_two_people_who_confirm_at_once(workspace):
    group = workspace.groups()[0].id
    workspace.name(group, "sky")
    seen = workspace.review.last_edit()
    workspace.by("Ben").confirm(group, on=seen)
    with pytest.raises(ConflictError, match=r"Ben has changed this meanwhile \(confirm\)"):
        workspace.confirm(group, on=seen)


# Older workspaces.


def test_a_workspace_of_schema_8_goes_on(reviewable, tmp_path):
    folder = shutil.copytree(reviewable, tmp_path / "older")
    with Workspace(folder, who="ann") as workspace:
        first, second = workspace.groups()
        workspace.name(first.id, "sky", confirm=True)
        workspace.name(second.id, "sea")
    without_reviewers(folder)
    with Workspace(folder, who="Ben") as workspace:
        found = {group.id: group for group in workspace.groups()}
        assert found[first.id].confirmed
        assert (found[first.id].assignee, found[first.id].confirmed_by) == (None, [])
        workspace.confirm(first.id)
        workspace.assign(first.id, "ann")
        workspace.comment(first.id, "Seen.")
        for _ in range(5):
            workspace.undo()
        assert [group.items for group in workspace.groups()] == [first.items, second.items]
        for _ in range(5):
            workspace.redo()
        (group,) = (group for group in workspace.groups() if group.id == first.id)
        assert (group.confirmed, group.assignee, group.confirmed_by) == (True, "ann", ["Ben"])
        assert said(workspace, first.id) == [("Ben", "Seen.")]
        assert workspace.check() == []
