"""Names of new groups."""

import numpy as np

from opengcd.discover.discovery import fresh_labels


def test_fresh_labels_avoid_the_classes():
    assert fresh_labels(np.array([3, 7]), 2).tolist() == [8, 9]
    assert fresh_labels(np.array([-5, -3]), 2).tolist() == [0, 1]
    assert fresh_labels(np.array(["group 1", "b"]), 2).tolist() == ["group 2", "group 3"]
