"""The share of known rows in a stream, from how a grouping divides it; an extension of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from opengcd.classify import Labelled
from opengcd.discover.simulation import SimulatedStream
from opengcd.osr import Share
from opengcd.osr.threshold import MOST_KNOWN

LEAST_RATED = 30
"""If fewer rows than this were not used to train the network, all rows are used."""
LEAST_CONTRAST = 0.1
"""If the shares of known and of new rows that are assigned to known classes differ by less, they are not used."""
MODEL_DEVIATION = 0.07
"""Standard deviation of the result beyond that among rehearsals; measured on other seeds than those reported."""


class Rates(NamedTuple):
    """Shares of rows that a grouping assigns to known classes."""

    known: float
    """Of the rows of known classes."""
    new: float
    """Of the rows of new classes."""


def rate(labelled: Labelled, world: SimulatedStream, assigned: np.ndarray) -> Rates | None:
    """Return the rates of a grouping of a simulated stream.

    Rows that the network was trained on, and rows that discovery found, are closer to their class than rows of a
    stream; they are left out if there are enough others.

    Parameters
    ----------
    labelled : Labelled
        The rows that the stream was simulated from.
    world : SimulatedStream
    assigned : bool array of shape (n,)
        Which rows of the simulated stream were assigned to a known class.

    Returns
    -------
    Rates or None
        None if the stream has only known or only new rows.

    """
    of_known = np.isin(labelled.codes[world.stream], world.known)
    trained, found = (
        np.zeros(len(assigned), dtype=bool) if mask is None else mask[world.stream]
        for mask in (labelled.trained, labelled.found)
    )
    found = found & trained.any()
    parts = [(of_known, of_known & ~trained & ~found), (~of_known, ~of_known & ~trained)]
    judged = [some if some.sum() >= LEAST_RATED else every for every, some in parts]
    if not all(part.any() for part in judged):
        return None
    return Rates(*(float(assigned[part].mean()) for part in judged))


def share_by_rates(assigned: float, rates: Sequence[Rates], n: int) -> Share | None:
    r"""Return the share :math:`\pi` of known rows in a stream of which a share was assigned to known classes.

    A grouping assigns the shares :math:`a_k` and :math:`a_u` of known and of new rows to known classes, as measured in
    rehearsals with hidden known classes, and the share a of the stream. Then

    .. math:: a = \pi\, a_k + (1 - \pi)\, a_u \quad\Rightarrow\quad \pi = \frac{a - a_u}{a_k - a_u}

    as with scores (:func:`~opengcd.osr.known_share`), but groups distinguish known rows from new ones in another way
    than scores: by what the new classes look like.

    Parameters
    ----------
    assigned : float
        The share a.
    rates : sequence of Rates
        Measured in rehearsals.
    n : int
        Rows of the stream.

    Returns
    -------
    Share or None
        None if known and new rows are assigned alike.

    """
    if len(rates) < 2:
        return None
    known, new = np.mean(rates, axis=0)
    if known - new < LEAST_CONTRAST:
        return None
    value = float(np.clip((assigned - new) / (known - new), 0, MOST_KNOWN))
    of_known, of_new = np.var(rates, axis=0, ddof=1) / len(rates)
    variance = value**2 * of_known + (1 - value) ** 2 * of_new + assigned * (1 - assigned) / n
    return Share(value, float(np.hypot(np.sqrt(variance) / (known - new), MODEL_DEVIATION)))


def mean_by_precision(values: Sequence[float], deviations: Sequence[float]) -> tuple[float, float]:
    """Return the mean of estimates of one quantity, weighted by inverse variance, and its standard deviation.

    Parameters
    ----------
    values, deviations : sequence of float

    Returns
    -------
    (float, float)

    """
    weights = np.array(deviations) ** -2.0
    return float(np.average(values, weights=weights)), float(weights.sum() ** -0.5)
