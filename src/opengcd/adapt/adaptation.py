"""Adapt a network to images: train it on those with a label, and rehearse beforehand whether that helps."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from opengcd._internal.progress import Progress, silent
from opengcd.adapt.crops import LabelledCrops, square_for
from opengcd.adapt.kept_out import kept_out
from opengcd.adapt.reports import EpochPoint, OnEpoch, no_report
from opengcd.adapt.settings import AdaptError, AdaptSettings
from opengcd.adapt.sources import ViewSource, make_source
from opengcd.adapt.trainable import TrainableNetwork
from opengcd.adapt.training import Trainer, TrainingRows
from opengcd.embed.backbone import Backbone

CHECKPOINT = "training.safetensors"


class Trained(NamedTuple):
    """The result of a training."""

    network: Backbone
    trained: np.ndarray
    """(n,) Whether the network was trained on the label of an image."""
    curve: list[EpochPoint]


def train_network(
    backbone: Backbone,
    images: LabelledCrops,
    settings: AdaptSettings = AdaptSettings(),  # noqa: B008  it cannot be changed
    *,
    random_state: int = 0,
    scratch: Path | None = None,
    progress: Progress = silent,
    on_epoch: OnEpoch = no_report,
) -> Trained:
    """Train a copy of a network on labelled images.

    Parameters
    ----------
    backbone : Backbone
        It is not changed.
    images : LabelledCrops
        Images without a label are used only if the settings say so.
    settings : AdaptSettings
    random_state : int
        Seed; the same one gives the same weights on the same device.
    scratch : Path or None
        A folder for the state of the training: the same call continues from the last finished epoch.
    progress : callable
        Called with a stage, the steps done and their total.
    on_epoch : callable
        Called with an :class:`EpochPoint` after each epoch.

    Returns
    -------
    Trained

    Raises
    ------
    AdaptError
        If there are too few labelled images, the network cannot be trained, or memory runs out.

    """
    rows = training_rows(images, settings)
    with scratch_folder(scratch) as folder:
        network, source = start_training(backbone, images.crops, settings, random_state, folder, progress)
        trainer = Trainer(network, source, rows, settings, seed=random_state, checkpoint=folder / CHECKPOINT)
        curve = trainer.run(progress, on_epoch)
    trained = np.zeros(len(images.crops), dtype=bool)
    trained[rows.labelled] = True
    return Trained(network.finished(), trained, curve)


def training_rows(images: LabelledCrops, settings: AdaptSettings) -> TrainingRows:
    """Return which images are used for training, with or without their label.

    Images that are kept out are treated like those without a label: they are used for training only if those are.

    Parameters
    ----------
    images : LabelledCrops
    settings : AdaptSettings

    Returns
    -------
    TrainingRows

    """
    codes = np.asarray(images.codes)
    out = kept_out(images.keys, codes, settings.kept_out)
    labelled, held = np.flatnonzero((codes >= 0) & ~out), np.flatnonzero(out)
    if len(np.unique(codes[labelled])) < 2:
        raise AdaptError("The network needs labelled images of at least two classes to be trained on.")
    unlabelled = np.flatnonzero((codes == -1) | out) if settings.unlabelled else np.empty(0, dtype=np.int64)
    return TrainingRows(labelled, codes[labelled], held, codes[held], unlabelled)


def start_training(
    backbone: Backbone, crops: np.ndarray, settings: AdaptSettings, seed: int, folder: Path, progress: Progress
) -> tuple[TrainableNetwork, ViewSource]:
    """Return a copy of a network that can be trained, and the features of images by it.

    Parameters
    ----------
    backbone : Backbone
    crops : uint8 array of shape (n, s, s, 3)
    settings : AdaptSettings
    seed : int
    folder : Path
        Where activations may be kept.
    progress : callable
        Called with a stage, the steps done and their total.

    Returns
    -------
    TrainableNetwork
    ViewSource

    """
    square = square_for(backbone)
    network = TrainableNetwork(backbone, settings, seed)
    return network, make_source(network, crops, square, folder, seed, progress)


@contextmanager
def scratch_folder(given: Path | None) -> Iterator[Path]:
    """Provide a folder that is kept if it was given, and deleted otherwise.

    Parameters
    ----------
    given : Path or None

    Yields
    ------
    Path

    """
    if given is not None:
        given.mkdir(parents=True, exist_ok=True)
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="opengcd-adapt-") as folder:
        yield Path(folder)
