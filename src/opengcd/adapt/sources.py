"""Where training gets the features of random views from: pixels, or activations that were kept on disk."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from opengcd._internal.progress import Progress
from opengcd.adapt.trainable import TrainableNetwork
from opengcd.adapt.views import plain_views, random_views

BATCH = {"cpu": 16, "cuda": 512}
"""Images that pass the network at a time where nothing is trained."""
SHARE_OF_GPU = 0.3
"""Share of the free memory of a GPU that images may take; beyond it they are copied there batch by batch."""
MOST_VIEWS, FEWEST_VIEWS = 8, 3
"""Random views of each image whose activations are kept."""
MOST_BYTES = 8 * 2**30
"""What kept activations may take on disk."""


class Geometry(NamedTuple):
    """How the network's preparation makes a square image of a photograph."""

    resize: int
    """Side of the square that is resized to the shorter side."""
    crop: int
    """Side of its centre that the network sees."""


class ViewSource(Protocol):
    """Features of images by a network that is being trained."""

    def pairs(self, rows: np.ndarray, rng: torch.Generator) -> Tensor:
        """Return the features of two random views of each row: first one view of all rows, then the other."""

    def plain(self, rows: np.ndarray) -> Tensor:
        """Return the features of rows as the network's own preparation shows them, without gradients."""


class PixelSource:
    """Features from pixels: every view is new."""

    def __init__(self, network: TrainableNetwork, crops: np.ndarray, geometry: Geometry) -> None:
        self._network = network
        self._geometry = geometry
        self._crops: np.ndarray | Tensor = crops
        device = network.backbone.device
        if device.type == "cuda" and crops.nbytes < SHARE_OF_GPU * torch.cuda.mem_get_info(device)[0]:
            self._crops = torch.from_numpy(np.ascontiguousarray(crops)).to(device)

    def pairs(self, rows: np.ndarray, rng: torch.Generator) -> Tensor:
        """Return the features of two random views of each row."""
        pixels = self._pixels(rows)
        views = [random_views(pixels, self._geometry.crop, rng) for _ in range(2)]
        return self._network.features(torch.cat(views))

    def plain(self, rows: np.ndarray) -> Tensor:
        """Return the features of rows as they are."""
        return torch.cat([f for _, f in plain_features(self._network, self._pixels, rows, self._geometry)])

    def _pixels(self, rows: np.ndarray) -> Tensor:
        device = self._network.backbone.device
        if isinstance(self._crops, Tensor):
            return self._crops[torch.from_numpy(rows).to(device)]
        return torch.from_numpy(self._crops[rows]).to(device, non_blocking=True)


class KeptSource:
    """Features from activations below the trained blocks, kept on disk for some random views of each image.

    On a processor the lower blocks take most of the time, and what they compute for a view never changes.
    """

    def __init__(self, network: TrainableNetwork, activations: np.ndarray, side: int) -> None:
        self._network = network
        self._activations = activations
        self._views = activations.shape[1] - 1
        self._side = side

    def pairs(self, rows: np.ndarray, rng: torch.Generator) -> Tensor:
        """Return the features of two of the kept views of each row, drawn at random."""
        chosen = torch.rand(len(rows), self._views, generator=rng).argsort(1)[:, :2].numpy()
        stored = np.concatenate([self._activations[rows, chosen[:, i]] for i in range(2)])
        return self._network.features_from(torch.from_numpy(stored).float(), self._side)

    @torch.no_grad()
    def plain(self, rows: np.ndarray) -> Tensor:
        """Return the features of rows as they are."""
        parts = [
            self._network.features_from(torch.from_numpy(self._activations[part, self._views]).float(), self._side)
            for part in batches(rows, BATCH["cpu"])
        ]
        return torch.cat(parts)


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


def keep_activations(
    network: TrainableNetwork, crops: np.ndarray, geometry: Geometry, folder: Path, seed: int, progress: Progress
) -> np.ndarray | None:
    """Compute the activations of some random views of each image, and of the plain one, and keep them in a file.

    An interrupted call goes on from the last batch that was written.

    Parameters
    ----------
    network : TrainableNetwork
    crops : uint8 array of shape (n, s, s, 3)
    geometry : Geometry
    folder : Path
        Where the file is.
    seed : int
        Of the views.
    progress : callable
        Called with a stage, the steps done and their total.

    Returns
    -------
    float16 array of shape (n, views + 1, tokens, width) or None
        The plain view comes last. None if the file would be too large: compute from pixels then.

    """
    device = network.backbone.device
    blank = torch.zeros(1, 3, geometry.crop, geometry.crop, device=device)
    _, tokens, width = network.activations(blank).shape
    views = kept_views(len(crops), tokens, width)
    if not views:
        return None
    file, journal = folder / "activations.npy", folder / "activations.json"
    shape = (len(crops), views + 1, tokens, width)
    wanted = {"shape": list(shape), "seed": seed, "below": network.below}
    done = _read_journal(journal, wanted) if file.exists() else 0
    kept = np.lib.format.open_memmap(file, "r+" if done else "w+", np.float16, None if done else shape)
    for start in range(done, len(crops), BATCH["cpu"]):
        progress("computing what never changes", start, len(crops))
        rows = np.arange(start, min(start + BATCH["cpu"], len(crops)))
        pixels = torch.from_numpy(crops[rows]).to(device)
        for view in range(views + 1):
            rng = torch.Generator(device).manual_seed(hash((seed, start, view)) % 2**63)
            shown = (
                random_views(pixels, geometry.crop, rng) if view < views else plain_views(pixels, *geometry)
            )
            kept[rows, view] = network.activations(shown).half().cpu().numpy()
        kept.flush()
        journal.write_text(json.dumps(wanted | {"done": int(rows[-1]) + 1}))
    progress("computing what never changes", len(crops), len(crops))
    return kept


def _read_journal(journal: Path, wanted: dict[str, object]) -> int:
    """Return how many images an interrupted call has finished; 0 if it was for other images or another network."""
    try:
        found = json.loads(journal.read_text())
        return int(found.pop("done")) if found.keys() >= wanted.keys() and wanted.items() <= found.items() else 0
    except (OSError, ValueError, KeyError, AttributeError):
        return 0


@torch.no_grad()
def plain_features(network, pixels_of, rows, geometry) -> Iterator[tuple[np.ndarray, Tensor]]:  # noqa
    backbone = network.backbone
    for part in batches(rows, BATCH[backbone.device.type]):
        yield part, backbone.features(plain_views(pixels_of(part), *geometry))


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
