"""NNO: golden values and invariants."""

import numpy as np
import pytest

from opengcd import metrics
from tests.helpers.baselines import KNOWN, X, Y, quick

pytestmark = pytest.mark.usefixtures("one_thread")


def nno_on_a_line(tau):
    """NNO with W = 1 and class means 0 and 4."""
    model = quick("nno", dimensions=1, tau=tau).fit([[-1.0], [1.0], [3.0], [5.0]], [0, 0, 1, 1])
    model.mean_, model.scale_, model.metric_ = np.zeros(1), np.ones(1), np.ones((1, 1))
    model.class_means_ = np.array([[0.0], [4.0]])
    return model


def test_nno_by_hand():
    model = nno_on_a_line(1.5)
    assert model.predict([[1.0], [2.0], [3.0], [1e6], [1.5]]).tolist() == [0, -1, 1, -1, -1]
    assert model.predict_closed([[1.0], [1.9], [2.1], [1e6]]).tolist() == [0, 0, 1, 1]
    # f = 1 - distance / tau.
    assert 1 - model.unknown_score([[1.0]])[0] / 1.5 == pytest.approx(1 / 3)


def test_nno_without_a_radius_is_the_nearest_mean():
    model = quick("nno", tau=np.inf).fit(X[KNOWN], Y[KNOWN])
    np.testing.assert_array_equal(model.predict(X), model.predict_closed(X))
    model.metric_ = np.eye(12)
    Z = (X - X[KNOWN].mean(0)) / X[KNOWN].std(0)
    means = np.stack([Z[c == Y].mean(0) for c in range(5)])
    nearest = np.linalg.norm(Z[:, None] - means, axis=2).argmin(1)
    np.testing.assert_array_equal(model.predict_closed(X), nearest)


def test_nno_learns_a_metric_in_which_classes_are_told_apart():
    # Two features tell the classes apart, twenty hide it.
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 100)
    signal = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])[y] + 0.2 * rng.normal(size=(400, 2))
    Z = np.hstack([signal, rng.normal(size=(400, 20))])
    train = np.arange(400) % 2 == 0

    def accuracy(iterations):
        model = quick("nno", iterations=iterations, step=0.01, tau=1.0).fit(Z[train], y[train])
        return metrics.accuracy(y[~train], model.predict_closed(Z[~train]))

    assert accuracy(2000) > accuracy(1) + 0.1
    assert accuracy(2000) > 0.9


def test_new_classes_change_no_old_distance_of_nno():
    model = quick("nno", tau=3.0).fit(X[KNOWN], Y[KNOWN])
    before = model.scores(X)
    model.learn(X[~KNOWN], Y[~KNOWN])
    np.testing.assert_allclose(model.scores(X)[:, :5], before, rtol=1e-12)
    assert model.classes_.tolist() == list(range(8))


def test_more_rows_of_an_old_class_move_its_mean_as_if_all_had_come_at_once():
    half = np.arange(len(X)) % 2 == 0
    model = quick("nno", tau=3.0).fit(X[KNOWN & half], Y[KNOWN & half]).learn(X[KNOWN & ~half], Y[KNOWN & ~half])
    Z = model.standardised(X)
    np.testing.assert_allclose(model.class_means_, [Z[c == Y].mean(0) for c in range(5)])
