from contextlib import ExitStack

import pytest

from tests.helpers.browsing import Visit, launched
from tests.helpers.serving import serving


@pytest.fixture(scope="module")
def browser():
    with launched() as found:
        yield found


@pytest.fixture
def site(browser, workspace):
    """The workspace, and a way for people to visit its page; afterwards no browser may have complained."""
    with serving(workspace) as address, ExitStack() as visits:

        def visit(who="ann", **options):
            one = Visit(browser, address, workspace.access.make(who), who, **options)
            visits.callback(one.end)
            return one

        yield workspace, visit


@pytest.fixture
def visit(browser, workspace):
    """A way to visit the page of a workspace, whose map stays as it is."""
    workspace.similarity.draw_map()  # a better one must not come in the middle
    with serving(workspace) as address:

        def visit(**options):
            one = Visit(browser, address, workspace.access.make("ann"), **options)
            opened.append(one)
            return one

        opened = []
        yield visit
        for one in opened:
            one.end()
