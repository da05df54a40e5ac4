"""Files of vectors: .npz, .npy, Parquet and datasets of Hugging Face on disk. None of them can execute code.

A file is read and checked as a whole before anything of it is stored.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from opengcd._internal.validation import UNKNOWN_STR
from opengcd.workspace import groups
from opengcd.workspace.errors import WorkspaceError

X_NAMES = ("X", "vector", "vectors", "embedding", "embeddings")
ID_NAMES = ("ids", "id")
LABEL_NAMES = ("labels", "label", "y")
TEXT_NAMES = ("texts", "text")
PICTURE_NAMES = ("thumbnails", "thumbnail", "image", "images")
DATASET = "state.json"
"""A file in the folder of a dataset that Hugging Face's datasets saved."""
LONGEST = 300
"""Characters of the name of a row."""

Columns = Mapping[str, Any]


class VectorRows(NamedTuple):
    """The rows of a file."""

    X: np.ndarray
    """float32, of shape (n, d); finite, and none is all zeros."""
    hashes: list[str]
    """SHA-256 of each row, by which it is known again."""
    names: list[str]
    """The file and the name of each row, in the place of a path."""
    labels: list[str | None]
    pictures: list[str | bytes | None]
    """For each row the path of a picture, or its bytes."""

    def only(self, chosen: Sequence[bool]) -> VectorRows:
        """Return some of the rows."""
        places = np.flatnonzero(chosen)
        lists: list[list[Any]] = [[column[place] for place in places] for column in self[1:]]
        return VectorRows(self.X[places], *lists)


