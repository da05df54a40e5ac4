"""Placeholder: what can be chosen about an adaptation."""

from __future__ import annotations

from dataclasses import dataclass


class AdaptError(ValueError):
    """A network cannot be adapted, or not with these images."""


@dataclass(frozen=True)
class AdaptSettings:
    """Settings of an adaptation; None chooses by the data or the device."""

    method: str = "lora"
    blocks: int | None = None
    epochs: int | None = None
    batch_size: int | None = None
    unlabelled: bool = False
    kept_out: float = 0.2
