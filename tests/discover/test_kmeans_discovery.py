"""Discovery among rejected rows by semi-supervised k-means."""

import numpy as np
import pytest

from tests.helpers.streams import fitted, open_world

pytestmark = pytest.mark.usefixtures("one_thread")


def test_a_second_round_in_the_papers_preset():
    X, y, stream, _ = open_world()
    recognizer = fitted(X, y, preset="paper")
    rejected = stream[recognizer.predict(stream) == -1]
    confirmed = np.full(len(rejected), -1)
    confirmed[:3] = 50
    found = recognizer.discover(rejected, k=12, confirmed=confirmed)
    assert (found.labels[:3] == 50).all()
    assert found.k == 12
    for labels, message in [(confirmed[:5], "5 labels"), (np.full(len(rejected), "a"), "known classes are like")]:
        with pytest.raises(ValueError, match=message):
            recognizer.discover(rejected, confirmed=labels)
    with pytest.raises(ValueError, match="one truth value for each"):
        recognizer.discover(rejected, rejected=np.ones(3, dtype=bool))
