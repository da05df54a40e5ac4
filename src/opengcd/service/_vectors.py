"""Feature vectors as they come: in JSON, or in numpy's format."""

from __future__ import annotations

import io
import math

import numpy as np
from fastapi import HTTPException
from pydantic import TypeAdapter, ValidationError

from opengcd.service import _models as api

NPY = "application/x-npy"
_vectors = TypeAdapter(api.Vectors)


def from_json(body: bytes) -> np.ndarray:
    """Return the vectors of :class:`~opengcd.service._models.Vectors`."""
    try:
        rows = _vectors.validate_json(body, strict=True).vectors
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(map(str, problem["loc"])) or "body"
        raise HTTPException(422, f"{place}: {problem['msg']}") from None
    if len({len(row) for row in rows}) != 1:
        raise HTTPException(422, "All vectors must have the same length.")
    return _finite(np.array(rows, dtype=np.float64))


def from_npy(body: bytes) -> np.ndarray:
    """Return an array in numpy's own format; nothing in it is executed."""
    stream = io.BytesIO(body)
    try:
        version = np.lib.format.read_magic(stream)
        if version != (1, 0):
            raise ValueError("write it as version 1.0")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    except Exception as error:  # numpy reads the header as Python text, which can be wrong in any way
        raise HTTPException(422, f"The body is not an array in numpy's format: {error!r:.200}.") from None
    # The header is compared with what is there, not believed: it could claim any size.
    raw = body[stream.tell() :]
    whole = all(type(side) is int and side >= 0 for side in shape) and len(raw) == dtype.itemsize * math.prod(shape)
    if fortran or len(shape) != 2 or dtype.kind != "f" or not whole:
        raise HTTPException(422, "The array must be whole, n × d, of floats, in C order.")
    if not raw:
        raise HTTPException(422, "The array is empty.")
    return _finite(np.frombuffer(raw, dtype).reshape(shape))


def _finite(X: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        X = X.astype(np.float32)
    if not np.isfinite(X).all():
        raise HTTPException(422, "A vector holds NaN, or a number too large for 32 bits.")
    return X
