"""The layout of a model folder: JSON and safetensors, never pickle.

It holds an index, ``model.json``, which names the other files with their SHA-256 and is replaced last, so that a crash
or a power failure leaves either the old model or the new one. The index holds these checksums and nothing else, so
every byte of the model itself is covered by a checksum in another file.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
from safetensors import SafetensorError

from opengcd._internal.durable_files import make_folder, replace_file
from opengcd._internal.limited_reading import MISSING, read_limited
from opengcd._internal.numpy_json import plain
from opengcd._internal.validation import check_labels, refuse_unknown_label

FORMAT = "opengcd"
FORMAT_VERSION = 2
INDEX = "model.json"
LARGEST_INDEX = 64 * 2**20
"""Bytes; in format version 1 the index contains the header, with a few numbers per class."""
PART = re.compile(r"[a-z]+-[0-9a-f]{16}\.(json|safetensors|ubj)")
TEMPORARY = re.compile(r"\..+\.[0-9]+(-[0-9]+)?\.tmp")


class ModelFileError(ValueError):
    """A model folder is missing, damaged, or was not written by this program."""


def write_model(path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write a model folder."""
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise ModelFileError(f"{folder} is a file; a model is a folder. Choose another path.")
    if folder.is_dir() and not _ours(folder):
        raise ModelFileError(f"{folder} contains other files, but not a model; choose an empty folder or a new name.")
    make_folder(folder)
    packed = safetensors.numpy.save({name: np.asarray(value, order="C") for name, value in arrays.items()})
    contents = {"header": (".json", json.dumps(header, indent=1, default=plain).encode())}
    contents |= {"arrays": (".safetensors", packed)}
    parts = {}
    for name, (suffix, raw) in contents.items():
        digest = hashlib.sha256(raw).hexdigest()
        parts[name] = {"file": f"{name}-{digest[:16]}{suffix}", "sha256": digest}
        replace_file(folder / parts[name]["file"], raw)
    index = {"format": FORMAT, "format_version": FORMAT_VERSION, "parts": parts}
    replace_file(folder / INDEX, json.dumps(index, indent=1).encode())
    current = {part["file"] for part in parts.values()}
    for old in folder.iterdir():
        if TEMPORARY.fullmatch(old.name) or (PART.fullmatch(old.name) and old.name not in current):
            old.unlink()


def read_model(
    path: str | os.PathLike[str], kind: str
) -> tuple[dict[str, Any], dict[str, np.ndarray], dict[str, bytes]]:
    """Return header, arrays, and other files that older versions wrote, of a model folder of the given kind."""
    folder = Path(path)
    header, contents = verify_model(folder)
    if header.get("kind") != kind:
        raise ModelFileError(f"{folder} contains a {header.get('kind')!r}, not a {kind!r}; choose another folder.")
    try:
        arrays = safetensors.numpy.load(contents.pop("arrays"))
    except (SafetensorError, ValueError, KeyError) as error:
        raise ModelFileError(f"{folder} is damaged: its arrays cannot be read ({error}).") from None
    return header, arrays, contents


@contextmanager
def reporting_damage(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn errors that invalid contents cause during restoring into a :class:`ModelFileError`."""
    from torch import OutOfMemoryError

    try:
        yield
    except (ModelFileError, OutOfMemoryError):
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RuntimeError) as error:
        raise ModelFileError(f"{path} is damaged: its contents do not match ({error!r}).") from error


def restore_classes(stored: Any) -> np.ndarray:
    """Return the saved known classes."""
    if not isinstance(stored, list):
        raise ModelFileError("The model is damaged: classes is not a list.")
    classes = check_labels(stored, len(stored), name="classes")
    refuse_unknown_label(classes, name="classes")
    return classes


def verify_model(folder: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Verify all checksums of a model folder; return its header, and the content of its other parts."""
    index = _read_index(folder)
    parts = index.get("parts")
    if not isinstance(parts, dict) or "arrays" not in parts:
        raise ModelFileError(f"{folder / INDEX} is damaged: it does not name its parts.")
    contents = {name: _read_part(folder, part) for name, part in parts.items()}
    if index["format_version"] == 1:  # the header was in the index
        return index, contents
    if "header" not in contents:
        raise ModelFileError(f"{folder / INDEX} is damaged: it does not name its header.")
    return _parse(contents.pop("header"), folder / parts["header"]["file"]), contents


def read_index_file(folder: Path) -> bytes:
    """Return the content of the index of a model folder."""
    raw = read_limited(folder / INDEX, LARGEST_INDEX)
    if raw is None:
        raise ModelFileError(f"{folder / INDEX} is damaged: it is larger than any index.")
    return raw


def _read_index(folder: Path) -> dict[str, Any]:
    try:
        raw = read_index_file(folder)
    except FileNotFoundError:
        raise ModelFileError(f"There is no model at {folder} (no {INDEX}).") from None
    except NotADirectoryError:
        raise ModelFileError(f"{folder} is a file; a model is a folder with a {INDEX}.") from None
    except IsADirectoryError:
        raise ModelFileError(f"{folder / INDEX} is a folder; it is a file in a model.") from None
    index = _parse(raw, folder / INDEX)
    if index.get("format") != FORMAT:
        raise ModelFileError(f"{folder / INDEX} was not written by OpenGCD.")
    version = index.get("format_version")
    if not isinstance(version, int) or version not in (1, FORMAT_VERSION):
        raise ModelFileError(
            f"{folder} has format version {version!r}, but this version of OpenGCD reads 1 to {FORMAT_VERSION}; "
            f"load it with the version that wrote it ({index.get('opengcd_version', 'unknown')})."
        )
    return index


def _parse(raw: bytes, file: Path) -> dict[str, Any]:
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{file} is damaged: it is not a JSON document ({error}).") from None
    if not isinstance(document, dict):
        raise ModelFileError(f"{file} was not written by OpenGCD.")
    return document


def _ours(folder: Path) -> bool:
    """Whether a folder holds only a model of OpenGCD, or what an interrupted first save left behind."""
    if (folder / INDEX).exists():
        try:
            document = json.loads(read_index_file(folder))
        except (OSError, ValueError, RecursionError):
            return False
        return isinstance(document, dict) and document.get("format") == FORMAT
    return all(PART.fullmatch(file.name) or TEMPORARY.fullmatch(file.name) for file in folder.iterdir())


def _read_part(folder: Path, part: Any) -> bytes:
    # A name from the index is only used if it cannot lead out of the folder.
    if not isinstance(part, dict) or not PART.fullmatch(str(part.get("file"))):
        raise ModelFileError(f"{folder / INDEX} is damaged: {part!r} is not a part of a model.")
    file = folder / part["file"]
    try:
        raw = file.read_bytes()
    except MISSING as error:
        raise ModelFileError(f"{folder} is incomplete: {error}.") from None
    if hashlib.sha256(raw).hexdigest() != part.get("sha256"):
        raise ModelFileError(f"{file} is damaged: its checksum does not match {INDEX}.")
    return raw
