"""The paper's experiments: protocol and measurements."""

from opengcd._internal.splits import class_groups
from opengcd.bench.adapted_method import AdaptedMethod
from opengcd.bench.cells import Outcome, make_cells, parse_numbers, run_cell, run_cells
from opengcd.bench.code_version import code_version
from opengcd.bench.datasets import PLANS, FeatureFileError, Plan, available, load_dataset, plan_for
from opengcd.bench.documents import blocks, fill
from opengcd.bench.figures import Picture, pictures
from opengcd.bench.image_dataset import DatasetImages, ImageDatasetError, has_images, load_images, make_images
from opengcd.bench.methods import make_method, method_names, takes_images
from opengcd.bench.open_world_method import FittedParameters, OpenWorldMethod, Predictions
from opengcd.bench.protocol import PROTOCOLS, Dataset, PhaseDetail, run_protocol
from opengcd.bench.raw import RAW_DATASETS, RawDataset, RawDatasetError, make_features, read_raw
from opengcd.bench.recognizer_method import RecognizerMethod
from opengcd.bench.records import (
    AlphaPoint,
    Cell,
    CellResult,
    CodeVersion,
    Environment,
    ImageSource,
    PhaseResult,
    Setting,
)
from opengcd.bench.report import write_report
from opengcd.bench.results import ResultsError, note_other_code, read_results
from opengcd.bench.scenarios import SCENARIOS, Scenario
from opengcd.bench.tables import (
    KINDS,
    NOTE,
    Table,
    commands,
    environments,
    latex,
    markdown,
    scenario_tables,
    settings_of,
    tidy_csv,
)

__all__ = [
    "KINDS",
    "NOTE",
    "PLANS",
    "PROTOCOLS",
    "RAW_DATASETS",
    "SCENARIOS",
    "AdaptedMethod",
    "AlphaPoint",
    "Cell",
    "CellResult",
    "CodeVersion",
    "Dataset",
    "DatasetImages",
    "Environment",
    "FeatureFileError",
    "FittedParameters",
    "ImageDatasetError",
    "ImageSource",
    "OpenWorldMethod",
    "Outcome",
    "PhaseDetail",
    "PhaseResult",
    "Picture",
    "Plan",
    "Predictions",
    "RawDataset",
    "RawDatasetError",
    "RecognizerMethod",
    "ResultsError",
    "Scenario",
    "Setting",
    "Table",
    "available",
    "blocks",
    "class_groups",
    "code_version",
    "commands",
    "environments",
    "fill",
    "has_images",
    "latex",
    "load_dataset",
    "load_images",
    "make_cells",
    "make_features",
    "make_images",
    "make_method",
    "markdown",
    "method_names",
    "note_other_code",
    "parse_numbers",
    "pictures",
    "plan_for",
    "read_raw",
    "read_results",
    "run_cell",
    "run_cells",
    "run_protocol",
    "scenario_tables",
    "settings_of",
    "takes_images",
    "tidy_csv",
    "write_report",
]
