"""Selection of exemplars by each method."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from opengcd.memory import SELECTORS, SelectorProperties, select_exemplars, selector_properties
from tests.helpers.rows import LINE


def test_ds3_costs_about_what_greedy_does():
    X = np.random.default_rng(0).normal(size=(60, 5))
    D = cdist(X, X)
    costs = [D[select_exemplars(X, 12, method)].min(0).sum() for method in ("ds3", "greedy")]
    assert costs[0] <= 1.05 * costs[1]


def test_herding_by_hand():
    # Mean 1: first the row nearest to it (1), then the pair whose mean is nearest to 1.
    assert select_exemplars([[0.0], [1.0], [2.0], [1.0]], 1, "herding").tolist() in ([1], [3])
    # Mean 2: first 2; of the rest, 2 and 1 have the mean nearest to 2; then 5 brings it nearest again.
    assert select_exemplars([[0.0], [1.0], [2.0], [5.0]], 3, "herding").tolist() == [2, 1, 3]
    X = np.random.default_rng(0).normal(size=(200, 5))
    error = [np.linalg.norm(X[select_exemplars(X, k, "herding")].mean(0) - X.mean(0)) for k in (5, 20, 80)]
    assert error[0] > error[1] > error[2]


def test_kcenter_by_hand():
    # Nearest the mean (2.08) is 0.2; farthest from it 5.1; then 0, which is 0.2 away.
    assert select_exemplars(LINE, 3, "kcenter").tolist() == [2, 4, 0]


@pytest.mark.parametrize("method", SELECTORS)
def test_every_method_returns_k_different_rows(method):
    X = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    for k in (1, 7, 29):
        rows = select_exemplars(X, k, method, random_state=0)
        assert len(set(rows.tolist())) == k
        np.testing.assert_array_equal(rows, select_exemplars(X, k, method, random_state=0))
    for k in (30, 99):
        assert select_exemplars(X, k, method).tolist() == list(range(30))


@pytest.mark.parametrize("method", ["ds3", "greedy", "kcenter"])
def test_duplicates_are_not_chosen_while_there_is_a_choice(method):
    X = np.repeat(np.random.default_rng(0).normal(size=(8, 3)), 4, axis=0)
    rows = select_exemplars(X, 8, method)
    assert sorted((rows // 4).tolist()) == list(range(8))
    assert len(set(select_exemplars(X, 12, method).tolist())) == 12


@pytest.mark.parametrize("method", SELECTORS)
def test_identical_rows(method):
    assert len(set(select_exemplars(np.zeros((9, 2)), 4, method, random_state=0).tolist())) == 4


def test_a_selector_of_ones_own():
    rows = select_exemplars(LINE, 2, lambda X, k, rng: np.argsort(-X[:, 0])[:k])
    assert rows.tolist() == [4, 3]
    with pytest.raises(ValueError, match="2 different row numbers below 5"):
        select_exemplars(LINE, 2, lambda X, k, rng: [0, 0])


def test_properties_of_selectors_by_name_and_by_attributes():
    def own(X, k, rng):
        return np.arange(k)

    assert selector_properties("herding") == (True, True)
    assert selector_properties("greedy") == selector_properties("kcenter") == (True, False)
    assert selector_properties("ds3") == selector_properties("random") == selector_properties(own) == (False, False)
    own.keeps_mean = True
    assert selector_properties(own) == SelectorProperties(nested=False, keeps_mean=True)
    own.nested = True
    assert selector_properties(own) == SelectorProperties(nested=True, keeps_mean=True)


def test_bad_selection_is_refused():
    with pytest.raises(ValueError, match="Unknown exemplar selector 'best'"):
        select_exemplars(LINE, 2, "best")
    with pytest.raises(ValueError, match="k must be an integer from 1"):
        select_exemplars(LINE, 0)
    with pytest.raises(ValueError, match="NaN or infinite"):
        select_exemplars([[np.inf]], 1)
