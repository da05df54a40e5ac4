"""A stream, and a simulated one with hidden known classes, on which a rehearsal runs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from opengcd._internal.splits import simulate_stream
from opengcd.classify import Labelled
from opengcd.osr import ScoredRejection, Share


class RowsInMetric(NamedTuple):
    """Labelled rows and a stream, both in the metric of the rejection."""

    L: np.ndarray
    """(m, d) Labelled rows."""
    U: np.ndarray
    """(n, d) Rows of the stream."""
    scores: np.ndarray
    """(n,) Their scores for "unknown"."""
    rejected: np.ndarray
    """(n,) Which of them were rejected."""
    known_share: Share
    """Estimated share of rows of known classes in the stream."""


class SimulatedStream(NamedTuple):
    """Labelled rows of the classes that stay known, and a stream, as the rejection sees them without hidden classes."""

    known: np.ndarray
    """Numbers of the classes that stay known."""
    fitting: np.ndarray
    """Which labelled rows keep their label."""
    stream: np.ndarray
    """Which labelled rows make the stream."""
    codes: np.ndarray
    """Class numbers of the rows that keep their label, in the order of ``known``."""
    L: np.ndarray
    """These rows in the metric."""
    U: np.ndarray
    """The stream in the metric."""
    scores: np.ndarray
    """The scores for "unknown" of the stream."""


def hide_and_score(
    labelled: Labelled,
    rejection: ScoredRejection,
    hidden: int,
    size: int | np.ndarray,
    known_share: float,
    rng: np.random.Generator,
) -> SimulatedStream:
    """Hide some known classes, simulate a stream, and score it as if they had never been known.

    Parameters
    ----------
    labelled : Labelled
        Labelled rows with their classifier.
    rejection : ScoredRejection
        As it was fitted on the labelled rows.
    hidden : int
        Number of hidden classes.
    size : int or array
        Rows of each of them in the stream.
    known_share : float
        Share of rows of the other classes in the stream.
    rng : Generator

    Returns
    -------
    SimulatedStream

    """
    known, fitting, stream = simulate_stream(labelled.codes, hidden, size, known_share, rng)
    codes = np.searchsorted(known, labelled.codes[fitting])
    seen = rejection.among(known, labelled.X[fitting], codes, labelled.X[stream], labelled.probabilities[stream])
    return SimulatedStream(known, fitting, stream, codes, *seen)
