"""Placeholder: the network stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from opengcd._internal.progress import Progress, silent
from opengcd.adapt.settings import AdaptError, AdaptSettings
from opengcd.embed.backbone import Backbone


class LabelledCrops(NamedTuple):
    """Square images of one size, with labels."""

    crops: np.ndarray
    """(n, side, side, 3) uint8."""
    codes: np.ndarray
    """(n,) Class numbers; -1 without a label."""
    keys: Sequence[int | str]
    """A stable name of each image."""


class EpochPoint(NamedTuple):
    """One point of the curves."""

    epoch: int
    loss: float
    accuracy: float


class Trained(NamedTuple):
    """An adapted network."""

    network: Backbone
    trained: np.ndarray
    curve: list[EpochPoint]


def nothing(stage: str, point: EpochPoint, /) -> None:
    """Report nothing."""


def train_network(
    backbone: Backbone,
    images: LabelledCrops,
    settings: AdaptSettings,
    *,
    random_state: int,
    progress: Progress = silent,
    on_epoch: Callable[[str, EpochPoint], None] = nothing,
) -> Trained:
    """Return the network as it is.

    Parameters
    ----------
    backbone : Backbone
    images : LabelledCrops
    settings : AdaptSettings
    random_state : int
    progress, on_epoch : callable

    Returns
    -------
    Trained

    """
    out = np.array([hash(key) % 5 == 0 for key in images.keys])
    return Trained(backbone, ~out, [EpochPoint(1, 0.0, 1.0)])


def embed_crops(backbone: Backbone, crops: np.ndarray, progress: Progress = silent) -> np.ndarray:
    """Return the features of crops.

    Parameters
    ----------
    backbone : Backbone
    crops : uint8 array of shape (n, side, side, 3)
    progress : callable

    Returns
    -------
    float32 array of shape (n, d)

    """
    from PIL.Image import fromarray

    return backbone((fromarray(crop) for crop in crops), len(crops), progress)


def check_trainable(embedder_name: str) -> None:
    """Raise AdaptError unless an embedder can be trained.

    Parameters
    ----------
    embedder_name : str

    """
    if embedder_name == "pixels" or embedder_name.endswith(".onnx"):
        raise AdaptError(f"{embedder_name} cannot be trained; use a network in the Hugging Face format.")
