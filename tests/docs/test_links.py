"""Links of the README, which is not a page of the site; mkdocs checks those of all other documents."""

import re

from markdown.extensions.toc import slugify

from tests.helpers.places import ROOT


def test_the_links_of_the_readme_lead_somewhere():
    links = re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(links) > 5
    for path, anchor in links:
        target = ROOT / (path or "README.md")
        assert target.exists(), path
        if anchor:
            headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in [slugify(heading.replace("`", ""), "-") for heading in headings], f"{path}#{anchor}"
