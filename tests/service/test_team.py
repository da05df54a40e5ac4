"""Several reviewers over HTTP and on the command line: assignments, comments, people and agreement."""

import pytest
from typer.testing import CliRunner

from opengcd.cli import app as commands
from tests.helpers.serving import connect, edit, get, send


def test_a_group_is_assigned_commented_on_and_confirmed_by_two(client, app, workspace):
    ben = connect(app, workspace.access.make("Ben"))
    found = get(client, "groups")
    on, (first, second) = found["edit"], found["groups"]
    assert (first["assignee"], first["confirmed_by"], first["comments"]) == (None, [], 0)
    done = edit(client, on, "assign", group=first["id"], person="ben")
    assert done["groups"] == [first["id"]]
    told = edit(ben, on, "assign", 409, group=first["id"], person="ann")  # ann was faster
    assert told["conflict"]["verb"] == "assign"
    edit(ben, on, "comment", group=first["id"], text=" Two kinds? ")  # which is no reason to refuse a comment
    on = edit(client, done["edit"], "name", group=first["id"], label="sky", confirm=True)["edit"]
    edit(ben, on, "confirm", group=first["id"])
    group = next(one for one in get(client, "groups")["groups"] if one["id"] == first["id"])
    assert (group["assignee"], group["confirmed_by"], group["comments"]) == ("Ben", ["ann", "Ben"], 1)
    (comment,) = get(client, f"groups/{first['id']}/comments")
    assert (comment["who"], comment["text"]) == ("Ben", "Two kinds?")
    assert get(client, f"groups/{second['id']}/comments") == []
    get(client, "groups/99/comments", 404)
    assert {"Ben", "ann"} <= set(get(client, "people"))
    expected = {"people": ["Ben", "ann"], "images": 8, "same": 8, "share": 1.0, "kappa": None}
    assert get(client, "agreement") == [expected]
    send(client, "POST", "undo", {"on": workspace.review.last_edit()})
    assert get(client, "agreement") == []
    edit(client, workspace.review.last_edit(), "assign", group=first["id"], person=None)
    assert {one["assignee"] for one in get(client, "groups")["groups"]} == {None}


@pytest.mark.parametrize(
    "what",
    [
        {"act": "assign", "person": ""},
        {"act": "assign", "person": "a\u202eb"},
        {"act": "assign", "person": "e" * 251},
        {"act": "assign", "person": 7},
        {"act": "comment"},
        {"act": "comment", "text": " "},
        {"act": "comment", "text": "two\nlines"},
        {"act": "comment", "text": "e" * 501},
    ],
)
def test_names_and_texts_that_are_refused(client, workspace, what):
    before = workspace.history()
    send(client, "POST", "edits", {"on": workspace.review.last_edit(), "group": 1, **what}, 422)
    assert workspace.history() == before


def test_who_may_only_read_neither_assigns_nor_comments(app, workspace):
    reader = connect(app, workspace.access.make("eve", "read"))
    for what in ({"act": "assign", "person": "eve"}, {"act": "comment", "text": "Mine."}):
        send(reader, "POST", "edits", {"on": workspace.review.last_edit(), "group": 1, **what}, 403)
    assert get(reader, "groups/1/comments") == []
    assert get(reader, "agreement") == []


def test_the_command_line(workspace):
    def run(*arguments):
        done = CliRunner().invoke(commands, [str(argument) for argument in arguments])
        assert done.exit_code == 0, done.output
        return done.output

    first = workspace.groups()[0].id
    assert "No two people have named the same images." in run("history", workspace.path, "--agreement")
    assert "assigned to Ana" in run("edit", "assign", workspace.path, first, "--person", "Ana")
    run("edit", "comment", workspace.path, first, "Two kinds?")
    assert "comment: group 1, comment 1, text Two kinds?" in run("history", workspace.path)
    assert "assigned to" not in run("edit", "assign", workspace.path, first)
    workspace.by("Ana").name(first, "sky", confirm=True)
    workspace.by("Ben").confirm(first)
    assert "confirmed by Ana and Ben" in run("status", workspace.path)
    shown = run("history", workspace.path, "--agreement")
    assert shown == "Ana and Ben: 8 images named by both, 100% got the same name\n"
