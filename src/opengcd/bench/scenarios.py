"""Streams other than the paper's: long tails, bursts, rare or no new classes, a drip, no known items, another camera.

A scenario changes what a phase's stream shows. What is known and labelled, and the test sets on which accuracy is
measured, stay the same, so that results differ from those of the usual stream because of the stream alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from opengcd._internal.unit_length import unit_rows
from opengcd.bench.near_copies import STEPS

USUAL = "usual"
LEAST_ROWS = 2
"""A class that a scenario makes rare keeps at least this many items."""
MOST_COPIES = 30
"""Near copies that an item brings in bursts, at most; half as many on average."""
BURST_ITEMS = 50_000
"""A stream in bursts holds at most about this many items, so fewer of the original ones if they are many."""
DRIPS = 5
"""Discoveries in a drip, one after the other, each in all that the stream has shown so far."""
STEP = 0.08
"""Length of the step in feature space from one image of a burst to the next; features have length 1."""
SHIFT, STRETCH = 0.3, 0.2
"""Stand-in for another camera: length of the displacement, and standard deviation of the logarithms of the factors."""


class StreamClasses(NamedTuple):
    """The items of a stream by class."""

    y: np.ndarray
    """(n,) The class of each item."""
    known: np.ndarray
    """(C,) The known classes."""
    new: np.ndarray
    """The new classes."""

    def sizes(self, classes: np.ndarray) -> np.ndarray:
        """Return the number of items of each of some classes.

        Parameters
        ----------
        classes : int array

        Returns
        -------
        int array

        """
        return np.array([(self.y == c).sum() for c in classes], dtype=np.int64)


Limits = Callable[[StreamClasses, np.random.Generator], dict[int, int]]
"""Returns the largest number of items of some classes; the others keep all of theirs."""
Change = Callable[[np.ndarray, np.ndarray, np.random.Generator], tuple[np.ndarray, np.ndarray]]
"""Returns features, and the number of the original item of each, from the features of a stream."""
View = Callable[[np.ndarray, np.random.Generator], tuple[np.ndarray, np.ndarray]]
"""Returns how images differ from those of a stream (:func:`near_copy`; zeros: not at all), and their originals."""


class Scenario(NamedTuple):
    """What a stream shows."""

    text: str
    limits: Limits | None = None
    change: Change | None = None
    """For methods that take features."""
    view: View | None = None
    """The same for methods that take images; None if these cannot be changed so."""
    most_new: int | None = None
    """New classes that each phase brings, at most."""
    drips: int = 1
    """Discoveries in a phase; with more than one, new classes appear one after the other."""

    def shown(self, classes: np.ndarray) -> np.ndarray:
        """Return the new classes that a phase brings.

        Parameters
        ----------
        classes : int array
            Those of the usual stream.

        Returns
        -------
        int array

        """
        return classes[: self.most_new]

    def select(self, classes: StreamClasses, rng: np.random.Generator) -> np.ndarray:
        """Return which items of the usual stream are shown.

        Parameters
        ----------
        classes : StreamClasses
        rng : Generator

        Returns
        -------
        bool array of shape (n,)

        """
        keep = np.ones(len(classes.y), dtype=bool)
        for c, most in (self.limits(classes, rng) if self.limits else {}).items():
            rows = rng.permutation(np.flatnonzero(classes.y == c))
            keep[rows[most:]] = False
        return keep

    def order(self, classes: StreamClasses, rng: np.random.Generator) -> np.ndarray:
        """Return the order of the items in time: as they are, or in a drip with each new class from its own start on.

        Parameters
        ----------
        classes : StreamClasses
        rng : Generator

        Returns
        -------
        int array of shape (n,)

        """
        n = len(classes.y)
        if self.drips == 1:
            return np.arange(n)
        first = dict.fromkeys(classes.known.tolist(), 0.0)
        # The first new classes are there from the beginning, the last ones appear before the last discovery.
        starts = np.linspace(0, 1 - 1 / self.drips, max(1, len(classes.new)))
        first |= dict(zip(rng.permutation(classes.new).tolist(), starts.tolist(), strict=False))
        start = np.array([first[c] for c in classes.y.tolist()])
        return np.argsort(start + (1 - start) * rng.random(n), kind="stable")


def long_tail(factor: float, classes: StreamClasses, rng: np.random.Generator) -> dict[int, int]:
    """Let the sizes of known and of new classes fall by a factor from the first to the last, in a random order.

    Parameters
    ----------
    factor : float
    classes : StreamClasses
    rng : Generator

    Returns
    -------
    dict of int to int

    """
    limits: dict[int, int] = {}
    for part in (classes.known, classes.new):
        order = rng.permutation(part)
        shares = np.geomspace(1, 1 / factor, max(1, len(order)))[: len(order)]
        sizes = np.maximum(LEAST_ROWS, np.round(shares * classes.sizes(order)))
        limits |= dict(zip(order.tolist(), sizes.astype(int).tolist(), strict=True))
    return limits


def new_frequency(ratio: float, classes: StreamClasses, _: np.random.Generator) -> dict[int, int]:
    """Let a new class have a multiple of the items that a known class has in the stream.

    Parameters
    ----------
    ratio : float
    classes : StreamClasses

    Returns
    -------
    dict of int to int

    """
    usual = float(np.median(classes.sizes(classes.known)))
    return dict.fromkeys(classes.new.tolist(), max(LEAST_ROWS, round(ratio * usual)))


def new_size(size: int, classes: StreamClasses, _: np.random.Generator) -> dict[int, int]:
    """Let every new class have a number of items.

    Parameters
    ----------
    size : int
    classes : StreamClasses

    Returns
    -------
    dict of int to int

    """
    return dict.fromkeys(classes.new.tolist(), size)


def no_known(classes: StreamClasses, _: np.random.Generator) -> dict[int, int]:
    """Show no items of known classes.

    Parameters
    ----------
    classes : StreamClasses

    Returns
    -------
    dict of int to int

    """
    return dict.fromkeys(classes.known.tolist(), 0)


def bursts(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Let every item be followed by 0 to 30 near copies, each a small random step from the previous one.

    Parameters
    ----------
    X : array of shape (n, d)
        Unit vectors, in the order of time.
    y : int array of shape (n,)
        Their classes.
    rng : Generator

    Returns
    -------
    array of shape (m, d)
    int array of shape (m,)
        The item that each comes from.

    """
    original, place = _burst_places(y, rng)
    burst = X[original].copy()
    for i in range(1, MOST_COPIES + 1):
        rows = np.flatnonzero(place == i)
        burst[rows] = unit_rows(burst[rows - 1] + STEP * unit_rows(rng.normal(size=(len(rows), X.shape[1]))))
    return burst.astype(X.dtype), original


