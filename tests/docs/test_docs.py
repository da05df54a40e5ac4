import re
from functools import cache

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from opengcd._internal.terminal import print_table
from opengcd.bench import KINDS, blocks, commands, fill, markdown, read_results, settings_of
from opengcd.bench.demo import table_rows
from tests.helpers.places import ROOT


def test_the_ten_lines_of_the_readme_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = make_blobs(400, n_features=8, centers=6, random_state=0)
    names = np.array(list("abcdef"))[y]
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL).group(1)
    assert len([line for line in code.splitlines() if line]) <= 10
    scope = {"X_known": X[y < 4], "y_known": names[y < 4], "X_stream": X}
    exec(code, scope)
    assert scope["recognizer"].classes_.tolist() == ["a", "b", "c", "d", "heron"]
    assert (tmp_path / "model" / "model.json").is_file()


def test_the_readme_shows_what_the_demo_prints(demo, capsys):
    """All of the table, to the letter.

    The numbers were the same with one thread and with two, and with the kernels for AVX-512, AVX2 and SSE4 (torch's
    ATEN_CPU_CAPABILITY and OpenBLAS's OPENBLAS_CORETYPE); processors of another kind were not tried.
    """
    print_table("OpenGCD on handwritten digits", *table_rows(demo[1]))
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```\n( +OpenGCD on handwritten digits\n.*?)```", text, re.DOTALL)
    assert printed == shown.splitlines()


def test_the_repository_names_no_machine():
    for file in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/**/*.py"), ROOT / "constraints.txt"]:
        assert not re.search(r"/work/|/root/|/tmp/|find-links|index-url", file.read_text(encoding="utf-8")), file


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
