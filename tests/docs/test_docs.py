import re

from opengcd.bench import blocks, fill, read_results
from tests.helpers.places import ROOT

FOREIGN = r"/work/|/root/|/tmp/|find-links|index-url(?! https://download\.pytorch\.org/whl/cpu\b)"
"""What only one machine has. The index of PyTorch is for everybody."""


def test_the_repository_names_no_machine():
    for file in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/**/*.py"), ROOT / "constraints.txt"]:
        assert not re.search(FOREIGN, file.read_text(encoding="utf-8")), file


def test_the_published_tables_are_those_of_the_published_cells():
    text = (ROOT / "docs" / "results" / "index.md").read_text(encoding="utf-8")
    assert fill(text, blocks(read_results(ROOT / "docs" / "results" / "cells"))) == text
