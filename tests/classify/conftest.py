import pytest


@pytest.fixture(autouse=True)
def one_thread_in_all_tests(one_thread):
    """See ``one_thread``."""
