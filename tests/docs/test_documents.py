"""The harness that runs the blocks of documents: what it takes for wrong must fail."""

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tests.helpers.documents import PageError, environment, lacking, read_page, session


def page(text):
    return read_page(dedent(text), "page.md")


def run(text, folder, **scope):
    with session(page(text), folder / "page", folder, scope) as opened:
        for block in opened.page.blocks:
            opened.run(block)
    return opened


@pytest.mark.parametrize(
    "text",
    [
        "```\nopengcd init\n```\n",
        "```ruby\nputs 1\n```\n",
        "1. In a list:\n\n    ```\n    opengcd init\n    ```\n",
        "<!-- test: skip because -->\n```bash\nfalse\n```\n",
        "<!-- test: skip page because -->\n```bash\nfalse\n```\n",
        "<!-- test: sometimes -->\n```bash\nfalse\n```\n",
        "```bash\ntrue\n```\n<!-- test: fails -->\n",
        "```bash\ntrue\n```\n<!-- test: prints -->\n```bash\ntrue\n```\n",
    ],
)
def test_a_page_that_is_tagged_wrongly_is_refused(text):
    with pytest.raises(PageError, match=r"page\.md"):
        page(text)


def test_where_blocks_and_directives_are_found():
    found = page(
        """\
        <!-- test: birds -->
        <!-- An example in a comment:
        ```bash
        false
        ```
        -->
        ```text
        <!-- test: sometimes -->
        ```

        - Item

            <!-- test: skip because it takes an hour -->

            ```bash title="run"
            opengcd bench run
            ```
        """
    )
    assert [(block.language, block.code, block.line) for block in found.blocks] == [
        ("text", "<!-- test: sometimes -->\n", 7),
        ("bash", "opengcd bench run\n", 15),
    ]
    assert found.needs == {"birds"}
    assert found.reasons() == [(15, "it takes an hour")]
    assert not found.runs()


def test_blocks_of_a_page_share_what_they_define(tmp_path):
    text = """\
        <!-- test: setup
        a = 2
        -->
        ```python
        b = a + given
        ```
        ```bash
        mkdir inner && cd inner
        export NAME="a 'name'"
        ```
        <!-- test: setup bash
        touch "$NAME"
        -->
        ```bash
        ls
        ```
        <!-- test: prints -->
        ```text
        a 'name'
        ```
        """
    opened = run(text, tmp_path, given=3)
    assert opened.scope["b"] == 5
    assert (tmp_path / "page" / "inner" / "a 'name'").exists()


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("```bash\nfalse\ntrue\n```\n", 1),
        ("Text.\n\n```console\n$ echo one\ntwo\n```\n", 3),
        ("```python\nprint(1)\n```\n\n<!-- test: prints -->\n```text\n2\n```\n", 6),
        ("```python\nprint(1)\nprint(2)\n```\n<!-- test: prints -->\n```text\n1\n```\n", 6),
        ("<!-- test: fails -->\n```bash\ntrue\n```\n", 2),
        ("<!-- test: fails -->\n```python\n1\n```\n", 2),
        ("<!-- test: background -->\n```bash\ntrue\n```\n", 2),
        ("<!-- test: setup bash\nfalse\n-->\n", 2),
    ],
)
def test_a_block_that_does_not_do_what_the_page_says_fails(code, line, tmp_path):
    with pytest.raises(PageError, match=rf"^page\.md:{line}: "):
        run(code, tmp_path)


def test_an_exception_tells_the_line_of_the_document(tmp_path):
    with pytest.raises(ZeroDivisionError) as caught:
        run("Text.\n\n```python\na = 1\na / 0\n```\n", tmp_path)
    assert caught.traceback[-1].lineno + 1 == 5
    assert str(caught.traceback[-1].path).endswith("page.md")


def test_what_is_printed_is_compared(tmp_path):
    run(
        """\
        <!-- test: replace somebody/large with small -->
        ```console
        $ echo "network somebody/large"; echo "took 1.234 s"
        network somebody/large
        took ... s
        ```
        <!-- test: fails -->
        ```bash
        echo refused; exit 3
        ```
        <!-- test: prints -->
        ```text
        refused
        ```
        <!-- test: skip because it is dangerous -->
        ```bash
        echo ran > ran
        ```
        """,
        tmp_path,
    )
    assert not (tmp_path / "page" / "ran").exists()


def test_a_server_runs_until_the_page_ends_at_a_port_of_its_own(tmp_path):
    opened = run(
        """\
        <!-- test: background 8765 -->
        ```bash
        python -m http.server 8765 --bind 127.0.0.1
        ```
        ```python
        from urllib.request import urlopen

        status = urlopen("http://127.0.0.1:8765/").status
        address = "http://127.0.0.1:8765/"
        ```
        """,
        tmp_path,
    )
    assert opened.scope["status"] == 200
    assert ":8765" not in opened.scope["address"]
    assert opened.servers[0].poll() is not None


def test_what_a_page_needs_may_be_missing(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.helpers.documents.SHARED", tmp_path)
    assert "birds is missing" in lacking(page("<!-- test: birds -->\n"))
    assert lacking(page("<!-- test: images -->\n")) == ""


@pytest.mark.parametrize("arguments", ["--version", "status none", "recognize --fps", "export 'a b' --format json"])
def test_the_quick_command_does_what_the_real_one_does(commands, tmp_path, arguments):
    """What it prints, where, its status, and what it reads and writes: pipes and files."""
    script = f"echo x | opengcd {arguments} > out 2> error; echo ${{PIPESTATUS[1]}} > status"
    found = []
    for place in (commands, Path(sys.executable).parent):
        folder = tmp_path / f"folder {len(found)}"
        folder.mkdir()
        path = {"PATH": f"{place}:{os.environ['PATH']}"}
        subprocess.run(["bash", "-c", script], cwd=folder, env=environment() | path, check=True)
        found.append({file.name: file.read_text() for file in folder.iterdir()})
    assert found[0] == found[1]
    assert found[0]["out"] + found[0]["error"]
