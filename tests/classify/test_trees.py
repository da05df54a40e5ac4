"""Trees that are refused; trees of a saved model are tested in test_persistence.py."""

import numpy as np
import pytest

from opengcd.classify.trees import Trees, check_trees


def test_a_tree_that_is_too_deep():
    nodes = 2 * 40 + 1
    left, right = (np.full(nodes, -1, np.int32) for _ in "lr")
    left[0:-1:2], right[0:-1:2] = np.arange(1, nodes, 2), np.arange(2, nodes, 2)
    zeros = np.zeros(2 * nodes, np.float32)
    both = [np.tile(side, 2) for side in (left, right)]
    trees = Trees(
        np.array([2, 1]), zeros[:2], np.array([nodes] * 2), *both, zeros.astype("i4"), zeros, zeros.astype("u1")
    )
    with pytest.raises(ValueError, match="more than 32 levels"):
        check_trees(trees)
