"""The details of entries of the history: one record for each verb, also for what earlier versions have stored."""

import pytest
from sqlalchemy import select, update
from typer.testing import CliRunner

from opengcd.cli import app as commands
from opengcd.workspace import DETAILS, DiscoverDetails, read_details
from opengcd.workspace.details import LearnDetails, RejectionDetails
from opengcd.workspace.schema import edits
from opengcd.workspace.verbs import VERBS
from tests.helpers.reviewing import put_in_stack
from tests.helpers.serving import get

OLD = {"k": 5, "images": 16, "put back": 2, "groups": 2, "version": 1, "k interval": [4, 6], "left alone": 3}
"""What early versions have stored of a discovery."""


def store(workspace, verb, details):
    """Replace the details of the last entry of a verb by what an earlier version would have stored."""
    with workspace.store.database.writing() as connection:
        last = select(edits.c.id).where(edits.c.verb == verb).order_by(edits.c.id.desc()).limit(1).scalar_subquery()
        connection.execute(update(edits).where(edits.c.id == last).values(details=details))


def test_every_entry_has_the_record_of_its_verb(workspace):
    first, second = workspace.groups()[:2]
    put_in_stack(workspace, first.items[2:4])
    workspace.name(first.id, "sky", confirm=True)
    workspace.unstack(first.items[3:4])
    workspace.unconfirm(first.id)
    workspace.confirm(first.id)
    workspace.move(first.items[:1], second.id)
    workspace.separate(second.items[:1])
    workspace.remove(second.items[1:2])
    workspace.keep(second.id)
    workspace.divide(second.id, second.items[2:3])
    workspace.compare(first.id, second.id, same=False)
    workspace.regroup()
    workspace.split(second.id, 2)
    workspace.merge(second.id, first.id)
    workspace.assign(first.id, "bob")
    workspace.comment(first.id, "One class?")
    workspace.undo()
    workspace.redo()
    workspace.learn()
    workspace.rollback(1)
    history = workspace.history()
    others = {"init", "recognize", "discover", "learn", "rollback", "undo", "redo"}
    of_classes = {"rename_class", "merge_classes", "relabel", "keep_label", "discard"}  # see test_class_verbs.py
    assert {entry.verb for entry in history} == {*VERBS} - of_classes | others
    for entry in history:
        record = read_details(entry.verb, entry.details)
        assert type(record) is DETAILS[entry.verb]
        assert record.as_dict() == entry.details


@pytest.mark.parametrize("stored", [OLD, {key.replace(" ", "_"): value for key, value in OLD.items()}])
def test_entries_of_earlier_versions_are_read_and_shown(client, workspace, stored):
    store(workspace, "discover", stored)
    found = workspace.status().discovered
    assert DiscoverDetails(**found) == DiscoverDetails(5, 16, 2, 2, 1, k_interval=[4, 6], left_alone=3)
    assert workspace.history()[0].details == found
    told = get(client, "history")[0]["details"]
    assert told == get(client, "status")["discovered"]
    assert {key: told[key] for key in found} == found
    number = get(client, "k")
    assert (number["k"], number["interval"], number["trusted"], number["reason"]) == (5, [4, 6], True, "")
    shown = CliRunner().invoke(commands, ["history", str(workspace.path)]).output
    assert "returned to known classes 2, groups 2, version 1, k interval 4, 6, left unchanged 3" in shown
    assert "very likely 4 to 6" in CliRunner().invoke(commands, ["status", str(workspace.path)]).output


@pytest.mark.parametrize(
    ("verb", "stored", "expected"),
    [
        ("learn", {"version": 2, "images": 8, "new classes": ["sky"]}, LearnDetails(2, 8, ["sky"])),
        ("rejection", {"max known rejected": None}, RejectionDetails(None)),
        ("strange", {"a": 1}, {"a": 1}),
        ("learn", {"something": "else"}, {"something": "else"}),
    ],
)
def test_details_of_other_forms(client, workspace, verb, stored, expected):
    with workspace.store.editing(verb) as edit:
        edit.details = stored
    entry = workspace.history()[0]
    assert read_details(verb, entry.details) == expected
    shown = get(client, "history")[0]["details"]
    assert {key: value for key, value in shown.items() if value is not None or key in entry.details} == entry.details
