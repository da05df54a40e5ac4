"""The feature vectors of items, and the embedder that computes them."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
from sqlalchemy import Connection, select

from opengcd._internal.unit_length import unit_rows
from opengcd.embed import Embedder, load_embedder
from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.features import FeatureStore
from opengcd.workspace.schema import embedders
from opengcd.workspace.store import Store


class Vectors:
    """Vectors of one workspace; ``embedder`` replaces the one that its settings name."""

    def __init__(self, store: Store, embedder: Embedder | None = None) -> None:
        self.folder = store.path / "features"
        self._store = store
        self._given = embedder
        self._lock = threading.Lock()
        self._embedder: Embedder | None = None

    @property
    def embedder(self) -> Embedder:
        """The embedder, loaded when it is first needed; it must be the one that the vectors here are from."""
        with self._lock:
            if self._embedder is None:
                self._embedder = self._load_embedder()
            return self._embedder

    def find_shards(self, connection: Connection) -> FeatureStore | None:
        """Return the stored vectors of the embedder.

        Parameters
        ----------
        connection : Connection
            Of a transaction.

        Returns
        -------
        FeatureStore or None
            None before the first image.

        """
        fingerprint = _fingerprint(connection)
        return None if fingerprint is None else FeatureStore.find(connection, self.folder, fingerprint)

    def shards(self, connection: Connection) -> FeatureStore:
        """Return the stored vectors of the embedder.

        Parameters
        ----------
        connection : Connection
            Of a transaction.

        Returns
        -------
        FeatureStore

        Raises
        ------
        WorkspaceError
            If no image has been embedded yet.

        """
        found = self.find_shards(connection)
        if found is None:
            raise WorkspaceError("No image has been embedded yet.")
        return found

    def read(self, connection: Connection, items: Sequence[int]) -> np.ndarray:
        """Return the features of items within a transaction.

        Parameters
        ----------
        connection : Connection
            Of the transaction.
        items : sequence of int
            Numbers of items.

        Returns
        -------
        array of shape (n, d)
            Scaled as the recogniser takes them (:meth:`scaled`).

        """
        return self.scaled(self.shards(connection).of_items(connection, items))

    def of_items(self, items: Sequence[int]) -> np.ndarray:
        """Return the features of items.

        Parameters
        ----------
        items : sequence of int
            Numbers of items.

        Returns
        -------
        array of shape (n, d)
            Scaled as the recogniser takes them (:meth:`scaled`).

        """
        with self._store.database.reading() as connection:
            return self.read(connection, items)

    def scaled(self, X: np.ndarray) -> np.ndarray:
        """Return vectors of the embedder as the recogniser takes them.

        Parameters
        ----------
        X : array of shape (n, d)
            From the embedder.

        Returns
        -------
        array of shape (n, d)
            Of unit length, if the settings say so.

        """
        if not self._store.settings.unit_length:
            return X
        return unit_rows(X)

    def _load_embedder(self) -> Embedder:
        settings = self._store.settings
        embedder = self._given or load_embedder(
            settings.embedder, device=self._store.device, pooling=settings.pooling, precision=settings.precision
        )
        with self._store.database.reading() as connection:
            known = _fingerprint(connection)
        if known is not None and embedder.fingerprint != known:
            raise WorkspaceError(
                f"The embedder {embedder.name} is not the one that this workspace was made with: its weights or "
                "settings differ, and vectors of two embedders cannot be compared. Restore it, or make a new workspace."
            )
        return embedder


def _fingerprint(connection: Connection) -> str | None:
    return connection.scalar(select(embedders.c.fingerprint).order_by(embedders.c.id))
