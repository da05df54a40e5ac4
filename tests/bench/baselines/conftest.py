import pytest
from threadpoolctl import threadpool_limits

from opengcd.bench.baselines import BASELINES
from tests.helpers.baselines import KNOWN, X, Y, quick


@pytest.fixture(scope="session")
def fitted():
    """Each baseline on classes 0 to 4, not to be changed."""
    with threadpool_limits(1):
        return {name: quick(name).fit(X[KNOWN], Y[KNOWN]) for name in BASELINES}
