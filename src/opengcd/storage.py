"""Model files: a folder with ``model.json``, arrays in safetensors and foreign formats as they are. Never pickle.

``model.json`` names the other files by their hash and is replaced last, so a crash leaves the old model or the new one.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
from safetensors import SafetensorError

FORMAT = "opengcd"
FORMAT_VERSION = 1
HEADER = "model.json"
PART = re.compile(r"[a-z]+-[0-9a-f]{16}\.(safetensors|ubj)")
TEMPORARY = re.compile(r"\..+\.[0-9]+(-[0-9]+)?\.tmp")


class ModelFileError(ValueError):
    """A model folder is missing, damaged, or was not written by this program."""


def write_model(
    path: str | os.PathLike[str],
    header: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    blobs: Mapping[str, bytes] | None = None,
) -> None:
    """Write a model folder; ``blobs`` maps a name to the bytes of a file in a format of its own (``.ubj``)."""
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise ModelFileError(f"{folder} is a file; a model is a folder. Choose another path.")
    if folder.is_dir() and not _ours(folder):
        raise ModelFileError(f"{folder} holds other files and no model; choose an empty folder or a new name.")
    folder.mkdir(parents=True, exist_ok=True)
    packed = safetensors.numpy.save({name: np.asarray(value, order="C") for name, value in arrays.items()})
    contents = {"arrays": (".safetensors", packed)}
    contents |= {name: (".ubj", raw) for name, raw in (blobs or {}).items()}
    parts = {}
    for name, (suffix, raw) in contents.items():
        digest = hashlib.sha256(raw).hexdigest()
        parts[name] = {"file": f"{name}-{digest[:16]}{suffix}", "sha256": digest}
        replace_file(folder / parts[name]["file"], raw)
    document = {"format": FORMAT, "format_version": FORMAT_VERSION, **header, "parts": parts}
    replace_file(folder / HEADER, json.dumps(document, indent=1, default=plain).encode())
    current = {part["file"] for part in parts.values()}
    for old in folder.iterdir():
        if TEMPORARY.fullmatch(old.name) or (PART.fullmatch(old.name) and old.name not in current):
            old.unlink()


def read_model(
    path: str | os.PathLike[str], kind: str
) -> tuple[dict[str, Any], dict[str, np.ndarray], dict[str, bytes]]:
    """Read a model folder of that kind; return its header, arrays and blobs."""
    folder = Path(path)
    try:
        header = json.loads((folder / HEADER).read_bytes())
    except FileNotFoundError:
        raise ModelFileError(f"There is no model at {folder} (no {HEADER}).") from None
    except NotADirectoryError:
        raise ModelFileError(f"{folder} is a file; a model is a folder with a {HEADER}.") from None
    except OSError as error:
        raise ModelFileError(f"{folder / HEADER} cannot be read: {error}.") from None
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{folder / HEADER} is damaged: it is no JSON document ({error}).") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ModelFileError(f"{folder / HEADER} was not written by OpenGCD.")
    if header.get("format_version") != FORMAT_VERSION:
        raise ModelFileError(
            f"{folder} has format version {header.get('format_version')!r}, but this version of OpenGCD reads "
            f"{FORMAT_VERSION}; load it with the version that wrote it ({header.get('opengcd_version', 'unknown')})."
        )
    if header.get("kind") != kind:
        raise ModelFileError(f"{folder} holds a {header.get('kind')!r}, not a {kind!r}.")
    parts = header.get("parts")
    if not isinstance(parts, dict) or "arrays" not in parts:
        raise ModelFileError(f"{folder / HEADER} is damaged: it does not name its parts.")
    contents = {name: _read_part(folder, part) for name, part in parts.items()}
    try:
        arrays = safetensors.numpy.load(contents.pop("arrays"))
    except (SafetensorError, ValueError, KeyError) as error:
        raise ModelFileError(f"{folder} is damaged: its arrays cannot be read ({error}).") from None
    return header, arrays, contents


def _ours(folder: Path) -> bool:
    """Whether a folder holds nothing that a save would bury: a model of ours, or what a broken first save left."""
    header = folder / HEADER
    if header.exists():
        try:
            document = json.loads(header.read_bytes())
        except (OSError, ValueError, RecursionError):
            return False
        return isinstance(document, dict) and document.get("format") == FORMAT
    return all(PART.fullmatch(file.name) or TEMPORARY.fullmatch(file.name) for file in folder.iterdir())


def plain(value: Any) -> Any:
    """Write numpy's numbers as JSON has them."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} cannot be saved.")


def _read_part(folder: Path, part: Any) -> bytes:
    # A name from the file is used as a name only if it cannot lead out of the folder.
    if not isinstance(part, dict) or not PART.fullmatch(str(part.get("file"))):
        raise ModelFileError(f"{folder / HEADER} is damaged: {part!r} names no part of a model.")
    file = folder / part["file"]
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise ModelFileError(f"{folder} is incomplete: {error}.") from None
    if hashlib.sha256(raw).hexdigest() != part.get("sha256"):
        raise ModelFileError(f"{file} is damaged: its checksum does not match {HEADER}.")
    return raw


def replace_file(file: Path, raw: bytes) -> None:
    """Write a file so that a reader sees the old one or the new one, whole, even after a crash."""
    temporary = file.with_name(f".{file.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    try:
        with open(temporary, "wb") as stream:
            stream.write(raw)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, file)
    finally:
        temporary.unlink(missing_ok=True)
