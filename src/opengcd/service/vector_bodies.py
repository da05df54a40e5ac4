"""Read feature vectors from JSON or from numpy's format."""

from __future__ import annotations

import io
import math

import numpy as np
from fastapi import HTTPException
from pydantic import TypeAdapter, ValidationError

from opengcd.service import wire as api
from opengcd.service.bodies import check_cost

NPY = "application/x-npy"
LARGEST_JSON = 12 * 2**20
MOST_NUMBERS = 500_000
"""In JSON: parsing them delays other requests by 0.1 to 0.2 seconds."""
MOST_ROWS = 100_000
"""In numpy's format: a row's answer is larger than a short row."""
_vectors = TypeAdapter(api.Vectors)


def from_json(body: bytes) -> np.ndarray:
    """Return the vectors of :class:`~opengcd.service.wire.Vectors`."""
    if len(body) > LARGEST_JSON:
        most = f"{LARGEST_JSON // 2**20} MiB"
        raise HTTPException(422, f"JSON may have at most {most}; send fewer vectors, or {NPY}, which may be larger.")
    check_cost(body, MOST_NUMBERS, api.MOST_VECTORS)
    try:
        rows = _vectors.validate_json(body, strict=True).vectors
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(map(str, problem["loc"])) or "body"
        raise HTTPException(422, f"{place}: {problem['msg']}") from None
    if len({len(row) for row in rows}) != 1:
        raise HTTPException(422, "All vectors must have the same length.")
    if len(rows) * len(rows[0]) > MOST_NUMBERS:
        raise HTTPException(422, f"JSON may hold at most {MOST_NUMBERS} numbers; send fewer vectors, or {NPY}.")
    return _finite(np.array(rows, dtype=np.float64))


def from_npy(body: bytes) -> np.ndarray:
    """Return an array in numpy's own format; nothing in it is executed."""
    stream = io.BytesIO(body)
    try:
        version = np.lib.format.read_magic(stream)
        if version != (1, 0):
            raise ValueError("it must be of version 1.0")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    except Exception as error:  # numpy reads the header as Python text, which can be wrong in any way
        raise HTTPException(422, f"The body is not an array in numpy's format: {error!r:.200}.") from None
    # The header is compared with the body: it could claim any size.
    start = stream.tell()
    raw = len(body) - start
    whole = all(type(side) is int and side >= 0 for side in shape) and raw == dtype.itemsize * math.prod(shape)
    if fortran or len(shape) != 2 or dtype.kind != "f" or not whole:
        raise HTTPException(422, "The array must be complete, n × d, of floating-point numbers, in C order.")
    if not raw:
        raise HTTPException(422, "The array is empty.")
    if shape[0] > MOST_ROWS:
        raise HTTPException(422, f"The array may have at most {MOST_ROWS} rows; send fewer at a time.")
    return _finite(np.frombuffer(body, dtype, offset=start).reshape(shape))


def _finite(X: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        X = X.astype(np.float32, copy=False)
    if not -api.LARGEST_NUMBER <= X.min() <= X.max() <= api.LARGEST_NUMBER:  # NaN propagates to minimum and maximum
        raise HTTPException(
            422, f"Leave out vectors with NaN or numbers that are too large (above {api.LARGEST_NUMBER:.0e})."
        )
    return X
