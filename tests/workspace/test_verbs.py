"""The verbs of the review: each is defined once, and reaches Python, HTTP, CLI, page, history and undo from there."""

import inspect
from dataclasses import dataclass, fields

import pytest
from typer.testing import CliRunner

from opengcd import Workspace
from opengcd.cli import app as commands
from opengcd.service import create_app
from opengcd.workspace import ConflictError, WorkspaceError, groups
from opengcd.workspace.review import Review
from opengcd.workspace.verb import GroupId, GroupOrLabel, ItemIds, Label, Verb
from opengcd.workspace.verbs import (
    VERBS,
    Assign,
    Comment,
    Compare,
    Confirm,
    Discard,
    Divide,
    Keep,
    KeepLabel,
    Merge,
    MergeClasses,
    Move,
    Name,
    Regroup,
    Relabel,
    Remove,
    RenameClass,
    Separate,
    Split,
    Unconfirm,
    Unstack,
    review_verb,
)
from tests.helpers.browsing import Visit, launched
from tests.helpers.reviewing import labels, put_in_stack
from tests.helpers.serving import API, connect, get, send, serving

OF_LEARNT = ("relabel", "keep_label", "discard")
"""Verbs about learnt images, which are in no group."""


@dataclass(frozen=True)
class Empty(Verb):
    """Remove all images of a group: a verb that only this test knows."""

    act = "empty"
    group: GroupId

    def apply(self, edit):
        removed = groups.remove(edit, groups.members(edit.connection, self.group))
        edit.details = {"images": removed}
        return self.group


@dataclass(frozen=True)
class Extract(Verb):
    """Move images to a named group: another verb that only this test knows."""

    act = "extract"
    items: ItemIds
    label: Label

    def apply(self, edit):
        edit.details = {"images": len(self.items)}
        return groups.separate(edit, self.items, self.label)


@pytest.fixture
def more_verbs(monkeypatch):
    """Enter the verbs of this test, and nothing else."""
    for verb in (Empty, Extract):
        monkeypatch.setitem(VERBS, verb.act, verb)


def examples(workspace):
    """One use of every verb, the first group being named, the second confirmed, and a third one answered about."""
    first, second = workspace.groups()[:2]
    workspace.keep(workspace.separate(second.items[-3:]).group)
    first, second = (group for one in (first, second) for group in workspace.groups() if group.id == one.id)
    workspace.name(first.id, "sky")
    workspace.name(second.id, "sun", confirm=True)
    put_in_stack(workspace, first.items[:2])
    workspace.move(first.items[-1:], "red")
    return [
        Name(first.id, "sea", confirm=True),
        Confirm(first.id),
        Unconfirm(second.id),
        Move(first.items[:2], second.id),
        Move(first.items[:2], "red"),
        Separate(first.items[:2]),
        Separate(first.items[:2], "dusk"),
        Remove(first.items[:3]),
        Unstack(first.items[:1]),
        Merge(first.id, second.id),
        Split(first.id, 2),
        Keep(first.id),
        Compare(first.id, second.id),
        Divide(first.id, first.items[:2]),
        Regroup(),
        RenameClass("red", "scarlet"),
        MergeClasses("red", "green"),
        Relabel([1, 2], "green"),
        KeepLabel([1]),
        Discard([1]),
        Assign(first.id, "bob"),
        Comment(first.id, "Is this one class?"),
        Empty(first.id),
        Extract(first.items[:2], "dawn"),
    ]


def state(workspace):
    """All that a verb can change."""
    found = workspace.groups()
    return found, labels(workspace), [workspace.views.comments(group.id) for group in found]


def test_every_verb_can_be_undone_and_redone(workspace):
    tried = examples(workspace)
    assert {verb.act for verb in tried} == {*VERBS, "empty", "extract"}
    before = state(workspace)
    for verb in tried:
        done = workspace.apply(verb)
        after = state(workspace)
        assert after != before or verb.act in ("keep", "regroup", "keep_label")  # whose images stay where they are
        assert workspace.history()[0].verb == verb.act
        assert done.groups or verb.act in OF_LEARNT
        assert workspace.undo().entry.verb == verb.act
        assert state(workspace) == before
        workspace.redo()
        assert state(workspace) == after
        workspace.undo()


def test_every_verb_is_refused_if_someone_was_faster(workspace):
    tried = examples(workspace)
    seen = workspace.review.last_edit()
    first, second = workspace.groups()[:2]
    workspace.by("bob").move(first.items[:1], second.id)
    workspace.by("bob").separate(second.items[:1])
    workspace.by("bob").relabel([1], "white")
    edits = workspace.history()
    for verb in tried:
        if verb.act == "comment":  # what others do is no reason to refuse it
            continue
        given = {field.name: getattr(verb, field.name) for field in fields(verb)}
        with pytest.raises(ConflictError, match="bob"):
            workspace.apply(type(verb)(**given | {"on": seen}))
    assert workspace.history() == edits


