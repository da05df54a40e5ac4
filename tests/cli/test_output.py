"""What is printed and written out: names cannot steer a terminal or a spreadsheet."""

import csv
import io
import json
import logging
import os
import pty
import shutil
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from typer.testing import CliRunner

from opengcd import Workspace
from opengcd._internal import terminal
from opengcd._internal.text import MISLEADING, printable, same_look
from opengcd.cli import app
from opengcd.service.server import SafeFormatter
from opengcd.workspace import WorkspaceError, csv_line
from opengcd.workspace.settings import Settings
from tests.helpers.pictures import paint
from tests.helpers.serving import edit, send

HOSTILE = "=cmd|' /C calc'!A0 \x1b]0;owned\x07\x1b[2J\r\n200 classes\u202e"


def run(*arguments, code=0):
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == code, done.output
    return done.stdout_bytes, done.stderr_bytes


def on_a_terminal(*arguments):
    """All that a command writes to a terminal."""
    ours, its = pty.openpty()
    process = subprocess.Popen([sys.executable, "-m", "opengcd", *map(str, arguments)], stdout=its, stderr=its)
    os.close(its)
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError:  # its end
        pass
    os.close(ours)
    assert process.wait() == 0, shown
    return shown


@given(st.text(st.characters()))
@example(HOSTILE)
def test_printable_text_has_one_line_and_no_controls(text):
    shown = printable(text)
    assert not MISLEADING.search(shown)
    assert len(shown.splitlines()) <= 1
    shown.encode()
    if not MISLEADING.search(text):
        assert shown == text


@given(st.text(), st.text(), st.sampled_from("\u200b\u034f\u115f\u17b5\u180d\u3164\ufe00\U000e01ef"))
@example("e", "\u0301", "\u034f")
def test_invisible_characters_do_not_distinguish_names(before, after, hidden):
    assert same_look(before + hidden + after) == same_look(before + after)


@given(st.lists(st.text(st.characters(codec="utf-8")), min_size=1))
@example([HOSTILE, "'", "''=", "=", "-1", "plain"])
def test_cells_are_no_formulas_and_can_be_read_back(cells):
    (row,) = csv.reader(io.StringIO(csv_line(cells).decode(), newline=""))
    assert not [cell for cell in row if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    assert [cell.removeprefix("'") for cell in row] == cells


def test_numbers_stay_numbers():
    assert csv_line([-0.5, None, 1.0]) == b"-0.500000,,1.000000\n"


@pytest.fixture
def hostile(workspace, tmp_path):
    """A workspace in which everything that has a name has a hostile one."""
    (tmp_path / "in").mkdir()
    (file,) = paint(tmp_path / "in", "red", [700])
    bad = tmp_path / "in" / f"bad{HOSTILE.replace('/', '')}.png"
    bad.write_bytes(b"nothing")
    file.rename(tmp_path / "in" / f"a{HOSTILE.replace('/', '')}.png")
    with workspace.store.editing("name") as change:
        from opengcd.workspace import groups as groups_module
        from opengcd.workspace.schema import groups, tokens

        change.connection.execute(groups.update().values(label=HOSTILE, name=None))
        groups_module.make_group(change, "novel", HOSTILE)
        change.details = {"label": HOSTILE}
        change.connection.execute(
            tokens.insert().values(hash="0" * 64, name=HOSTILE, scope="read", at="2026-01-01", once=False)
        )
    return workspace, tmp_path / "in"


def test_no_command_prints_what_a_name_holds(hostile):
    workspace, folder = hostile
    commands = [
        (("recognize", workspace.path, folder), 3),
        (("recognize", workspace.path, folder, "--format", "jsonl"), 3),
        (("status", workspace.path), 0),
        (("history", workspace.path), 0),
        (("token", workspace.path, "--list"), 0),
        (("status", folder / HOSTILE), 1),
    ]
    for command, code in commands:
        text = b"".join(run(*command, code=code))
        assert b"\x1b" not in text
        assert "\u202e".encode() not in text
        assert not [line for line in text.splitlines() if line.startswith(b"200 classes")]


def test_csv_is_exact_for_programs_and_safe_on_a_terminal(hostile):
    workspace, folder = hostile
    for command, code in (
        (("recognize", workspace.path, folder, "--format", "csv"), 3),
        (("export", workspace.path, "--format", "csv"), 0),
    ):
        out = run(*command, code=code)[0]
        paths = [row["path"] for row in csv.DictReader(io.StringIO(out.decode(), newline=""))]
        assert any(path.endswith(f"a{HOSTILE.replace('/', '')}.png") for path in paths)
    shown = on_a_terminal("export", workspace.path, "--format", "csv")
    assert b"owned" in shown
    assert b"\x1b]" not in shown


def test_tables_and_progress_are_safe(capsys):
    terminal.print_table("t", ["name"], [[f"{terminal.BOLD}{HOSTILE}{terminal.BOLD}"], ["[red]plain"]])
    with terminal.progress_bar() as progress:
        progress(f"reading {HOSTILE} [red]", 1, 2)
    told = capsys.readouterr()
    assert "\x1b]" not in told.out + told.err
    assert "[red]plain" in told.out


def test_log_lines_are_safe():
    try:
        raise ValueError(HOSTILE)
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, "", 1, "%s", (HOSTILE,), sys.exc_info())
    text = SafeFormatter("%(message)s").format(record)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert not [line for line in text.splitlines()[:1] if line.startswith("200")]


@pytest.mark.parametrize("label", ["a\x1b[2Jb", "a\nb", "a\u202eb", "a\x85b", "a\u2028b"])
def test_classes_have_no_control_characters(client, workspace, tmp_path, world, label):
    before = workspace.groups()
    assert "choose another name" in edit(client, 3, "name", 422, group=1, label=label)["detail"]
    assert "choose another name" in edit(client, 3, "separate", 422, items=[33], label=label)["detail"]
    with pytest.raises(WorkspaceError, match="choose another name"):
        workspace.name(1, label)
    assert workspace.groups() == before
    shutil.copytree(world[0], tmp_path / "known")
    (tmp_path / "known" / "red").rename(tmp_path / "known" / label)
    with (
        Workspace.create(tmp_path / "new", "pixels") as new,
        pytest.raises(WorkspaceError, match="choose another name"),
    ):
        new.fit(tmp_path / "known")


def test_names_over_http_are_checked(client):
    assert "cannot be the name" in send(client, "POST", "session", {"token": "x", "who": "a\x1bb"}, 422)["detail"]


@pytest.mark.parametrize(
    "url",
    ["sqlite:////tmp/elsewhere.db", "sqlite://", "mysql://x", "sqlite:///file:x?uri=true", "", 5, "Postgresql://x",
     "postgresql+psycopg2://x"],
)  # fmt: skip
def test_a_workspace_cannot_point_at_another_database(workspace, url):
    file = workspace.path / "workspace.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"database": url}))
    with pytest.raises(WorkspaceError, match="leave it out for SQLite"):
        Workspace(workspace.path)
    with pytest.raises(WorkspaceError, match="leave it out for SQLite"):
        Settings("pixels", database=url)
