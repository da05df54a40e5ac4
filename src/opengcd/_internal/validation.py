"""Validation of input at the public boundary; error messages say what to do."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from opengcd import UNKNOWN

UNKNOWN_STR = "unknown"


def check_features(
    X: Any,
    *,
    name: str = "X",
    width: int | None = None,
    owner: str | None = None,
    min_rows: int = 1,
    single: bool = False,
) -> np.ndarray:
    """Return ``X`` as a finite, contiguous, two-dimensional float32 or float64 array.

    float64 stays float64, objects that are numbers become float64, and narrower types become float32.

    Parameters
    ----------
    X : array-like
        One row per item.
    name : str
        The name of ``X`` in messages.
    width : int or None
        The number of features that a fitted model needs.
    owner : str or None
        The class of that model, for the message.
    min_rows : int
        The least number of rows.
    single : bool
        Whether a vector counts as one row.

    Returns
    -------
    ndarray of shape (n, d)

    """
    X = _as_real_array(X, name)
    if single and X.ndim == 1:
        X = X.reshape(1, -1)
    if X.ndim != 2:
        raise ValueError(
            f"{name} must have two dimensions (items × features), but has shape {X.shape}; "
            "reshape one vector x with x.reshape(1, -1)."
        )
    if X.shape[1] == 0:
        raise ValueError(
            f"{name} has no feature columns: 0 feature(s) (shape={X.shape}) while a minimum of 1 is required."
        )
    if width is not None and X.shape[1] != width:
        expected = f"{width} are expected" if owner is None else f"{owner} is expecting {width} features as input"
        raise ValueError(
            f"{name} has {X.shape[1]} features, but {expected}; "
            "use features from the same backbone as those the model was fitted on."
        )
    if len(X) < min_rows:
        raise ValueError(f"{name} has {len(X)} rows, but at least {min_rows} are needed.")
    if not np.isfinite(X).all():
        bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
        raise ValueError(
            f"{name} contains NaN or infinite values in {len(bad)} of {len(X)} rows "
            f"(first: row {bad[0]}); remove or repair these rows."
        )
    # Distances are sums of squares, at most four times as large.
    if X.size and np.abs(X).max() > np.sqrt(np.finfo(X.dtype).max / X.shape[1]) / 4:
        raise ValueError(
            f"{name} contains numbers too large for {X.dtype}: their squares overflow; rescale the features."
        )
    return X


def _as_real_array(X: Any, name: str) -> np.ndarray:
    """Return ``X`` as a contiguous array of float32 or float64."""
    if hasattr(X, "toarray"):
        raise ValueError(f"{name} is sparse, but sparse data is not supported; pass a dense array, {name}.toarray().")
    try:
        X = np.asarray(X)
        wide = np.result_type(X.dtype, np.float32)
        X = np.ascontiguousarray(X, dtype=np.float64 if wide.kind == "f" and wide.itemsize > 8 else wide)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be an array of numbers, one row per item ({error}).") from None
    if X.dtype == object:
        X = _as_numbers(X, name)
    if X.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} must hold real numbers, but has dtype {X.dtype}.")
    if X.dtype.kind != "f":
        raise ValueError(f"{name} must hold real numbers, but has dtype {X.dtype}.")
    return X


def _as_numbers(X: np.ndarray, name: str) -> np.ndarray:
    """Return an array of objects, such as a data frame with columns of several types, as float64."""
    if any(value is None for value in X.flat):
        raise ValueError(f"{name} must hold real numbers, but contains None; remove or replace it.")
    try:
        return X.astype(np.float64)
    except TypeError as error:
        raise TypeError(f"{name} must hold real numbers ({error}).") from None
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{name} must hold real numbers ({error}).") from None


def check_labels(y: Any, rows: int, *, name: str = "y", like: np.ndarray | None = None) -> np.ndarray:
    """Return ``y`` as a one-dimensional integer or string array of length ``rows``, and of the type of ``like``."""
    y = _as_label_array(y, rows, name)
    if like is not None and len(y) and len(like) and y.dtype.kind != like.dtype.kind:
        raise ValueError(f"{name} has labels like {y[0]!r}, but the known classes are like {like[0]!r}.")
    return y


def _as_label_array(y: Any, rows: int, name: str) -> np.ndarray:
    if not isinstance(y, np.ndarray):
        # numpy would silently turn [1, "a"] into strings: check first.
        y = np.array(list(y), dtype=object) if isinstance(y, Iterable) else np.asarray(y)
    if y.ndim != 1:
        raise ValueError(f"{name} must be one label per row, but has shape {y.shape}.")
    if len(y) != rows:
        raise ValueError(f"{name} has {len(y)} labels for {rows} rows of features.")
    if y.dtype.kind in "iu":
        _refuse_long_integers(y, name)
        return y.astype(np.int64, copy=False)
    if y.dtype.kind in "UT":
        return np.array(y.tolist(), dtype=str)
    if y.dtype.kind == "O":
        if all(isinstance(v, numbers.Integral) and not isinstance(v, bool | np.bool_) for v in y):
            _refuse_long_integers(y, name)
            return y.astype(np.int64)
        if all(isinstance(v, str) for v in y):
            return np.array(y.tolist(), dtype=str)
        kinds = sorted({type(v).__name__ for v in y})
        raise ValueError(f"{name} mixes or holds unsupported label types ({', '.join(kinds)}); use all int or all str.")
    raise ValueError(
        f"Unknown label type: {name} has dtype {y.dtype}; labels must be integers or strings, one per class."
    )


def _refuse_long_integers(y: np.ndarray, name: str) -> None:
    limits = np.iinfo(np.int64)
    if len(y) and not limits.min <= int(y.min()) <= int(y.max()) <= limits.max:
        raise ValueError(f"{name} contains integers beyond 64 bits; use strings for such labels.")


def check_integer(value: Any, name: str, least: int | None = 1) -> int:
    """Return ``value`` if it is an integer, and at least ``least``."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or (least is not None and value < least):
        bound = "" if least is None else f" from {least}"
        raise ValueError(f"{name} must be an integer{bound}, not {value!r}.")
    return int(value)


