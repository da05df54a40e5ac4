"""The closed-set classifiers by name."""

from __future__ import annotations

from opengcd.classify.classifier import ArrayClassifier
from opengcd.classify.logistic import Logistic
from opengcd.classify.mlp import MLP
from opengcd.classify.svm import SVM
from opengcd.classify.xgb import XGB

CLASSIFIERS: dict[str, type[ArrayClassifier]] = {"mlp": MLP, "svm": SVM, "xgb": XGB, "logistic": Logistic}
