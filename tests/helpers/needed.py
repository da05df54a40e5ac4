"""What some tests need and not every machine has: where it is missing they are skipped, but not in CI."""

import importlib
import os
from contextlib import ExitStack, contextmanager

import pytest

from benchmarks.torture.postgresql import NoServerError, running


def missing(what):
    """Skip a test for want of something; fail in CI, where nothing may be skipped silently."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what} (with CI=true this is a failure)", pytrace=False)
    pytest.skip(what)


def needed_module(name):
    """Import a module that is not installed everywhere."""
    try:
        return importlib.import_module(name)
    except ImportError:
        missing(f"{name} is not installed")


def foreign_module(name, why):
    """Import a module that the development tools leave out; without it a test is skipped, also in CI."""
    return pytest.importorskip(name, reason=f"{name} is not installed: {why}", exc_type=ImportError)


@contextmanager
def postgresql():
    """A PostgreSQL server of the test's own."""
    with ExitStack() as stack:
        try:
            server = stack.enter_context(running())
        except NoServerError as error:
            missing(str(error))
        yield server
