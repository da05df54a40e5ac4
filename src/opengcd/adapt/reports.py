"""What an adaptation reports: curves, the rehearsal, costs."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

LEAST_GAIN = 0.01
"""What HNA and HCA must gain on average for an adaptation to count as helpful."""
REHEARSING, TRAINING = "rehearsing", "training"
"""The two curves of an adaptation."""


class EpochPoint(NamedTuple):
    """The curves of a training after an epoch."""

    epoch: int
    loss: float
    accuracy: float
    """Share of the images kept out that the classifier of the training recognises; nan without any."""


OnEpoch = Callable[[EpochPoint], None]
"""Called after each epoch."""


def no_report(point: EpochPoint) -> None:
    """Report nothing."""


class Rehearsed(NamedTuple):
    """HNA and HCA on hidden known classes, with features of the network as it is and after a short training."""

    frozen_hna: float
    frozen_hca: float
    adapted_hna: float
    adapted_hca: float
    hidden: int
    """Number of classes that were hidden."""

    @property
    def gain(self) -> float:
        """What HNA and HCA gain on average."""
        return (self.adapted_hna + self.adapted_hca - self.frozen_hna - self.frozen_hca) / 2

    @property
    def helps(self) -> bool:
        """Whether the gain is large enough to be more than chance."""
        return self.gain >= LEAST_GAIN


class AdaptReport(NamedTuple):
    """What an adaptation brought and cost."""

    rehearsed: Rehearsed | None
    """None where too few classes are known to hide some of them."""
    curve: list[EpochPoint]
    """Of the training itself; empty if there was none."""
    rehearsal_curve: list[EpochPoint]
    seconds: dict[str, float]
    """By step."""
    written: bool
    """Whether the adapted network was written."""
    trained: list[bool]
    """For each image, whether the network was trained on its label."""
    unusable: dict[str, str]
    """Why files could not be used, by path."""


class TimeEstimate(NamedTuple):
    """Seconds of the steps of an adaptation."""

    reading: float
    rehearsing: float
    training: float
    embedding: float
    """All images by the adapted network."""

    @property
    def total(self) -> float:
        """The sum."""
        return sum(self)
