"""The items of one group clustered again, for a person who wants to split it."""

from __future__ import annotations

from typing import NamedTuple

from opengcd._internal.progress import silent
from opengcd.workspace import groups, log
from opengcd.workspace.conflicts import Concerns, refuse_conflict
from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.groups import Part
from opengcd.workspace.recognizers import Recognizers
from opengcd.workspace.store import Store
from opengcd.workspace.vector_intake import AnyIntake
from opengcd.workspace.vectors import Vectors


class Subclusters(NamedTuple):
    """Clusters groups of one workspace."""

    store: Store
    vectors: Vectors
    recognizers: Recognizers
    intake: AnyIntake

    def of_group(self, group: int, n: int, on: int | None) -> tuple[int, list[Part]]:
        """Cluster the items of a group in ``n`` parts; return also the last edit that this is based on.

        ``on`` is the last edit that the person has seen. Items that cannot be embedded stay with the largest part.
        """
        from opengcd.discover import split_rows

        with self.store.database.reading() as connection:
            members = groups.members(connection, group)
        version, recognizer = self.recognizers.in_use()
        self.intake.complete(silent, members, version)
        with self.store.database.reading() as connection:
            refuse_conflict(connection, on, Concerns(groups=[group]))
            seen, members = log.last_edit(connection), groups.members(connection, group)
            store = self.vectors.shards(connection, version)
            there = store.having(connection, members)
            items = [item for item in members if item in there]
            if not 2 <= n <= len(items):
                raise WorkspaceError(f"Group {group} has {len(items)} images and cannot be split in {n}.")
            X = self.vectors.scaled(store.of_items(connection, items))
        seed = self.store.settings.recognizer.get("random_state")
        found = split_rows(recognizer.in_metric(X), n, random_state=seed, device=self.store.device)
        parts = [[items[row] for row in part.rows.tolist()] for part in found]
        parts[0].extend(item for item in members if item not in there)
        return seen, [Part(part, of.spread) for part, of in zip(parts, found, strict=True)]
