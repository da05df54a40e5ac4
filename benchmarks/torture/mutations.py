"""Damaged variants of good files, drawn at random from a seed."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

NUMBERS = (0, 1, 2**7 - 1, 2**7, 2**8 - 1, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1)
AWKWARD: tuple[Any, ...] = (
    None, True, -1, 0, 1, 2**31, 2**63, 10**30, 1e308, float("nan"), float("inf"), "", "x" * 1000, "../../etc/passwd",
    "/etc/passwd", "\0", "日本", [], {}, [[]], [None], {"": None}, [0] * 1000,
)  # fmt: skip
"""What a value in a JSON document is replaced by."""
TYPES = ("float64", "float32", "float16", "int64", "int32", "uint8", "bool")


def mutated_bytes(raw: bytes, others: list[bytes], rng: np.random.Generator) -> bytes:
    """Return a file with one to four places changed, cut out, doubled, cut off, or taken from another file."""
    data = bytearray(raw)
    for _ in range(rng.integers(1, 5)):
        # Half of all changes are near the begin, where headers are.
        reach = min(len(data), 200) if rng.random() < 0.5 else len(data)
        at, length = int(rng.integers(reach + 1)), int(rng.integers(1, 65))
        other = others[rng.integers(len(others))]
        number, width = int(rng.choice(np.array(NUMBERS, dtype=np.uint64))), int(rng.choice([1, 2, 4, 8]))
        bytes_of_number = (number % 256**width).to_bytes(width, "little" if rng.random() < 0.5 else "big")
        until, into = (
            (at + 1, bytes([rng.integers(256)])),
            (at + 1, bytes(byte ^ 1 << int(rng.integers(8)) for byte in data[at : at + 1])),
            (at + width, bytes_of_number),
            (at + length, b""),
            (at, data[at : at + length]),
            (at, rng.bytes(length)),
            (at + length, other[at : at + length]),
            (len(data), b"") if rng.random() < 0.3 else (at, b"\0"),
        )[rng.integers(8)]
        data[at:until] = into
    return bytes(data)


def mutated_json(document: Any, rng: np.random.Generator) -> Any:
    """Return a document with one value replaced, taken away, or moved to another place."""
    copy = json.loads(json.dumps(document))
    places = list(_places(copy))
    holder, key = places[rng.integers(len(places))]
    match rng.integers(4):
        case 0:
            del holder[key]
        case 1:
            other, name = places[rng.integers(len(places))]
            holder[key] = json.loads(json.dumps(other[name]))
        case _:
            holder[key] = AWKWARD[rng.integers(len(AWKWARD))]
    return copy


def _places(value: Any) -> Any:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(pairs):
        yield value, key
        yield from _places(inner)


def mutated_arrays(arrays: dict[str, np.ndarray], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return arrays of which one has another shape, type or values, or is missing."""
    name = str(rng.choice(sorted(arrays)))
    array = arrays[name].copy()
    flat = array.reshape(-1)
    match rng.integers(8):
        case 0:
            return {key: value for key, value in arrays.items() if key != name}
        case 1:
            array = flat[: rng.integers(flat.size + 1)]
        case 2:
            array = array[None] if rng.random() < 0.5 else flat
        case 3 if array.dtype.kind != "U":
            with np.errstate(all="ignore"):
                array = array.astype(str(rng.choice(TYPES)))
        case 4:
            array = np.zeros(rng.integers(0, 5, rng.integers(0, 4)), array.dtype)
        case 5 if array.dtype.kind == "f":
            with np.errstate(all="ignore"):
                flat[rng.integers(flat.size, size=flat.size and 1)] = rng.choice([np.nan, np.inf, -np.inf, 1e30, -0.0])
        case 6:
            other = arrays[str(rng.choice(sorted(arrays)))]
            array = other.copy()
        case 7 if array.dtype.kind in "fiu":
            with np.errstate(all="ignore"):
                change = rng.choice([-1, 1, 2**7 - 1, -(2**7), 1000])
                flat[rng.integers(flat.size, size=flat.size and 1)] += np.array(change).astype(array.dtype)
    return arrays | {name: np.ascontiguousarray(array)}
