"""Adapt a network to files of images: rehearse, train if that helps, and write the adapted network."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from opengcd._internal.durable_files import replace_file
from opengcd._internal.progress import Progress, silent
from opengcd.adapt.reports import REHEARSING, TRAINING, AdaptReport, EpochPoint
from opengcd.adapt.settings import AdaptError, AdaptSettings


def ignore_epoch(curve: str, point: EpochPoint) -> None:
    """Report nothing."""


def adapt_network(
    network: str | os.PathLike[str],
    images: Sequence[str | os.PathLike[str]],
    labels: Sequence[str | None],
    out: str | os.PathLike[str],
    *,
    keys: Sequence[str] | None = None,
    known_before: Sequence[str] = (),
    pooling: str = "cls",
    settings: AdaptSettings = AdaptSettings(),  # noqa: B008  it cannot be changed
    force: bool = False,
    dry_run: bool = False,
    scratch: str | os.PathLike[str] | None = None,
    device: str = "auto",
    random_state: int = 0,
    progress: Progress = silent,
    on_epoch: Callable[[str, EpochPoint], None] = ignore_epoch,
) -> AdaptReport:
    """Adapt a network to images, and write it if a rehearsal shows that this helps.

    Parameters
    ----------
    network : str or path
        A folder or an id of the Hugging Face hub, see :func:`opengcd.embed.load_embedder`.
    images : sequence of path
        Files; those that cannot be decoded are left out, with the reason in the report.
    labels : sequence of str or None
        The class of each image; None for an image without a label, which is used only if the settings say so.
    out : path
        A new folder for the adapted network: weights as safetensors, configuration and preparation.
    keys : sequence of str or None
        A stable name of each image, by which some are kept out of training; None takes hashes of the files.
    known_before : sequence of str
        Classes that the network was adapted to before; the rehearsal hides others first.
    pooling : str
        See :func:`opengcd.embed.load_embedder`.
    settings : AdaptSettings
    force : bool
        Whether to train and write the network even if the rehearsal shows no gain.
    dry_run : bool
        Whether to rehearse only.
    scratch : path or None
        A folder for decoded images and the state of the training: after an interruption, the same call continues where
        it stopped. None uses a temporary folder.
    device : str
        ``"auto"``, ``"cpu"`` or ``"cuda"``.
    random_state : int
        Seed; the same one gives the same weights on the same device.
    progress : callable
        Called with a stage, the steps done and their total.
    on_epoch : callable
        Called with the name of a curve (``"rehearsing"``, ``"training"``) and its next point.

    Returns
    -------
    AdaptReport

    Raises
    ------
    AdaptError
        If the network cannot be trained, there are too few labelled images, or ``out`` exists.

    Examples
    --------
    >>> from opengcd.adapt import adapt_network
    >>> report = adapt_network("facebook/dinov2-small", files, labels, "my-network")  # doctest: +SKIP
    >>> report.written, report.rehearsed.frozen_hca, report.rehearsed.adapted_hca  # doctest: +SKIP

    """
    from opengcd.adapt import adaptation, crops, rehearsal, saving  # torch takes seconds
    from opengcd.embed.backbone import load_backbone

    if len(images) != len(labels):
        raise AdaptError(
            f"There are {len(images)} images, but {len(labels)} labels; give one label per image, None for those "
            "without."
        )
    check_trainable(os.fspath(network))
    target = Path(out)
    if target.exists():
        raise AdaptError(f"{target} already exists; choose another name for the adapted network.")
    # Images without a label that do not take part need not be read.
    used = [row for row, label in enumerate(labels) if label is not None or settings.unlabelled]
    files = [images[row] for row in used]
    seconds: dict[str, float] = {}
    with adaptation.scratch_folder(None if scratch is None else Path(scratch)) as folder:
        backbone = load_backbone(os.fspath(network), device, pooling, "auto", None)
        with _timed(seconds, "reading"):
            squares, hashes, reasons = crops.read_crops(files, crops.square_for(backbone), folder, progress)
        codes, names = _codes([labels[row] for row in used], reasons)
        given = crops.LabelledCrops(squares, codes, hashes if keys is None else [keys[row] for row in used])
        facts = [backbone.fingerprint, asdict(settings), random_state, hashes, codes.tolist(), list(given.keys)]
        _begin_call(folder, [*facts, sorted(known_before)])
        new = [code for code, name in enumerate(names) if name not in known_before]
        with _timed(seconds, REHEARSING):
            rehearsed, rehearsal_curve = rehearsal.rehearse_adaptation(
                backbone,
                given,
                settings,
                hide_first=new if known_before else (),
                random_state=random_state,
                scratch=folder,
                progress=progress,
                on_epoch=lambda point: on_epoch(REHEARSING, point),
            )
        bad = {os.fspath(file): reason for file, reason in zip(files, reasons, strict=True) if reason}
        report = AdaptReport(rehearsed, [], rehearsal_curve, seconds, False, [False] * len(images), bad)
        if dry_run or not (force or (rehearsed is not None and rehearsed.helps)):
            return report
        with _timed(seconds, TRAINING):
            found = adaptation.train_network(
                backbone,
                given,
                settings,
                random_state=random_state,
                scratch=folder,
                progress=progress,
                on_epoch=lambda point: on_epoch(TRAINING, point),
            )
        saving.save_network(found.network, target)
        for row, trained in zip(used, found.trained.tolist(), strict=True):
            report.trained[row] = trained
        return report._replace(curve=found.curve, written=True)


def check_trainable(name: str) -> None:
    """Raise an error if an embedder cannot be trained, before anything is loaded.

    Parameters
    ----------
    name : str
        As for :func:`opengcd.embed.load_embedder`.

    Raises
    ------
    AdaptError
        If it cannot be trained; the message says what to use instead.

    """
    instead = "use a network in the Hugging Face layout, such as facebook/dinov2-small or a local folder, as embedder"
    if name == "pixels":
        raise AdaptError(f"The embedder pixels has no network that could be trained; {instead}.")
    if name == "vectors":
        raise AdaptError(f"A workspace of vectors has no network that could be trained; {instead}, and give images.")
    if name.endswith(".onnx"):
        raise AdaptError(
            f"{name} is an ONNX file, which can be run but not trained; {instead}, and export the adapted one to ONNX."
        )


def _begin_call(folder: Path, facts: list[Any]) -> None:
    """Delete the files of a call with other arguments from a folder: this one must not continue from there."""
    from opengcd.adapt.adaptation import CHECKPOINT
    from opengcd.adapt.rehearsal import CHECKPOINT as REHEARSAL_CHECKPOINT
    from opengcd.adapt.rehearsal import RESULT

    call, digest = folder / "call.txt", hashlib.sha256(json.dumps(facts).encode()).hexdigest()
    if not call.exists() or call.read_text() != digest:
        for name in (CHECKPOINT, REHEARSAL_CHECKPOINT, RESULT):
            (folder / name).unlink(missing_ok=True)
        replace_file(call, digest.encode())


def _codes(labels: Sequence[str | None], reasons: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    """Return class numbers, -1 without a label and -2 where the image cannot be used, and the names of the classes."""
    usable = [label for label, reason in zip(labels, reasons, strict=True) if not reason]
    names = sorted({label for label in usable if label is not None})
    if len(names) < 2:
        raise AdaptError("Adapting a network needs labelled images of at least two classes; add labels.")
    number = {name: code for code, name in enumerate(names)}
    codes = [
        -2 if reason else -1 if label is None else number[label] for label, reason in zip(labels, reasons, strict=True)
    ]
    return np.array(codes), names


@contextmanager
def _timed(seconds: dict[str, float], step: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    seconds[step] = time.perf_counter() - start
