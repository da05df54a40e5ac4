"""The number of classes by rehearsal: agreement, sizes, and the calibration of probabilities."""

import numpy as np
import pytest
import torch

from opengcd._internal.whitening import WithinClassWhitening
from opengcd.discover import rehearsal as rehearsal_module
from opengcd.discover.mixture import StreamTensors, labelled_classes
from opengcd.discover.rehearsal import Evidence, SizePrior, weigh
from tests.helpers.streams import open_world

pytestmark = pytest.mark.usefixtures("one_thread")


def test_agreement_falls_when_there_are_more_groups_than_classes():
    X, y, stream, truth = open_world(spread=0.3)
    rejected = truth >= 8
    rows = np.argsort(y, kind="stable")
    metric = WithinClassWhitening(device="cpu").fit(X, y)
    L, U = metric.transform(X[rows]), metric.transform(stream)
    labelled = labelled_classes(L, y[rows], "cpu")
    seen = StreamTensors(torch.as_tensor(U), torch.as_tensor(rejected))
    values = {q: rehearsal_module.agreement(labelled, seen, q, 3, 0) for q in (4, 8, 16)}
    assert values[4] > 0.95
    assert values[4] > values[8] > values[16]
    assert np.isnan(rehearsal_module.agreement(labelled, StreamTensors(seen.rows[:5], seen.rejected[:5]), 10, 3, 0))


def rehearsed(agreement, beyond=float("nan")):
    return rehearsal_module.Rehearsal(agreement, beyond, np.empty(0), np.empty(0, dtype=bool))


def test_agreement_and_size_are_weighed():
    # Agreement is as rehearsed up to four groups and falls off a cliff; sizes say six.
    agreements = np.array([1.0, 1.0, 0.98, 0.4, 0.3])
    three = [rehearsed(0.98), rehearsed(0.97), rehearsed(0.99)]
    grid = [1, 2, 4, 8, 16]
    found = weigh(10, Evidence(grid, agreements, three), SizePrior(6.0, 0.5, 30))
    assert 13 <= found.k <= 15
    assert found.interval[0] <= found.k <= found.interval[1]
    # Without a rehearsal only sizes speak.
    alone = weigh(10, Evidence(grid, agreements, []), SizePrior(6.0, 0.5, 30))
    assert 15 <= alone.k <= 19
    # A flat curve says nothing either, and the estimate says how little is known.
    flat = weigh(10, Evidence(grid, np.full(5, 0.5), [rehearsed(0.5)] * 2), SizePrior(6.0, 1.0, 60))
    assert not flat.trusted
    assert "any number of classes from" in flat.reason


def test_few_classes_are_counted_by_what_one_group_too_many_does():
    # Two classes merge without disagreement (1.0), but a chance group would agree by 0.4 and not by 1.0.
    evidence = Evidence([1, 2, 3], np.array([1.0, 1.0, 0.4]), [rehearsed(1.0, 0.4)] * 2)
    found = weigh(4, evidence, SizePrior(2.0, 0.5, 3))
    log_p = {point.k: point.score for point in found.curve}
    # By hand: q = 1 has 0.6^2 / (2 * 0.16^2) = 7.031 for A(2), ln(2)^2 / 0.5 = 0.961 for size, ln 2 for 1 / q, and
    # ln 0.5 because two groups agree as well; q = 2 has ln Phi(3.75) = -0.0001.
    assert log_p[5] - log_p[6] == pytest.approx(-7.0313 - 0.9609 + 0.6931 - 0.6931, abs=1e-3)
    assert found.k == 6


@pytest.mark.parametrize(("expected", "novel"), [(1.2, 1), (1.8, 2), (3.0, 3)])
def test_of_two_numbers_as_likely_the_larger_is_taken(expected, novel):
    # By size alone, 1 and 2 have exp(-2 ln(1.8)^2) = 0.50 and exp(-2 ln(1.8 / 2)^2) / 2 = 0.49; for 1.2, 0.94 and 0.30.
    assert weigh(4, Evidence([], np.empty(0), []), SizePrior(expected, 0.5, 20)).k == 4 + novel


def test_few_classes_are_at_least_the_median():
    # Sizes alone give a log-normal distribution with the median 8; its mode is 8 exp(-0.64) = 4.2.
    found = weigh(4, Evidence([], np.empty(0), []), SizePrior(8.0, 0.8, 60))
    assert found.k - 4 in (8, 9)


def test_class_probabilities_are_calibrated_on_rehearsals():
    rehearsals = [
        rehearsal_module.Rehearsal(1.0, 0.5, np.array([0.9, 0.8, 0.95, 0.2]), np.array([True, True, True, False])),
        rehearsal_module.Rehearsal(1.0, 0.5, np.array([0.85, 0.3, 0.1]), np.array([True, False, False])),
    ]
    low, high = rehearsal_module.calibrate(rehearsals)(np.array([0.1, 0.95]))
    assert low < 0.5 < high
    assert rehearsal_module.calibrate([])(np.zeros(2)).tolist() == [0.5, 0.5]
    all_real = rehearsal_module.Rehearsal(1.0, 0.5, np.full(8, 0.9), np.ones(8, dtype=bool))
    assert rehearsal_module.calibrate([all_real])(np.zeros(1)).tolist() == [0.9]
