"""The users' documents name what there is, and nothing else."""

import csv
import json
import re

import pytest

from opengcd import Workspace
from opengcd._internal.images import MAX_BYTES
from opengcd.embed import Pixels
from opengcd.service import connections, request_limits
from opengcd.workspace import SOURCES
from opengcd.workspace.verbs import VERBS
from tests.helpers.pictures import RECOGNIZER, paint_world
from tests.helpers.places import ROOT

DOCS = ROOT / "docs"
PAGE = ROOT / "src" / "opengcd" / "service" / "page"


def text_of(name):
    return (DOCS / name).read_text(encoding="utf-8")


def section(name, heading):
    """The part of a page under a heading, up to the next heading."""
    return re.search(rf"^#+ {heading}\n(.*?)(?=^#|\Z)", text_of(name), re.DOTALL | re.MULTILINE)[1]


def first_cells(text):
    """The names in the first column of a table."""
    return re.findall(r"^\| `([^`]+)`", text, re.MULTILINE)


def test_the_index_lists_every_guide():
    links = re.findall(r"\]\(([a-z-]+\.md)\)", text_of("how-to/index.md"))
    assert sorted(links) == sorted(file.name for file in DOCS.glob("how-to/*.md") if file.name != "index.md")


def test_the_sources_of_labels_are_explained():
    heading, *names = first_cells(section("reference/exports.md", "Sources"))
    assert (heading, names) == ("source", list(SOURCES))


def test_the_columns_of_exports_are_explained(tmp_path):
    known, _ = paint_world(tmp_path / "images", 4)
    with Workspace.create(tmp_path / "colours", embedder=Pixels(), recognizer=RECOGNIZER) as workspace:
        workspace.fit(known)
        rows = csv.reader(workspace.formats.export_bytes("csv").decode().splitlines())
        items = json.loads(workspace.formats.export_bytes("json"))
    table = re.findall(r"^\|([^|]*)\|([^|]*)\|", section("reference/exports.md", "Labels"), re.MULTILINE)[2:]
    in_csv, in_json = ([name for row in table for name in re.findall(r"`(\w+)`", row[column])] for column in (0, 1))
    assert in_csv == next(rows)
    assert sorted(in_json) == sorted(items[0])


@pytest.mark.parametrize("page", ["how-to/programs.md", "how-to/review-by-files.md"])
def test_every_edit_is_named(page):
    named = set(re.findall(r"`(\w+)`", text_of(page)))
    assert set(VERBS) <= named


@pytest.mark.parametrize("page", ["review.md", "questions.md", "adapt.md", "rejection.md"])
def test_what_the_guides_tell_to_press_is_on_the_page(page):
    shown = "\n".join(file.read_text(encoding="utf-8") for file in PAGE.rglob("*.js"))
    text = section("how-to/adapt.md", "On the review page") if page == "adapt.md" else text_of(f"how-to/{page}")
    told = re.findall(r"\*\*([^*]+)\*\*", text)
    assert told
    assert not [label for label in told if f'"{" ".join(label.split())}"' not in shown]


def test_the_limits_are_those_of_the_service():
    text = " ".join(text_of("reference/limits.md").split())
    kib, mib = 2**10, 2**20
    for said in (
        f"size of a file | at most {MAX_BYTES // mib} MiB",
        f"a body | {request_limits.LARGEST_BODY // kib} KiB",
        f"others wait for up to {request_limits.TURN_TIMEOUT:.0f} seconds",
        f"connections | {connections.MOST};",
        f"headers | {connections.LARGEST_HEADERS // kib} KiB, within",
        f"no pause of more than {connections.CHUNK_TIMEOUT:.0f} seconds",
        f"after the first {connections.MIN_RATE_AFTER:.0f} seconds, {connections.MIN_BYTES_PER_SECOND // kib} KiB per",
        f"is disconnected after {connections.READ_TIMEOUT:.0f} seconds",
    ):
        assert said in text


def test_the_tests_that_the_documents_name_exist():
    pages = [*DOCS.glob("how-to/*.md"), *DOCS.glob("reference/*.md"), *DOCS.glob("explanation/*.md")]
    named = {name for page in pages for name in re.findall(r"`(tests/[\w/.]+)`", page.read_text(encoding="utf-8"))}
    assert named
    assert not [name for name in named if not (ROOT / name).exists()]
