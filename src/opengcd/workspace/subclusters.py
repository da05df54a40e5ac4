"""The items of one group clustered again, for a person who wants to split it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from opengcd.workspace import groups, log
from opengcd.workspace.conflicts import Concerns, refuse_conflict
from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.groups import Part
from opengcd.workspace.recognizers import Recognizers
from opengcd.workspace.store import Store
from opengcd.workspace.vectors import Vectors


class Subclusters(NamedTuple):
    """Clusters groups of one workspace."""

    store: Store
    vectors: Vectors
    recognizers: Recognizers

    def of_group(self, group: int, n: int, on: int | None) -> tuple[int, list[Part]]:
        """Cluster the items of a group in ``n`` parts; return also the last edit that this is based on.

        ``on`` is the last edit that the person has seen.
        """
        with self.store.database.reading() as connection:
            refuse_conflict(connection, on, Concerns(groups=[group]))
            seen, items = log.last_edit(connection), groups.members(connection, group)
            if not 2 <= n <= len(items):
                raise WorkspaceError(f"Group {group} has {len(items)} images and cannot be split in {n}.")
            X = self.vectors.read(connection, items)
        return seen, [Part([items[row] for row in rows], spread) for rows, spread in self._cluster(X, n)]

    def _cluster(self, X: np.ndarray, n: int) -> list[tuple[list[int], float]]:
        """Return the rows of each cluster, the most typical first, with its spread; the largest cluster first."""
        from opengcd.discover import SemiSupervisedKMeans

        Z = self.recognizers.in_use()[1].in_metric(X)
        seed = self.store.settings.recognizer.get("random_state")
        found = SemiSupervisedKMeans(n, random_state=seed, device=self.store.device).fit([], [], Z)
        distances = np.linalg.norm(Z - found.cluster_centers_[found.labels_], axis=1)
        parts = [np.flatnonzero(found.labels_ == cluster) for cluster in range(n)]
        parts = sorted((rows for rows in parts if len(rows)), key=len, reverse=True)
        return [
            (rows[np.argsort(distances[rows], kind="stable")].tolist(), float(np.sqrt(np.mean(distances[rows] ** 2))))
            for rows in parts
        ]
