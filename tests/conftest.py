import pytest
from hypothesis import HealthCheck, settings

from opengcd.demo import digits, run_demo

# A busy machine may take any time for an example; that is no fault of what is tested.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@pytest.fixture(scope="session")
def demo():
    """The demo's data and phases, as `make demo` runs it."""
    data = digits(0)
    return data, list(run_demo(data, 0))
