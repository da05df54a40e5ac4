"""B-DOC: golden values and invariants."""

import numpy as np
import pytest
import torch
from sklearn.base import clone

from opengcd.bench.baselines.bdoc import learn_radii, neighbour_loss, radius_gradient
from tests.helpers.baselines import KNOWN, X, Y, quick

pytestmark = pytest.mark.usefixtures("one_thread")


def test_the_pull_on_the_radii_by_hand():
    # d = (1.4, .7) of class 0, radii 1: losses .4 and .3; the first radius is pushed out, the second in.
    own = np.array([[True, False]])
    assert radius_gradient(np.array([[1.4, 0.7]]), own, np.ones((1, 2))).tolist() == [[-1, 1]]
    assert radius_gradient(np.array([[0.5, 2.0]]), own, np.ones((1, 2))).tolist() == [[0, 0]]


def test_radii_settle_between_a_class_and_the_others():
    # Own rows at .8 to 1.2, others from 1.5 on: any radius between is right, whatever the step.
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], 200)
    own = codes[:, None] == np.arange(2)
    distances = np.where(own, rng.uniform(0.8, 1.2, (400, 2)), rng.uniform(1.5, 2.0, (400, 2)))
    radii = learn_radii(distances, codes, np.array([0.01, 0.1]), rng)
    assert ((radii > 1.15) & (radii < 1.55)).all()
    # A row nearer to another class says nothing.
    np.testing.assert_array_equal(learn_radii(distances[:, ::-1], codes, np.array([0.1]), rng), [[1, 1]])


def test_the_neighbour_loss_by_hand():
    # At the corners of a simplex all distances are equal: -log((n_c - 1) / (B - 1)).
    corners, codes = torch.eye(6, dtype=torch.float64), torch.tensor([0, 0, 0, 1, 1, 2])
    expected = -(3 * np.log(2 / 5) + 2 * np.log(1 / 5)) / 6  # the single row counts as 0
    assert float(neighbour_loss(corners, codes)) == pytest.approx(expected)
    tight = torch.tensor([[0.0], [0.1], [100.0], [100.1]], dtype=torch.float64)
    assert float(neighbour_loss(tight, torch.tensor([0, 0, 1, 1]))) == pytest.approx(0, abs=1e-9)


def test_the_unit_of_the_head_does_not_matter_to_b_doc(fitted):
    model = fitted["b-doc"]
    z, codes = torch.tensor(X[KNOWN]), torch.tensor(Y[KNOWN])
    losses = []
    for unit in (1.0, 7.0):
        model.running_means, model.running_sigma = torch.zeros(5, 12).double(), torch.tensor(1.0).double()
        losses.append(float(model.loss(unit * z, codes)))
    assert losses[0] == pytest.approx(losses[1])
    del model.running_means, model.running_sigma


def test_radii_from_nothing_to_infinity(fitted):
    model = clone(fitted["b-doc"]).fit(X[KNOWN], Y[KNOWN])
    model.threshold_ = np.full(5, -np.inf)
    np.testing.assert_array_equal(model.predict(X), model.predict_closed(X))
    model.threshold_ = np.zeros(5)
    assert (model.predict(X) == -1).all()


def test_what_b_doc_held_out_stays_held_out():
    model = quick("b-doc", radius_rate=0.1).fit(X[KNOWN], Y[KNOWN])
    held_out = {row.tobytes() for row in X[KNOWN][model.held_out(Y[KNOWN])]}
    assert len(held_out) == 30
    model.memory_size = 90
    model.learn(X[~KNOWN], Y[~KNOWN])
    old = model.memory_.y < 5
    chosen = model.held_out(model.memory_.y)[old]
    assert chosen.sum() == 10
    assert {row.tobytes() in held_out for row in model.memory_.X[old][chosen]} == {True}
    assert {row.tobytes() in held_out for row in model.memory_.X[old][~chosen]} == {False}
