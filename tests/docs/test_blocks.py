"""Every block of code in the documents runs, or says why it does not.

The blocks of how-to guides and of tutorials take longer: they have files of their own.
"""

import pytest

from tests.helpers.documents import documents, page_of, readable_pages, running_pages
from tests.helpers.places import ROOT


@pytest.mark.parametrize("file", documents(), ids=lambda file: file.relative_to(ROOT).as_posix())
def test_a_page_is_tagged(file):
    page_of(file)


@pytest.mark.parametrize("page", running_pages(lambda name: not name.startswith(("docs/how-to/", "docs/tutorials/"))))
def test_the_blocks_of_a_page_run(page, run_page):
    run_page(page)


@pytest.mark.parametrize(
    ("place", "reason"),
    [(f"{page.name}:{line}", reason) for page in readable_pages() for line, reason in page.reasons()],
)
def test_a_block_that_is_not_run(place, reason):
    """For the report of what was skipped, and why."""
    pytest.skip(f"{place}: {reason}")
