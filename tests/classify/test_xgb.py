"""Boosted trees against xgboost itself."""

import sys

import numpy as np
import pytest

from opengcd.classify import XGB, fit_classifier
from tests.helpers.classifying import blobs, small
from tests.helpers.needed import needed_module


@pytest.mark.parametrize("n_classes", [2, 4])
def test_xgb_is_xgboost_with_its_defaults(n_classes):
    xgboost = needed_module("xgboost")
    X, y, X_new, _ = blobs(n_classes)
    booster = xgboost.train({"objective": "multi:softprob", "num_class": n_classes}, xgboost.DMatrix(X, label=y), 10)
    expected = booster.predict(xgboost.DMatrix(X_new))
    np.testing.assert_allclose(small("xgb").fit(X, y).predict_proba(X_new), expected, atol=1e-6)


def test_xgb_rounds():
    needed_module("xgboost")
    X, y, *_ = blobs(3)
    assert XGB(rounds=3, device="cpu").fit(X, y).booster_.num_boosted_rounds() == 3


def test_xgb_refuses_numbers_beyond_float32():
    needed_module("xgboost")
    X, y, *_ = blobs(3)
    with pytest.raises(ValueError, match="large"):
        XGB(device="cpu").fit(X * 1e40, y)


def test_xgb_missing_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "xgboost", None)
    X, y, *_ = blobs(3)
    with pytest.raises(ImportError, match=r"opengcd\[xgb\]"):
        fit_classifier("xgb", X, y, 0)
