"""The verbs of the review: each is defined once, and reaches Python, HTTP, the history and undo from there."""

import inspect
from dataclasses import dataclass, fields

import pytest

from opengcd import Workspace
from opengcd.workspace import ConflictError, WorkspaceError, groups
from opengcd.workspace.conflicts import Concerns
from opengcd.workspace.review import Review
from opengcd.workspace.verbs import VERBS, Confirm, GroupId, Merge, Move, Name, Remove, Separate, Split, Unconfirm, Verb
from tests.helpers.serving import API, get, send


@dataclass(frozen=True)
class Empty(Verb):
    """Remove all images of a group: a verb that only this test knows."""

    act = "empty"
    group: GroupId

    def concerns(self):
        return Concerns(groups=[self.group])

    def apply(self, edit):
        removed = groups.remove(edit, groups.members(edit.connection, self.group))
        edit.details = {"images": removed}
        return self.group


def examples(workspace):
    """One use of every verb, the first group being named and the second confirmed."""
    first, second = workspace.groups()[:2]
    workspace.name(first.id, "sky")
    workspace.name(second.id, "sun", confirm=True)
    return [
        Name(first.id, "sea", confirm=True),
        Confirm(first.id),
        Unconfirm(second.id),
        Move(first.items[:2], second.id),
        Move(first.items[:2], "red"),
        Separate(first.items[:2]),
        Separate(first.items[:2], "dusk"),
        Remove(first.items[:3]),
        Merge(first.id, second.id),
        Split(first.id, 2),
        Empty(first.id),
    ]


def test_every_verb_can_be_undone_and_redone(workspace):
    tried = examples(workspace)
    assert {verb.act for verb in tried} == {*VERBS, "empty"}
    before = workspace.groups()
    for verb in tried:
        done = workspace.apply(verb)
        after = workspace.groups()
        assert after != before
        assert workspace.history()[0].verb == verb.act
        assert done.groups
        assert workspace.undo().entry.verb == verb.act
        assert workspace.groups() == before
        workspace.redo()
        assert workspace.groups() == after
        workspace.undo()


def test_every_verb_is_refused_if_someone_was_faster(workspace):
    tried = examples(workspace)
    seen = workspace.review.last_edit()
    first, second = workspace.groups()[:2]
    workspace.by("bob").move(first.items[:1], second.id)
    workspace.by("bob").separate(second.items[:1])
    edits = workspace.history()
    for verb in tried:
        given = {field.name: getattr(verb, field.name) for field in fields(verb)}
        with pytest.raises(ConflictError, match="bob"):
            workspace.apply(type(verb)(**given | {"on": seen}))
    assert workspace.history() == edits


def test_every_verb_is_a_method_and_a_request(client, workspace):
    schema = get(client, "openapi.json")
    body = schema["paths"][f"{API}/edits"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert list(body["discriminator"]["mapping"]) == list(VERBS)
    for name, verb in VERBS.items():
        expected = list(inspect.signature(verb).parameters)
        for part in (Workspace, Review):
            method = getattr(part, name)
            assert list(inspect.signature(method).parameters)[1:] == expected
            assert method.__doc__ == verb.__doc__
        model = schema["components"]["schemas"][verb.__name__]
        assert model["description"] == verb.__doc__
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


@pytest.mark.parametrize("verb", [Move, Separate, Remove])
def test_no_images_are_no_edit(verb):
    with pytest.raises(WorkspaceError, match="No image was chosen"):
        verb([], 1) if verb is Move else verb([])
