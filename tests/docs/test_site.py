"""The site is built strictly, and stands on its own."""

import os
import re
import subprocess
import sys

import pytest

from tests.helpers.places import ROOT
from tools.docs import api_reference


def build(*arguments):
    """Run the command of `make docs`, with its options: some of them, such as --quiet, hide what is broken."""
    options = re.search(r"mkdocs build(.*)", (ROOT / "Makefile").read_text(encoding="utf-8"))[1].split()
    command = [sys.executable, "-m", "mkdocs", "build", *options, *arguments]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


def build_page(folder, text):
    """Build a site of one page, with the project's settings."""
    (folder / "docs").mkdir()
    (folder / "docs" / "index.md").write_text(text, encoding="utf-8")
    settings = [
        f"INHERIT: {ROOT / 'mkdocs.yml'}",
        f"docs_dir: {folder / 'docs'}",
        f"hooks: [{ROOT / 'tools/docs/hooks.py'}]",
        f"theme: {{custom_dir: {ROOT / 'tools/docs/theme'}}}",
        "nav: [index.md]",
        "extra_css: []",
        "exclude_docs: |",
        "  reference/",
        "  project/",
    ]
    (folder / "mkdocs.yml").write_text("\n".join(settings), encoding="utf-8")
    return build("--config-file", folder / "mkdocs.yml", "--site-dir", folder / "site")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, as `make docs` builds it."""
    to = tmp_path_factory.mktemp("built")
    done = build("--site-dir", to)
    assert done.returncode == 0, done.stderr[-5000:]
    return to


@pytest.fixture(scope="module")
def pages(site):
    return {file: file.read_text(encoding="utf-8") for file in site.rglob("*.html")}


def test_nothing_is_loaded_from_another_host(pages, site):
    tags = re.compile(r"<(?:script|img|iframe|link)\b[^>]*>")
    for file, text in pages.items():
        loaded = [tag for tag in tags.findall(text) if not re.search('rel="(?:canonical|next|prev)"', tag)]
        assert not [tag for tag in loaded if re.search(r'(?:src|href)="(?:https?:)?//', tag)], file
        assert 'data-md-component="source"' not in text, f"{file} asks GitHub's API"
        assert 'class="mermaid"' not in text, f"{file} loads mermaid from elsewhere"
    for style in site.rglob("*.css"):
        assert not re.search(r"@import|url\(\"?(?:https?:)?//", style.read_text(encoding="utf-8")), style


def test_every_public_name_has_an_anchor(pages, site):
    for name, text in api_reference.pages().items():
        page = pages[site / "reference" / "api" / name.removesuffix(".md") / "index.html"]
        shown = re.findall(r"^::: (.*)$", text, re.MULTILINE)[1:]  # the package itself has none
        missing = [path for path in shown if f'id="{path}"' not in page]
        assert not missing


def test_formulas_and_cross_references_of_docstrings_are_rendered(pages, site):
    metrics = pages[site / "reference" / "api" / "metrics" / "index.html"]
    assert metrics.count("<math") >= 8
    assert "<mfrac>" in metrics
    for file, text in pages.items():
        prose = re.sub(r"<(pre|code|script)\b.*?</\1>", "", text, flags=re.DOTALL)
        assert not re.search(r":(?:math|func|class|meth):`|\.\. math::|arithmatex|\$\$", prose), file
        assert "<!-- test:" not in text, file
    assert 'href="#opengcd.metrics.clustering_accuracy"' in metrics


def test_raw_cells_are_published_as_files(site):
    cells = list((ROOT / "docs" / "results" / "cells").glob("*.json"))
    assert cells
    assert {file.name for file in (site / "results" / "cells").iterdir()} == {file.name for file in cells}


def test_links_to_other_files_work_and_what_is_broken_fails_the_build(tmp_path):
    page = """\
# Page

[Licence]({0}/LICENSE), [tests]({0}/tests), [rules]({0}/CONTRIBUTING.md#contributing), `[code](not-a-link)`

[page](gone.md), [file](../gone.txt), [anchor](#gone), [absolute](/gone), [name][opengcd.gone]

![picture](gone.png)

$$\\nonsense x$$
""".format("../" * len((tmp_path / "docs").parts[1:]) + ROOT.as_posix().lstrip("/"))
    done = build_page(tmp_path, page)
    assert done.returncode != 0
    warnings = re.findall("WARNING.*", done.stderr)
    broken = ("'gone.md'", "'../gone.txt'", "'#gone'", "'/gone'", "'opengcd.gone'", "'gone.png'", r"known: \nonsense x")
    for one in broken:
        assert any(one in warning for warning in warnings), (one, done.stderr)
    assert len(warnings) == len(broken), done.stderr
    html = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert 'href="https://github.com/opengcd/opengcd/blob/main/LICENSE"' in html
    assert 'href="https://github.com/opengcd/opengcd/tree/main/tests"' in html


def test_a_missing_name_fails_the_build(tmp_path):
    done = build_page(tmp_path, "# Page\n\n::: opengcd.metrics.gone\n")
    assert done.returncode != 0
    assert "opengcd.metrics.gone could not be found" in done.stderr
