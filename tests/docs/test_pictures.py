"""The pictures of the pages in the documents are made by a command."""

import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from benchmarks.birds import NETWORK
from benchmarks.pictures import commands
from tests.helpers.browsing import CHROMIUM
from tests.helpers.needed import missing

ROOT = Path(__file__).resolve().parents[2]
MADE = ROOT / "docs" / "pictures" / "review"


def test_the_documents_name_the_command():
    assert "python -m benchmarks.screenshots" in commands()


def test_each_picture_is_shown_by_a_document():
    text = "".join(file.read_text("utf-8") for file in (ROOT / "docs").rglob("*.md"))
    assert [file.name for file in MADE.glob("*.png") if f"pictures/review/{file.name})" not in text] == []


@pytest.mark.slow
def test_the_command_makes_each_picture(tmp_path):
    if CHROMIUM is None:
        missing("no Chromium: `apt-get install chromium`")
    subprocess.run([sys.executable, "-m", "benchmarks.screenshots", "--out", tmp_path], cwd=ROOT, check=True)
    wanted = {file.name for file in MADE.glob("*.png")}
    assert {file.name for file in tmp_path.glob("*.png")} == wanted - (set() if NETWORK.is_dir() else {"adapt.png"})
    for file in tmp_path.glob("*.png"):
        with Image.open(file) as made, Image.open(MADE / file.name) as there:
            assert made.width == there.width
