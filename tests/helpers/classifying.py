"""Rows to classify, and quick classifiers for them."""

import numpy as np
from sklearn.datasets import make_blobs

from opengcd.classify import CLASSIFIERS
from tests.helpers.needed import needed_module

NAMES = ["svm", "mlp", "xgb"]


def blobs(n_classes, spread=2.5, n=160, features=6, seed=0):
    """Overlapping classes, so that probabilities are not all 0 or 1; half to fit on, half to look at."""
    X, y = make_blobs(n, features, centers=n_classes, cluster_std=spread, center_box=(-4, 4), random_state=seed)
    return X[::2], y[::2], X[1::2], y[1::2]


def small(name, random_state=0):
    """A quick classifier of that name."""
    if name == "xgb":
        needed_module("xgboost")
    quick = {"svm": {}, "mlp": {"max_iter": 60, "learning_rate": 0.01}, "xgb": {}}[name]
    return CLASSIFIERS[name](**quick, random_state=random_state, device="cpu")


def is_distribution(p):
    return (p >= 0).all() and np.allclose(p.sum(1), 1, rtol=0, atol=1e-12)


def standardised(model, X):
    return (X - model.mean_) / model.scale_