def test_every_verb_is_a_method_and_a_request(client, workspace):
    schema = get(client, "openapi.json")
    body = schema["paths"][f"{API}/edits"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert list(body["discriminator"]["mapping"]) == list(VERBS)
    for name, verb in VERBS.items():
        expected, documented = list(inspect.signature(verb).parameters), inspect.getdoc(verb)
        for part in (Workspace, Review):
            method = getattr(part, name)
            assert list(inspect.signature(method).parameters)[1:] == expected
            assert method.__doc__.startswith(documented)
            assert "\non : " in method.__doc__
        model = schema["components"]["schemas"][verb.__name__]
        assert model["description"] == documented.split("\n\n")[0]
        assert {*expected, "act"} <= set(model["properties"])


def test_a_request_does_what_the_method_does(client, workspace):
    first, second = workspace.groups()[:2]
    requests = [
        {"act": "name", "group": first.id, "label": " sky ", "confirm": True},
        {"act": "unconfirm", "group": first.id},
        {"act": "confirm", "group": first.id},
        {"act": "move", "items": first.items[:1], "group": second.id},
        {"act": "move", "items": first.items[1:2], "label": "dusk"},
        {"act": "separate", "items": first.items[2:3]},
        {"act": "remove", "items": first.items[3:4]},
        {"act": "merge", "group": first.id, "into": second.id},
        {"act": "split", "group": second.id, "n": 2},
    ]
    for request in requests:
        send(client, "POST", "edits", {"on": workspace.review.last_edit(), **request}, 200)
    by_request = workspace.groups()
    for _ in requests:
        workspace.undo()
    workspace.name(first.id, "sky", confirm=True)
    workspace.unconfirm(first.id)
    workspace.confirm(first.id)
    workspace.move(first.items[:1], second.id)
    workspace.move(first.items[1:2], "dusk")
    workspace.separate(first.items[2:3])
    workspace.remove(first.items[3:4])
    workspace.merge(first.id, second.id)
    workspace.split(second.id, 2)
    # New groups have numbers of their own.
    assert [group[1:] for group in workspace.groups()] == [group[1:] for group in by_request]


@pytest.mark.parametrize("names", [["target"], ["group", "label"], ["group", "other"]])
def test_a_verb_that_no_request_could_hold_is_refused(names):
    kinds = {"label": Label}
    hints = {name: kinds.get(name, GroupOrLabel) for name in names}
    verb = dataclass(frozen=True)(type("Strange", (Verb,), {"act": "strange", "__annotations__": hints}))
    with pytest.raises(TypeError, match="call this parameter `group`"):
        review_verb(verb)
    assert "strange" not in VERBS


@pytest.mark.parametrize("verb", [Move, Separate, Remove])
def test_no_images_are_no_edit(verb):
    with pytest.raises(WorkspaceError, match="No image was chosen"):
        verb([], 1) if verb is Move else verb([])


@pytest.mark.usefixtures("more_verbs")
def test_a_new_verb_reaches_http_and_undo(workspace):
    with connect(create_app(workspace), workspace.access.make("ann")) as client:
        group, before = workspace.groups()[0], workspace.groups()
        request = {"act": "empty", "group": group.id, "on": workspace.review.last_edit()}
        done = send(client, "POST", "edits", request)
        assert done["made"] == group.id
        assert group.id not in [one.id for one in workspace.groups()]
        assert get(client, "history")[0]["verb"] == "empty"
        undone = send(client, "POST", "undo", {"on": done["edit"]})
        assert undone["undone"]["verb"] == "empty"
        assert workspace.groups() == before
        send(client, "POST", "redo", {"on": undone["edit"]})
        assert group.id not in [one.id for one in workspace.groups()]
        send(client, "POST", "edits", request | {"group": "one"}, 422)


def run_command(*arguments, code=0):
    done = CliRunner().invoke(commands, [str(argument) for argument in arguments])
    assert done.exit_code == code, done.output
    return done.output


@pytest.mark.usefixtures("more_verbs")
def test_a_new_verb_is_a_command(workspace):
    group, before = workspace.groups()[0], workspace.groups()
    assert "a verb that only this test knows" in " ".join(run_command("edit", "--help").replace("│", " ").split())
    run_command("edit", "empty", workspace.path, group.id)
    assert "Undone: empty" in run_command("undo", workspace.path)
    assert workspace.groups() == before
    run_command("edit", "fill", workspace.path, group.id, code=2)


def test_a_command_does_what_the_method_does(workspace):
    first, second = workspace.groups()[:2]
    assert "sky (confirmed" in run_command("edit", "name", workspace.path, first.id, "sky", "--confirm")
    run_command("edit", "move", workspace.path, *first.items[:2], second.id)
    run_command("edit", "move", workspace.path, first.items[2], "dusk")
    run_command("edit", "separate", workspace.path, first.items[3], "--label", "dawn")
    found = {group.label: list(group.items) for group in workspace.groups()}
    assert found["dusk"] == [first.items[2]]
    assert found["dawn"] == [first.items[3]]
    assert set(first.items[:2]) <= set(next(group.items for group in workspace.groups() if group.id == second.id))
    assert next(group.label for group in workspace.groups() if group.confirmed) == "sky"
    assert run_command("edit", "confirm", workspace.path, first.id) == "Nothing changed.\n"
    run_command("edit", "confirm", workspace.path, 999, code=1)


@pytest.mark.usefixtures("more_verbs")
def test_a_new_verb_has_a_button_on_the_page(workspace):
    group, before = workspace.groups()[0], workspace.groups()
    with launched() as browser, serving(workspace) as address:
        visit = Visit(browser, address, workspace.access.make("ann"))
        page = visit.page
        visit.go(f"groups/{group.id}")
        page.locator(f"#image-{group.items[0]}").click()
        page.get_by_role("button", name="Extract").click()
        page.get_by_role("dialog").get_by_label("Label").fill("dawn")
        page.get_by_role("dialog").get_by_role("button", name="Extract").click()
        visit.said("Done: extract.")
        assert next(one.items for one in workspace.groups() if one.label == "dawn") == [group.items[0]]
        page.get_by_role("button", name="Undo", exact=True).first.click()
        visit.said("Undone: “extract”.")
        page.get_by_role("button", name="Empty").click()
        visit.said("Done: empty.")
        assert group.id not in [one.id for one in workspace.groups()]
        visit.go("history")
        page.get_by_text("applied “empty”").wait_for()
        workspace.undo()
        assert workspace.groups() == before
        visit.end()
