"""The paper's experiments: protocol and measurements."""

from opengcd.bench._protocol import Dataset, OpenWorldMethod, PhaseDetail, PhaseResult, class_groups, run_protocol

__all__ = ["Dataset", "OpenWorldMethod", "PhaseDetail", "PhaseResult", "class_groups", "run_protocol"]
