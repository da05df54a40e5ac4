"""The simulated annotator who answers questions about groups."""

import numpy as np
import pytest

from opengcd.bench.questioner import answer_questions
from opengcd.bench.reviewer import simulate_review
from opengcd.discover import HiddenClasses, MetricRows

pytestmark = pytest.mark.usefixtures("one_thread")


def scene(rng, new, known=8, size=20):
    """Known classes with labelled rows, and a stream of ``new`` other ones, in the metric."""
    means = rng.normal(size=(known + new, 32))
    y = np.repeat(np.arange(known + new), size)
    Z = means[y] + 0.6 * rng.normal(size=(len(y), 32))
    Z = (Z / np.linalg.norm(Z, axis=1, keepdims=True)).astype(np.float32)
    of_known = y < known
    hidden = [HiddenClasses(Z[of_known], y[of_known])]
    return MetricRows(Z[of_known], y[of_known], Z[~of_known], hidden), y[~of_known]


def test_a_group_of_two_classes_is_split_with_one_answer():
    rows, truth = scene(np.random.default_rng(0), new=2)
    found = answer_questions([np.arange(40)], rows, truth)
    assert found.asked == {"split": 1}
    assert sorted(truth[members].tolist() for members in found.groups) == [[8] * 20, [9] * 20]
    # Twenty rows would be selected and moved; after one answer, two groups are named and confirmed.
    assert simulate_review([np.arange(40)], truth, range(8)).actions == 25
    assert simulate_review(found.groups, truth, range(8)).actions == 4


def test_a_group_without_any_class_is_dissolved_and_its_rows_join_others():
    rows, truth = scene(np.random.default_rng(1), new=12)
    pure = [np.flatnonzero(truth == 8 + i)[2:] for i in range(12)]
    mixed = np.concatenate([np.flatnonzero(truth == 8 + i)[:2] for i in range(12)])
    found = answer_questions([*pure, mixed], rows, truth)
    assert len(found.groups) == 12
    assert all(len(np.unique(truth[members])) == 1 for members in found.groups)
    assert sum(map(len, found.groups)) == len(truth)


def test_nothing_is_asked_where_nothing_can_be_saved():
    rows, truth = scene(np.random.default_rng(2), new=1)
    group = np.array([0, 1])
    found = answer_questions([group], rows, truth)
    assert not found.asked
    assert [members.tolist() for members in found.groups] == [[0, 1]]


def test_classes_that_were_scattered_get_groups_of_their_own():
    rows, truth = scene(np.random.default_rng(3), new=12)
    whole = [np.flatnonzero(truth == 8 + i) for i in range(8)]
    scattered = np.flatnonzero(truth >= 16)  # four classes, of which each of four groups has five rows
    mixed = [scattered[i::4] for i in range(4)]
    found = answer_questions([*whole, *mixed], rows, truth)
    counts = [np.bincount(truth[members], minlength=20) for members in found.groups]
    assert sorted(int(count.argmax()) for count in counts) == list(range(8, 20))
    assert sum(count.max() for count in counts) >= 0.98 * len(truth)
