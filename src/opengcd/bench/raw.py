"""The paper's datasets as their authors publish them, and the feature files made from them."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from opengcd._internal.durable_files import replace_file
from opengcd._internal.images import EmbedderError, Prepared, Square, decoders, open_image
from opengcd._internal.progress import Progress, silent
from opengcd._internal.validation import check_features
from opengcd.bench.pickled import read_pickled
from opengcd.embed import Embedder, TakesPrepared
from opengcd.embed.batches import gather

if TYPE_CHECKING:
    from PIL.Image import Image

SIDE = 32
PIXELS = 3 * SIDE**2
"""Bytes of a CIFAR image: all its red, then green, then blue."""


class RawDatasetError(ValueError):
    """A raw dataset is missing, incomplete or damaged."""


class RawDataset(NamedTuple):
    """Images with an official split."""

    images: Iterator[Image]
    """The training images, then the test images; each is made when it is asked for."""
    y_train: np.ndarray
    y_test: np.ndarray
    class_names: list[str]
    side: int | None = None
    """Width and height of the images, if all are squares of one size."""
    files: list[Path] | None = None
    """The files of the images, in the same order, where each has one."""


class Cifar(NamedTuple):
    """How one of the CIFAR datasets is laid out; a binary file is named as the pickled one, with ``.bin``."""

    python: str
    binary: str
    train: tuple[str, ...]
    test: tuple[str, ...]
    names: tuple[str, str, str]
    """The pickled file of the class names, their key, and the text file of the binary version."""
    labels: str
    label_bytes: int
    """Before each binary image; the last one is the class."""


CIFAR = {
    "cifar10": Cifar(
        "cifar-10-batches-py",
        "cifar-10-batches-bin",
        tuple(f"data_batch_{i}" for i in range(1, 6)),
        ("test_batch",),
        ("batches.meta", "label_names", "batches.meta.txt"),
        "labels",
        1,
    ),
    "cifar100": Cifar(
        "cifar-100-python",
        "cifar-100-binary",
        ("train",),
        ("test",),
        ("meta", "fine_label_names", "fine_label_names.txt"),
        "fine_labels",
        2,
    ),
}
CUB = "CUB_200_2011"
RAW_DATASETS = {name: f"{layout.python} or {layout.binary}" for name, layout in CIFAR.items()} | {"cub": CUB}
"""The datasets that can be read, and the folder that each one's archive unpacks to."""


def make_features(
    raw: str | Path, name: str, embedder: Embedder, folder: str | Path, progress: Progress = silent
) -> Path:
    """Embed a raw dataset and write ``name.npz``, as :func:`opengcd.bench.load_dataset` reads it.

    Vectors are kept as the embedder returns them, in float16 where that can hold them. The file is replaced when it is
    complete, so an interruption leaves what was there before.

    Parameters
    ----------
    raw : path
        Folder of raw datasets.
    name : str
        One of ``RAW_DATASETS``.
    embedder : Embedder
    folder : path
        Folder of feature files.
    progress : callable
        Called with a stage, the steps done and their total.

    Returns
    -------
    Path
        The feature file.

    """
    data = read_raw(raw, name)
    file = Path(folder) / f"{name}.npz"
    file.parent.mkdir(parents=True, exist_ok=True)  # fail before embedding, not after
    rows = len(data.y_train) + len(data.y_test)
    X = check_features(_embed(data, embedder, rows, progress), name=f"The output of {embedder.name}")
    if len(X) != rows:
        raise ValueError(f"The embedder {embedder.name} returned {len(X)} rows for {rows} images.")
    x_train, x_test = np.split(in_few_bits(X), [len(data.y_train)])
    buffer = io.BytesIO()
    np.savez(buffer, x_train=x_train, y_train=data.y_train, x_test=x_test, y_test=data.y_test,
             class_names=np.array(data.class_names))  # fmt: skip
    replace_file(file, buffer.getvalue())
    return file


def in_few_bits(X: np.ndarray) -> np.ndarray:
    """Return features in float16 if that can hold them, as feature files do."""
    return X.astype(np.float16) if np.abs(X).max() <= np.finfo(np.float16).max else X


def _embed(data: RawDataset, embedder: Embedder, rows: int, progress: Progress) -> np.ndarray:
    if data.files is None or not isinstance(embedder, TakesPrepared) or embedder.prepares is None:
        return embedder(data.images, rows, progress)
    # As it is stored, like the images that are opened here: these datasets are used without regard to EXIF data.
    shape = replace(embedder.prepares, upright=False)
    return gather(embedder.stream_prepared(prepare_images(data.files, shape)), rows, progress)


