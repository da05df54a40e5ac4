"""The paper's discovery: the number of classes by search, then semi-supervised k-means++ (Sec. 3.5)."""

from __future__ import annotations

import numpy as np

from opengcd._internal.progress import Progress, silent
from opengcd._internal.randomness import Seed
from opengcd.discover.class_number import ClassNumberEstimate, estimate_class_number
from opengcd.discover.discovery import Discovery, arrange
from opengcd.discover.kmeans import ss_kmeans


def discover_by_kmeans(
    L: np.ndarray,
    codes: np.ndarray,
    U: np.ndarray,
    classes: np.ndarray,
    *,
    k: int | None = None,
    max_classes: int = 500,
    objective: str = "acc+sc",
    search: str = "paper",
    n_init: int = 10,
    max_iter: int = 200,
    seeds: tuple[Seed, Seed] = (None, None),
    device: str = "auto",
    progress: Progress = silent,
) -> Discovery:
    """Group rejected rows ``U`` beside labelled rows ``L``, whose ``codes`` are places in ``classes``.

    Without ``k`` the number of classes is estimated. ``seeds`` are those of the estimate and of the grouping.
    """
    if k is not None:
        estimate = ClassNumberEstimate(k, [], True, "", k)
    else:
        estimate = estimate_class_number(
            L,
            codes,
            U,
            max_classes=max_classes,
            objective=objective,
            search=search,
            random_state=seeds[0],
            n_init=n_init,
            max_iter=max_iter,
            device=device,
            progress=progress,
        )
    progress("grouping", 0, 1)
    found = ss_kmeans(L, codes, U, estimate.k, n_init=n_init, max_iter=max_iter, random_state=seeds[1], device=device)
    progress("grouping", 1, 1)
    return arrange(U, classes, found, estimate)
