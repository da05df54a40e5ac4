"""Feature files of the benchmark, and how many classes each phase of a dataset brings."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from opengcd._internal.unit_length import unit_rows
from opengcd._internal.validation import check_features
from opengcd.bench.protocol import Dataset

KEYS = ("x_train", "y_train", "x_test", "y_test", "class_names")


class Plan(NamedTuple):
    """Classes that each phase brings, and the size of the exemplar memory (None: as many rows as phase 1 has)."""

    sizes: tuple[int, ...]
    memory: int | None


PLANS = {
    "cifar10": Plan((4, 2, 2, 2), 20_000),
    "cifar100": Plan((40, 20, 20, 20), 20_000),
    "cub": Plan((80, 40, 40, 40), 2_400),
}
"""The paper's datasets (Sec. 4.1.3)."""


class FeatureFileError(ValueError):
    """A feature file is missing or cannot be used."""


def available(folder: str | Path) -> list[str]:
    """Return the names of the feature files in a folder.

    Parameters
    ----------
    folder : path

    Returns
    -------
    list of str
        Sorted, without the suffix ``.npz``.

    Raises
    ------
    FeatureFileError
        If there is no such folder.

    """
    if not Path(folder).is_dir():
        raise FeatureFileError(f"There is no folder {folder}.")
    return sorted(file.stem for file in Path(folder).glob("*.npz"))


def load_dataset(folder: str | Path, name: str) -> Dataset:
    """Read ``name.npz`` with x_train, y_train, x_test, y_test and class_names; rows are scaled to unit length.

    The paper's code scales features when it loads them, though its text does not say so. An array ``class_order`` may
    give the class order of protocol ``authors``; without it, classes come in the order of their numbers.

    Parameters
    ----------
    folder : path
    name : str

    Returns
    -------
    Dataset

    """
    file = feature_file(folder, name)
    try:
        with np.load(file, allow_pickle=False) as archive:
            missing = [key for key in KEYS if key not in archive]
            if missing:
                raise FeatureFileError(f"{file} lacks {', '.join(missing)}; a feature file needs {', '.join(KEYS)}.")
            # A member of the archive that is not in numpy's format is returned as bytes.
            arrays = {key: np.asarray(archive[key]) for key in (*KEYS, *({"class_order"} & set(archive)))}
    except FeatureFileError:
        raise
    except Exception as error:  # a damaged archive can fail in any way
        raise FeatureFileError(f"{file} cannot be read: {error}.") from error
    try:
        if arrays["class_names"].ndim != 1:
            raise ValueError("class_names must hold one name for each class.")
        names = [str(name) for name in arrays["class_names"]]
        x_train = check_features(arrays["x_train"], name="x_train")
        x_test = check_features(arrays["x_test"], name="x_test", width=x_train.shape[1])
        y_train, y_test = (
            _labels(arrays[f"y_{part}"], len(x), part, names) for part, x in (("train", x_train), ("test", x_test))
        )
        order = arrays.get("class_order")
        if order is not None and not _is_order(order, len(names)):
            raise ValueError(f"class_order must hold each number from 0 to {len(names) - 1} once.")
    except ValueError as error:
        raise FeatureFileError(f"{file}: {error}") from None
    return Dataset(name, unit_rows(x_train), y_train, unit_rows(x_test), y_test, names, order)


def feature_file(folder: str | Path, name: str) -> Path:
    """Return the path of a dataset's feature file; raise an error if there is none."""
    file = Path(folder) / f"{name}.npz"
    if not file.is_file():
        have = ", ".join(available(folder)) or "none"
        raise FeatureFileError(f"There is no dataset {name!r} in {folder} (no file {file.name}; found: {have}).")
    return file


def plan_for(data: Dataset) -> Plan:
    """Return how many classes each phase of a dataset brings, and the size of the memory.

    Parameters
    ----------
    data : Dataset

    Returns
    -------
    Plan
        The paper's for its datasets (:data:`PLANS`); any other dataset brings a fifth of its classes in each later
        phase, the rest in the first one.

    Raises
    ------
    FeatureFileError
        If the dataset has fewer than five classes.

    """
    if data.name.lower() in PLANS:
        return PLANS[data.name.lower()]
    n = len(data.class_names)
    if n < 5:
        raise FeatureFileError(f"The dataset {data.name!r} has {n} classes; the protocol needs at least 5.")
    step = max(1, n // 5)
    return Plan((n - 3 * step, step, step, step), None)


def _is_order(order: np.ndarray, n: int) -> bool:
    return order.ndim == 1 and order.dtype.kind in "iu" and sorted(order.tolist()) == list(range(n))


def _labels(y: np.ndarray, rows: int, part: str, names: list[str]) -> np.ndarray:
    if y.ndim != 1 or y.dtype.kind not in "iu" or len(y) != rows:
        raise ValueError(f"y_{part} must hold one class number for each of the {rows} rows of x_{part}.")
    if y.min() < 0 or y.max() >= len(names):
        raise ValueError(f"y_{part} holds class numbers from {y.min()} to {y.max()}, but class_names has {len(names)}.")
    absent = np.setdiff1d(np.arange(len(names)), y)
    if len(absent):
        raise ValueError(f"y_{part} has no rows of {len(absent)} classes, such as {names[absent[0]]!r}.")
    return y.astype(np.int64)
