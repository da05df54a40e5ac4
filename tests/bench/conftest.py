import pytest

from opengcd.bench import class_groups
from tests.helpers.bench import blob_dataset, save_features
from tests.helpers.results import open_phase, phase, result


@pytest.fixture(scope="module")
def blobs():
    """A dataset of eight classes, and those of each phase."""
    return blob_dataset(), class_groups(8, (4, 2, 2), 1)


@pytest.fixture
def features(tmp_path):
    return save_features(tmp_path / "features")


@pytest.fixture
def results():
    """Two methods that discover and one that does not, one of them under two more settings."""
    return [
        result("opengcd-mlp", 0, [open_phase(1, 0.2, 56), phase(2)]),
        result("opengcd-mlp", 1, [open_phase(1, 0.4, 58), phase(2)]),
        result("opengcd-xgb", 0, [open_phase(1, 0.35, 70), phase(2)]),
        result("csr-xgb", 0, [phase(1, rejected=0), phase(2)]),
        result("opengcd-xgb", 0, [open_phase(1, 0.5, 60), phase(2)], protocol="authors"),
        result("opengcd-xgb", 0, [open_phase(1, 0.1, 60), phase(2)], memory=500),
    ]
