"""DeepNNO: golden values and invariants."""

import numpy as np
import pytest
import torch

from opengcd.bench.baselines.deepnno import follow_threshold
from tests.helpers.baselines import KNOWN, X, Y, quick

pytestmark = pytest.mark.usefixtures("one_thread")


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
