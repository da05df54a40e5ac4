"""Square images for training: decoded once, kept in a file, and given to the network as views."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import torch

from opengcd._internal.durable_files import replace_file
from opengcd._internal.images import EmbedderError, Square, decoders
from opengcd._internal.progress import Progress, silent
from opengcd.adapt.settings import AdaptError
from opengcd.adapt.views import plain_views
from opengcd.embed.backbone import Backbone

BATCH = {"cpu": 16, "cuda": 512}
"""Images that pass the network at a time."""
SAVED = 256
"""Images that are decoded before they are noted as done."""


class Crops(Protocol):
    """Square images that are computed where they are read."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: np.ndarray, /) -> np.ndarray: ...


class LabelledCrops(NamedTuple):
    """Square images, some of them with a label."""

    crops: np.ndarray
    """(n, s, s, 3) 8-bit RGB values."""
    codes: np.ndarray
    """(n,) Class numbers from 0; -1 without a label."""
    keys: Sequence[str | int]
    """A stable name of each image, see :func:`opengcd.adapt.kept_out`."""


def square_for(backbone: Backbone) -> Square:
    """Return how the preparation of a network makes a square image.

    Parameters
    ----------
    backbone : Backbone

    Returns
    -------
    Square

    Raises
    ------
    AdaptError
        If the preparation is more than resizing and cropping.

    """
    square = backbone.prepares
    if square is None:
        raise AdaptError(
            f"{backbone.name} prepares images in a special way, so it cannot be trained here; use a network whose "
            "preparation resizes, crops and normalises, such as facebook/dinov2-small."
        )
    return square


def read_crops(
    files: Sequence[str | os.PathLike[str]], square: Square, folder: Path, progress: Progress = silent
) -> tuple[np.ndarray, list[str], list[str]]:
    """Decode files to squares of the size before the centre is cropped, and keep them in a file.

    After an interruption, the same call continues where it stopped.

    Parameters
    ----------
    files : sequence of path
    square : Square
        Of the network.
    folder : Path
        Where the squares are kept.
    progress : callable
        Called with a stage, the steps done and their total.

    Returns
    -------
    crops : uint8 array of shape (n, s, s, 3)
        Mapped from the file; blank where a file cannot be used.
    hashes : list of str
        SHA-256 of each file.
    reasons : list of str
        Why a file cannot be used; empty if it can.

    """
    whole = replace(square, crop=square.resize, fast=True)
    side, wanted = whole.crop, _digest([os.fspath(file) for file in files], whole)
    images, journal = folder / "crops.npy", folder / "crops.json"
    hashes, reasons = _read_journal(journal, wanted) if images.exists() else ([], [])
    shape = (len(files), side, side, 3)
    crops = np.lib.format.open_memmap(images, "r+" if hashes else "w+", np.uint8, None if hashes else shape)

    def read(file: str | os.PathLike[str]) -> bytes:
        try:
            raw = Path(file).read_bytes()
        except OSError as error:
            raise EmbedderError(f"it cannot be read: {error.strerror or error}") from None
        digests[os.fspath(file)] = hashlib.sha256(raw).hexdigest()
        return raw

    digests: dict[str, str] = {}

    def save() -> None:
        crops.flush()
        replace_file(journal, json.dumps({"of": wanted, "hashes": hashes, "reasons": reasons}).encode())

    with closing(decoders().stream(files[len(hashes) :], read, whole)) as found:
        for file, image in found:
            row = len(hashes)
            progress("reading images", row, len(files))
            if isinstance(image, str):
                reasons.append(image)
            else:
                crops[row] = image.pixels
                reasons.append("")
            hashes.append(digests.get(os.fspath(file), ""))
            if len(hashes) % SAVED == 0:
                save()
    save()
    progress("reading images", len(files), len(files))
    return crops, hashes, reasons


@torch.no_grad()
def embed_crops(backbone: Backbone, crops: np.ndarray | Crops, progress: Progress = silent) -> np.ndarray:
    """Return the features of square images.

    Parameters
    ----------
    backbone : Backbone
    crops : uint8 array of shape (n, s, s, 3), or Crops
        Resized as the network's preparation does, but not yet cropped; or smaller: then they are resized here.
    progress : callable
        Called with a stage, the steps done and their total.

    Returns
    -------
    float32 array of shape (n, d)

    """
    square = square_for(backbone)
    rows = []
    for part in batches(np.arange(len(crops)), BATCH[backbone.device.type]):
        progress("embedding images", int(part[0]), len(crops))
        pixels = torch.from_numpy(np.array(crops[part])).to(backbone.device)
        rows.append(backbone.features(plain_views(pixels, square.resize, square.crop)).cpu().numpy())
    progress("embedding images", len(crops), len(crops))
    return np.concatenate(rows)


def batches(rows: np.ndarray, size: int) -> Iterator[np.ndarray]:
    """Yield rows in batches.

    Parameters
    ----------
    rows : int array
    size : int
        Rows of a batch.

    Yields
    ------
    int array

    """
    return (rows[start : start + size] for start in range(0, len(rows), size))


def _digest(files: Sequence[str], square: Square) -> str:
    states = []
    for file in files:
        try:
            state = os.stat(file)
            states.append([file, state.st_size, state.st_mtime_ns])
        except OSError:
            states.append([file, -1, -1])
    return hashlib.sha256(json.dumps([states, str(square)]).encode(errors="surrogateescape")).hexdigest()


def _read_journal(journal: Path, wanted: str) -> tuple[list[str], list[str]]:
    """Return what an interrupted call has finished; nothing if it was for other files."""
    try:
        found = json.loads(journal.read_bytes())
        if found["of"] == wanted:
            return list(found["hashes"]), list(found["reasons"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return [], []
