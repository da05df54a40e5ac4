import pytest

from opengcd.bench import class_groups
from tests.helpers.bench import blob_dataset, save_features


@pytest.fixture(scope="module")
def blobs():
    """A dataset of eight classes, and those of each phase."""
    return blob_dataset(), class_groups(8, (4, 2, 2), 1)


@pytest.fixture
def features(tmp_path):
    return save_features(tmp_path / "features")
