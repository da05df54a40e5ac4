"""The report of an adaptation: curves, rehearsal and costs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

LEAST_GAIN = 0.01
"""Least mean gain of HNA and HCA for an adaptation to count as helpful."""
REHEARSING, TRAINING = "rehearsing", "training"
"""The two curves of an adaptation."""


CURVES = ("curve", "rehearsal_curve")
"""The same in a report."""


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
        """Mean gain of HNA and HCA."""
        return (self.adapted_hna + self.adapted_hca - self.frozen_hna - self.frozen_hca) / 2

    @property
    def helps(self) -> bool:
        """Whether the gain is large enough to be more than chance."""
        return self.gain >= LEAST_GAIN


class AdaptReport(NamedTuple):
    """The benefit and the cost of an adaptation."""

    rehearsed: Rehearsed | None
    """None if too few classes are known to hide some of them."""
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

    def as_dict(self) -> dict[str, Any]:
        """Return the report as JSON that every database takes: a number that is not finite becomes null.

        Returns
        -------
        dict

        """
        plain: dict[str, Any] = self._asdict()
        plain["rehearsed"] = None if self.rehearsed is None else self.rehearsed._asdict()
        for name in CURVES:
            plain[name] = [point._asdict() for point in plain[name]]
        return dict(_finite(plain))

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> AdaptReport:
        """Return the report that :meth:`as_dict` has written.

        Parameters
        ----------
        plain : dict

        Returns
        -------
        AdaptReport

        """
        read = dict(plain)
        read["rehearsed"] = None if plain["rehearsed"] is None else Rehearsed(**_numbers(plain["rehearsed"]))
        for name in CURVES:
            read[name] = [EpochPoint(**_numbers(point)) for point in plain[name]]
        return cls(**read)


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


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _numbers(plain: dict[str, Any]) -> dict[str, Any]:
    return {key: math.nan if value is None else value for key, value in plain.items()}
