"""The images of a raw dataset as squares in one array, for methods that adapt a network to them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from opengcd._internal.durable_files import replace_file, replacement
from opengcd._internal.images import Square, as_rgb
from opengcd._internal.progress import Progress, silent
from opengcd.bench.raw import RawDataset, prepare_images, read_raw
from opengcd.bench.records import ImageSource
from opengcd.embed import load_embedder

if TYPE_CHECKING:
    from opengcd.embed.backbone import Backbone


class ImageDatasetError(ValueError):
    """The images of a dataset are missing, damaged, or were made for another network."""


class DatasetImages(NamedTuple):
    """All images of a dataset, and the network to start from."""

    crops: np.ndarray
    """(n, side, side, 3) uint8: the training images, then the test images, in the order of ``Dataset.X``."""
    network: str
    """A folder, or a name on the Hugging Face hub."""
    source: ImageSource

    def load_network(self) -> Backbone:
        """Load the network; raise an error unless it is the one that the images were made for."""
        from opengcd.adapt import check_trainable

        check_trainable(self.network)
        loaded = load_embedder(self.network)
        if loaded.fingerprint != self.source.network_fingerprint:
            raise ImageDatasetError(
                f"The images were prepared for the network {self.source.network}, and {self.network} is another one; "
                "choose another folder of features, or leave out --features."
            )
        return loaded  # type: ignore[return-value]  # what can be trained is a Backbone


def make_images(raw: str | Path, name: str, network: Backbone, folder: str | Path, progress: Progress = silent) -> Path:
    """Write the images of a raw dataset as one array, beside its feature file.

    Images are resized as the network's own preparation does it, and the middle is kept as a square. Images that are
    smaller than that and all of one size, such as those of CIFAR, are kept as they are. Files are decoded in other
    processes. An interruption leaves no half-written array.

    Parameters
    ----------
    raw : path
        Folder of raw datasets.
    name : str
        One of ``RAW_DATASETS``.
    network : Backbone
        It determines the size.
    folder : path
        Folder of feature files.
    progress : callable
        Called with a stage, the steps done and their total.

    Returns
    -------
    Path
        The file ``name.images.npy``, to be read by :func:`load_images`.

    """
    data = read_raw(raw, name)
    if network.prepares is None:
        raise ImageDatasetError(f"{network.name} prepares images in its own way, so it cannot be adapted here.")
    side = network.prepares.resize if data.side is None else min(network.prepares.resize, data.side)
    shape = replace(network.prepares, resize=side, crop=side, upright=False)
    file, note = _files(folder, name)
    file.parent.mkdir(parents=True, exist_ok=True)
    rows = len(data.y_train) + len(data.y_test)
    digest = hashlib.sha256()
    note.unlink(missing_ok=True)  # it says that the array is there
    with replacement(file) as temporary:
        crops = np.lib.format.open_memmap(temporary, "w+", np.uint8, (rows, side, side, 3))
        for i, pixels in zip(range(rows), _squares(data, shape), strict=True):
            progress("reading images", i, rows)
            crops[i] = pixels
            digest.update(crops[i])
        progress("reading images", rows, rows)
        crops.flush()
        del crops
        with temporary.open("rb+") as written:
            os.fsync(written.fileno())
    short_name = Path(network.name).name if Path(network.name).is_dir() else network.name
    source = ImageSource(short_name, network.fingerprint, digest.hexdigest()[:16])
    replace_file(note, json.dumps(asdict(source)).encode())
    return file


def has_images(folder: str | Path, name: str) -> bool:
    """Say whether :func:`make_images` has written the images of a dataset.

    Parameters
    ----------
    folder : path
        Folder of feature files.
    name : str
        Name of the dataset.

    Returns
    -------
    bool

    """
    return all(file.is_file() for file in _files(folder, name))


def load_images(folder: str | Path, name: str, network: str) -> DatasetImages:
    """Open the images of a dataset; they are read from disk where they are used.

    Parameters
    ----------
    folder : path
        Folder of feature files.
    name : str
        Name of the dataset.
    network : str
        The folder or the name of the network that methods start from.

    Returns
    -------
    DatasetImages

    Raises
    ------
    ImageDatasetError
        If they are missing or damaged.

    """
    if not has_images(folder, name):
        raise ImageDatasetError(f"There are no images of {name!r} in {folder}; give --raw and --embedder to make them.")
    file, note = _files(folder, name)
    try:
        source = ImageSource(**json.loads(note.read_text()))
        crops = np.load(file, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, TypeError) as error:
        raise ImageDatasetError(
            f"{file} cannot be read ({error}); delete it and {note.name} to make them again."
        ) from error
    return DatasetImages(crops, network, source)


def _squares(data: RawDataset, shape: Square) -> Iterator[np.ndarray]:
    if data.files is not None:
        return (image.pixels for image in prepare_images(data.files, shape))
    return (np.asarray(shape.of(as_rgb(image))) for image in data.images)


def _files(folder: str | Path, name: str) -> tuple[Path, Path]:
    """Return the files of the array, and of the note on where it comes from, which is written last."""
    return Path(folder) / f"{name}.images.npy", Path(folder) / f"{name}.images.json"
