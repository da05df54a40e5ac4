"""L2AC: golden values and invariants."""

import numpy as np
import pytest
import torch

from opengcd import metrics
from opengcd.bench.baselines import l2ac
from tests.helpers.baselines import KNOWN, X, Y, quick

pytestmark = pytest.mark.usefixtures("one_thread")


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
