"""The notebook as it is committed; `make test` runs it from top to bottom with nbmake."""

import base64
import json
import re

import pytest

from tests.helpers.places import ROOT

NOTEBOOK = ROOT / "docs" / "tutorials" / "quickstart.ipynb"
LARGEST, LARGEST_OUTPUT = 200_000, 30_000
"""Bytes of the file, and of one output in it."""


@pytest.fixture(scope="module")
def cells():
    return [cell for cell in json.loads(NOTEBOOK.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]


def test_the_notebook_is_small(cells):
    assert NOTEBOOK.stat().st_size < LARGEST
    assert all(len(json.dumps(output)) < LARGEST_OUTPUT for cell in cells for output in cell["outputs"])


def test_it_was_run_once_from_top_to_bottom(cells):
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))


def test_its_outputs_are_results_and_pictures_alone(cells):
    """No error, no warning, and nothing of the machine that it ran on."""
    kinds = {output.get("name", output["output_type"]) for cell in cells for output in cell["outputs"]}
    assert kinds == {"stdout", "display_data"}
    assert not re.search(r"/tmp/|/home/|/root/|/work/|\bat 0x", NOTEBOOK.read_text("utf-8"))


def test_its_pictures_are_pictures(cells):
    pictures = [o["data"]["image/png"] for cell in cells for o in cell["outputs"] if o["output_type"] == "display_data"]
    assert len(pictures) >= 3
    assert all(base64.b64decode(picture).startswith(b"\x89PNG") for picture in pictures)


def test_its_links_lead_somewhere():
    text = "".join("".join(c["source"]) for c in json.loads(NOTEBOOK.read_text("utf-8"))["cells"])
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", text)
    assert len(links) >= 4
    assert [link for link in links if not (NOTEBOOK.parent / link).exists()] == []


def test_make_test_runs_it():
    commands = re.search(r"^test:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)[1]
    assert any("--nbmake" in line and "docs/tutorials/quickstart.ipynb" in line for line in commands.splitlines())
