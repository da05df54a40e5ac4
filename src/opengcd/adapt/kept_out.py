"""Which labelled images the network is not trained on."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np


def kept_out(keys: Sequence[str | int], codes: np.ndarray, share: float) -> np.ndarray:
    """Choose the labelled images to keep out of training, by a hash of each image's key.

    Training moves the features of an image closer to its class than those of other images. So the threshold for
    "unknown" is calibrated on some labelled images that are not used for training. An image
    that is kept out once stays so in later adaptations, whatever other images there are.

    Parameters
    ----------
    keys : sequence of str or int
        A stable name of each image, such as the hash of its content.
    codes : int array of shape (n,)
        Class numbers; -1 without a label.
    share : float
        Share of the labelled images to keep out. Classes with two or more images keep out at least one, and no class
        all of its images.

    Returns
    -------
    bool array of shape (n,)

    Examples
    --------
    >>> kept_out(["a", "b", "c", "d", "e", "f"], np.array([0, 0, 0, 1, 1, -1]), 0.3).sum()
    np.int64(3)

    """
    place = np.array([_place(key) for key in keys])
    out = (place < share) & (codes >= 0)
    if share <= 0:
        return out
    for code in np.unique(codes[codes >= 0]):
        rows = np.flatnonzero(codes == code)
        if len(rows) >= 2:
            order = rows[np.argsort(place[rows], kind="stable")]
            out[order[0]], out[order[-1]] = True, False
        else:
            out[rows] = False
    return out


def _place(key: str | int) -> float:
    """Return a number from 0 to 1 that looks random and depends on the key alone."""
    return int.from_bytes(hashlib.sha256(str(key).encode()).digest()[:8]) / 2**64
