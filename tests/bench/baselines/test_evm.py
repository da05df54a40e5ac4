"""EVM: golden values and invariants."""

import numpy as np
import pytest
import torch

from opengcd.bench.baselines.weibull import fit_weibull
from tests.helpers.baselines import KNOWN, X, Y, quick

pytestmark = pytest.mark.usefixtures("one_thread")


def evm(form="paper", **changes):
    """Points 0 and 4 with the margins of the golden tail (.5, 1, 1.5, 2) on their outer sides."""
    rows = [[0.0], [4.0]]
    model = quick("evm", fuse=1, form=form, delta=0.5, **changes).fit(rows, [0, 1])
    shape, scale = (2.453197, 1.414348) if form == "paper" else (3.566322, 1.950662)
    model.shapes_, model.scales_, model.ends_ = np.full(2, shape), np.full(2, scale), np.full(2, 3.0)
    return model


def test_inclusion_by_hand():
    paper, libmr = evm(), evm("libmr")
    scores = paper.scores(np.array([[1.0], [2.0]]))[:, 0]
    np.testing.assert_allclose([paper.from_threshold(s) for s in scores], [0.652317, 0.096366], atol=1e-6)
    scores = libmr.scores(np.array([[1.0], [2.0], [-3.0]]))[:, 0]
    np.testing.assert_allclose([libmr.from_threshold(s) for s in scores], [0.664848, 0.088152, 0.0], atol=1e-6)
    for model in (paper, libmr):
        assert model.from_threshold(model.to_threshold(0.3)) == pytest.approx(0.3)
        assert model.predict([[1.0], [2.0], [3.1]]).tolist() == [0, -1, 1]


@pytest.mark.parametrize("form", ["paper", "libmr"])
def test_far_rows_still_have_a_nearest_class(form):
    # All probabilities are 0 here, and a plain argmax would name the first class.
    model = evm(form)
    assert [model.from_threshold(s) for s in model.scores(np.array([[400.0]]))[0]] == [0, 0]
    assert model.predict_closed([[400.0]]).tolist() == [1]
    assert model.predict([[400.0]]).tolist() == [-1]


def test_half_margins_are_those_to_other_classes():
    # 0 lies 3, 5 and 7 from the other class. All tails are as long as that of 3, which has two others: 1.5 and 2.5.
    model = quick("evm", tail=1.0, cover=1.0, delta=0.5).fit([[0.0], [1.0], [3.0], [5.0], [7.0]], [0, 0, 1, 1, 1])
    expected = fit_weibull(torch.tensor([[1.5, 2.5]], dtype=torch.float64))
    assert (model.shapes_[0], model.scales_[0]) == (
        pytest.approx(float(expected.shape)),
        pytest.approx(float(expected.scale)),
    )


@pytest.mark.parametrize("cover", [0.0, 0.3, 0.7, 1.0])
def test_every_point_is_covered_by_an_extreme_vector(cover):
    model = quick("evm", cover=cover, fuse=1, delta=0.5).fit(X[KNOWN], Y[KNOWN])
    own = model.scores(X[KNOWN])[np.arange(KNOWN.sum()), Y[KNOWN]]
    assert (own >= model.to_threshold(cover) - 1e-9).all() or cover == 1
    assert len(model.vectors_) == {0.0: 5, 1.0: KNOWN.sum()}.get(cover, len(model.vectors_))


def test_delta_from_nothing_to_certainty():
    accepting = quick("evm", delta=0.0).fit(X[KNOWN], Y[KNOWN])
    assert (accepting.predict(X) != -1).all()
    refusing = quick("evm", delta=1.0).fit(X[KNOWN], Y[KNOWN])
    assert (refusing.predict(X[~KNOWN]) == -1).all()


def test_evm_survives_copies_across_classes():
    rows, classes = np.vstack([X[KNOWN], X[KNOWN][:1]]), np.append(Y[KNOWN], (Y[0] + 1) % 5)
    model = quick("evm").fit(rows, classes)
    assert np.isfinite(model.scores(X)).all()