def prepare_images(files: Iterable[Path], shape: Square) -> Iterator[Prepared]:
    """Yield squares of image files, which are decoded and resized in other processes."""
    with closing(decoders().stream(files, _bytes, shape)) as stream:
        for file, image in stream:
            if isinstance(image, str):
                raise _unreadable(file, image)
            yield image


def read_raw(raw: str | Path, name: str) -> RawDataset:
    """Read a dataset of raw images.

    Labels and names are read and checked at once, images when they are needed.

    Parameters
    ----------
    raw : path
        The folder that its archive unpacks to, or the parent of that folder.
    name : str
        One of :data:`RAW_DATASETS`.

    Returns
    -------
    RawDataset

    Raises
    ------
    RawDatasetError
        If the dataset is unknown, missing, damaged, or lacks images of a class.

    """
    if name not in RAW_DATASETS:
        raise RawDatasetError(f"Raw images of {name!r} cannot be read; choose from {', '.join(RAW_DATASETS)}.")
    try:
        import PIL  # noqa: F401
    except ImportError:
        raise ImportError('Reading images needs Pillow: pip install "opengcd[embed]".') from None
    data = _read_cub(Path(raw)) if name == "cub" else _read_cifar(Path(raw), name)
    for part, y in (("training", data.y_train), ("test", data.y_test)):
        absent = np.setdiff1d(np.arange(len(data.class_names)), y)
        if len(absent):
            first = data.class_names[absent[0]]
            raise RawDatasetError(f"{name} in {raw} has no {part} images of {len(absent)} classes, such as {first!r}.")
    return data


def _read_cifar(raw: Path, name: str) -> RawDataset:
    layout = CIFAR[name]
    python = _find(raw, layout.python, layout.train[0])
    folder = python or _find(raw, layout.binary, f"{layout.train[0]}.bin")
    if folder is None:
        raise _not_found(raw, name, f"{layout.train[0]} or {layout.train[0]}.bin")
    meta, key, text = layout.names
    files = [folder / (file if python else f"{file}.bin") for file in layout.train + layout.test]
    if python:
        names = _entry(folder / meta, _unpickle(folder / meta), key)
        parts = [_read_batch(file, layout) for file in files]
    else:
        names = [line.strip() for line in _lines(folder / text)]
        parts = [_read_records(file, layout) for file in files]
    labels = [_class_numbers(y, len(names), file) for (_, y), file in zip(parts, files, strict=True)]
    n = len(layout.train)
    images = _cifar_images([pixels for pixels, _ in parts])
    y_train, y_test = np.concatenate(labels[:n]), np.concatenate(labels[n:])
    return RawDataset(images, y_train, y_test, [str(c) for c in names], side=SIDE)


def _read_batch(file: Path, layout: Cifar) -> tuple[np.ndarray, list[Any]]:
    """Pixels and class numbers of one file of the Python version."""
    batch = _unpickle(file)
    labels = _entry(file, batch, layout.labels)
    pixels = batch.get("data")
    if not isinstance(pixels, np.ndarray) or pixels.shape != (len(labels), PIXELS):
        shape = pixels.shape if isinstance(pixels, np.ndarray) else "none"
        raise RawDatasetError(f"{file} is damaged: it has {len(labels)} labels, and data of shape {shape}.")
    return pixels, labels


def _read_records(file: Path, layout: Cifar) -> tuple[np.ndarray, list[Any]]:
    """Pixels and class numbers of one file of the binary version."""
    raw = np.frombuffer(_bytes(file), np.uint8)
    record = layout.label_bytes + PIXELS
    if len(raw) == 0 or len(raw) % record:
        raise RawDatasetError(
            f"{file} is cut short: its {len(raw)} bytes are not a multiple of the {record} bytes of a record; "
            "download it again."
        )
    records = raw.reshape(-1, record)
    return records[:, layout.label_bytes :], records[:, layout.label_bytes - 1].tolist()


def _cifar_images(parts: Iterable[np.ndarray]) -> Iterator[Image]:
    from PIL.Image import fromarray

    for pixels in parts:
        for row in pixels:
            yield fromarray(np.ascontiguousarray(row.reshape(3, SIDE, SIDE).transpose(1, 2, 0)))


