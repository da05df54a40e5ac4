"""The MLP by hand."""

import numpy as np
import pytest

from opengcd.classify import MLP
from tests.helpers.classifying import blobs, small


def hand_set_mlp():
    model = MLP(device="cpu")
    model.restore(
        {
            "mean_": np.array([1.0]),
            "scale_": np.array([2.0]),
            "hidden_weight_": np.array([[1.0], [-1.0]], dtype=np.float32),
            "hidden_bias_": np.zeros(2, dtype=np.float32),
            "output_weight_": np.eye(2, dtype=np.float32),
            "output_bias_": np.zeros(2, dtype=np.float32),
        }
    )
    return model


def test_mlp_forward_pass_by_hand():
    # 5 is standardised to (5 - 1) / 2 = 2, the hidden units are (2, 0), the output is the softmax of it; -1 mirrors it
    e = np.exp(1.0)
    labels, p = hand_set_mlp().infer(np.array([[5.0], [-1.0]]))
    np.testing.assert_allclose(p, [[e**2 / (e**2 + 1), 1 / (e**2 + 1)], [1 / (e + 1), e / (e + 1)]], rtol=1e-12)
    assert labels.tolist() == [0, 1]


def test_mlp_does_not_overflow():
    assert hand_set_mlp().predict_proba(np.array([[1e6]])).tolist() == [[1.0, 0.0]]


def test_mlp_starts_within_glorots_bound():
    X, y, *_ = blobs(3)
    model = MLP(max_iter=0, random_state=0, device="cpu").fit(X, y)
    bounds = (6 / (6 + 100)) ** 0.5, (6 / (100 + 3)) ** 0.5
    for name, bound in zip(("hidden", "output"), bounds, strict=True):
        for part in ("weight", "bias"):
            values = getattr(model, f"{name}_{part}_")
            assert np.abs(values).max() <= bound
        assert np.abs(getattr(model, f"{name}_weight_")).max() > 0.9 * bound


def test_the_first_step_of_adam_moves_every_weight_by_the_learning_rate():
    X, y, *_ = blobs(3)  # 80 rows are one batch
    before = MLP(max_iter=0, random_state=0, device="cpu").fit(X, y)
    after = MLP(max_iter=1, random_state=0, device="cpu").fit(X, y)
    for name in MLP.ARRAYS[2:]:
        step = np.abs(getattr(after, name) - getattr(before, name))
        assert step.max() == pytest.approx(1e-3, rel=1e-3)
        assert np.median(step) == pytest.approx(1e-3, rel=1e-2)


def test_mlp_stops_when_the_loss_no_longer_falls():
    X, y, *_ = blobs(2)
    # No epoch can fall by 1000, so the first is the best, and eleven more without progress end it.
    stopped = MLP(max_iter=50, tol=1000, random_state=0, device="cpu").fit(X, y)
    for epochs in (11, 12, 13):
        patient = MLP(max_iter=epochs, patience=100, random_state=0, device="cpu").fit(X, y)
        assert np.array_equal(stopped.hidden_weight_, patient.hidden_weight_) == (epochs == 12)


def test_mlp_divides_its_penalty_by_the_rows_of_a_batch():
    # So every row twice and twice the penalty is the same loss.
    X, y, X_new, _ = blobs(2)
    once, twice, without = (
        MLP(alpha=alpha, max_iter=20, random_state=0, device="cpu").fit(np.tile(X, (n, 1)), np.tile(y, n))
        for alpha, n in ((100, 1), (200, 2), (0, 1))
    )
    np.testing.assert_allclose(once.predict_proba(X_new), twice.predict_proba(X_new), atol=1e-4)
    assert np.abs(once.predict_proba(X_new) - without.predict_proba(X_new)).max() > 1e-3


def test_mlp_differs_between_seeds():
    X, y, X_new, _ = blobs(3)
    p, q = (small("mlp", seed).fit(X, y).predict_proba(X_new) for seed in (0, 1))
    assert np.abs(p - q).max() > 1e-4