def is_vector_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is one of vectors, by its name."""
    place = Path(path)
    return place.name == DATASET or place.suffix.lower() in READERS


def read_vectors(path: str | os.PathLike[str], width: int | None = None) -> VectorRows:
    """Read a file of vectors.

    Parameters
    ----------
    path : path
        An ``.npz`` file with ``X`` and perhaps ``ids``, ``labels``, ``texts`` and ``thumbnails``; an ``.npy`` file; a
        ``.parquet`` file with such columns; or a folder to which ``Dataset.save_to_disk`` wrote one with such columns.
    width : int or None
        The number of dimensions that the vectors must have; None for any.

    Returns
    -------
    VectorRows

    Raises
    ------
    WorkspaceError
        If it cannot be read, or a vector cannot be used; the message says which and why.

    """
    file = Path(os.path.abspath(path))
    if file.is_dir() and (file / DATASET).is_file():
        file /= DATASET
    if not file.is_file():
        raise WorkspaceError(f"There is no file {path}; give a file of vectors ({', '.join(READERS)}).")
    if not is_vector_file(file):
        raise WorkspaceError(f"{path} is not a file of vectors; give {', '.join(READERS)} or a dataset on disk.")
    reader = _read_dataset if file.name == DATASET else READERS[file.suffix.lower()]
    try:
        columns = reader(file)
    except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, OSError) as error:
        if isinstance(error, WorkspaceError):
            raise
        raise WorkspaceError(f"{path} cannot be read: {error}.") from None
    where = str(file.parent if file.name == DATASET else file)
    return _checked(where, file.parent, columns, width)


def _checked(where: str, folder: Path, columns: Columns, width: int | None) -> VectorRows:
    given = _find(columns, X_NAMES)
    if given is None:
        raise WorkspaceError(f"{where} has no vectors; they must be called {', '.join(X_NAMES[:-1])} or {X_NAMES[-1]}.")
    X = _vectors(where, given, width)
    n = len(X)
    ids = _texts(where, "ids", _find(columns, ID_NAMES), n)
    texts = _texts(where, "texts", _find(columns, TEXT_NAMES), n)
    labels = _texts(where, "labels", _find(columns, LABEL_NAMES), n)
    names = [_name(row, id, text) for row, (id, text) in enumerate(zip(ids, texts, strict=True))]
    if len(set(names)) < n:
        seen: set[str] = set()
        twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise WorkspaceError(f"{where}: the id {twice!r} occurs twice; every row needs an id of its own.")
    pictures = _find(columns, PICTURE_NAMES)
    if pictures is not None and len(pictures) != n:
        raise WorkspaceError(f"{where} has {n} vectors, but {len(pictures)} thumbnails.")
    return VectorRows(
        X,
        [hashlib.sha256(row.tobytes()).hexdigest() for row in X],
        [f"{where}#{name}" for name in names],
        [None if label in (None, "", UNKNOWN_STR) else groups.check_label(str(label)) for label in labels],
        [None] * n if pictures is None else [_picture(folder, one) for one in pictures],
    )


def _vectors(where: str, given: Any, width: int | None) -> np.ndarray:
    """Return vectors as 32-bit numbers, or say which cannot be used."""
    found = np.asarray(given)
    if found.dtype.kind not in "fiu":
        raise WorkspaceError(f"{where}: the vectors are of type {found.dtype}; they must be numbers.")
    if found.ndim != 2 or not found.shape[1]:
        raise WorkspaceError(f"{where}: the vectors have the shape {found.shape}; it must be (rows, dimensions).")
    if not len(found):
        raise WorkspaceError(f"{where} has no rows.")
    if width is not None and found.shape[1] != width:
        raise WorkspaceError(
            f"{where}: the vectors have {found.shape[1]} dimensions, and those of this workspace {width}; vectors of "
            "two networks cannot be compared."
        )
    with np.errstate(over="ignore"):  # becomes infinite, and is refused
        X = np.ascontiguousarray(found, dtype="<f4")
    if len(bad := np.flatnonzero(~np.isfinite(X).all(axis=1))):
        raise WorkspaceError(f"{where}: {len(bad)} vectors are not finite in 32 bits, the first in row {bad[0]}.")
    if len(bad := np.flatnonzero(~X.any(axis=1))):
        raise WorkspaceError(f"{where}: {len(bad)} vectors are all zeros, the first in row {bad[0]}.")
    return X + np.float32(0)  # -0 and 0 are the same number, and must give the same hash


def _find(columns: Columns, names: Sequence[str]) -> Any:
    return next((columns[name] for name in names if name in columns), None)


def _texts(where: str, what: str, given: Any, n: int) -> list[str | None]:
    if given is None:
        return [None] * n
    values = given.tolist() if isinstance(given, np.ndarray) else list(given)
    if len(values) != n:
        raise WorkspaceError(f"{where} has {n} vectors, but {len(values)} {what}.")
    if not all(value is None or isinstance(value, str | int) for value in values):
        raise WorkspaceError(f"{where}: {what} must be text or whole numbers.")
    return [None if value is None else str(value).strip() for value in values]


def _name(row: int, id: str | None, text: str | None) -> str:
    """Return the name of a row, which is shown where there is no picture."""
    name = id or str(row)
    if text:  # a slash would be taken for the end of a folder's name
        text = " ".join(text.replace("/", "\N{DIVISION SLASH}").split())
    told = f"{name}: {text}" if text else name
    return (told if len(told) <= LONGEST else f"{told[: LONGEST - 1]}…").replace("\0", "")


def _picture(folder: Path, given: Any) -> str | bytes | None:
    if isinstance(given, Mapping):  # an image of Hugging Face's datasets
        given = given.get("bytes") or given.get("path")
    if isinstance(given, bytes):
        return given
    return os.path.normpath(folder / given) if isinstance(given, str) and given and "\0" not in given else None


def _read_numpy(file: Path) -> Columns:
    with open(file, "rb") as opened:
        found = np.load(opened, allow_pickle=False)  # what is pickled may execute code
        if isinstance(found, np.ndarray):
            return {"X": found}
        with found:
            return {name: found[name] for name in found.files}


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise WorkspaceError('Parquet files and datasets need pyarrow: pip install "opengcd[parquet]"') from None
    return pyarrow


def _read_parquet(file: Path) -> Columns:
    arrow = _pyarrow()
    import pyarrow.parquet

    try:
        with open(file, "rb") as opened:
            return _columns(pyarrow.parquet.ParquetFile(opened).read())
    except arrow.ArrowException as error:
        raise WorkspaceError(f"{file} cannot be read: {error}.") from None


def _read_dataset(state: Path) -> Columns:
    """Read what ``Dataset.save_to_disk`` of Hugging Face's datasets wrote."""
    arrow = _pyarrow()
    import pyarrow.ipc

    names = [one["filename"] for one in json.loads(state.read_bytes())["_data_files"]]
    features = json.loads((state.parent / "dataset_info.json").read_bytes()).get("features") or {}
    tables = []
    try:
        for name in names:
            if os.path.basename(name) != name:
                raise WorkspaceError(f"{state} names a file outside of its folder.")
            with open(state.parent / name, "rb") as opened:
                tables.append(pyarrow.ipc.open_stream(opened).read_all())
        columns = dict(_columns(arrow.concat_tables(tables)))
    except arrow.ArrowException as error:
        raise WorkspaceError(f"{state.parent} cannot be read: {error}.") from None
    for column in LABEL_NAMES:
        classes = (features.get(column) or {}).get("names")
        if column in columns and classes:  # a ClassLabel: numbers of names, -1 for none
            values = [None if number is None or number < 0 else classes[number] for number in columns[column]]
            columns[column] = values
    return columns


def _columns(table: Any) -> Columns:
    """Return the columns of a table that are of use."""
    found: dict[str, Any] = {}
    for name in table.column_names:
        if name in X_NAMES:
            rows = table.column(name).to_pylist()
            if len({None if row is None else len(row) for row in rows}) > 1 or None in rows:
                raise WorkspaceError(f"The vectors in the column {name} are not all of the same length.")
            found[name] = np.array(rows)
        elif name in (*ID_NAMES, *LABEL_NAMES, *TEXT_NAMES, *PICTURE_NAMES):
            found[name] = table.column(name).to_pylist()
    return found


READERS: dict[str, Callable[[Path], Columns]] = {".npz": _read_numpy, ".npy": _read_numpy, ".parquet": _read_parquet}
"""Readers by the suffix of the file."""
