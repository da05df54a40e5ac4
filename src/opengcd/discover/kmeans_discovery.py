"""The paper's discovery: the number of classes by search, then semi-supervised k-means++ (Sec. 3.5)."""

from __future__ import annotations

import numpy as np

from opengcd._internal.run import GROUPS, NUMBER, Run
from opengcd.classify import Labelled, Stream
from opengcd.discover.class_number import ClassNumberEstimate, check_search, estimate_class_number
from opengcd.discover.discovery import Discovery, arrange
from opengcd.discover.kmeans import ss_kmeans
from opengcd.discover.strategy import ClassCount, DiscoveryStrategy
from opengcd.osr import Rejection


class KMeansDiscovery(DiscoveryStrategy):
    """Group rejected rows by semi-supervised k-means++, on unchanged features.

    Parameters
    ----------
    search, objective : str
        How the number of classes is estimated, see :func:`estimate_class_number`.
    n_init, max_iter : int
        Restarts and steps of :func:`ss_kmeans`.

    """

    name = "kmeans"

    def __init__(self, search: str = "paper", objective: str = "acc+sc", n_init: int = 10, max_iter: int = 200) -> None:
        self.search = search
        self.objective = objective
        self.n_init = n_init
        self.max_iter = max_iter

    def check(self, rejection: Rejection) -> None:
        """Raise an error if the search or the objective is unknown."""
        check_search(self.search, self.objective)

    def discover(
        self, labelled: Labelled, stream: Stream, rejection: Rejection, count: ClassCount, run: Run
    ) -> Discovery:
        """Group rejected rows; a row nearest to the centre of a known class gets its label."""
        if not stream.rejected.all():
            raise ValueError("This preset groups rejected rows alone, by k-means; pass X[rejected].")
        return self.group(labelled, stream.X, count, run.at(NUMBER), run.at(GROUPS))

    def group(self, labelled: Labelled, X: np.ndarray, count: ClassCount, estimating: Run, grouping: Run) -> Discovery:
        """Group rows, with separate seeds for estimating the number of classes and for grouping.

        Parameters
        ----------
        labelled : Labelled
            The exemplars of the known classes.
        X : array of shape (n, d)
            The rows to group.
        count : ClassCount
            The number of classes, if it is given, and its upper limit.
        estimating, grouping : Run
            Seed, device and progress callback of either step.

        Returns
        -------
        Discovery

        """
        if count.k is not None:
            estimate = ClassNumberEstimate(count.k, [], True, "", count.k)
        else:
            estimate = estimate_class_number(
                labelled.X,
                labelled.codes,
                X,
                max_classes=count.most,
                objective=self.objective,
                search=self.search,
                random_state=estimating.seed,
                n_init=self.n_init,
                max_iter=self.max_iter,
                device=estimating.device,
                progress=estimating.progress,
            )
        grouping.progress("grouping", 0, 1)
        found = ss_kmeans(
            labelled.X,
            labelled.codes,
            X,
            estimate.k,
            n_init=self.n_init,
            max_iter=self.max_iter,
            random_state=grouping.seed,
            device=grouping.device,
        )
        grouping.progress("grouping", 1, 1)
        return arrange(X, labelled.classes, found, estimate)
