"""Items on a plane: at once by principal components, later by t-SNE."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from opengcd._internal.durable_files import make_folder, replace_file

MOST_DRAWN = 20_000
"""Largest number of items on a map: more would take many minutes, and their points would overlap."""
DIRECTIONS = 50
STEPS = 500


def plane(Z: np.ndarray) -> np.ndarray:
    """Return (n, 2) between 0 and 1: the first two principal components."""
    return _fit_square(_principal(Z, 2))


def drawing(Z: np.ndarray) -> np.ndarray:
    """Return (n, 2) between 0 and 1 by t-SNE (van der Maaten & Hinton 2008), from the first principal components."""
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    if len(Z) < 10:
        return plane(Z)
    perplexity = min(30.0, (len(Z) - 1) / 3)
    with threadpool_limits(1):  # one core is left for other requests
        model = TSNE(2, init="pca", perplexity=perplexity, max_iter=STEPS, random_state=0)
        return _fit_square(model.fit_transform(_principal(Z, DIRECTIONS)))


def write_drawing(file: Path, items: np.ndarray, places: np.ndarray) -> None:
    """Store a drawing: a row for each item, its number and its place."""
    make_folder(file.parent)
    replace_file(file, np.column_stack([items, places]).astype("<f8").tobytes())


def read_drawing(file: Path) -> dict[int, tuple[float, float]]:
    """Return the place of each item; nothing if there is no drawing, or a damaged one, which is then drawn again."""
    raw = file.read_bytes() if file.exists() else b""
    rows = np.frombuffer(raw[: len(raw) // 24 * 24], "<f8").reshape(-1, 3)
    if len(raw) % 24 or not ((rows[:, 1:] >= 0) & (rows[:, 1:] <= 1)).all() or not np.isfinite(rows).all():
        return {}
    return {int(item): (x, y) for item, x, y in rows.tolist()}


def _principal(Z: np.ndarray, n: int) -> np.ndarray:
    from sklearn.decomposition import PCA

    n = min(n, *Z.shape)
    return PCA(n, random_state=0).fit_transform(Z) if n else Z


def _fit_square(P: np.ndarray) -> np.ndarray:
    P = np.pad(P, ((0, 0), (0, max(0, 2 - P.shape[1]))))[:, :2]
    if not len(P):
        return np.empty((0, 2))
    low, high = P.min(0), P.max(0)
    return np.asarray(np.where(high > low, (P - low) / np.where(high > low, high - low, 1), 0.5))
