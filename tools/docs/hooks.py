"""What mkdocs does beside rendering pages: generated pages, links out of ``docs/``, formulas, numbers in one line.

The reference pages are generated, so that they cannot be out of date. Formulas become MathML, which browsers render
without a script or a font from another host.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from html import unescape
from pathlib import Path
from posixpath import dirname, relpath
from typing import Any

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tools.docs import api_reference, cli_reference, http_reference  # noqa: E402

PROJECT = {
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CODE_OF_CONDUCT.md": "project/code-of-conduct.md",
    "SECURITY.md": "project/security.md",
}
"""Files of the repository that the site shows too, where they exist."""
LOG = logging.getLogger("mkdocs.hooks")  # a warning fails a strict build
LINK = re.compile(r"(?<=\]\()(?!\w+:|#|/)([^)\s#]*)(#[^)\s]*)?(?=[)\s])")
DIRECTIVE = re.compile(r"^ *<!-- test:.*?-->\n?", re.DOTALL | re.MULTILINE)
FORMULA = re.compile(r'<(div|span) class="arithmatex">\\[\[(](.*?)\\[\])]</\1>', re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages, and complete the navigation."""
    made = {
        "reference/cli.md": cli_reference.page(),
        "reference/http.md": http_reference.page(http_reference.document()),
    }
    made |= {f"reference/api/{name}": text for name, text in api_reference.pages().items()}
    made |= {to: (ROOT / name).read_text("utf-8") for name, to in PROJECT.items() if (ROOT / name).exists()}
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    pages = sorted(file.src_uri for file in files.documentation_pages())
    config.nav = _completed(config.nav, pages, set(_named(config.nav)))
    return files


def _named(nav: Any) -> list[str]:
    """All pages that a navigation names."""
    if isinstance(nav, str):
        return [nav]
    parts = nav.values() if isinstance(nav, dict) else nav or ()
    return [name for part in parts for name in _named(part)]


def _completed(nav: Any, pages: list[str], named: set[str]) -> Any:
    """Put in the place of ``folder/*`` all pages of the folder that the navigation does not name."""
    if isinstance(nav, dict):
        return {title: _completed(part, pages, named) for title, part in nav.items()}
    if not isinstance(nav, list):
        return nav
    completed = []
    for part in nav:
        if isinstance(part, str) and part.endswith("/*"):
            folder = part.removesuffix("/*")
            completed += [page for page in pages if dirname(page) == folder and page not in named]
        else:
            completed.append(_completed(part, pages, named))
    return completed


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Remove what is for tests, and make links to other files of the repository work."""
    path = page.file.src_uri
    source = next((ROOT / name for name, to in PROJECT.items() if to == path), Path(config.docs_dir) / path)

    def mend(link: re.Match[str]) -> str:
        target, anchor = link[1], link[2] or ""
        if not target:
            return link[0]
        file = Path(os.path.normpath(source.parent / target))
        shown = _shown(file, config)
        return f"{relpath(shown, dirname(path))}{anchor}" if shown else _repository(file, config) or link[0]

    return LINK.sub(mend, DIRECTIVE.sub("", markdown))


def _shown(file: Path, config: MkDocsConfig) -> str:
    """The page or file of the site that shows a file; empty if there is none."""
    docs = Path(config.docs_dir)
    if file.is_relative_to(docs) and not file.is_dir():
        return file.relative_to(docs).as_posix()
    return PROJECT.get(file.relative_to(ROOT).as_posix(), "") if file.is_relative_to(ROOT) and file.exists() else ""


def _repository(file: Path, config: MkDocsConfig) -> str:
    """The address of a file or folder in the repository; empty if it does not exist, so that mkdocs complains."""
    if not (file.exists() and file.is_relative_to(ROOT)):
        return ""
    return f"{config.repo_url}/{'tree' if file.is_dir() else 'blob'}/main/{file.relative_to(ROOT).as_posix()}"


def on_page_content(html: str, page: Page, **_: Any) -> str:
    """Render formulas, and keep a number and its deviation in one line."""

    def render(found: re.Match[str]) -> str:
        block, latex = found[1] == "div", unescape(found[2])
        mathml = convert(latex.replace(r"\arg", r"\mathrm{arg}"), display="block" if block else "inline")
        if "\\" in mathml:
            LOG.warning("%s: a command of this formula is not known: %s", page.file.src_uri, latex)
        return f'<div class="formula">{mathml}</div>' if block else mathml

    return FORMULA.sub(render, html).replace(" ± ", "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}")
