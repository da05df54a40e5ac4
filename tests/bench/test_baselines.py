"""The five baselines: each one's golden values and invariants first, then what all must do."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import weibull_min
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_limits

from opengcd import ModelFileError, metrics
from opengcd._internal.splits import hold_out_share
from opengcd.bench import Dataset, class_groups, make_method, method_names, run_protocol
from opengcd.bench.baselines import BASELINES, EVM, NNO, DeepNNO, l2ac
from opengcd.bench.baselines.baseline import NearestToMean
from opengcd.bench.baselines.bdoc import NearestWithHeldOut, learn_radii, neighbour_loss, radius_gradient
from opengcd.bench.baselines.deepnno import follow_threshold
from opengcd.bench.baselines.grid_search import (
    SEARCH,
    OpenTrial,
    Range,
    coordinate_search,
    decide,
    judge_thresholds,
    thresholds_at,
)
from opengcd.bench.baselines.weibull import fit_weibull
from opengcd.bench.published import published
from tests.helpers.devices import DEVICES


@pytest.fixture(autouse=True)
def one_thread():
    """Small arrays; threads would only wait for each other."""
    with threadpool_limits(1):
        yield


# Eight separate classes in twelve dimensions, 30 rows each; 0 to 4 are known at first.
X, Y = make_blobs(240, 12, centers=8, cluster_std=1.0, center_box=(-6, 6), random_state=5)
KNOWN = Y < 5
QUICK = {
    "nno": {"dimensions": 32, "step": 1e-3, "iterations": 300},
    "evm": {"tail": 0.25, "fuse": 4, "distance": "euclidean", "scale": 0.5, "cover": 0.5},
    "l2ac": {"neighbours": 3, "negatives": 3, "learning_rate": 1e-3},
    "deepnno": {"learning_rate": 0.1, "weight_decay": 1e-5, "classification": 1.0, "distillation": 1.0},
    "b-doc": {
        "learning_rate": 0.1,
        "weight_decay": 1e-3,
        "global_weight": 1.0,
        "local_weight": 0.1,
        "distillation": 1.0,
    },
}
"""Parameters of learning, so that only the threshold is searched."""


def quick(name, **changes):
    return BASELINES[name](**({"device": "cpu", "random_state": 0, "max_classes": 12} | QUICK[name] | changes))


@pytest.fixture(scope="module")
def fitted():
    """Each baseline on classes 0 to 4, not to be changed."""
    with threadpool_limits(1):
        return {name: quick(name).fit(X[KNOWN], Y[KNOWN]) for name in BASELINES}


# ---------------------------------------------------------------- NNO


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


# ---------------------------------------------------------------- EVM


def test_weibull_by_hand():
    tail = torch.tensor([[0.5, 1.0, 1.5, 2.0]], dtype=torch.float64)
    shape, scale = (float(v) for v in fit_weibull(tail))
    assert (shape, scale) == (pytest.approx(2.453197, abs=1e-6), pytest.approx(1.414348, abs=1e-6))
    assert np.exp(-((1 / scale) ** shape)) == pytest.approx(0.652317, abs=1e-6)
    assert np.exp(-((2 / scale) ** shape)) == pytest.approx(0.096366, abs=1e-6)
    shape, scale = (float(v) for v in fit_weibull(1 + tail.max() - tail))
    assert (shape, scale) == (pytest.approx(3.566322, abs=1e-6), pytest.approx(1.950662, abs=1e-6))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", [0.5, 2.0, 40.0, 500.0])
def test_weibull_is_scipys(shape, device):
    tails = 3 * weibull_min.rvs(shape, size=(20, 60), random_state=1)
    found = fit_weibull(torch.tensor(tails, device=device))
    for tail, k, scale in zip(tails, found.shape.tolist(), found.scale.tolist(), strict=True):
        expected = weibull_min.fit(tail, floc=0)
        np.testing.assert_allclose([k, scale], [expected[0], expected[2]], rtol=1e-3)
        # scipy's optimiser stops early; the equation of maximum likelihood says which of the two is right.
        residual = np.average(np.log(tail), weights=tail**k) - 1 / k - np.log(tail).mean()
        assert abs(residual) * k < 1e-9


@given(st.lists(st.floats(1e-3, 1e3), min_size=3, max_size=30, unique=True), st.floats(1e-6, 1e6))
def test_units_scale_a_weibull_and_leave_its_shape(values, unit):
    one, other = (fit_weibull(torch.tensor([values], dtype=torch.float64) * u) for u in (1, unit))
    np.testing.assert_allclose(other.shape, one.shape, rtol=1e-6)
    np.testing.assert_allclose(other.scale, one.scale * unit, rtol=1e-6)


def test_weibull_of_equal_and_of_vanishing_values_is_finite():
    values = torch.tensor([[1.0, 1.0, 1.0], [0.0, 1.0, 2.0], [0.0, 0.0, 0.0]], dtype=torch.float64)
    found = fit_weibull(values)
    assert torch.isfinite(found.shape).all()
    assert torch.isfinite(found.scale).all()


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


# ---------------------------------------------------------------- L2AC


def test_new_classes_and_the_order_of_the_memory_change_no_old_score_of_l2ac(fitted):
    model = quick("l2ac", threshold=0.5, memory_size=1000).fit(X[KNOWN], Y[KNOWN])
    before = model.scores(X)
    model.memory_.X, model.memory_.y = model.memory_.X[::-1].copy(), model.memory_.y[::-1].copy()
    np.testing.assert_allclose(model.scores(X), before, atol=1e-5)
    model.learn(X[~KNOWN], Y[~KNOWN])
    np.testing.assert_allclose(model.scores(X)[:, :5], before, atol=1e-5)
    assert metrics.accuracy(Y, model.predict_closed(X)) > 0.9


def test_the_most_similar_examples_of_a_class_come_last():
    similarity = torch.tensor([[0.1, 0.9, 0.5, 0.3, 0.2]])
    found = l2ac.most_similar(similarity, [3, 2], 2)
    assert found.tolist() == [[[2, 1], [4, 3]]]
    # A class with too few examples repeats its least similar one.
    assert l2ac.most_similar(similarity, [3, 2], 3)[0, 1].tolist() == [4, 4, 3]


def test_a_row_is_never_its_own_example_and_training_classes_never_meet_the_judges():
    unit = torch.nn.functional.normalize(torch.tensor(X[Y < 6]), dim=1)
    codes = torch.tensor(Y[Y < 6])
    order = codes.argsort(stable=True)
    unit, codes = unit[order], codes[order]
    groups = l2ac.example_groups(unit, codes, 3, 2, torch.tensor([4, 5]))
    assert groups.shape == (180, 3, 3)
    assert not (groups == torch.arange(180)[:, None, None]).any()
    assert (codes[groups[:, 0]] == codes[:, None]).all()
    assert (codes[groups[:, 1:]] != codes[:, None, None]).all()
    assert codes[groups[codes < 4]].max() == 3


def test_one_unit_of_lstm_by_hand():
    # Input, forget and output gates wide open: the cell adds up tanh(s).
    weights = torch.zeros(3, 4)
    weights[0, 3], weights[2, :3] = 1.0, 100.0
    found = l2ac.lstm(torch.tensor([0.2, 0.5]), weights)
    assert float(found) == pytest.approx(np.tanh(np.tanh(0.2) + np.tanh(0.5)))


def test_lstm_is_torchs():
    rng = torch.Generator().manual_seed(0)
    s, weights = torch.rand(7, 4, generator=rng), torch.randn(3, 4, generator=rng)
    reference = torch.nn.LSTM(1, 1, batch_first=True)
    turned = [0, 1, 3, 2]  # torch's gates: input, forget, cell, output
    with torch.no_grad():
        reference.weight_ih_l0.copy_(weights[0, turned, None])
        reference.weight_hh_l0.copy_(weights[1, turned, None])
        reference.bias_ih_l0.copy_(weights[2, turned])
        reference.bias_hh_l0.zero_()
        expected = reference(s[..., None])[1][0][0, :, 0]
    torch.testing.assert_close(l2ac.lstm(s, weights), expected)


def test_epochs_are_found_on_validation_classes_which_are_then_learnt_too(monkeypatch):
    calls, train_network = [], l2ac.L2AC.train_network

    def spy(self, Z, unit, targets, apart, epochs, seed):
        network, after = train_network(self, Z, unit, targets, apart, epochs, seed)
        calls.append((len(apart), epochs, after))
        return network, after

    monkeypatch.setattr(l2ac.L2AC, "train_network", spy)
    quick("l2ac", threshold=0.5).fit(X[KNOWN], Y[KNOWN])
    (apart, most, found), (none, epochs, after) = calls
    assert (apart, most, none) == (1, l2ac.EPOCHS, 0)
    assert 1 <= found == epochs == after <= l2ac.EPOCHS


def test_classes_do_not_tie_where_the_similarities_are_all_one():
    model = quick("l2ac", threshold=0.5).fit(X[KNOWN], Y[KNOWN])
    model.similarity_ = 0 * model.similarity_
    model.similarity_[:10] = 100  # all far above what a sigmoid tells apart
    scores = model.scores(X)
    assert len(np.unique(scores[0])) == 5
    np.testing.assert_allclose(scores, scores[0, 0], atol=1e-3)


def test_one_neighbour_needs_no_recurrence():
    model = quick("l2ac", neighbours=1, threshold=0.5).fit(X[KNOWN], Y[KNOWN])
    before = model.scores(X)
    model.recurrent_ = model.recurrent_ * np.nan
    np.testing.assert_array_equal(model.scores(X), before)


def test_l2ac_rejects_at_one_half_and_below():
    model = quick("l2ac", threshold=0.5).fit(X[KNOWN], Y[KNOWN])
    p = 1 / (1 + np.exp(-model.scores(X)))
    np.testing.assert_array_equal(model.predict(X) == -1, p.max(1) <= 0.5)


# ---------------------------------------------------------------- DeepNNO


def test_the_threshold_of_deepnno_by_hand():
    taus, codes = torch.tensor([0.5], dtype=torch.float64), torch.tensor([0, 0])

    def after(scores, **quirk):
        etas = torch.tensor([2.0], dtype=torch.float64)
        return float(follow_threshold(taus, torch.tensor(scores, dtype=torch.float64), codes, etas, **quirk))

    # (.9 + .3 + 2 × .3) / (2 + 2 × 1) = .45.
    assert after([0.9, 0.3]) == pytest.approx(0.9 * 0.5 + 0.1 * 0.45)
    # Nothing is wrongly rejected: the plain mean; the published code divides by 2 + 2.
    assert after([0.9, 0.8]) == pytest.approx(0.9 * 0.5 + 0.1 * 0.85)
    assert after([0.9, 0.8], pulled_down=True) == pytest.approx(0.9 * 0.5 + 0.1 * 0.425)


def test_classes_count_alike_in_the_threshold_of_deepnno():
    scores, codes = torch.tensor([0.9, 0.9, 0.9, 0.7], dtype=torch.float64), torch.tensor([2, 2, 2, 5])
    found = follow_threshold(
        torch.tensor([0.5, 0.5], dtype=torch.float64), scores, codes, torch.tensor([1.0, 3.0]).double()
    )
    np.testing.assert_allclose(found, 0.45 + 0.1 * 0.8)


def test_scores_of_deepnno_are_1_at_the_mean_and_the_threshold_decides(fitted):
    model = fitted["deepnno"]
    scores = np.exp(model.scores(X))
    assert ((scores > 0) & (scores <= 1)).all()
    at_means = np.linalg.solve(model.head_.astype(np.float64), model.class_means_.T).T * model.scale_ + model.mean_
    np.testing.assert_allclose(np.exp(model.scores(at_means)).diagonal(), 1, atol=1e-6)
    tau = model.taus_[model.etas_ == model.settings_["eta"]][0]
    np.testing.assert_array_equal(model.predict(X) == -1, scores.max(1) <= tau)
    assert 0 < tau < 1


def test_another_eta_needs_another_fit():
    model = quick("deepnno", eta=2.0).fit(X[KNOWN], Y[KNOWN]).set_params(eta=3.0)
    with pytest.raises(ValueError, match="eta was changed after fit"):
        model.learn(X[~KNOWN], Y[~KNOWN])
    assert model.phase_ == 1


def test_distillation_keeps_the_head():
    def moved(weight):
        model = quick("deepnno", learning_rate=0.03, distillation=weight, eta=2.0).fit(X[KNOWN], Y[KNOWN])
        before = model.head_
        return np.abs(model.learn(X[~KNOWN], Y[~KNOWN]).head_ - before).sum()

    assert moved(100.0) < 0.7 * moved(0.0)


# ---------------------------------------------------------------- B-DOC


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


# ---------------------------------------------------------------- exemplars, decision and search


def test_exemplars_nearest_the_mean_first():
    rows = np.array([[5.0], [0.0], [2.0], [3.0], [-5.0]])  # mean 1
    nearest = NearestToMean(lambda X: X)
    assert nearest(rows, 3, None).tolist() == [1, 2, 3]
    # The fifth row is held out; it stands at the fifth place again although it is not the farthest by rank.
    assert NearestWithHeldOut(lambda X: X)(rows[[0, 4, 1, 3, 2]], 5, None).tolist() == [2, 3, 0, 1, 4]


@pytest.mark.parametrize("name", ["nno", "deepnno", "b-doc"])
def test_a_smaller_share_is_the_beginning_of_a_larger_one(name):
    model = quick(name, memory_size=100).fit(X[KNOWN], Y[KNOWN])
    before = model.memory_.X[model.memory_.y == 0]
    model.learn(X[~KNOWN], Y[~KNOWN])
    after = model.memory_.X[model.memory_.y == 0]
    assert len(after) == 13 < len(before) == 20
    np.testing.assert_array_equal(after, before[:13])
    assert len(model.exemplars()[0]) == 100


def test_a_decision_by_hand():
    scores = np.array([[3.0, 2.0], [1.0, 0.5], [0.0, 1.5]])
    found = decide(scores, 1.0, strict=True)
    assert found.codes.tolist() == [0, -1, 1]
    assert found.closed.tolist() == [0, 0, 1]
    assert found.unknown_score.tolist() == [-3, -1, -1.5]
    assert decide(scores, 1.0, strict=False).codes.tolist() == [0, 0, 1]
    # With a threshold each, the best of those that accept wins, and what the nearest lacks is the score.
    found = decide(scores, np.array([4.0, 1.0]), strict=True)
    assert found.codes.tolist() == [1, -1, 1]
    assert found.unknown_score.tolist() == [-1, 0.5, -0.5]


def test_one_parameter_is_tuned_after_the_other():
    ranges = {"a": Range(1, (0, 1, 2), int), "b": Range(5, (5, 6), int), "c": Range(0, (0, 1), int)}
    asked = []

    def score(settings, name):
        asked.append((name, dict(settings)))
        return {0: 0.2, 1: 0.5, 2: 0.7}[settings["a"]] + 0.1 * (settings["b"] == 5)

    found, tried = coordinate_search(ranges, {"a": SEARCH, "b": SEARCH, "c": 1}, score)
    assert found == {"a": 2, "b": 5, "c": 1}
    assert [t[:2] for t in tried] == [("a", 1), ("a", 0), ("a", 2), ("b", 5), ("b", 6)]
    assert asked[0] == ("a", {"a": 1, "b": 5, "c": 1})
    assert asked[-1] == ("b", {"a": 2, "b": 6, "c": 1})


def test_a_diverged_trial_never_wins_and_a_diverged_fit_says_so():
    model = quick("deepnno", learning_rate=SEARCH, eta=2.0)
    model.RANGES = DeepNNO.RANGES | {"learning_rate": Range(1e20, (1e20, 0.1), DeepNNO.RANGES["learning_rate"].check)}
    assert model.fit(X[KNOWN], Y[KNOWN]).settings_["learning_rate"] == 0.1
    assert [trial.score for trial in model.search_ if trial.value == 1e20] == [0]
    with pytest.raises(ValueError, match="diverged; choose a smaller step"):
        quick("deepnno", learning_rate=1e20).fit(X[KNOWN], Y[KNOWN])


def test_the_best_threshold_by_hand():
    # Known rows score 1 to 4 for their class, unknown ones 0 and 2.5 at best.
    known = np.array([[1.0, 0], [2.0, 0], [3.0, 0], [4.0, 0]])
    game = OpenTrial(known, np.zeros(4, dtype=int), np.array([[0.0, -1], [2.5, 1]]))
    best, scores, criterion = judge_thresholds([game], [[-1.0, 0.5, 2.6]], strict=True)
    assert criterion == "HNA"
    np.testing.assert_allclose(scores, [0, 2 * 1 * 0.5 / 1.5, 2 * 0.5 * 1 / 1.5])
    assert best == 1  # of equals the one that rejects less
    # Without unknown rows, what keeps 95 % of the right ones.
    best, scores, criterion = judge_thresholds([game._replace(unknown=known[:0])], [[-1.0, 0.5, 2.6]], strict=True)
    assert (best, scores.tolist(), criterion) == (1, [1, 1, 0.5], "AKS")


def test_thresholds_reject_the_shares_they_are_asked_for():
    scores = np.random.default_rng(0).normal(size=(1001, 3))
    for share, theta in zip((0.0, 0.25, 1.0), thresholds_at(scores, (0.0, 0.25, 1.0)), strict=True):
        assert (scores.max(1) < theta).mean() == pytest.approx(share, abs=1e-3)


@settings(max_examples=30)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=60))
def test_every_class_keeps_a_row_to_fit_on(labels):
    codes = np.unique(labels, return_inverse=True)[1]
    fitting, held_out = hold_out_share(codes, 0.2, np.random.default_rng(0))
    assert sorted([*fitting, *held_out]) == list(range(len(codes)))
    assert set(codes[fitting]) == set(codes)


def test_a_search_is_made_once_kept_and_reported():
    stages = []
    model = DeepNNO(device="cpu", random_state=0, max_classes=12, weight_decay=1e-4)
    model.fit(X[KNOWN], Y[KNOWN], progress=lambda stage, done, total: stages.append((stage, done, total)))
    assert set(model.settings_) == {*DeepNNO.RANGES, "eta"}
    assert model.settings_["weight_decay"] == 1e-4
    learning = [trial for trial in model.search_ if trial.criterion == "accuracy"]
    assert {trial.parameter for trial in learning} == {"learning_rate", "classification", "distillation"}
    assert [t.value for t in model.search_ if t.parameter == "eta"] == list(DeepNNO.REJECTION_VALUES)
    for name in ("learning_rate", "classification"):
        tried = {trial.value: trial.score for trial in learning if trial.parameter == name}
        assert tried[model.settings_[name]] == max(tried.values())
    assert ("searching the parameters of learning", 9, 9) in stages
    assert ("searching the threshold", 6, 6) in stages
    model.learn(X[~KNOWN], Y[~KNOWN])
    assert [trial for trial in model.search_ if trial.criterion == "accuracy"] == learning
    assert {trial.phase for trial in model.search_ if trial.parameter == "eta"} == {1, 2}


def test_a_threshold_may_stay_as_it_was_found():
    model = quick("nno", search_again=False).fit(X[KNOWN], Y[KNOWN])
    tau = model.settings_["tau"]
    assert model.learn(X[~KNOWN], Y[~KNOWN]).settings_["tau"] == tau


# ---------------------------------------------------------------- all of them


@pytest.mark.parametrize("name", BASELINES)
def test_separate_blobs_are_named_rejected_found_and_learnt(name, fitted):
    model = clone(fitted[name]).fit(X[KNOWN], Y[KNOWN])
    labels = model.predict(X)
    assert metrics.accuracy(Y[KNOWN], model.predict_closed(X[KNOWN])) > 0.98
    assert metrics.hna(Y, labels, range(5)) > 0.75
    assert metrics.auroc(Y, model.unknown_score(X), range(5)) > 0.9
    rejected = np.flatnonzero(labels == -1)
    found = model.discover(X[rejected], k=8)
    assert metrics.clustering_accuracy(Y[rejected], found.labels) > 0.95
    model.learn(X[~KNOWN], Y[~KNOWN])
    assert metrics.accuracy(Y, model.predict_closed(X)) > 0.95
    assert model.phase_ == 2


@pytest.mark.parametrize("name", BASELINES)
def test_digits(name):
    D, truth = load_digits(return_X_y=True)
    train = np.arange(len(truth)) % 2 == 0
    start, later = train & (truth < 6), train & (truth >= 6) & (truth < 8)
    model = quick(name, max_classes=20).fit(D[start], truth[start])
    known, stream = ~train & (truth < 6), ~train & (truth < 8)
    assert metrics.accuracy(truth[known], model.predict_closed(D[known])) > 0.9
    assert metrics.hna(truth[stream], model.predict(D[stream]), range(6)) > 0.5
    model.learn(D[later], truth[later])
    assert metrics.accuracy(truth[stream], model.predict_closed(D[stream])) > 0.85


@pytest.mark.parametrize("name", BASELINES)
def test_recognize_equals_the_three_separate_methods(name, fitted):
    model = fitted[name]
    verdict = model.recognize(X)
    np.testing.assert_array_equal(verdict.labels, model.predict(X))
    np.testing.assert_array_equal(verdict.closed, model.predict_closed(X))
    np.testing.assert_array_equal(verdict.unknown_score, model.unknown_score(X))
    score, rejected = verdict.unknown_score, verdict.labels == -1
    assert score[rejected].min() >= score[~rejected].max()
    alone = np.concatenate([model.predict(row) for row in X[:5]])
    np.testing.assert_array_equal(alone, verdict.labels[:5])
    assert len(model.predict(X[:0])) == len(model.unknown_score(X[:0])) == 0
    assert model.discover(X[:0]).k >= 5


@pytest.mark.parametrize("name", BASELINES)
def test_the_same_seed_gives_the_same_baseline(name, fitted):
    again = clone(fitted[name]).fit(X[KNOWN], Y[KNOWN])
    np.testing.assert_array_equal(again.scores(X), fitted[name].scores(X))
    np.testing.assert_array_equal(again.threshold_, fitted[name].threshold_)
    assert again.search_ == fitted[name].search_
    one, other = (fitted[name].discover(X[~KNOWN]) for _ in range(2))
    np.testing.assert_array_equal(one.labels, other.labels)
    # Fitting twice is fitting once.
    again.fit(X[KNOWN], Y[KNOWN])
    np.testing.assert_array_equal(again.scores(X), fitted[name].scores(X))


@pytest.mark.parametrize("name", BASELINES)
def test_a_baseline_comes_back_and_goes_on_as_before(name, fitted, tmp_path):
    model = clone(fitted[name]).set_params(memory_size=120)
    labels = np.array([f"bird {c}" for c in "abcdefgh"])[Y]
    model.fit(X[KNOWN], labels[KNOWN]).save(tmp_path / "model")
    loaded = type(model).load(tmp_path / "model", device="cpu")
    for _ in range(2):
        assert loaded.get_params() == model.get_params()
        assert (loaded.settings_, loaded.search_, loaded.phase_) == (model.settings_, model.search_, model.phase_)
        np.testing.assert_array_equal(loaded.scores(X), model.scores(X))
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
        np.testing.assert_array_equal(loaded.exemplars()[0], model.exemplars()[0])
        np.testing.assert_array_equal(loaded.discover(X[~KNOWN], 8).labels, model.discover(X[~KNOWN], 8).labels)
        for baseline in (loaded, model):
            baseline.learn(X[~KNOWN], labels[~KNOWN])


@pytest.mark.parametrize("name", BASELINES)
def test_a_damaged_folder_is_refused(name, fitted, tmp_path):
    fitted[name].save(tmp_path)
    index = json.loads((tmp_path / "model.json").read_text())
    header = json.loads((tmp_path / index["parts"].pop("header")["file"]).read_text())
    kind = type(fitted[name])

    def load(**changes):  # as of the first format, which has the header in the index
        (tmp_path / "model.json").write_text(json.dumps(index | {"format_version": 1} | header | changes))
        return kind.load(tmp_path, device="cpu")

    load()
    for changes in (
        {"classes": header["classes"][:-1]},
        {"parameters": header["parameters"] | {"nonsense": 1}},
        {"parameters": header["parameters"] | {kind.REJECTION: -1}},
        {"phase": "first"},
        {"search": [[1, 2]]},
    ):
        with pytest.raises(ModelFileError):
            load(**changes)
    other = EVM if kind is NNO else NNO
    with pytest.raises(ModelFileError, match="holds a"):
        other.load(tmp_path)


@pytest.mark.parametrize("name", BASELINES)
def test_bad_input_is_refused_and_changes_nothing(name, fitted):
    kind, model = BASELINES[name], clone(fitted[name]).fit(X[KNOWN], Y[KNOWN])
    parameter, value = next(iter(kind.RANGES)), model.scores(X)
    for changes, message in [
        ({parameter: -1}, f"{parameter} must be"),
        ({parameter: "much"}, f"{parameter} must be"),
        ({kind.REJECTION: -0.5}, f"{kind.REJECTION} must be"),
        ({"memory_size": 2}, "cannot hold 5 classes"),
        ({"max_classes": 4}, "max_classes=4 is less"),
        ({"device": "toaster"}, "device"),
    ]:
        with pytest.raises(ValueError, match=message):
            clone(model).set_params(**changes).fit(X[KNOWN], Y[KNOWN])
    with pytest.raises(NotFittedError):
        clone(model).predict(X)
    with pytest.raises(ValueError, match="at least two known classes"):
        clone(model).fit(X[:5], [1] * 5)
    with pytest.raises(ValueError, match="12 are expected"):
        model.predict(X[:, :5])
    with pytest.raises(ValueError, match="reserved for 'unknown'"):
        model.learn(X[:2], [-1, 3])
    with pytest.raises(ValueError, match="NaN or infinite"):
        model.learn(X[:2] * np.nan, [1, 3])
    model.memory_size = 6
    with pytest.raises(ValueError, match="cannot hold 8 classes"):
        model.learn(X[~KNOWN], Y[~KNOWN])
    np.testing.assert_array_equal(model.scores(X), value)
    assert model.phase_ == 1


@pytest.mark.filterwarnings("ignore:No threshold tells known from unknown:UserWarning")
@pytest.mark.parametrize("name", BASELINES)
@pytest.mark.parametrize("classes", [2, 3])
def test_few_classes_and_single_rows(name, classes):
    few = classes > Y
    model = quick(name).fit(X[few], Y[few])
    assert metrics.accuracy(Y[few], model.predict(X[few])) > 0.4
    model.learn(X[Y == 7][:1], [7])
    assert model.predict_closed(X[Y == 7]).tolist().count(7) > 15


@pytest.mark.parametrize("name", BASELINES)
def test_every_baseline_runs_in_the_benchmark_beside_the_papers_numbers(name):
    train, test = np.arange(len(X)) % 3 > 0, np.arange(len(X)) % 3 == 0
    data = Dataset("blobs", X[train], Y[train], X[test], Y[test], [str(c) for c in range(8)])
    method = make_method(name, memory_size=100, random_state=0, max_classes=12, **QUICK[name])
    results = [result for result, _ in run_protocol(method, data, class_groups(8, (5, 2, 1), 0), random_state=0)]
    assert [result.known for result in results] == [5, 7, 8]
    assert results[0].accuracy_all > 0.95
    assert results[0].hna > 0.5
    assert results[0].k > 5
    assert name in method_names()
    assert published(name, "cub", 1, "hca") is not None


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("name", BASELINES)
def test_a_gpu_agrees(name, fitted, tmp_path):
    there = clone(fitted[name]).set_params(device="cuda").fit(X[KNOWN], Y[KNOWN])
    assert metrics.accuracy(fitted[name].predict(X), there.predict(X)) > 0.95
    there.save(tmp_path)
    here = type(there).load(tmp_path, device="cpu")
    new = X + 0.01  # where a row coincides with an exemplar, EVM's score is the logarithm of a rounding error
    np.testing.assert_allclose(here.scores(new), there.scores(new), rtol=1e-3, atol=1e-3)
    there.learn(X[~KNOWN], Y[~KNOWN])
    assert metrics.accuracy(Y, there.predict_closed(X)) > 0.95
    assert there.discover(X[~KNOWN]).k >= 8
