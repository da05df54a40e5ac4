"""Closed-set classifiers by name, or any scikit-learn classifier with ``predict_proba`` (Sec. 3.3)."""

from opengcd.classify.classifier import ArrayClassifier, Inference, Standardised
from opengcd.classify.held_out import (
    Refitting,
    SuspectLabels,
    held_out_probabilities,
    hidden_class_probabilities,
    suspect_labels,
)
from opengcd.classify.inference import check_classifier, fit_classifier, infer, predict_labels
from opengcd.classify.logistic import Logistic
from opengcd.classify.mlp import MLP
from opengcd.classify.registry import CLASSIFIERS
from opengcd.classify.rows import Labelled, Stream
from opengcd.classify.saving import OWN, describe_classifier, needs_classifier, restore_classifier
from opengcd.classify.svm import SVM
from opengcd.classify.xgb import XGB

__all__ = [
    "CLASSIFIERS",
    "MLP",
    "OWN",
    "SVM",
    "XGB",
    "ArrayClassifier",
    "Inference",
    "Labelled",
    "Logistic",
    "Refitting",
    "Standardised",
    "Stream",
    "SuspectLabels",
    "check_classifier",
    "describe_classifier",
    "fit_classifier",
    "held_out_probabilities",
    "hidden_class_probabilities",
    "infer",
    "needs_classifier",
    "predict_labels",
    "restore_classifier",
    "suspect_labels",
]
