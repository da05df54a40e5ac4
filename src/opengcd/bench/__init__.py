"""The paper's experiments: protocol and measurements."""

from opengcd.bench._cells import Cell, Outcome, ResultsError, make_cells, parse_numbers, read_results, run_cells
from opengcd.bench._datasets import PLANS, FeatureFileError, Plan, available, load_dataset, plan_for
from opengcd.bench._methods import make_method, method_names
from opengcd.bench._protocol import (
    PROTOCOLS,
    Dataset,
    OpenWorldMethod,
    PhaseDetail,
    PhaseResult,
    class_groups,
    run_protocol,
)
from opengcd.bench._tables import markdown, summary

__all__ = [
    "PLANS",
    "PROTOCOLS",
    "Cell",
    "Dataset",
    "FeatureFileError",
    "OpenWorldMethod",
    "Outcome",
    "PhaseDetail",
    "PhaseResult",
    "Plan",
    "ResultsError",
    "available",
    "class_groups",
    "load_dataset",
    "make_cells",
    "make_method",
    "markdown",
    "method_names",
    "parse_numbers",
    "plan_for",
    "read_results",
    "run_cells",
    "run_protocol",
    "summary",
]
