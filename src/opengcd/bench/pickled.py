"""CIFAR's pickled files, read without executing anything.

A pickle may name any function and have it called. Here five names are known, and they lead to stand-ins that only keep
what they are given: not even numpy's own loading runs, which trusts what a pickle says about its memory.
"""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np


class _PickledType:
    """Stands for ``numpy.dtype``."""

    def __init__(self, code: Any, *_: Any) -> None:
        self.code = code

    def __setstate__(self, state: Any) -> None:
        """Byte order and fields say nothing about single bytes."""


class _PickledArray:
    """Stands for ``numpy.ndarray``."""

    def __setstate__(self, state: Any) -> None:
        _, self.shape, self.type, self.by_columns, self.raw = state

    def array(self) -> np.ndarray:
        """Return the array if it holds bytes."""
        if self.type.code not in ("u1", "|u1"):
            raise ValueError(f"an array has the type {self.type.code!r}, not bytes")
        raw = self.raw.encode("latin1") if isinstance(self.raw, str) else self.raw
        return np.frombuffer(raw, np.uint8).reshape(self.shape, order="F" if self.by_columns else "C")


def _reconstruct(*_: Any) -> _PickledArray:
    return _PickledArray()


def _encode(text: str, encoding: str) -> bytes:
    """Do as ``_codecs.encode`` in the one case that Python 3 writes bytes with in protocol 2."""
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"it asks for the encoding {encoding!r}")
    return text.encode("latin1")


STAND_INS = {
    ("numpy", "ndarray"): _PickledArray,
    ("numpy", "dtype"): _PickledType,
    ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
    ("_codecs", "encode"): _encode,
}


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str, /) -> Any:
        try:
            return STAND_INS[module, name]
        except KeyError:
            raise pickle.UnpicklingError(
                f"it tries to call {module}.{name}, which no CIFAR file needs; nothing was executed"
            ) from None


def read_pickled(raw: bytes) -> dict[str, Any]:
    """Return the dictionary in a pickled CIFAR file, with its arrays of bytes; raise ValueError if there is none."""
    try:
        content = _Reader(io.BytesIO(raw), encoding="latin1").load()  # Python 2 wrote text and bytes alike
        if not isinstance(content, dict):
            raise ValueError(f"it holds a {type(content).__name__}, not a dictionary")
        named = {key.decode() if isinstance(key, bytes) else str(key): value for key, value in content.items()}
        return {key: value.array() if isinstance(value, _PickledArray) else value for key, value in named.items()}
    except Exception as error:  # a damaged pickle can fail in any way
        raise ValueError(str(error).strip().rstrip(".") or type(error).__name__) from error
