"""The linear head that DeepNNO and B-DOC train."""

import numpy as np
import pytest

from tests.helpers.baselines import KNOWN, X, Y, quick

pytestmark = pytest.mark.usefixtures("one_thread")


def test_distillation_keeps_the_head():
    def moved(weight):
        model = quick("deepnno", learning_rate=0.03, distillation=weight, eta=2.0).fit(X[KNOWN], Y[KNOWN])
        before = model.head_
        return np.abs(model.learn(X[~KNOWN], Y[~KNOWN]).head_ - before).sum()

    assert moved(100.0) < 0.7 * moved(0.0)
