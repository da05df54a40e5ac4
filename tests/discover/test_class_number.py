"""The number of classes by Brent's and by robust search."""

import numpy as np
import pytest

from opengcd.discover import estimate_class_number


@pytest.mark.parametrize("seed", range(3))
def test_the_number_of_separated_classes_is_found(world, seed):
    L, yl, U, _ = world
    near = estimate_class_number(L, yl, U, max_classes=30, search="paper", random_state=seed)
    # The paper's score is as good with a novel class in the cluster of an anchor, so k may be too small by a few.
    assert 8 <= near.k <= 10
    assert near.trusted, near.reason
    assert estimate_class_number(L, yl, U, max_classes=30, search="robust", random_state=seed).k == 10


def test_robust_search_survives_a_bound_of_500(world):
    L, yl, U, _ = world
    found = estimate_class_number(L, yl, U, search="robust", random_state=0, n_init=4)
    assert found.k == 10
    assert found.trusted, found.reason


def test_a_stuck_search_says_so(world):
    # Brent with a bound of 500 probes 190 and 310 first; with this seed it ends at 33 of 10 classes.
    L, yl, U, _ = world
    found = estimate_class_number(L, yl, U, search="paper", random_state=0)
    assert found.k > 20
    assert not found.trusted
    assert "was tried" in found.reason


def test_each_k_is_evaluated_once_and_the_best_seen_wins(world):
    L, yl, U, _ = world
    found = estimate_class_number(L, yl, U, max_classes=60, random_state=1)
    ks = [point.k for point in found.curve]
    assert len(ks) == len(set(ks))
    assert found.k_raw == max(found.curve, key=lambda p: p.score).k
    assert all(p.score == pytest.approx(p.validation + p.cohesion) for p in found.curve)
    again = estimate_class_number(L, yl, U, max_classes=60, random_state=1)
    assert again == found


@pytest.mark.parametrize("objective", ["fmi+db", "fmi-db"])
def test_other_objectives_run(world, objective):
    L, yl, U, _ = world
    found = estimate_class_number(L, yl, U, max_classes=20, objective=objective, random_state=0, n_init=2)
    assert 6 <= found.k <= 20


def test_nothing_to_group_leaves_the_known_classes(world):
    L, yl, U, _ = world
    for rows in (U[:0], U[:1]):
        found = estimate_class_number(L, yl, rows)
        assert (found.k, found.curve) == (6, [])


def test_estimate_is_never_below_the_known_classes():
    # One tight blob as unlabelled rows, known classes on top of each other: few clusters score best.
    rng = np.random.default_rng(0)
    L, U = rng.normal(size=(60, 4)), rng.normal(size=(30, 4)) * 1e-3 + 50
    found = estimate_class_number(L, np.arange(60) % 12, U, max_classes=20, random_state=0)
    assert found.k >= 12
    if found.k_raw < 12:
        assert not found.trusted
        assert "less than the 12 known classes" in found.reason


def test_bad_arguments_are_refused(world):
    L, yl, U, _ = world
    with pytest.raises(ValueError, match="single known class"):
        estimate_class_number(L[yl == 0], yl[yl == 0], U)
    with pytest.raises(ValueError, match="max_classes=3 is less than the 6"):
        estimate_class_number(L, yl, U, max_classes=3)
    with pytest.raises(ValueError, match="Unknown objective 'sc'"):
        estimate_class_number(L, yl, U, objective="sc")
    with pytest.raises(ValueError, match="Unknown search 'grid'"):
        estimate_class_number(L, yl, U, search="grid")