def without_copies(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Show the items of :func:`bursts` without their copies.

    Parameters
    ----------
    X : array of shape (n, d)
    y : int array of shape (n,)
        Their classes.
    rng : Generator

    Returns
    -------
    array of shape (m, d)
    int array of shape (m,)
        The item that each comes from.

    """
    chosen = _burst_items(y, rng)
    return X[chosen], chosen


def images_without_copies(y: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Show the images of :func:`image_bursts` without their copies.

    Parameters
    ----------
    y : int array of shape (n,)
        The classes of the images.
    rng : Generator

    Returns
    -------
    array of shape (m, 4)
        Zeros: none differs from its original.
    int array of shape (m,)
        The item that each comes from.

    """
    chosen = _burst_items(y, rng)
    return np.zeros((len(chosen), len(STEPS))), chosen


def image_bursts(y: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Let every image be followed by 0 to 30 near copies, each slightly cropped, shifted and relit.

    The same items are followed by as many copies as in :func:`bursts`.

    Parameters
    ----------
    y : int array of shape (n,)
        The classes of the images.
    rng : Generator

    Returns
    -------
    array of shape (m, 4)
        How each differs from its original; zeros for the original itself.
    int array of shape (m,)
        The item that each comes from.

    """
    original, place = _burst_places(y, rng)
    views = np.where(place[:, None] > 0, STEPS * rng.normal(size=(len(place), len(STEPS))), 0.0)
    for i in range(1, MOST_COPIES + 1):
        rows = np.flatnonzero(place == i)
        views[rows] += views[rows - 1]
    return views, original


def _burst_places(y: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the original of each item of a stream in bursts, and its place in its burst: 0 for the original itself."""
    chosen = _burst_items(y, rng)
    copies = rng.integers(0, MOST_COPIES + 1, len(chosen))
    original = np.repeat(chosen, copies + 1)
    return original, np.arange(len(original)) - np.repeat(np.cumsum(copies + 1) - copies - 1, copies + 1)


def other_camera(X: np.ndarray, _: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Displace all features in a random direction and stretch them by random factors, all the same way.

    It stands in for another camera or season, but is not measured from one.

    Parameters
    ----------
    X : array of shape (n, d)
    rng : Generator

    Returns
    -------
    array of shape (n, d)
    int array of shape (n,)
        The item that each comes from: itself.

    """
    displacement = SHIFT * unit_rows(rng.normal(size=(1, X.shape[1])))
    center, factors = X.mean(0), np.exp(STRETCH * rng.normal(size=X.shape[1]))
    return unit_rows(center + (X - center) * factors + displacement).astype(X.dtype), np.arange(len(X))


def _burst_items(y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the items that a stream in bursts begins with."""
    return _thinned(y, BURST_ITEMS // (1 + MOST_COPIES // 2), rng)


def _thinned(y: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    """Return at most about so many items in their order, the same share of each class and at least two of each."""
    share = min(1.0, most / max(1, len(y)))
    kept = []
    for c in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == c))
        kept.append(rows[: max(LEAST_ROWS, round(share * len(rows)))])
    return np.sort(np.concatenate(kept))


SCENARIOS = {
    USUAL: Scenario("the paper's stream"),
    "tail-10": Scenario("class sizes fall to a tenth, known and new", partial(long_tail, 10)),
    "tail-100": Scenario("class sizes fall to a hundredth, known and new", partial(long_tail, 100)),
    "bursts": Scenario("each item is followed by 0 to 30 near copies", change=bursts, view=image_bursts),
    "no-bursts": Scenario(
        "the items of bursts without their copies", change=without_copies, view=images_without_copies
    ),
    "new-double": Scenario("new classes are twice as frequent as known ones", partial(new_frequency, 2)),
    "new-half": Scenario("new classes are half as frequent as known ones", partial(new_frequency, 0.5)),
    "new-fifth": Scenario("new classes are a fifth as frequent as known ones", partial(new_frequency, 0.2)),
    "new-five": Scenario("every new class has five items", partial(new_size, 5)),
    "one-new": Scenario("each phase brings one new class", most_new=1),
    "no-new": Scenario("no phase brings a new class", most_new=0),
    "drip": Scenario(
        "new classes appear one after the other, discovery is repeated, and some groups are confirmed", drips=DRIPS
    ),
    "no-known": Scenario("no item is of a known class", no_known),
    "shifted": Scenario(
        "the features of the stream are displaced and stretched at random, all the same way", change=other_camera
    ),
}
"""Streams by name."""


def find_scenario(name: str, *, takes_images: bool, method: str = "this method") -> Scenario:
    """Return a scenario that a method can be run with.

    Parameters
    ----------
    name : str
    takes_images : bool
        Whether the method takes images.
    method : str
        What an error message calls it.

    Returns
    -------
    Scenario

    Raises
    ------
    ValueError
        If there is none of this name, or it changes features alone and the method takes images.

    """
    if name not in SCENARIOS:
        raise ValueError(f"Unknown scenario {name!r}; choose from {', '.join(SCENARIOS)}.")
    if takes_images and SCENARIOS[name].change is not None and SCENARIOS[name].view is None:
        raise ValueError(f"The scenario {name!r} changes features, and {method} takes images; leave one out.")
    return SCENARIOS[name]
