"""Adaptation of a network to the user's own images: a placeholder with the names and signatures alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from opengcd._internal.progress import Progress, silent

__all__ = [
    "AdaptError",
    "AdaptReport",
    "AdaptSettings",
    "EpochPoint",
    "Rehearsed",
    "TimeEstimate",
    "adapt_network",
    "check_trainable",
    "estimate_time",
    "export_onnx",
    "kept_out",
]


class AdaptError(ValueError):
    """A network cannot be adapted; the message says what to do."""


@dataclass(frozen=True)
class AdaptSettings:
    """How a network is adapted."""

    method: str = "lora"
    blocks: int | None = None
    epochs: int | None = None
    batch_size: int | None = None
    unlabelled: bool = False
    kept_out: float = 0.2


USUAL = AdaptSettings()


class EpochPoint(NamedTuple):
    """One point of the curves."""

    epoch: int
    loss: float
    accuracy: float


class Rehearsed(NamedTuple):
    """Frozen against adapted features on hidden known classes."""

    frozen_hna: float
    frozen_hca: float
    adapted_hna: float
    adapted_hca: float
    hidden: int

    @property
    def helps(self) -> bool:
        """Whether adapted features are better."""
        return self.adapted_hna + self.adapted_hca > self.frozen_hna + self.frozen_hca


class AdaptReport(NamedTuple):
    """What an adaptation brought."""

    rehearsed: Rehearsed | None
    curve: list[EpochPoint]
    rehearsal_curve: list[EpochPoint]
    seconds: dict[str, float]
    written: bool
    trained: list[bool]

    def as_dict(self) -> dict[str, Any]:
        """Return the report as JSON."""
        raise NotImplementedError


class TimeEstimate(NamedTuple):
    """Seconds by stage."""

    reading: float
    rehearsing: float
    training: float

    @property
    def total(self) -> float:
        """Seconds in all."""
        return self.reading + self.rehearsing + self.training


def kept_out(keys: Sequence[bytes | str | int], codes: np.ndarray, share: float) -> np.ndarray:
    """Return which labelled images are kept out of training."""
    raise NotImplementedError


def check_trainable(embedder_name: str) -> None:
    """Refuse an embedder that cannot be trained."""
    if embedder_name == "pixels":
        raise AdaptError("Plain pixels cannot be adapted; use a network, as --embedder facebook/dino-vitb16.")
    if embedder_name.endswith(".onnx"):
        raise AdaptError("An ONNX file cannot be trained; use the network that it was made from, in a folder.")


def estimate_time(
    network: str | Path, n_labelled: int, n_unlabelled: int, settings: AdaptSettings, *, device: str = "auto"
) -> TimeEstimate:
    """Measure one small step here, and return how long an adaptation takes."""
    raise NotImplementedError


def _tell_nobody(stage: str, point: EpochPoint) -> None:
    pass


def adapt_network(
    network: str | Path,
    images: Sequence[str | os.PathLike[str]],
    labels: Sequence[str | None],
    out: str | os.PathLike[str],
    *,
    keys: Sequence[str] | None = None,
    pooling: str = "cls",
    settings: AdaptSettings = USUAL,
    force: bool = False,
    dry_run: bool = False,
    scratch: str | os.PathLike[str] | None = None,
    device: str = "auto",
    random_state: int = 0,
    progress: Progress = silent,
    on_epoch: Callable[[str, EpochPoint], None] = _tell_nobody,
) -> AdaptReport:
    """Adapt a network to images, and write it to a folder."""
    raise NotImplementedError


def export_onnx(folder: str | os.PathLike[str], file: str | os.PathLike[str]) -> None:
    """Write an adapted network as an ONNX file."""
    raise NotImplementedError
