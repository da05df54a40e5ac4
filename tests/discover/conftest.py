import pytest
from sklearn.datasets import make_blobs


@pytest.fixture(scope="module")
def world():
    """Ten well separated classes; the first six are known."""
    X, y = make_blobs(600, n_features=8, centers=10, cluster_std=0.6, center_box=(-8, 8), random_state=3)
    known = y < 6
    return X[known], y[known], X[~known], y[~known]
