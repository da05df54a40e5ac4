"""Where training gets the features of random views from: pixels, or activations that were kept in a file."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from opengcd._internal.durable_files import replace_file
from opengcd._internal.images import Square
from opengcd._internal.progress import Progress
from opengcd.adapt.crops import BATCH, batches
from opengcd.adapt.trainable import TrainableNetwork
from opengcd.adapt.views import plain_views, random_views

SHARE_OF_GPU = 0.3
"""Share of the free memory of a GPU that images may take; beyond it they are copied there batch by batch."""
MOST_VIEWS, FEWEST_VIEWS = 8, 3
"""Random views of each image whose activations are kept."""
MOST_BYTES = 8 * 2**30
"""Largest size of kept activations on disk."""
KEEPING = "computing the lower blocks once"
"""Stage of the progress."""


class ViewSource(Protocol):
    """Features of images by a network that is being trained."""

    def pairs(self, rows: np.ndarray, rng: torch.Generator) -> Tensor:
        """Return the features of two random views of each row: first one view of all rows, then the other."""

    def plain(self, rows: np.ndarray) -> Tensor:
        """Return the features of rows as the network's own preparation shows them, without gradients."""


class PixelSource:
    """Features from pixels: every view is new."""

    def __init__(self, network: TrainableNetwork, crops: np.ndarray, square: Square) -> None:
        self._network = network
        self._square = square
        self._crops: np.ndarray | Tensor = crops
        device = network.backbone.device
        if device.type == "cuda" and crops.nbytes < SHARE_OF_GPU * torch.cuda.mem_get_info(device)[0]:
            self._crops = torch.from_numpy(np.array(crops)).to(device)  # a copy: a mapped file may be read-only

    def pairs(self, rows: np.ndarray, rng: torch.Generator) -> Tensor:
        """Return the features of two random views of each row."""
        pixels = self._pixels(rows)
        views = [random_views(pixels, self._square.crop, rng) for _ in range(2)]
        return self._network.features(torch.cat(views))

    @torch.no_grad()
    def plain(self, rows: np.ndarray) -> Tensor:
        """Return the features of rows as they are."""
        size, square = BATCH[self._network.backbone.device.type], self._square
        parts = (plain_views(self._pixels(part), square.resize, square.crop) for part in batches(rows, size))
        return torch.cat([self._network.features(views) for views in parts])

    def _pixels(self, rows: np.ndarray) -> Tensor:
        device = self._network.backbone.device
        if isinstance(self._crops, Tensor):
            return self._crops[torch.from_numpy(rows).to(device)]
        return torch.from_numpy(self._crops[rows]).to(device, non_blocking=True)


class KeptSource:
    """Features from activations below the trained blocks, kept in a file for some random views of each image.

    On a processor the lower blocks take most of the time, and what they compute for a view never changes.
    """

    def __init__(self, network: TrainableNetwork, activations: np.ndarray, square: Square) -> None:
        self._network = network
        self._activations = activations
        self._views = activations.shape[1] - 1
        self._side = square.crop

    def pairs(self, rows: np.ndarray, rng: torch.Generator) -> Tensor:
        """Return the features of two of the kept views of each row, drawn at random."""
        device = self._network.backbone.device
        chosen = torch.rand(len(rows), self._views, generator=rng, device=device).argsort(1)[:, :2].cpu().numpy()
        return self._features(np.concatenate([self._activations[rows, chosen[:, i]] for i in range(2)]))

    @torch.no_grad()
    def plain(self, rows: np.ndarray) -> Tensor:
        """Return the features of rows as they are."""
        size = BATCH[self._network.backbone.device.type]
        return torch.cat([self._features(self._activations[part, self._views]) for part in batches(rows, size)])

    def _features(self, stored: np.ndarray) -> Tensor:
        activations = torch.from_numpy(stored).to(self._network.backbone.device).float()
        return self._network.features_from(activations, self._side)


def make_source(
    network: TrainableNetwork, crops: np.ndarray, square: Square, folder: Path, seed: int, progress: Progress
) -> ViewSource:
    """Return the features of views: on a processor from activations that are kept, if they take little enough.

    Parameters
    ----------
    network : TrainableNetwork
    crops : uint8 array of shape (n, s, s, 3)
    square : Square
        Of the network.
    folder : Path
        Where activations are kept.
    seed : int
        Of the views that are kept.
    progress : callable
        Called with a stage, the steps done and their total.

    Returns
    -------
    ViewSource

    """
    if network.backbone.device.type == "cpu" and network.below:
        blank = torch.zeros(1, 3, square.crop, square.crop)
        shape = tuple(network.activations(blank).shape[1:])
        views = kept_views(len(crops), *shape) if len(shape) == 2 else 0  # not for stages of convolutions
        if views:
            wanted = (len(crops), views + 1, *shape)
            return KeptSource(
                network, _keep_activations(network, crops, square, folder, wanted, seed, progress), square
            )
    return PixelSource(network, crops, square)


def kept_views(images: int, tokens: int, width: int) -> int:
    """Return of how many random views the activations can be kept; 0 if of too few to be useful.

    Parameters
    ----------
    images : int
    tokens, width : int
        Size of the activations of one view.

    Returns
    -------
    int

    """
    most = MOST_BYTES // (2 * images * tokens * width) - 1
    return 0 if most < FEWEST_VIEWS else min(MOST_VIEWS, most)


def _keep_activations(
    network: TrainableNetwork,
    crops: np.ndarray,
    square: Square,
    folder: Path,
    shape: tuple[int, ...],
    seed: int,
    progress: Progress,
) -> np.ndarray:
    """Compute the activations of some random views of each image and of the plain one, which comes last.

    After an interruption, the same call continues from the last batch that was written.
    """
    file, journal, size = folder / "activations.npy", folder / "activations.json", BATCH["cpu"]
    wanted = {"shape": list(shape), "seed": seed, "network": network.start, "crops": _digest(crops)}
    done = _read_journal(journal, wanted) if file.exists() else 0
    kept = np.lib.format.open_memmap(file, "r+" if done else "w+", np.float16, None if done else shape)
    for start in range(done, len(crops), size):
        progress(KEEPING, start, len(crops))
        rows = slice(start, min(start + size, len(crops)))
        pixels = torch.from_numpy(np.array(crops[rows]))
        rng = torch.Generator().manual_seed(seed * 1_000_003 + start)
        for view in range(shape[1] - 1):
            kept[rows, view] = network.activations(random_views(pixels, square.crop, rng)).half().numpy()
        plain = plain_views(pixels, square.resize, square.crop)
        kept[rows, shape[1] - 1] = network.activations(plain).half().numpy()
        kept.flush()
        replace_file(journal, json.dumps(wanted | {"done": rows.stop}).encode())
    progress(KEEPING, len(crops), len(crops))
    return kept


def _digest(crops: np.ndarray) -> str:
    digest = hashlib.sha256()
    for part in batches(np.arange(len(crops)), 256):
        digest.update(np.ascontiguousarray(crops[part[0] : part[-1] + 1]).data)
    return digest.hexdigest()


def _read_journal(journal: Path, wanted: dict[str, object]) -> int:
    """Return how many images an interrupted call has finished; 0 if it was for other images or another network."""
    try:
        found = json.loads(journal.read_bytes())
        done = int(found.pop("done"))
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return 0
    return done if found == wanted else 0
