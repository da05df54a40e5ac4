"""The search for alpha."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs
from sklearn.naive_bayes import GaussianNB

from opengcd import metrics
from opengcd.osr import DECADES, UncertaintyRule, search_alpha


class Lookup(GaussianNB):
    """Is 90 % sure of every row whose first feature it was fitted on, and wholly unsure of others."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.class_of_ = dict(zip(X[:, 0].tolist(), y.tolist(), strict=True))
        return self

    def predict_proba(self, X):
        n = len(self.classes_)
        p = np.full((len(X), n), 1 / n)
        for row, value in zip(p, X[:, 0].tolist(), strict=True):
            if value in self.class_of_:
                row[:] = 0.1 / (n - 1)
                row[self.class_of_[value]] = 0.9
        return p


def test_the_smallest_of_the_best_alphas_is_found():
    # Known rows are rejected above alpha = .9 / .1 = 9, unknown ones (three classes known) above (1/3) / (2/3) = .5.
    y = np.repeat(np.arange(6), 10)
    X = np.stack([y, y], axis=1).astype(float)
    found = search_alpha(X, y, Lookup(), grid=[100, 0.4, 1, 4, 8], random_state=0)
    assert found.alpha == 1
    np.testing.assert_allclose(found.scores, [0, 1, 1, 1, 0])
    assert found.criterion == "HNA"


def test_the_search_finds_a_useful_alpha_on_digits():
    X, y = load_digits(return_X_y=True)
    known = y < 6
    found = search_alpha(X[known][::2], y[known][::2], "svm", random_state=0)
    assert found.alpha in DECADES
    assert found.scores.max() > 0.8
    assert found.scores[found.grid == found.alpha] == found.scores.max()
    again = search_alpha(X[known][::2], y[known][::2], "svm", random_state=0)
    np.testing.assert_array_equal(found.scores, again.scores)


def test_scores_are_the_metric_itself():
    # One repeat, replayed by hand with the metric.
    from opengcd._internal.randomness import derive, generator
    from opengcd._internal.splits import hold_out_half
    from opengcd.classify import fit_classifier, infer

    X, y = make_blobs(120, n_features=4, centers=5, cluster_std=2.0, random_state=0)
    found = search_alpha(X, y, GaussianNB(), grid=[1.0, 10.0], repeats=1, random_state=3)
    rng = generator(derive(3, 0))
    known = rng.permutation(5)[:3]
    fitting, held_out = hold_out_half(y, known, rng)
    number = np.full(5, -1)
    number[known] = np.arange(3)
    model = fit_classifier(GaussianNB(), X[fitting], number[y[fitting]], derive(3, 0, 0))
    rows = np.r_[held_out, np.flatnonzero(~np.isin(y, known))]
    labels, p = infer(model, X[rows])
    for alpha, score in zip(found.grid, found.scores, strict=True):
        y_pred = np.where(UncertaintyRule(alpha).rejects(p), -1, labels)
        y_true = np.where(number[y[rows]] < 0, 99, number[y[rows]])
        assert score == pytest.approx(metrics.hna(y_true, y_pred, range(3)))


def test_two_classes_keep_most_of_the_known():
    X, y = load_digits(return_X_y=True)
    found = search_alpha(X[y < 2], y[y < 2], random_state=0)
    assert found.criterion == "AKS"
    chosen = found.scores[found.grid == found.alpha][0]
    assert chosen >= 0.95 * found.scores[0]
    assert (found.scores[found.grid > found.alpha] < 0.95 * found.scores[0]).all()


def test_single_rows_cannot_be_held_out():
    with pytest.warns(UserWarning, match="No class has two rows"):
        found = search_alpha(np.eye(4), [0, 1, 2, 3], GaussianNB(), random_state=0)
    assert found.alpha == min(DECADES)


def test_bad_search_is_refused():
    with pytest.raises(ValueError, match="at least two classes"):
        search_alpha(np.eye(3), [0, 0, 0])
    with pytest.raises(ValueError, match="grid must hold"):
        search_alpha(np.eye(3), [0, 1, 2], grid=[])


def test_an_alpha_that_rejects_nothing_is_announced():
    # Probabilities that never depend on the row: no alpha accepts known rows and rejects unknown ones.
    X, y = np.zeros((40, 2)), np.repeat(np.arange(4), 10)
    with pytest.warns(UserWarning, match="nothing will be rejected"):
        found = search_alpha(X, y, Lookup(), random_state=0)
    assert found.scores.max() == 0


def test_two_classes_of_one_row_reject_nothing():
    with pytest.warns(UserWarning, match="nothing will be rejected"):
        assert search_alpha([[0.0], [1.0]], [0, 1], random_state=0).alpha == min(DECADES)