def _read_cub(raw: Path) -> RawDataset:
    folder = _find(raw, CUB, "images.txt")
    if folder is None:
        raise _not_found(raw, "cub", "images.txt")
    listing, label_file, split_file = (
        folder / f"{part}.txt" for part in ("images", "image_class_labels", "train_test_split")
    )
    paths, labels, split = (_table(file) for file in (listing, label_file, split_file))
    for table, file in ((labels, label_file), (split, split_file)):
        if table.keys() != paths.keys():
            raise RawDatasetError(f"{file} and {listing} list different images; unpack the archive again.")
    classes = _table(folder / "classes.txt")
    place = {number: i for i, number in enumerate(classes)}
    if not set(split.values()) <= {"0", "1"}:
        raise RawDatasetError(f"{split_file} must say 1 (training) or 0 (test) of each image.")
    strange = sorted(set(labels.values()) - place.keys())
    if strange:
        raise RawDatasetError(f"{label_file} names the class {strange[0]!r}, which classes.txt does not list.")
    files = {number: _inside(folder / "images", path, listing) for number, path in paths.items()}
    train, test = ([number for number in paths if split[number] == part] for part in ("1", "0"))
    names = [name.split(".", 1)[-1].replace("_", " ") for name in classes.values()]
    y_train, y_test = (np.array([place[labels[i]] for i in part], dtype=np.int64) for part in (train, test))
    ordered = [files[i] for i in train + test]
    return RawDataset(_open_images(ordered), y_train, y_test, names, files=ordered)


def _open_images(files: Iterable[Path]) -> Iterator[Image]:
    for file in files:
        try:
            with open_image(file) as image:
                image.load()
        except (OSError, EmbedderError) as error:
            raise _unreadable(file, error) from error
        yield image


def _unreadable(file: Path, reason: object) -> RawDatasetError:
    return RawDatasetError(f"The image {file} cannot be read: {reason}; unpack the archive again.")


def _table(file: Path) -> dict[str, str]:
    """Read lines of a number and its entry."""
    table: dict[str, str] = {}
    for line in _lines(file):
        number, _, value = line.strip().partition(" ")
        if not value or number in table:
            raise RawDatasetError(f"{file} is damaged: {line!r} is not a new number followed by its entry.")
        table[number] = value.strip()
    return table


def _inside(folder: Path, path: str, listing: Path) -> Path:
    """Return the file of a listed path; a path outside the folder is refused."""
    relative = Path(path)
    if relative.anchor or ".." in relative.parts:
        raise RawDatasetError(f"{listing} names {path!r}, which is outside the folder of images.")
    file = folder / relative
    if not file.is_file():
        raise RawDatasetError(f"The image {file} is missing, but {listing} lists it; unpack the archive again.")
    return file


def _find(raw: Path, folder: str, file: str) -> Path | None:
    return next((place for place in (raw, raw / folder) if (place / file).is_file()), None)


def _not_found(raw: Path, name: str, file: str) -> RawDatasetError:
    return RawDatasetError(
        f"There is no {name} in {raw} (no {file} there or in {RAW_DATASETS[name]}); unpack its archive there."
    )


def _unpickle(file: Path) -> dict[str, Any]:
    try:
        return read_pickled(_bytes(file))
    except ValueError as error:
        if isinstance(error, RawDatasetError):
            raise
        raise RawDatasetError(f"{file} cannot be read as a CIFAR file: {error}.") from error


def _entry(file: Path, content: dict[str, Any], key: str) -> list[Any]:
    value = content.get(key)
    if not isinstance(value, list) or not value:
        raise RawDatasetError(f"{file} has no list {key!r}; does it belong to another dataset?")
    return value


def _class_numbers(y: list[Any], classes: int, file: Path) -> np.ndarray:
    if not all(type(c) is int and 0 <= c < classes for c in y):
        wrong = next(c for c in y if type(c) is not int or not 0 <= c < classes)
        raise RawDatasetError(f"{file} is damaged: it has the label {wrong!r}, but labels run from 0 to {classes - 1}.")
    return np.array(y, dtype=np.int64)


def _lines(file: Path) -> list[str]:
    try:
        lines = [line for line in _bytes(file).decode().splitlines() if line.strip()]
    except UnicodeDecodeError as error:
        raise RawDatasetError(f"{file} is damaged: it is not text ({error}).") from None
    if not lines:
        raise RawDatasetError(f"{file} is empty; unpack the archive again.")
    return lines


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise RawDatasetError(f"{file} cannot be read ({error.strerror}); unpack the archive again.") from None
