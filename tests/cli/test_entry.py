import importlib.util
import re
import shlex
import subprocess
import sys

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import opengcd
from opengcd.bench.demo import table_rows, write_page
from opengcd.cli import app
from opengcd.cli.demo import NEXT
from opengcd.cli.demo import demo as demo_command
from opengcd.cli.failures import report_errors

HEAVY = ("torch", "xgboost", "transformers", "sklearn", "matplotlib")


@pytest.mark.parametrize(
    "code", ["import opengcd", "import opengcd.cli, typer.main; typer.main.get_command(opengcd.cli.app)"]
)
def test_heavy_libraries_are_not_imported_in_advance(code):
    probe = f"{code}; import sys; print([m for m in {HEAVY!r} if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_public_names():
    assert opengcd.OpenWorldRecognizer.__name__ == "OpenWorldRecognizer"
    for name in opengcd.__all__:
        assert getattr(opengcd, name) is not None
        assert name in dir(opengcd)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        opengcd.nothing  # noqa: B018


def test_help_and_version():
    runner = CliRunner()
    assert "Open-world recognition" in runner.invoke(app, ["--help"]).output
    assert runner.invoke(app, ["--version"]).output.strip() == f"opengcd {opengcd.__version__}"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            MemoryError(),
            "Error: There is not enough memory; use fewer images at a time, or a machine with more memory.",
        ),
        (RecursionError("too deep"), "Error: The input is too large or too deeply nested (too deep)."),
        (OverflowError("too\x1blarge"), "Error: The input is too large or too deeply nested (too\\x1blarge)."),
    ],
    ids=["memory", "depth", "size"],
)
def test_too_large_input_is_reported_in_one_line(error, told, capsys):
    with pytest.raises(typer.Exit) as end, report_errors():
        raise error
    assert end.value.exit_code == 1
    assert capsys.readouterr() == ("", f"{told}\n")


def test_the_demo_learns_all_ten_digits(demo):
    data, phases = demo
    assert [p.result.phase for p in phases] == [1, 2, 3, 4]
    assert sorted(c for p in phases for c in p.learnt) == list(range(10))
    assert phases[0].result.accuracy_all > 0.95
    assert all(p.result.hna > 0.5 for p in phases[:3])
    assert all(p.result.actions < 0.3 * p.result.rejected for p in phases[:3])
    # Half of each class is for training, and no digit is on both sides.
    assert abs(len(data.y_train) - len(data.y_test)) <= 10
    assert len(data.y_train) + len(data.y_test) == 1797


def test_the_page_is_complete_and_loads_nothing(demo, tmp_path):
    data, phases = demo
    page = tmp_path / "demo.html"
    write_page(page, data, phases, "opengcd demo <x>")
    text = page.read_text(encoding="utf-8")
    assert "opengcd demo &lt;x&gt;" in text
    assert text.count("<svg") == 2
    groups = sum(len(p.detail.discovery.groups) for p in phases if p.detail is not None)
    assert text.count("data:image/png;base64,") == groups > 0
    assert not re.findall(r"(?:src|href)=['\"](?!data:|#)", text)
    header, rows = table_rows(phases)
    assert all(len(row) == len(header) for row in rows)
    assert f"<td>{phases[0].result.actions}/{phases[0].result.rejected}</td>" in text


def test_the_demo_command(tmp_path):
    out = tmp_path / "demo.html"
    result = CliRunner().invoke(app, ["demo", "--out", str(out), "--seed", "1"])
    assert result.exit_code == 0, result.output
    assert "OpenGCD on handwritten digits" in result.output
    assert out.stat().st_size > 20_000


@pytest.fixture
def browser(demo, monkeypatch):
    """The addresses that the demo opens; it has run before, and looks as if called on a desktop's terminal."""
    opened = []
    monkeypatch.setattr("opengcd.bench.demo.run_demo", lambda *_: iter(demo[1]))
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("DISPLAY", ":0")
    for name in ("CI", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    return opened


def run_demo_command(out, open_page=None):
    demo_command(out, 0, "best", None, open_page)


def test_the_demo_opens_its_page_on_a_desktop(browser, tmp_path):
    run_demo_command(tmp_path / "a page.html")
    assert browser == [(tmp_path / "a page.html").as_uri()]


@pytest.mark.parametrize("name", ["CI", "SSH_CONNECTION"])
def test_the_demo_opens_nothing_where_nobody_looks(browser, name, tmp_path, monkeypatch):
    monkeypatch.setenv(name, "true")
    run_demo_command(tmp_path / "demo.html")
    assert browser == []
    run_demo_command(tmp_path / "demo.html", open_page=True)
    assert len(browser) == 1


def test_the_demo_opens_nothing_in_a_pipe_or_when_told_not_to(browser, tmp_path, monkeypatch):
    run_demo_command(tmp_path / "demo.html", open_page=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: False)
    run_demo_command(tmp_path / "demo.html")
    assert browser == []


def test_what_the_demo_says_to_try_next_works(browser, world, tmp_path, monkeypatch, capsys):
    run_demo_command(tmp_path / "demo.html", open_page=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "FOLDER").symlink_to(world[0])
    printed = capsys.readouterr().out
    assert (tmp_path / "demo.html").as_uri() in printed
    lines = [line.strip().split("  ")[0] for line in printed.split("What to try next:\n")[1].strip().split("\n")]
    assert [shlex.split(line)[1:] for line in lines] == [shlex.split(arguments) for arguments in NEXT]
    for line in lines:
        result = CliRunner().invoke(app, shlex.split(line)[1:])
        assert result.exit_code == 0, result.output


def test_mean_of_old_classes_is_weighted(demo):
    _, phases = demo
    _, rows = table_rows(phases)
    a = phases[2].result.accuracy
    assert rows[2][2] == f"{100 * np.average(a[:2], weights=[4, 2]):.1f}"


def test_the_demo_refuses_before_it_runs(tmp_path):
    runner = CliRunner()
    result = runner.invoke(app, ["demo", "--out", str(tmp_path / "none" / "demo.html")])
    assert result.exit_code == 2
    assert "there is no folder" in result.output
    result = runner.invoke(app, ["demo", "--out", str(tmp_path)])
    assert result.exit_code == 2
    assert "this is a folder" in result.output
    assert runner.invoke(app, ["demo", "--classifier", "nope"]).exit_code == 2


@pytest.mark.parametrize("missing", ["matplotlib", "jinja2"])
@pytest.mark.parametrize("command", [["demo", "--out"], ["bench", "figures", "results", "--out"]])
def test_a_page_needs_all_packages_of_its_extra(command, missing, tmp_path, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == missing else found(name))
    result = CliRunner().invoke(app, [*command, str(tmp_path / "page")])
    assert result.exit_code == 1
    assert result.output == f'This command needs {missing}: pip install "opengcd[report]"\n'
