"""The folder of a workspace: its parts, who may write, and how its parts are opened when they are needed."""

from __future__ import annotations

import copy
import json
import math
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from filelock import FileLock, Timeout
from sqlalchemy import Connection, select

from opengcd._internal.progress import Progress
from opengcd._internal.unit_length import unit_rows
from opengcd.embed import Embedder, load_embedder
from opengcd.workspace import log
from opengcd.workspace import versions as models
from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.features import FeatureStore
from opengcd.workspace.job_queue import Jobs
from opengcd.workspace.log import Edit
from opengcd.workspace.opening import open_database
from opengcd.workspace.schema import embedders
from opengcd.workspace.settings import Settings, read_settings
from opengcd.workspace.tallies import Tallies
from opengcd.workspace.tokens import Access
from opengcd.workspace.unit_vectors import UnitVectors

if TYPE_CHECKING:
    from opengcd.recognizer import OpenWorldRecognizer


class _Open:
    """What is loaded when it is first needed, once for all who share a workspace."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.embedder: Embedder | None = None
        self.recognizer: tuple[tuple[int, str | None], OpenWorldRecognizer] | None = None
        self.recalled = -math.inf
        """When the recogniser was last shown the scores of the stream, or there were none to show."""
        self.seen = 0
        """How many scores it was shown."""
        self.exemplars: tuple[int, list[int]] | None = None
        """A version, and the item of each row of its memory."""
        self.in_metric: tuple[int, dict[int, int], np.ndarray] | None = None
        """A version, and items with their rows of features in its metric."""
        self.tallies = Tallies()
        self.unit_vectors = UnitVectors()


class Project:
    """What all verbs of a workspace stand on. Threads may share one, each with its own :meth:`by`."""

    path: Path
    settings: Settings
    who: str
    device: str
    access: Access
    """Who may use the service."""
    jobs: Jobs
    """Long work that the service was asked for."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        who: str | None = None,
        device: str = "auto",
        embedder: Embedder | None = None,
    ) -> None:
        self.path = Path(path)
        self.settings = read_settings(self.path)
        self.who = who or log.user()
        self.device = device
        self._given_embedder = embedder
        self._database = open_database(self.path, self.settings)
        self.access = Access(self._database)
        self.jobs = Jobs(self._database)
        self._open = _Open()

    def by(self, who: str) -> Self:
        """Return the same workspace for another person; both share what is open."""
        other = copy.copy(self)
        other.who = who
        return other

    @property
    def read_only(self) -> bool:
        """Whether it can only be looked at, because its folder is read-only."""
        return self._database.read_only

    def close(self) -> None:
        """Close the database; a workspace is also a context manager that does so."""
        self.access.close()
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _embedder(self) -> Embedder:
        """The embedder, which must be the one that the vectors here are from."""
        with self._open.lock:
            if self._open.embedder is None:
                self._open.embedder = self._load_embedder()
            return self._open.embedder

    def _load_embedder(self) -> Embedder:
        embedder = self._given_embedder or load_embedder(
            self.settings.embedder,
            device=self.device,
            pooling=self.settings.pooling,
            precision=self.settings.precision,
        )
        known = self._fingerprint()
        if known is not None and embedder.fingerprint != known:
            raise WorkspaceError(
                f"The embedder {embedder.name} is not the one that this workspace was made with: its weights or "
                "settings differ, and vectors of two embedders cannot be compared. Restore it, or make a new workspace."
            )
        return embedder

    def _fingerprint(self) -> str | None:
        with self._database.reading() as connection:
            return connection.scalar(select(embedders.c.fingerprint).order_by(embedders.c.id))

    def _features(self, connection: Connection) -> FeatureStore:
        """The vectors of the embedder."""
        fingerprint = connection.scalar(select(embedders.c.fingerprint).order_by(embedders.c.id))
        store = fingerprint and FeatureStore.find(connection, self.path / "features", fingerprint)
        if not store:
            raise WorkspaceError("No image has been embedded yet.")
        return store

    def _vectors(self, connection: Connection, ids: Sequence[int]) -> np.ndarray:
        """The features of items as the recogniser takes them."""
        return self.scaled(self._features(connection).of_items(connection, ids))

    def scaled(self, X: np.ndarray) -> np.ndarray:
        """Return vectors of the embedder as the recogniser takes them."""
        if not self.settings.unit_length:
            return X
        return unit_rows(X)

    def _load_recognizer(self) -> tuple[int, OpenWorldRecognizer]:
        """Return the version in use and its number."""
        with self._database.reading() as connection:
            wanted = self._version(connection), models.limit(connection)
        with self._open.lock:
            if self._open.recognizer is None or self._open.recognizer[0] != wanted:
                self._open.recognizer = wanted, self._read_recognizer(*wanted)
                self._open.recalled, self._open.seen = -math.inf, 0
            return wanted[0], self._open.recognizer[1]

    def _read_recognizer(self, version: int, limit: str | None) -> OpenWorldRecognizer:
        from opengcd.recognizer import OpenWorldRecognizer  # torch and scikit-learn take seconds

        with self._database.reading() as connection:
            home = models.verify(connection, self.path / "models", version)
        recognizer = OpenWorldRecognizer.load(home, device=self.device)
        return recognizer if limit is None else recognizer.limit_rejection(json.loads(limit))

    def _version(self, connection: Connection) -> int:
        version = models.in_use(connection)
        if version is None:
            raise WorkspaceError(f"{self.path} knows no class yet; finish opengcd init first.")
        return version

    @contextmanager
    def _alone(self, progress: Progress) -> Iterator[None]:
        """Let one long command run at a time; short edits and readers need not wait."""
        lock, patience = FileLock(self.path / ".lock"), 0.0
        while not lock.is_locked:
            try:
                lock.acquire(timeout=patience)
            except Timeout:
                progress("waiting for another command", 0, 0)  # who has lost patience may raise here
                patience = 1.0
        try:
            yield
        finally:
            lock.release()

    @contextmanager
    def _editing(self, verb: str) -> Iterator[Edit]:
        """Make one edit in one transaction."""
        with self._database.writing() as connection, log.editing(connection, self.who, verb) as edit:
            yield edit

    def _note(self, verb: str, details: dict[str, Any]) -> None:
        """Enter something into the history that there is no undo for."""
        with self._database.writing() as connection, log.editing(connection, self.who, verb) as edit:
            edit.details = details
