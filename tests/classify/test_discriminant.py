"""The discriminant that logistic regression starts from where statistics are remembered."""

import numpy as np
import pytest

from opengcd.classify import Logistic, fit_classifier
from opengcd.classify.discriminant import SHRINKAGE, best_scale, fit_discriminant, left_out_logits
from opengcd.memory import ClassStatistics


def normal_classes(n, seed, classes=5, d=4):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % classes
    means = np.random.default_rng(7).normal(size=(classes, d))
    return means[codes] + rng.normal(size=(n, d)), codes


def test_two_classes_and_one_feature_by_hand():
    # The means are 0 and 3 and the variance is 2: w = (0, 3/2) and b = (0, -9/4), both times the scale.
    X, codes = np.array([[-1.0], [1.0], [2.0], [4.0]]), np.array([0, 0, 1, 1])
    weight, bias = fit_discriminant(ClassStatistics.of(X, codes, 2), X, codes)
    np.testing.assert_allclose(bias / weight[1], [0, -1.5])
    assert 0 < weight[1, 0] <= 1.5
    assert weight[0, 0] == 0


def test_the_best_scale_by_hand():
    # Three rows of four are right with the same margin: softmax gives 3/4 where scale · margin = log 3.
    logits = np.tile([2 * np.log(3), 0], (4, 1))
    assert best_scale(logits, np.array([0, 0, 0, 1])) == pytest.approx(0.5)
    assert best_scale(logits, np.zeros(4, dtype=int)) == 1
    assert best_scale(logits, np.ones(4, dtype=int)) == 0


def test_a_row_left_out_is_judged_as_if_it_had_never_been_there():
    X, codes = normal_classes(30, 0)
    statistics = ClassStatistics.of(X, codes, 5)
    found = left_out_logits(statistics, X, codes)
    level = SHRINKAGE * np.trace(statistics.scatter) / statistics.freedom / 4 * np.eye(4)
    for row in range(30):
        rest = np.arange(30) != row
        others = ClassStatistics.of(X[rest], codes[rest], 5)
        inverse = np.linalg.inv((1 - SHRINKAGE) * others.scatter / statistics.freedom + level)
        apart = X[row] - others.means
        np.testing.assert_allclose(found[row], -0.5 * ((apart @ inverse) * apart).sum(1))


def test_single_rows_have_no_scale():
    discriminant = fit_discriminant(ClassStatistics.of(np.eye(3), np.arange(3), 3), np.eye(3), np.arange(3))
    assert not discriminant.weight.any()


def test_rows_correct_the_discriminant_against_a_pull():
    X, codes = normal_classes(60, 0)
    statistics = ClassStatistics.of(X, codes, 5)
    model = Logistic(tol=1e-7, device="cpu").fit(X, codes, statistics)
    moved = model.weight_ - fit_discriminant(statistics, X, codes).weight * model.scale_
    residual = model.predict_proba(X) - np.eye(5)[codes]
    assert np.abs(moved).max() > 0.01
    np.testing.assert_allclose(residual.T @ model.standardised(X), -2 * 0.5 * 5 * moved, atol=1e-4)
    np.testing.assert_allclose(residual.sum(0), 0, atol=1e-4)


def test_statistics_of_many_rows_make_up_for_few_exemplars():
    X, codes = normal_classes(2000, 0)
    later, truth = normal_classes(2000, 1)
    statistics = ClassStatistics.of(X, codes, 5)

    def right(**more):
        model = fit_classifier("logistic", X[:20], codes[:20], 0, "cpu", **more)
        return (model.predict(later) == truth).mean()

    assert right(statistics=statistics) > right() + 0.1


def test_other_classifiers_are_fitted_on_the_rows_alone():
    X, codes = normal_classes(60, 0)
    with_them = fit_classifier("svm", X, codes, 0, "cpu", ClassStatistics.of(X, codes, 5))
    np.testing.assert_array_equal(
        with_them.predict_proba(X), fit_classifier("svm", X, codes, 0, "cpu").predict_proba(X)
    )
