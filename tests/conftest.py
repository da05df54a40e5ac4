import pytest

from opengcd.demo import digits, run_demo


@pytest.fixture(scope="session")
def demo():
    """The demo's data and phases, as `make demo` runs it."""
    data = digits(0)
    return data, list(run_demo(data, 0))
