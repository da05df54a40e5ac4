"""Every block of code in the tutorials runs."""

import pytest

from tests.helpers.documents import running_pages


@pytest.mark.parametrize("page", running_pages(lambda name: name.startswith("docs/tutorials/")))
def test_the_blocks_of_a_page_run(page, run_page):
    run_page(page)