def unknown_label(labels: np.ndarray) -> int | str:
    """Return the label for "unknown", of the same type as ``labels``."""
    return UNKNOWN if labels.dtype.kind == "i" else UNKNOWN_STR


def refuse_unknown_label(y: np.ndarray, *, name: str = "y") -> None:
    """Raise an error if the label reserved for "unknown" is used as a class."""
    if (y == unknown_label(y)).any():
        raise ValueError(
            f"{name} uses {unknown_label(y)!r} as a class, but that label is reserved for 'unknown'; "
            "leave unlabelled rows out."
        )


def encode(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the position of each label in ``classes``, which may be in any order and must contain all labels."""
    order = np.argsort(classes, kind="stable")
    return order[np.searchsorted(classes, y, sorter=order)]


def check_mask(mask: Any, rows: int, name: str, *, default: bool = True) -> np.ndarray:
    """Return a boolean mask of the rows; None means ``default`` for all of them."""
    if mask is None:
        return np.full(rows, default)
    mask = np.asarray(mask)
    if mask.dtype != bool or mask.shape != (rows,):
        raise ValueError(f"{name} must be one truth value for each of {rows} rows, not {mask.dtype}{mask.shape}.")
    return mask


def check_share(value: Any, name: str) -> float:
    """Return a share from 0 to 1."""
    if not isinstance(value, numbers.Real) or not 0 <= float(value) <= 1:
        raise ValueError(f"{name} must be a share from 0 to 1, not {value!r}.")
    return float(value)


def check_positive(value: Any, name: str) -> float:
    """Return a number above 0; it may be infinite."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool) or not float(value) > 0:
        raise ValueError(f"{name} must be a number above 0, not {value!r}.")
    return float(value)


def check_not_negative(value: Any, name: str) -> float:
    """Return a finite number from 0."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool) or not 0 <= float(value) < np.inf:
        raise ValueError(f"{name} must be a finite number from 0, not {value!r}.")
    return float(value)


def check_choice(value: Any, name: str, choices: Sequence[str]) -> str:
    """Return ``value`` if it is one of ``choices``."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, not {value!r}.")
    return str(value)


def check_first_classes(X: Any, y: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the labelled rows of a first fit, their labels, and their classes, of which there must be two."""
    X = check_features(X)
    if y is None:
        raise ValueError("A recogniser requires y to be passed, but the target y is None; pass one label per row.")
    y = check_labels(y, len(X))
    refuse_unknown_label(y)
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(
            f"A recogniser needs at least two known classes, but y holds only one class, {classes[0]!r}; "
            "add rows of another class, for example of several classes under one label."
        )
    return X, y, classes
