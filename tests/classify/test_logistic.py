import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from opengcd import OpenWorldRecognizer
from opengcd.classify import Logistic
from tests.helpers.devices import DEVICES


def overlapping(n=600, d=20, classes=7, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    scale = np.geomspace(3, 0.03, d)  # as features of a backbone: few directions vary much
    return (rng.normal(size=(classes, d))[y] + 1.5 * rng.normal(size=(n, d))) * scale, y


@pytest.mark.parametrize("device", DEVICES)
def test_two_classes_and_one_feature_by_hand(device):
    # W = (-w, w) at x = -1 and 1: the loss log(1 + exp(-2w)) + 2 penalty w² is least where
    # 2 penalty w = 1 / (1 + exp(2w)), that is at w = 1 with this penalty.
    penalty = 1 / (2 * (1 + np.exp(2)))
    model = Logistic(penalty, tol=1e-7, device=device).fit(np.array([[-1.0], [1.0]]), np.array([0, 1]))
    np.testing.assert_allclose(model.weight_, [[-1], [1]], atol=1e-6)
    np.testing.assert_allclose(np.diff(model.bias_), 0, atol=1e-6)
    p = 1 / (1 + np.exp(-2))
    np.testing.assert_allclose(model.predict_proba(np.array([[1.0]])), [[1 - p, p]], atol=1e-6)


def test_offsets_are_not_penalised():
    # Constant features tell nothing, and the offsets alone give the shares of the classes, whatever the penalty.
    y = np.array([0, 0, 0, 1])
    model = Logistic(penalty=10.0, tol=1e-7, device="cpu").fit(np.ones((4, 3)), y)
    np.testing.assert_allclose(model.predict_proba(np.ones((1, 3))), [[0.75, 0.25]], atol=1e-6)


@pytest.mark.parametrize(("penalty", "tol", "atol"), [(1e-2, 1e-7, 1e-6), (1e-4, 1e-7, 1e-5), (1e-3, 1e-4, 5e-3)])
def test_it_is_scikit_learns_with_the_same_penalty(penalty, tol, atol):
    X, y = overlapping()
    ours = Logistic(penalty, tol=tol, device="cpu").fit(X, y)
    Z = (X - X.mean(0)) / (X - X.mean(0)).std()
    # Ours takes the mean of the losses and the whole squared norm, theirs C times the sum and half of it.
    theirs = LogisticRegression(C=1 / (2 * penalty * len(X)), max_iter=10_000, tol=1e-10, solver="newton-cg").fit(Z, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(Z), atol=atol)


def test_the_gradient_is_as_small_as_stated():
    X, y = overlapping()
    model = Logistic(1e-3, tol=1e-6, device="cpu").fit(X, y)
    Z = (X - X.mean(0)) / (X - X.mean(0)).std()
    residual = (model.predict_proba(X) - np.eye(7)[y]) / len(X)
    gradient = residual.T @ Z + 2 * 1e-3 * model.weight_
    # In the coordinates of the solver it is at most tol, and these are at most sqrt(20 entries · largest scale) apart.
    largest = np.linalg.eigvalsh(0.005 * Z.T @ Z / len(Z)).max() + 2 * 1e-3 + 1e-6
    assert np.abs(gradient).max() <= 1e-6 * np.sqrt(20 * largest)
    assert np.abs(residual.sum(0)).max() <= 1e-6


def test_too_few_steps_are_reported():
    X, y = overlapping()
    with pytest.warns(ConvergenceWarning, match="above tol=0.0001; raise max_iter"):
        Logistic(max_iter=3, device="cpu").fit(X, y)


STABLE = 1e-8
"""How far probabilities may move when the same numbers are added in another order."""


def test_the_order_of_rows_does_not_matter():
    X, y = overlapping()
    order = np.random.default_rng(1).permutation(len(X))
    one, other = (Logistic(device="cpu").fit(X[rows], y[rows]) for rows in (slice(None), order))
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=STABLE)


def test_float32_features_are_computed_in_float64():
    X, y = overlapping()
    X = X.astype(np.float32)
    narrow, wide = (Logistic(device="cpu").fit(X.astype(dtype), y) for dtype in (np.float32, np.float64))
    np.testing.assert_array_equal(narrow.weight_, wide.weight_)
    rounded = Logistic(device="cpu").fit(X.astype(np.float64) * (1 + 1e-7 * np.sign(X)), y)
    np.testing.assert_allclose(rounded.predict_proba(X), wide.predict_proba(X), atol=1e-5)


FIT = """
import sys
import numpy as np, torch
torch.set_num_threads(int(sys.argv[1]))
from opengcd.classify import Logistic
from tests.classify.test_logistic import overlapping
X, y = overlapping(4400, 120)  # enough for more than one thread
np.save(sys.argv[2], Logistic(device="cpu").fit(X, y).predict_proba(X))
"""


def test_threads_and_instruction_sets_do_not_matter(tmp_path):
    # Other instruction sets round as other processors do.
    settings = [(1, {}), (2, {}), (1, {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE"})]
    found = []
    for i, (threads, variables) in enumerate(settings):
        file = tmp_path / f"{i}.npy"
        path = os.pathsep.join(sys.path)
        subprocess.run(
            [sys.executable, "-c", FIT, str(threads), str(file)],
            env=os.environ | variables | {"PYTHONPATH": path},
            check=True,
            timeout=300,
        )
        found.append(np.load(file))
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], atol=STABLE)


def test_a_saved_model_predicts_the_same_to_the_last_digit(tmp_path):
    X, y = overlapping(200)
    recognizer = OpenWorldRecognizer(random_state=0, device="cpu").fit(X, y)
    recognizer.save(tmp_path)
    loaded = OpenWorldRecognizer.load(tmp_path, device="cpu")
    np.testing.assert_array_equal(loaded.recognize(X).probabilities, recognizer.recognize(X).probabilities)
