"""Every way in which labelled rows are split: classes hidden, rows held out, folds, classes dealt to phases.

All randomness comes from the generator that is passed in, and each function documents the order of its draws: results
that were published depend on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from opengcd._internal.randomness import Seed, generator


class RowSplit(NamedTuple):
    """Row numbers to fit on, and row numbers held out to judge by."""

    fitting: np.ndarray
    held_out: np.ndarray


class ClassSplit(NamedTuple):
    """Class numbers in random order: those hidden, and those that stay known."""

    hidden: np.ndarray
    known: np.ndarray


class OpenSplit(NamedTuple):
    """A simulated open world: row numbers to fit on, and of known and unknown rows to judge by."""

    fitting: np.ndarray
    held_out: np.ndarray
    unknown: np.ndarray
    number: np.ndarray
    """New number of each class; -1 for classes that are treated as unknown."""


class StreamSplit(NamedTuple):
    """A simulated stream: the classes that stay known, row numbers that keep their label, row numbers of the stream."""

    known: np.ndarray
    labelled: np.ndarray
    stream: np.ndarray


def shuffled_rows(codes: np.ndarray, classes: Iterable[int], rng: np.random.Generator) -> list[np.ndarray]:
    """Return the row numbers of each class in random order; one permutation per class, in the order of ``classes``."""
    return [rng.permutation(np.flatnonzero(codes == c)) for c in classes]


def split_each_class(
    codes: np.ndarray, classes: Iterable[int], size: Callable[[int], int], rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Shuffle the rows of each class and cut them in two: ``size(n)`` of its n rows, and the others."""
    parts = [(rows[: size(len(rows))], rows[size(len(rows)) :]) for rows in shuffled_rows(codes, classes, rng)]
    first, rest = (np.concatenate(part) for part in zip(*parts, strict=True))
    return first, rest


def hold_out_half(codes: np.ndarray, classes: Iterable[int], rng: np.random.Generator) -> RowSplit:
    """Hold out half of the rows of each class; the larger half is for fitting, so that every class is fitted."""
    return RowSplit(*split_each_class(codes, classes, lambda n: -(-n // 2), rng))


def hold_out_share(codes: np.ndarray, share: float, rng: np.random.Generator) -> RowSplit:
    """Hold out a share of the rows of each class, at least one; a class with a single row keeps it for fitting."""
    held_out, fitting = split_each_class(
        codes, range(int(codes.max()) + 1), lambda n: max(round(share * n), min(1, n - 1)), rng
    )
    return RowSplit(fitting, held_out)


def split_share(rows: np.ndarray, share: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Shuffle rows whatever their class, and cut them in two: a share of them, and the others."""
    shuffled = rng.permutation(rows)
    size = round(share * len(rows))
    return shuffled[:size], shuffled[size:]


def deal_folds(codes: np.ndarray, folds: Callable[[int], int], rng: np.random.Generator) -> np.ndarray:
    """Return the fold of each row, stratified by class.

    ``folds(n)`` is the number of folds among which the n rows of a class are dealt; with 0 they are in none (-1). Each
    class starts at another fold, so that small classes do not all fill the first ones.
    """
    fold = np.full(len(codes), -1)
    classes = np.unique(codes)
    for c, rows in zip(classes, shuffled_rows(codes, classes, rng), strict=True):
        number = folds(len(rows))
        if number:
            fold[rows] = (np.arange(len(rows)) + c) % number
    return fold


def hide_classes(n_classes: int, number: int, rng: np.random.Generator) -> ClassSplit:
    """Hide that many classes, chosen at random; one permutation of the classes."""
    order = rng.permutation(n_classes)
    return ClassSplit(order[:number], order[number:])


def hide_in_turns(n_classes: int, splits: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return the classes to hide in each split: a random third in a single split, else every class in one of them."""
    order = rng.permutation(n_classes)
    if splits == 1:
        return [order[: max(1, n_classes - -(-2 * n_classes // 3))]]
    return [part for part in np.array_split(order, splits) if len(part)]


def renumber(n_classes: int, known: np.ndarray) -> np.ndarray:
    """Return the new number of each class if only ``known`` are left, numbered in this order; -1 for the others."""
    number = np.full(n_classes, -1)
    number[known] = np.arange(len(known))
    return number


def split_open_world(codes: np.ndarray, random_state: Seed = None) -> OpenSplit:
    """Treat a random half of the classes as known and the others as unknown; hold out half of the known rows.

    With two classes both stay known: a classifier needs as many.
    """
    rng, n = generator(random_state), int(codes.max()) + 1
    known = rng.permutation(n)[: -(-n // 2)] if n > 2 else np.arange(n)
    number = renumber(n, known)
    return OpenSplit(*hold_out_half(codes, known, rng), np.flatnonzero(number[codes] < 0), number)


def simulate_stream(
    codes: np.ndarray, hidden: int, size: int, known_share: float, rng: np.random.Generator
) -> StreamSplit:
    """Hide some classes and make a stream: ``size`` rows of each, and rows of known classes in the given share.

    At least half of the rows of every known class keep their label, so the share of known rows can be smaller.
    """
    classes = hide_classes(int(codes.max()) + 1, hidden, rng)
    order = np.concatenate(classes).tolist()
    rows = dict(zip(order, shuffled_rows(codes, order, rng), strict=True))
    known = np.sort(classes.known)
    of_hidden = [rows[c][:size] for c in classes.hidden.tolist()]
    number = round(known_share / (1 - known_share) * sum(map(len, of_hidden)) / len(known))
    of_known = [rows[c][: min(number, len(rows[c]) // 2)] for c in known.tolist()]
    stream = np.concatenate(of_hidden + of_known)
    return StreamSplit(known, np.setdiff1d(np.flatnonzero(np.isin(codes, known)), stream), stream)


def class_groups(
    n_classes: int, sizes: Sequence[int], random_state: Seed = None, order: np.ndarray | None = None
) -> list[np.ndarray]:
    """Deal the classes to the phases, at random or in a given order."""
    if sum(sizes) > n_classes:
        raise ValueError(f"The phases need {sum(sizes)} classes, but the dataset has {n_classes}.")
    if order is None:
        order = generator(random_state).permutation(n_classes)
    return np.split(order[: sum(sizes)], np.cumsum(sizes)[:-1])
