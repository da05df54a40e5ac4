"""All splits of labelled rows: hidden classes, held-out rows, folds, classes of each phase.

All randomness comes from the generator that is passed in, and each function documents the order of its draws: published
results depend on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from opengcd._internal.randomness import Seed, generator


class RowSplit(NamedTuple):
    """Indices of training rows and of held-out rows."""

    fitting: np.ndarray
    held_out: np.ndarray


class ClassSplit(NamedTuple):
    """Class numbers in random order: the hidden ones, and those that stay known."""

    hidden: np.ndarray
    known: np.ndarray


class OpenSplit(NamedTuple):
    """A simulated open world: indices of training rows, of held-out known rows, and of unknown rows."""

    fitting: np.ndarray
    held_out: np.ndarray
    unknown: np.ndarray
    number: np.ndarray
    """New number of each class; -1 for classes that are treated as unknown."""


class StreamSplit(NamedTuple):
    """A simulated stream: the classes that stay known, indices of labelled rows, and indices of rows of the stream."""

    known: np.ndarray
    labelled: np.ndarray
    stream: np.ndarray


def shuffled_rows(codes: np.ndarray, classes: Iterable[int], rng: np.random.Generator) -> list[np.ndarray]:
    """Return the indices of each class in random order; one permutation per class, in the order of ``classes``."""
    return [rng.permutation(np.flatnonzero(codes == c)) for c in classes]


def split_each_class(
    codes: np.ndarray, classes: Iterable[int], size: Callable[[int], int], rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Shuffle the rows of each class and split them in two: ``size(n)`` of its n rows, and the others."""
    parts = [(rows[: size(len(rows))], rows[size(len(rows)) :]) for rows in shuffled_rows(codes, classes, rng)]
    first, rest = (np.concatenate(part) for part in zip(*parts, strict=True))
    return first, rest


def hold_out_half(codes: np.ndarray, classes: Iterable[int], rng: np.random.Generator) -> RowSplit:
    """Hold out half of the rows of each class; the larger half is for training, so that no class is missing there."""
    return RowSplit(*split_each_class(codes, classes, lambda n: -(-n // 2), rng))


def hold_out_share(codes: np.ndarray, share: float, rng: np.random.Generator) -> RowSplit:
    """Hold out a share of the rows of each class, at least one; the only row of a class is for training."""
    held_out, fitting = split_each_class(
        codes, range(int(codes.max()) + 1), lambda n: max(round(share * n), min(1, n - 1)), rng
    )
    return RowSplit(fitting, held_out)


def split_share(rows: np.ndarray, share: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Shuffle rows regardless of class, and split them in two: a share of them, and the others."""
    shuffled = rng.permutation(rows)
    size = round(share * len(rows))
    return shuffled[:size], shuffled[size:]


def assign_folds(codes: np.ndarray, folds: Callable[[int], int], rng: np.random.Generator) -> np.ndarray:
    """Return the fold of each row, stratified by class.

    ``folds(n)`` is the number of folds of a class with n rows; if it is 0, they are in no fold (-1). Each class starts
    at another fold, so that small classes are not all in the first ones.
    """
    fold = np.full(len(codes), -1)
    classes = np.unique(codes)
    for c, rows in zip(classes, shuffled_rows(codes, classes, rng), strict=True):
        number = folds(len(rows))
        if number:
            fold[rows] = (np.arange(len(rows)) + c) % number
    return fold


def hide_classes(n_classes: int, number: int, rng: np.random.Generator) -> ClassSplit:
    """Hide ``number`` random classes; one permutation of the classes."""
    order = rng.permutation(n_classes)
    return ClassSplit(order[:number], order[number:])


def choose_hidden_classes(n_classes: int, splits: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return the classes to hide in each split: a random third for one split, else each class in one of the splits."""
    order = rng.permutation(n_classes)
    if splits == 1:
        return [order[: max(1, n_classes - -(-2 * n_classes // 3))]]
    return [part for part in np.array_split(order, splits) if len(part)]


def renumber(n_classes: int, known: np.ndarray) -> np.ndarray:
    """Return the position of each class in ``known``, or -1 if it is not among them."""
    number = np.full(n_classes, -1)
    number[known] = np.arange(len(known))
    return number


def split_open_world(codes: np.ndarray, random_state: Seed = None) -> OpenSplit:
    """Treat a random half of the classes as known and the others as unknown; hold out half of the known rows.

    With two classes both stay known: a classifier needs two.

    Parameters
    ----------
    codes : array of int
        Class number of each row, from 0.
    random_state : int, SeedSequence, Generator or None
        Seed.

    Returns
    -------
    OpenSplit

    """
    rng, n = generator(random_state), int(codes.max()) + 1
    known = rng.permutation(n)[: -(-n // 2)] if n > 2 else np.arange(n)
    number = renumber(n, known)
    return OpenSplit(*hold_out_half(codes, known, rng), np.flatnonzero(number[codes] < 0), number)


def simulate_stream(
    codes: np.ndarray, hidden: int, size: int | np.ndarray, known_share: float, rng: np.random.Generator
) -> StreamSplit:
    """Hide some classes and simulate a stream: ``size`` rows of each, and the given share of rows of known classes.

    ``size`` is one number, or one for each hidden class.
    At least half of the rows of every known class stay labelled, so the share of known rows can be smaller than given.
    """
    classes = hide_classes(int(codes.max()) + 1, hidden, rng)
    order = np.concatenate(classes).tolist()
    rows = dict(zip(order, shuffled_rows(codes, order, rng), strict=True))
    known = np.sort(classes.known)
    sizes = np.broadcast_to(size, hidden)
    of_hidden = [rows[c][:most] for c, most in zip(classes.hidden.tolist(), sizes.tolist(), strict=True)]
    number = round(known_share / (1 - known_share) * sum(map(len, of_hidden)) / len(known))
    of_known = [rows[c][: min(number, len(rows[c]) // 2)] for c in known.tolist()]
    stream = np.concatenate(of_hidden + of_known)
    return StreamSplit(known, np.setdiff1d(np.flatnonzero(np.isin(codes, known)), stream), stream)


def class_groups(
    n_classes: int, sizes: Sequence[int], random_state: Seed = None, order: np.ndarray | None = None
) -> list[np.ndarray]:
    """Distribute the classes over the phases, at random or in a given order.

    Parameters
    ----------
    n_classes : int
        Number of classes.
    sizes : sequence of int
        Number of classes that each phase brings; together at most ``n_classes``.
    random_state : int, SeedSequence, Generator or None
        Of the random order.
    order : int array of shape (n_classes,) or None
        The order of the classes; None draws it.

    Returns
    -------
    list of int array
        The classes of each phase.

    """
    if sum(sizes) > n_classes:
        raise ValueError(
            f"The phases need {sum(sizes)} classes, but the dataset has only {n_classes}; use fewer or smaller phases."
        )
    if order is None:
        order = generator(random_state).permutation(n_classes)
    return np.split(order[: sum(sizes)], np.cumsum(sizes)[:-1])
