"""Estimates from the sizes of known classes."""

from __future__ import annotations

import numpy as np

from opengcd.classify import Labelled
from opengcd.osr import Share

SHORT_STREAM = 8.0
"""If known classes have less than an eighth of all their rows in the stream, it is a short excerpt: sizes of classes
are then compared within the stream, not with the labelled rows."""


def expected_number(labelled: Labelled, n: int, known: Share) -> float:
    r"""Return the number of new classes in a stream if they are as large as known ones.

    .. math:: q_0 = \frac{(1 - \pi)\, n}{\bar m + \pi n / C}

    counting labelled rows (:math:`\bar m` on average) and those in the stream together; in the stream alone if it is
    only a short excerpt (:data:`SHORT_STREAM`).

    Parameters
    ----------
    labelled : Labelled
        Labelled rows.
    n : int
        Rows of the stream.
    known : Share
        Of rows of known classes in the stream.

    Returns
    -------
    float

    """
    rows_of_known = known.value * n / len(labelled.classes)
    rows_of_class = labelled.seen.mean() + rows_of_known
    if rows_of_class > SHORT_STREAM * rows_of_known and known.value > 2 * known.deviation:
        rows_of_class = rows_of_known  # else new classes would be far more frequent than known ones
    return float((1 - known.value) * n / rows_of_class)


def matched_sample(n: int, sample: int, size: float, labelled: int) -> tuple[int, int]:
    """Return how many rows to use of the stream and of each hidden class, so that new and hidden classes match in size.

    Agreement increases with the number of rows. If classes have fewer labelled rows than new classes have rows in the
    stream, the stream is subsampled.
    """
    of_class = size * sample / n
    if of_class > labelled:
        sample = int(np.clip(sample * labelled / of_class, min(n, 200), sample))
    return sample, int(np.clip(round(size * sample / n), 4, labelled))
