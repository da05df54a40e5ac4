"""The feature vectors of items, and the embedder that computes them.

Both follow the version of the recogniser in use: a version that was made with an adapted network takes the vectors of
that network, and no others.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sqlalchemy import Connection

from opengcd._internal.unit_length import unit_rows
from opengcd.embed import Embedder, load_embedder
from opengcd.workspace.embedders import StoredEmbedder, embedder_of
from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.features import FeatureStore
from opengcd.workspace.networks import verify_network
from opengcd.workspace.store import Store


class Vectors:
    """Vectors of one workspace; ``embedder`` replaces the one that its settings name. Threads may share it."""

    def __init__(self, store: Store, embedder: Embedder | None = None) -> None:
        self.folder = store.path / "features"
        self._store = store
        self._given = embedder
        self._lock = threading.Lock()
        self._loaded: Embedder | None = None
        """The embedder that was asked for last; another one replaces it, so that one network is in memory."""

    @property
    def embedder(self) -> Embedder:
        """The embedder of the version in use, loaded when it is first needed and verified."""
        return self.embedder_of()

    def embedder_of(self, version: int | None = None) -> Embedder:
        """Return the embedder of a version; the one that was asked for last is kept in memory.

        Parameters
        ----------
        version : int or None
            The number of the version; None for the one in use.

        Returns
        -------
        Embedder

        """
        with self._store.database.reading() as connection:
            stored = embedder_of(connection, version)
        with self._lock:
            if self._loaded is None or (stored is not None and self._loaded.fingerprint != stored.fingerprint):
                self._loaded = None  # before the other one is loaded
                self._loaded = self.load(stored)
            return self._loaded

    def load(self, stored: StoredEmbedder | None) -> Embedder:
        """Load an embedder of this workspace.

        Parameters
        ----------
        stored : StoredEmbedder or None
            The embedder; None means the one in the settings, before the first image.

        Returns
        -------
        Embedder
            With the fingerprint that its vectors were stored under.

        Raises
        ------
        DamagedError
            If the files of an adapted network are not those that were written.
        WorkspaceError
            If its weights or its settings have changed.

        """
        adapted = stored is not None and stored.digest is not None
        given = None if adapted else self._given
        embedder = self._load_network(self.network(stored)) if given is None else given
        if stored is not None and embedder.fingerprint != stored.fingerprint:
            raise WorkspaceError(
                f"The embedder {embedder.name} is not the one that this workspace was made with: its weights or "
                "settings differ, and vectors of two embedders cannot be compared. Restore it, or make a new workspace."
            )
        return embedder

    def fingerprint_of(self, folder: Path) -> str:
        """Return the fingerprint that a network in a folder has as an embedder of this workspace.

        Parameters
        ----------
        folder : path

        Returns
        -------
        str

        """
        return self._load_network(str(folder)).fingerprint

    def network(self, stored: StoredEmbedder | None) -> str:
        """Return the name under which an embedder is loaded: the one in the settings, or the folder of a network.

        Parameters
        ----------
        stored : StoredEmbedder or None
            As for :meth:`load`.

        Returns
        -------
        str

        """
        if stored is None or stored.digest is None:
            return self._store.settings.embedder
        return str(verify_network(self._store.path, stored)[0])

    def keep(self, embedder: Embedder | None) -> None:
        """Keep an embedder that was just loaded, instead of the one in memory; None frees the memory.

        Parameters
        ----------
        embedder : Embedder or None

        """
        with self._lock:
            self._loaded = embedder

    def find_shards(self, connection: Connection, version: int | None = None) -> FeatureStore | None:
        """Return the stored vectors of the embedder of a version.

        Parameters
        ----------
        connection : Connection
            Of a transaction.
        version : int or None
            The number of the version; None for the one in use.

        Returns
        -------
        FeatureStore or None
            None before the first image.

        """
        stored = embedder_of(connection, version)
        return None if stored is None else self.shards_of(stored)

    def shards_of(self, stored: StoredEmbedder) -> FeatureStore:
        """Return the stored vectors of an embedder.

        Parameters
        ----------
        stored : StoredEmbedder

        Returns
        -------
        FeatureStore

        """
        return FeatureStore(self.folder, stored.id, stored.fingerprint, stored.width)

    def shards(self, connection: Connection, version: int | None = None) -> FeatureStore:
        """Return the stored vectors of the embedder of a version.

        Parameters
        ----------
        connection : Connection
            Of a transaction.
        version : int or None
            The number of the version; None for the one in use.

        Returns
        -------
        FeatureStore

        Raises
        ------
        WorkspaceError
            If no image has been embedded yet.

        """
        found = self.find_shards(connection, version)
        if found is None:
            raise WorkspaceError("No image has been embedded yet; run opengcd init first.")
        return found

    def read(self, connection: Connection, items: Sequence[int], version: int | None = None) -> np.ndarray:
        """Return the features of items within a transaction.

        Parameters
        ----------
        connection : Connection
            Of the transaction.
        items : sequence of int
            Numbers of items.
        version : int or None
            The number of the version that takes them; None for the one in use. Features for a recogniser must be
            those of its own version, even if another one is put into use meanwhile.

        Returns
        -------
        array of shape (n, d)
            Scaled as the recogniser takes them (:meth:`scaled`).

        """
        return self.scaled(self.shards(connection, version).of_items(connection, items))

    def of_items(self, items: Sequence[int], version: int | None = None) -> np.ndarray:
        """Return the features of items.

        Parameters
        ----------
        items : sequence of int
            Numbers of items.
        version : int or None
            As for :meth:`read`.

        Returns
        -------
        array of shape (n, d)
            Scaled as the recogniser takes them (:meth:`scaled`).

        """
        with self._store.database.reading() as connection:
            return self.read(connection, items, version)

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

    def _load_network(self, name: str) -> Embedder:
        settings = self._store.settings
        return load_embedder(name, device=self._store.device, pooling=settings.pooling, precision=settings.precision)
