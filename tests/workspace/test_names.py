"""Two spellings of a name are one name, wherever it is given."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import update
from typer.testing import CliRunner

from opengcd.cli import app as commands
from opengcd.service import create_app
from opengcd.workspace import ConflictError, WorkspaceError, names
from opengcd.workspace.schema import groups
from tests.helpers.serving import connect, edit

SPELLINGS = ["Blue_Jay", "blue jay", "BLUE-JAY", "bluejay", " Blue  Jay ", "Blue\u2013Jay", "blue\u00a0jay"]


def test_spellings_of_one_name():
    assert {names.key(one) for one in SPELLINGS} == {"bluejay"}
    assert names.key("Straße") == names.key("STRASSE")
    assert names.key("ﬁnch") == names.key("Finch")
    assert names.key("blue jays") != names.key("blue jay")
    assert names.key("é") != names.key("e")
    assert names.key("-") != names.key("_")


def test_the_exact_spelling_wins_then_the_first():
    assert names.existing("blue jay", ["Blue_Jay", "blue jay"]) == "blue jay"
    assert names.existing("bluejay", ["Blue_Jay", "blue jay"]) == "Blue_Jay"
    assert names.existing("heron", ["Blue_Jay"]) is None
    assert names.same_names(["a b", "c", "A_B", "c"]) == [["a b", "A_B"]]


@given(st.text("abXYéÖßдΣ9", min_size=1, max_size=12), st.sampled_from(["", " ", "_", "-", " - "]), st.booleans())
def test_case_and_separators_never_count(text, between, upper):
    other = between.join(text.upper() if upper else text)
    assert names.key(f"{between}{other}{between}") == names.key(text)


def novel(workspace):
    return [group for group in workspace.groups() if group.kind == "novel"]


def labels(workspace):
    return sorted((group.label, group.kind, len(group)) for group in workspace.groups())


@pytest.mark.parametrize("typed", [" RED ", "r-e_d", "Red"])
def test_a_group_named_like_a_known_class_joins_it(workspace, typed):
    first, second = novel(workspace)
    workspace.name(first.id, typed, confirm=True)
    assert labels(workspace) == sorted([("red", "known", 8), (second.label, "novel", 8)])
    assert workspace.history(1)[0].details["label"] == "red"
    workspace.undo()
    assert novel(workspace) == [first, second]
    workspace.redo()
    assert ("red", "known", 8) in labels(workspace)


def test_a_new_name_keeps_its_spelling_and_others_follow_it(workspace):
    first, second = novel(workspace)
    workspace.name(first.id, "  Blue_Jay ")
    workspace.move(second.items[:2], "blue jay")
    workspace.separate(second.items[2:4], "BLUE-JAY")
    assert labels(workspace) == [("Blue_Jay", "novel", 12), (second.label, "novel", 4)]
    workspace.by("bob").name(second.id, "bluejay")
    assert labels(workspace) == [("Blue_Jay", "novel", 16)]
    workspace.undo()
    workspace.undo()
    assert labels(workspace) == [("Blue_Jay", "novel", 10), (second.label, "novel", 6)]
    workspace.redo()
    assert labels(workspace) == [("Blue_Jay", "novel", 12), (second.label, "novel", 4)]


def test_a_group_may_be_spelt_anew(workspace):
    first, second = novel(workspace)
    workspace.name(first.id, "blue jay")
    workspace.name(first.id, "Blue Jay")
    assert labels(workspace) == [("Blue Jay", "novel", 8), (second.label, "novel", 8)]


def test_a_learnt_class_keeps_its_spelling(workspace):
    first, second = novel(workspace)
    workspace.name(first.id, "Blue_Jay", confirm=True)
    workspace.learn()
    workspace.name(second.id, "blue jay", confirm=True)
    assert labels(workspace) == [("Blue_Jay", "known", 8)]
    workspace.models.rollback(1)
    assert "Blue_Jay" not in workspace.status().version.classes
    assert {label for label, *_ in labels(workspace)} == {"Blue_Jay"}


def test_two_people_who_name_two_groups_at_once_make_one_class(workspace):
    first, second = novel(workspace)
    seen = workspace.review.last_edit()
    workspace.by("ann").name(first.id, "Blue_Jay", on=seen)
    workspace.by("bob").name(second.id, "blue jay", on=seen)
    assert labels(workspace) == [("Blue_Jay", "novel", 16)]
    with pytest.raises(ConflictError):
        workspace.by("ann").name(first.id, "heron", on=seen)


def test_unknown_in_any_spelling_is_no_name(workspace):
    for typed in ("unknown", "Unknown", "UN_KNOWN"):
        with pytest.raises(WorkspaceError, match="cannot be named"):
            workspace.name(novel(workspace)[0].id, typed)


def test_a_workspace_with_both_spellings_keeps_them_until_they_are_joined(workspace):
    first, second = novel(workspace)
    with workspace.store.database.writing() as connection:
        for group, name in ((first, "Blue_Jay"), (second, "blue jay")):
            connection.execute(update(groups).where(groups.c.id == group.id).values(name=name))
    assert labels(workspace) == [("Blue_Jay", "novel", 8), ("blue jay", "novel", 8)]
    told = CliRunner().invoke(commands, ["status", str(workspace.path)]).output
    assert "two spellings: Blue_Jay, blue jay" in told
    assert f"opengcd edit merge {workspace.path} {second.id} {first.id}" in told
    workspace.move(first.items[:1], "blue jay")  # as it is written
    assert labels(workspace) == [("Blue_Jay", "novel", 7), ("blue jay", "novel", 9)]
    workspace.merge(second.id, first.id)
    assert labels(workspace) == [("Blue_Jay", "novel", 16)]
    assert "two spellings" not in CliRunner().invoke(commands, ["status", str(workspace.path)]).output


def test_the_command_line_and_the_service_follow_the_rule(workspace):
    first, second = novel(workspace)
    done = CliRunner().invoke(commands, ["edit", "name", str(workspace.path), str(first.id), "R e d"])
    assert done.exit_code == 0
    with connect(create_app(workspace), workspace.access.make("ann")) as client:
        on = workspace.review.last_edit()
        moved = edit(client, on, "move", items=second.items[:3], label="GREEN")
        edit(client, moved["edit"], "name", group=second.id, label="b-lack")
    assert labels(workspace) == [("black", "known", 5), ("green", "known", 3), ("red", "known", 8)]


def test_folders_of_a_review_follow_the_rule(workspace, tmp_path):
    first, second = novel(workspace)
    out = tmp_path / "out"
    workspace.formats.export_groups(out)
    (out / first.label).rename(out / "_known_R-ed")
    (out / second.label).rename(out / "Blue_Jay")
    (out / "blue jay").mkdir()
    image = sorted(path for path in (out / "Blue_Jay").iterdir() if not path.name.startswith("."))[0]
    image.rename(out / "blue jay" / image.name)
    workspace.formats.import_groups(out)
    assert labels(workspace) == [("Blue_Jay", "novel", 8), ("red", "known", 8)]
    before = workspace.groups()
    changes = workspace.formats.import_groups(out)
    assert (changes.named, changes.moved, changes.removed) == (0, 0, 0)
    assert workspace.groups() == before
