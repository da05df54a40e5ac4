"""Selection of the exemplars of a class, by one of several rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from opengcd._internal import kernels
from opengcd._internal.randomness import Seed, generator
from opengcd._internal.validation import check_features, check_integer
from opengcd.memory.ds3 import authors_row_sums, select_ds3
from opengcd.memory.greedy_selection import greedy

ADMM_ROWS = 128
"""Up to this many rows ``ds3`` solves the convex program; above, its integer form by lazy greedy."""

Selector = str | Callable[[np.ndarray, int, np.random.Generator], np.ndarray]


class SelectorProperties(NamedTuple):
    """Properties of the rows that a selector returns; a callable can have attributes of the same names."""

    nested: bool = False
    """A smaller selection is a prefix of a larger one: rows are added one after the other."""
    keeps_mean: bool = False
    """The selected rows have about the same mean as all rows of the class."""


PROPERTIES = {
    "greedy": SelectorProperties(nested=True),
    "herding": SelectorProperties(nested=True, keeps_mean=True),
    "kcenter": SelectorProperties(nested=True),
}
"""Of the selectors that have any."""


def select_exemplars(
    X: Any, k: int, method: Selector = "ds3", random_state: Seed = None, device: str = "auto"
) -> np.ndarray:
    """Select ``k`` rows of one class; all of them if ``k`` is at least the number of rows.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows of one class.
    k : int
        Number of rows to select.
    method : str or callable
        - ``ds3``: the paper's choice, dissimilarity-based sparse subset selection. The convex program for up to 128
          rows; above, where it would take seconds per class, its integer form (``greedy``).
        - ``greedy``: facility location by lazy greedy; prefixes are nested.
        - ``herding``: each row brings the mean of the selection closest to the class mean (Welling 2009).
        - ``kcenter``: each row is the one farthest from the selection (Gonzalez 1985); the first is nearest the mean.
        - ``random``: without replacement.
        - ``authors``: what the paper's published code does, which on unit vectors is "the last k rows".

        A callable ``f(X, k, rng)`` returns the indices of the selected rows. It may have the attributes ``nested`` and
        ``keeps_mean``, both False by default (:class:`SelectorProperties`).
    random_state : int, Generator or None
        Used by ``random`` and callables.
    device : str
        Torch device.

    Returns
    -------
    array of int
        Indices of the rows, the most important first if the rule ranks them.

    """
    X = check_features(X)
    check_integer(k, "k")
    return select_each([X], [k], method, [generator(random_state)], device)[0]


def select_each(
    Xs: Sequence[np.ndarray],
    ks: Sequence[int],
    method: Selector,
    rngs: Sequence[np.random.Generator],
    device: str = "auto",
) -> list[np.ndarray]:
    """:func:`select_exemplars` for many classes; small ones are solved together."""
    check_selector(method)
    selected = [np.arange(len(X)) for X in Xs]
    to_select = [c for c, (X, k) in enumerate(zip(Xs, ks, strict=True)) if k < len(X)]
    if method == "ds3":
        small = [c for c in to_select if len(Xs[c]) <= ADMM_ROWS]
        for c, rows in zip(small, select_ds3([Xs[c] for c in small], [ks[c] for c in small], device), strict=True):
            selected[c] = rows
        to_select = [c for c in to_select if len(Xs[c]) > ADMM_ROWS]
    for c in to_select:
        if isinstance(method, str):
            selected[c] = SELECTORS[method](Xs[c], ks[c], rngs[c], device)
        else:
            selected[c] = _checked(method(Xs[c], ks[c], rngs[c]), len(Xs[c]), ks[c])
    return selected


def check_selector(method: Any) -> None:
    """Raise a ValueError unless this can be used to select exemplars.

    Parameters
    ----------
    method : str or callable
        The name of a selector, or a function ``f(X, k, rng)``.

    """
    if not callable(method) and not (isinstance(method, str) and method in SELECTORS):
        raise ValueError(
            f"Unknown exemplar selector {method!r}; choose from {', '.join(SELECTORS)} or pass a function."
        )


def selector_properties(method: Selector) -> SelectorProperties:
    """Return the properties of a selector: those of a name, or the attributes of a callable.

    Parameters
    ----------
    method : str or callable
        See :func:`select_exemplars`.

    Returns
    -------
    SelectorProperties

    """
    if isinstance(method, str):
        return PROPERTIES.get(method, SelectorProperties())
    return SelectorProperties(*(bool(getattr(method, name, False)) for name in SelectorProperties._fields))


def _greedy(X: np.ndarray, k: int, rng: np.random.Generator, device: str) -> np.ndarray:
    return greedy(X, k, device)[0]


def _herding(X: np.ndarray, k: int, rng: np.random.Generator, device: str) -> np.ndarray:
    # ||mean - (S + x) / t||² is least where 2 x·(t mean - S) - x·x is largest.
    Z = kernels.to_tensor(X, device).double()
    mean, norms = Z.mean(0), kernels.squared_norms(Z)
    total = mean * 0
    picks: list[int] = []
    for t in range(1, k + 1):
        score = 2 * (Z @ (t * mean - total)) - norms
        score[picks] = -np.inf
        picks.append(int(score.argmax()))
        total += Z[picks[-1]]
    return np.array(picks)


def _kcenter(X: np.ndarray, k: int, rng: np.random.Generator, device: str) -> np.ndarray:
    Z = kernels.to_tensor(X, device)
    Z = Z - Z.mean(0)
    norms = kernels.squared_norms(Z)
    picks = [int(norms.argmin())]
    gap = norms.new_full((len(Z),), np.inf)
    while len(picks) < k:
        gap = gap.minimum(kernels.squared_distances(Z[picks[-1:]], Z, norms)[0])
        gap[picks] = -1
        picks.append(int(gap.argmax()))
    return np.array(picks)


def _random(X: np.ndarray, k: int, rng: np.random.Generator, device: str) -> np.ndarray:
    return rng.choice(len(X), size=k, replace=False)


def _authors(X: np.ndarray, k: int, rng: np.random.Generator, device: str) -> np.ndarray:
    return np.argsort(authors_row_sums(X, device), kind="stable")[-k:]


def _checked(rows: Any, n: int, k: int) -> np.ndarray:
    rows = np.asarray(rows)
    if rows.shape != (k,) or len(np.unique(rows)) != k or rows.min() < 0 or rows.max() >= n:
        raise ValueError(f"The exemplar selector must return {k} different row numbers below {n}.")
    return rows


SELECTORS: dict[str, Callable[[np.ndarray, int, np.random.Generator, str], np.ndarray]] = {
    "ds3": _greedy,  # of more than ADMM_ROWS rows
    "greedy": _greedy,
    "herding": _herding,
    "kcenter": _kcenter,
    "random": _random,
    "authors": _authors,
}
