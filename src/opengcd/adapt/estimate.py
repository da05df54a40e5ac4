"""Estimate the time of an adaptation on this machine: some steps are timed, and multiplied by their number."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch

from opengcd.adapt.crops import square_for
from opengcd.adapt.rehearsal import EPOCHS_SHARE, HIDDEN_SHARE, STREAM_SHARE
from opengcd.adapt.reports import TimeEstimate
from opengcd.adapt.settings import AdaptSettings
from opengcd.adapt.sources import KeptSource, PixelSource, kept_views
from opengcd.adapt.trainable import TrainableNetwork
from opengcd.embed.backbone import Backbone, load_backbone

TRIED = {"cpu": 8, "cuda": 128}
"""Images of a timed step."""
DECODED_PER_SECOND = 100
"""Images of a few megapixels that one processor core decodes in a second."""


def estimate_time(
    network: str | os.PathLike[str],
    labelled: int,
    others: int,
    settings: AdaptSettings = AdaptSettings(),  # noqa: B008  it cannot be changed
    *,
    pooling: str = "cls",
    device: str = "auto",
) -> TimeEstimate:
    """Estimate how long an adaptation takes on this machine.

    Parameters
    ----------
    network : str or path
        A folder or an id of the Hugging Face hub.
    labelled, others : int
        Numbers of images with and without a label; the latter are embedded, and trained on if the settings say so.
    settings : AdaptSettings
    pooling : str
        See :func:`opengcd.embed.load_embedder`.
    device : str
        ``"auto"``, ``"cpu"`` or ``"cuda"``.

    Returns
    -------
    TimeEstimate

    """
    backbone = load_backbone(os.fspath(network), device, pooling, "auto", None)
    speed = _measure(backbone, labelled, settings)
    visits = settings.epochs_for(labelled) * labelled
    if settings.unlabelled:
        visits = settings.epochs_for(labelled) * (labelled + others)
    rehearsed = labelled * (1 - HIDDEN_SHARE) * (1 - STREAM_SHARE)
    once = speed.once * (labelled + (others if settings.unlabelled else 0))
    return TimeEstimate(
        (labelled + others) / (DECODED_PER_SECOND * (os.cpu_count() or 1)),
        once + speed.pair * EPOCHS_SHARE * settings.epochs_for(int(rehearsed)) * rehearsed,
        speed.pair * visits,
        speed.plain * (labelled + others),
    )


class _Speed(NamedTuple):
    """Seconds for an image."""

    once: float
    """To compute activations that are kept."""
    pair: float
    """Of training on two views."""
    plain: float
    """To embed it."""


def _measure(backbone: Backbone, images: int, settings: AdaptSettings) -> _Speed:
    square, number = square_for(backbone), TRIED[backbone.device.type]
    crops = np.zeros((number, square.resize, square.resize, 3), dtype=np.uint8)
    rows = np.arange(number)
    network = TrainableNetwork(backbone, settings, 0)
    pixels = PixelSource(network, crops, square)
    plain = _time(lambda: pixels.plain(rows)) / number
    source: PixelSource | KeptSource = pixels
    once = 0.0
    if backbone.device.type == "cpu" and network.below:
        shown = torch.zeros(number, 3, square.crop, square.crop)
        one = network.activations(shown)
        views = kept_views(images, *one.shape[1:]) if one.ndim == 3 else 0
        if views:
            once = _time(lambda: network.activations(shown)) / number * (views + 1)
            kept = np.repeat(one.half().numpy()[:, None], 3, axis=1)
            source = KeptSource(network, kept, square)
    rng = torch.Generator(backbone.device).manual_seed(0)

    def step() -> None:
        source.pairs(rows, rng).square().sum().backward()

    return _Speed(once, _time(step) / number, plain)


def _time(step: Callable[[], object]) -> float:
    """Return the seconds of a step, the second time that it is made: the first one sets up the device."""
    elapsed = 0.0
    for _ in range(2):
        start = time.perf_counter()
        step()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        elapsed = time.perf_counter() - start
    return elapsed
