import importlib.util
import re
import subprocess
import sys

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import opengcd
from opengcd.bench.demo import table_rows, write_page
from opengcd.cli import app
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
    assert runner.invoke(app, ["demo", "--classifier", "nope"]).exit_code == 2


@pytest.mark.parametrize("missing", ["matplotlib", "jinja2"])
@pytest.mark.parametrize("command", [["demo", "--out"], ["bench", "figures", "results", "--out"]])
def test_a_page_needs_all_packages_of_its_extra(command, missing, tmp_path, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == missing else found(name))
    result = CliRunner().invoke(app, [*command, str(tmp_path / "page")])
    assert result.exit_code == 1
    assert result.output == f'This command needs {missing}: pip install "opengcd[report]"\n'
