"""Recognisers read from their folders; the version in use is kept in memory and its threshold follows the stream."""

from __future__ import annotations

import json
import math
import threading
import time
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy import Connection

from opengcd.workspace import versions
from opengcd.workspace.embedders import embedder_of
from opengcd.workspace.errors import UnavailableError, WorkspaceError
from opengcd.workspace.networks import verify_network
from opengcd.workspace.predictions import count_scores, observed_scores
from opengcd.workspace.store import Store

if TYPE_CHECKING:
    from opengcd.recognizer import OpenWorldRecognizer

FOLLOW_SECONDS = 5.0
"""Seconds between updates of the threshold while images come one by one."""


class Recognizers:
    """The versions of the recogniser of one workspace, as objects."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._loaded: tuple[tuple[int, str | None], OpenWorldRecognizer] | None = None
        """Version and limit on rejection, and the recogniser that was read for them."""
        self._recalled_at = -math.inf
        """When the scores of the stream were last compared with those that the recogniser has seen."""
        self._scores_seen = 0

    def in_use(self) -> tuple[int, OpenWorldRecognizer]:
        """Return the number of the version in use, and the recogniser."""
        with self._store.database.reading() as connection:
            wanted = self.version(connection), versions.rejection_limit(connection)
        with self._lock:
            if self._loaded is None or self._loaded[0] != wanted:
                self._loaded = wanted, self.read(*wanted)
                self._recalled_at, self._scores_seen = -math.inf, 0
            return wanted[0], self._loaded[1]

    def read(self, version: int, limit: str | None) -> OpenWorldRecognizer:
        """Read a version from its folder and verify its files.

        Parameters
        ----------
        version : int
            The number of the version.
        limit : str or None
            The limit on rejection, as JSON; None keeps the one it was saved with.

        Returns
        -------
        OpenWorldRecognizer

        """
        from opengcd.recognizer import OpenWorldRecognizer  # torch and scikit-learn take seconds

        with self._store.database.reading() as connection:
            folder = versions.verify(connection, self._store.models, version)
        recognizer = OpenWorldRecognizer.load(folder, device=self._store.device)
        return recognizer if limit is None else recognizer.limit_rejection(json.loads(limit))

    def version(self, connection: Connection) -> int:
        """Return the number of the version in use.

        Parameters
        ----------
        connection : Connection
            Of a transaction.

        Returns
        -------
        int

        Raises
        ------
        WorkspaceError
            If there is no version yet.

        """
        version = versions.in_use(connection)
        if version is None:
            raise WorkspaceError(
                f"{self._store.path} has not learnt any class yet; run opengcd init again to finish it."
            )
        return version

    def refuse_other_version(self, connection: Connection, version: int, verb: str) -> None:
        """Refuse to store what was computed by a version that is no longer in use.

        Parameters
        ----------
        connection : Connection
            Of the transaction that would store it.
        version : int
            The number of the version that computed it.
        verb : str
            The command, for the message.

        Raises
        ------
        WorkspaceError
            If another version is in use.

        """
        current = self.version(connection)
        if current != version:
            raise WorkspaceError(
                f"Version {current} was put into use while {verb} ran with version {version}; nothing was changed. "
                f"Run {verb} again."
            )

    def note_threshold(self, connection: Connection) -> None:
        """Store the threshold of the version that a transaction puts to use.

        Parameters
        ----------
        connection : Connection
            Of that transaction.

        Raises
        ------
        WorkspaceError
            If the version, or the adapted network that it was made with, cannot be read.

        """
        version = self.version(connection)
        embedder = embedder_of(connection, version)
        if embedder is not None and embedder.digest is not None:
            verify_network(self._store.path, embedder)
        try:
            recognizer = self.read(version, versions.rejection_limit(connection))
        except UnavailableError:
            raise
        except ValueError as error:
            raise WorkspaceError(
                f"Version {version} of the recogniser cannot be read, so nothing was changed: {error} Restore "
                f"{versions.folder_of(self._store.models, version)} from a backup, or choose another version."
            ) from None
        versions.note_threshold(connection, version, recognizer.recall(observed_scores(connection)))

    def recall(self) -> ObservedScores:
        """Adapt the threshold to all stored scores of the stream, of other processes too; return these scores."""
        with self._store.database.reading() as connection:
            scores, seen = observed_scores(connection), count_scores(connection)
        recognizer = self.in_use()[1]
        self._recalled_at, self._scores_seen = time.monotonic(), seen
        recognizer.recall(scores)
        return ObservedScores(self, scores)

    def follow(self) -> tuple[int, OpenWorldRecognizer]:
        """Return the number of the version in use, and the recogniser with a threshold that is up to date."""
        version, recognizer = self.in_use()
        if recognizer.adapts and time.monotonic() - self._recalled_at > FOLLOW_SECONDS:
            with self._store.database.reading() as connection:
                seen = count_scores(connection)
            self._recalled_at = time.monotonic()
            if seen != self._scores_seen:
                self.recall()
        return version, recognizer


class ObservedScores:
    """The unknown scores of all items that the version in use has recognised, while a long command adds to them."""

    def __init__(self, recognizers: Recognizers, scores: np.ndarray) -> None:
        self._recognizers = recognizers
        self._scores = scores

    def add(self, scores: np.ndarray) -> None:
        """Let the threshold follow more of the stream."""
        self._scores = np.concatenate([self._scores, scores])
        self._recognizers.in_use()[1].recall(self._scores)
