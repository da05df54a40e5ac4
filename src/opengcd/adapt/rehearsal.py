"""Whether an adaptation would help: a rehearsal on known classes that are hidden from the training."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from opengcd import UNKNOWN, metrics
from opengcd._internal.durable_files import replace_file
from opengcd._internal.progress import Progress, silent
from opengcd._internal.randomness import generator
from opengcd._internal.splits import hold_out_share
from opengcd._internal.unit_length import unit_rows
from opengcd.adapt.adaptation import start_training, training_rows
from opengcd.adapt.crops import LabelledCrops
from opengcd.adapt.reports import EpochPoint, OnEpoch, Rehearsed, no_report
from opengcd.adapt.settings import AdaptSettings
from opengcd.adapt.training import Trainer
from opengcd.embed.backbone import Backbone
from opengcd.recognizer import OpenWorldRecognizer

FEWEST_CLASSES = 6
"""With fewer known classes, there is no rehearsal: its result would be random."""
HIDDEN_SHARE, STREAM_SHARE = 1 / 3, 1 / 3
"""Share of the classes that are hidden, and share of the images of each other class that make a stream with them."""
MOST_PER_CLASS = 60
"""Images of a class that take part."""
EPOCHS_SHARE = 0.5
"""Share of the epochs of the training itself."""
CHECKPOINT, RESULT = "rehearsal.safetensors", "rehearsal.json"


def rehearse_adaptation(
    backbone: Backbone,
    images: LabelledCrops,
    settings: AdaptSettings = AdaptSettings(),  # noqa: B008  it cannot be changed
    *,
    hide_first: Sequence[int] = (),
    random_state: int = 0,
    scratch: Path,
    progress: Progress = silent,
    on_epoch: OnEpoch = no_report,
) -> tuple[Rehearsed | None, list[EpochPoint]]:
    """Hide a third of the known classes, adapt to the others for half the time, and compare on a simulated stream.

    The stream has all images of the hidden classes and a third of those of each other class. Both networks are followed
    by the preset ``best``, which estimates the number of classes.

    Parameters
    ----------
    backbone : Backbone
        It is not changed.
    images : LabelledCrops
        Those without a label are not used.
    settings : AdaptSettings
    hide_first : sequence of int
        Classes to hide before others: those that this network has not been trained on already.
    random_state : int
        Seed.
    scratch : Path
        A folder for the state: the same call goes on from the last finished epoch.
    progress : callable
        Called with a stage, the steps done and their total.
    on_epoch : callable
        Called with an :class:`EpochPoint` after each epoch.

    Returns
    -------
    Rehearsed or None
        None if there are too few classes.
    list of EpochPoint
        The curve of the training.

    """
    codes = np.asarray(images.codes)
    number = len(np.unique(codes[codes >= 0]))
    if number < FEWEST_CLASSES:
        return None, []
    if (stored := _read(scratch / RESULT)) is not None:
        return stored
    rng = generator(random_state)
    order = rng.permutation(number)
    first = np.isin(order, np.asarray(hide_first, dtype=np.int64))
    hidden = np.concatenate([order[first], order[~first]])[: max(2, round(HIDDEN_SHARE * number))]
    used = _limited(codes, rng)
    unknown = used[np.isin(codes[used], hidden)]
    others = used[~np.isin(codes[used], hidden)]
    known, numbered = np.unique(codes[others], return_inverse=True)
    split = hold_out_share(numbered, STREAM_SHARE, rng)
    fitting, stream = others[split.fitting], rng.permutation(np.concatenate([others[split.held_out], unknown]))

    part = np.full(len(codes), -2)
    part[fitting] = numbered[split.fitting]
    given = images._replace(codes=part)
    short = replace(settings, unlabelled=False)
    short = replace(short, epochs=max(2, round(EPOCHS_SHARE * settings.epochs_for(len(fitting)))))
    network, source = start_training(backbone, images.crops, short, random_state, scratch, progress)
    rows = training_rows(given, short)
    seen = np.concatenate([fitting, stream])
    progress("rehearsing with the network as it is", 0, 1)
    frozen = source.plain(seen).cpu().numpy()
    trainer = Trainer(network, source, rows, short, seed=random_state, checkpoint=scratch / CHECKPOINT)
    curve = trainer.run(progress, on_epoch)
    adapted = source.plain(seen).cpu().numpy()
    device = backbone.device.type
    world = _World(codes[fitting], codes[stream], known, len(fitting))
    trained = np.isin(fitting, rows.labelled)
    before = world.judge(frozen, np.zeros(len(fitting), dtype=bool), random_state, device)
    progress("rehearsing with the adapted network", 0, 1)
    after = world.judge(adapted, trained, random_state, device)
    progress("rehearsing with the adapted network", 1, 1)
    result = Rehearsed(*before, *after, len(hidden))
    replace_file(scratch / RESULT, json.dumps({"rehearsed": result, "curve": curve}).encode())
    return result, curve


class _World(NamedTuple):
    """A simulated open world: the first rows of the features are labelled, the others are the stream."""

    y: np.ndarray
    stream_y: np.ndarray
    known: np.ndarray
    labelled: int

    def judge(self, X: np.ndarray, trained: np.ndarray, seed: int, device: str) -> tuple[float, float]:
        """Return HNA of recognition and HCA of discovery."""
        X = unit_rows(X)
        L, U = X[: self.labelled], X[self.labelled :]
        recognizer = OpenWorldRecognizer(random_state=seed, device=device).fit(L, self.y, trained=trained)
        found = recognizer.observe(U).predict(U)
        parts = metrics.parts(self.stream_y, found, self.known, UNKNOWN)
        hna = float(metrics.harmonic_mean(parts.aks, parts.aus))
        discovery = recognizer.discover(U, rejected=found == UNKNOWN)
        labels = discovery.labels.copy()
        labels[discovery.novel] += int(self.stream_y.max()) + 1  # beyond the numbers of the hidden classes
        grouped = metrics.parts(self.stream_y, labels, self.known, UNKNOWN)
        return hna, float(metrics.harmonic_mean(grouped.aks, grouped.ans))


def _limited(codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the labelled rows, at most :data:`MOST_PER_CLASS` of each class."""
    rows = [rng.permutation(np.flatnonzero(codes == c))[:MOST_PER_CLASS] for c in np.unique(codes[codes >= 0])]
    return np.sort(np.concatenate(rows))


def _read(file: Path) -> tuple[Rehearsed, list[EpochPoint]] | None:
    """Return the result of a rehearsal that was finished before."""
    try:
        found: dict[str, Any] = json.loads(file.read_bytes())
        return Rehearsed(*found["rehearsed"]), [EpochPoint(*point) for point in found["curve"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None
