import re
from functools import cache

import pytest

from opengcd.bench import KINDS, blocks, commands, fill, markdown, read_results, settings_of
from tests.helpers.places import ROOT

FOREIGN = r"/work/|/root/|/tmp/|find-links|index-url(?! https://download\.pytorch\.org/whl/cpu\b)"
"""What only one machine has. The index of PyTorch is for everybody."""


def test_the_repository_names_no_machine():
    for file in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/**/*.py"), ROOT / "constraints.txt"]:
        assert not re.search(FOREIGN, file.read_text(encoding="utf-8")), file


PAGES = {page: page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs" / "results").glob("*.md"))}
PUBLISHED = {"": "cells", "images": "cells-images"}
"""Folders of published cells by the section of the pages that shows them."""


@cache
def published(section):
    return read_results(ROOT / "docs" / "results" / PUBLISHED[section])


@pytest.mark.parametrize("section", PUBLISHED)
def test_the_published_tables_are_those_of_the_published_cells(section):
    texts = blocks(published(section), PUBLISHED[section])
    command = f"opengcd bench table docs/results/{PUBLISHED[section]} --into docs/results"
    command += f" --section {section}" if section else ""
    filled = 0
    for page, text in PAGES.items():
        assert fill(text, texts, section) == text, page.name
        marks = re.findall(r"<!-- begin (?:(\w+) / )?.* -->", text)
        if section in marks:
            assert f"`{command}` fill" in " ".join(text.split()), page.name
            filled += 1
    assert filled > 0


@pytest.mark.parametrize("section", PUBLISHED)
def test_every_number_of_the_published_cells_is_on_a_page(section):
    everything = "\n".join(PAGES.values())
    for setting in settings_of(published(section)):
        for makers in KINDS.values():
            for table in (table for make in makers for table in make(published(section), setting)):
                assert markdown(table) in everything, (str(setting), table.title)
        assert commands(published(section), setting).splitlines()
        for line in commands(published(section), setting).splitlines():
            assert line in everything


def test_every_published_cell_is_linked():
    links = {link for text in PAGES.values() for link in re.findall(r"\((cells[\w-]*/.*?\.json)\)", text)}
    folder = ROOT / "docs" / "results"
    files = {
        file.relative_to(folder).as_posix() for cells in PUBLISHED.values() for file in folder.glob(f"{cells}/*--*")
    }
    assert links == files


def test_every_published_figure_is_shown():
    folder = ROOT / "docs" / "results"
    shown = {
        (page.parent / link).resolve()
        for page in ROOT.glob("docs/**/*.md")
        for link in re.findall(r"!\[[^]]+\]\(([^)]*figures/[^)]*)\)", page.read_text(encoding="utf-8"))
    }
    assert shown == {file.resolve() for file in folder.glob("figures/**/*.png")}
