"""The paper's experiments: protocol and measurements."""

from opengcd.bench._datasets import PLANS, FeatureFileError, Plan, load_dataset, plan_for
from opengcd.bench._methods import make_method, method_names
from opengcd.bench._protocol import Dataset, OpenWorldMethod, PhaseDetail, PhaseResult, class_groups, run_protocol

__all__ = [
    "PLANS",
    "Dataset",
    "FeatureFileError",
    "OpenWorldMethod",
    "PhaseDetail",
    "PhaseResult",
    "Plan",
    "class_groups",
    "load_dataset",
    "make_method",
    "method_names",
    "plan_for",
    "run_protocol",
]
