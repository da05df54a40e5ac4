"""The prose linter finds what it promises to, leaves code alone, and agrees with CONTRIBUTING.md."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
if not (ROOT / "tools").is_dir():
    pytest.skip("tools/ is only in the repository", allow_module_level=True)

from tools.prose import END, findings, prose_files, rules  # noqa: E402

CELL = """{"cells": [{
   "cell_type": "%s",
   "source": [
    "It is \\"computed\\"\\n",
    "twice and anew.\\n",
    "\\n",
    "Use `x anew`."
   ]
}]}"""


def found_in(folder, name, text):
    file = folder / name
    file.write_text(text, "utf-8")
    return [(one.line, one.column, one.message) for one in findings([file], folder)]


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.avoid)
def test_each_rule_finds_its_examples(rule):
    assert rule.found
    for example in rule.found:
        assert rule.pattern.search(example + END), example
    for example in rule.fine:
        assert not rule.pattern.search(example + END), example


def test_the_advice_of_a_rule_breaks_no_rule():
    for rule in rules():
        assert [other.avoid for other in rules() if other.pattern.search(rule.write + END)] == [], rule.write


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("page.md", "# Title\n\nThis is how\nto do it anew, twice.\n", (4, 10)),
        ("page.md", "Text\nthat wraps could\nbe had from here.\n", (3, 1)),
        ("page.md", "| a | b |\n|---|---|\n| 1 | made anew |\n", (3, 12)),
        ("page.md", "- [made anew](there.md)\n", (1, 9)),
        ("code.py", '"""Made anew."""\n', (1, 9)),
        ("code.py", 'def f():\n    """Summary.\n\n    Computed anew.\n    """\n', (4, 14)),
        ("code.py", 'raise ValueError(f"{name} é is computed anew; wait.")\n', (1, 41)),
        ("code.py", 'raise ValueError(\n    "it is computed "\n    f"anew for {name}."\n)\n', (3, 7)),
        ("code.py", 'typer.Option(help="Compute it anew")\n', (1, 31)),
        ("code.py", "echo(f\"{', '.join(x)} could be\"  # it's a comment\n     ' had from the hub')\n", (1, 29)),
        ("page.js", "const x = `made ${y ? 'one {' : `two ${z}`} anew`;\n", (1, 45)),
        ("page.js", "f(/[\"'`/]/g, 'it is\\'nt there'); g({ title: \"Computed anew\" });\n", (1, 55)),
        ("page.js", "f('anew', 'Middle');\n", (1, 12)),
        ("page.html", '<p>\n<b title="made anew">x</b></p>\n', (2, 16)),
        ("page.html", "<body><p>made\nanew</p></body>\n", (2, 1)),
        ("page.html.j2", "<p>{{ anew }} {% if made %}made anew{% endif %}</p>\n", (1, 33)),
        ("book.ipynb", CELL % "markdown", (5, 16)),
        ("book.ipynb", '{"cell_type": "markdown", "source": "\\"One\\" is\\nmade anew."}', (1, 55)),
    ],
)
def test_a_bad_phrase_is_found_where_it_stands(tmp_path, name, text, place):
    ((line, column, message),) = found_in(tmp_path, name, text)
    assert (line, column) == place
    assert "write" in message


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("page.md", "```python\nx = 'made anew'\n```\n\n    ```\n    made anew\n    ```\n"),
        ("page.md", "~~~\nmade anew\n\n```\n~~~\n"),
        ("page.md", "Type `made anew` or ``made ` anew``.\n"),
        ("page.md", "---\ntitle: made anew\n---\n\nText.\n"),
        ("page.md", "See [this](made-anew.md) and https://host/made%20anew/anew. <!-- made anew -->\n"),
        ("page.md", "the word is\n\nno class here\n"),
        ("code.py", "x = 1  # made anew\n"),
        (
            "code.py",
            'def f():\n    """Do.\n\n    >>> f("made anew")\n    made anew\n\n    Use ``made anew``.\n    """\n',
        ),
        ("code.py", "x = f\"a word {anew} or {f('made anew'):>5}\"\n"),
        ("code.py", 'COLUMN = "anew"\n'),
        ("page.js", "// made anew\n/* made anew */ const anew = 1; f('anew');\n"),
        ("page.js", "const x = a / b; // it's\nconst y = `some text ${anew / made}`;\n"),
        ("book.ipynb", CELL % "code"),
        ("page.html", "<script>f('made anew')</script><!-- made anew --><p class='made anew'>Text</p>\n"),
    ],
)
def test_code_is_left_alone(tmp_path, name, text):
    assert found_in(tmp_path, name, text) == []


def test_other_checkers_are_asked(tmp_path):
    assert "proselint" in found_in(tmp_path, "a.md", "At the end of the day, it is very unique.\n")[0][2]
    assert "codespell" in found_in(tmp_path, "a.md", "The recieved images.\n")[0][2]
    assert found_in(tmp_path, "a.md", "The colour of a recognised, labelled neighbour is grey.\n") == []


def test_releases_are_history(tmp_path):
    text = "# Changelog\n\n## Unreleased\n\nMade anew.\n\n## 0.1.0\n\nMade anew.\n"
    assert [line for line, *_ in found_in(tmp_path, "CHANGELOG.md", text)] == [5]


def test_the_command_names_the_place_and_fails(tmp_path):
    bad = tmp_path / "bad.md"
    bad.write_text("Made anew.\n", "utf-8")
    command = [sys.executable, str(ROOT / "tools" / "prose.py"), str(bad)]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", env={"PYTHONIOENCODING": "utf-8"})
    assert done.returncode == 1
    assert done.stdout.startswith(f"{bad}:1:6: “anew”: write “again”")
    bad.write_text("Made again.\n", "utf-8")
    assert subprocess.run(command, check=False).returncode == 0


def test_all_that_people_read_is_checked():
    checked = {file.relative_to(ROOT).as_posix() for file in prose_files()}
    assert {"README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"} <= checked
    assert {"src/opengcd/recognizer.py", "src/opengcd/cli/loop.py", "src/opengcd/service/page/words.js"} <= checked
    assert {"src/opengcd/service/page/index.html", "src/opengcd/bench/templates/demo.html.j2"} <= checked
    assert "docs/tutorials/quickstart.ipynb" in checked
    assert {file.relative_to(ROOT).as_posix() for file in ROOT.glob("docs/**/*.md")} <= checked


def test_the_table_in_contributing_is_from_the_list():
    words = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("\n## Words\n")[2]
    rows = re.findall(r"^\| (.+) \| `(.+)` \|$", words, re.MULTILINE)
    assert len(rows) >= 10
    assert set(rows) <= {(rule.write, rule.avoid) for rule in rules()}
