import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True)
def one_thread():
    """Small arrays; threads would only wait for each other."""
    with threadpool_limits(1):
        yield
