"""The folder and the database of a workspace, which all its parts share."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from filelock import FileLock, Timeout

from opengcd._internal.progress import Progress
from opengcd.workspace import log
from opengcd.workspace.log import Edit
from opengcd.workspace.opening import open_database
from opengcd.workspace.settings import read_settings


class Store:
    """Settings, database and edit log of a workspace, for one person.

    Threads may share a store, each person with their own :meth:`by`.

    Parameters
    ----------
    path : path
        The folder of the workspace.
    who : str or None
        The name that the history shows; by default the user's.
    device : str
        ``"auto"``, ``"cpu"`` or ``"cuda"``, for embedder and recogniser.

    """

    def __init__(self, path: str | os.PathLike[str], who: str | None = None, device: str = "auto") -> None:
        self.path = Path(path)
        self.settings = read_settings(self.path)
        self.who = who or log.user()
        self.device = device
        self.database = open_database(self.path, self.settings)

    @property
    def models(self) -> Path:
        """The folder of the versions of the recogniser."""
        return self.path / "models"

    def by(self, who: str) -> Self:
        """Return the same store for another person; both share the database.

        Parameters
        ----------
        who : str
            The name that the history shows.

        Returns
        -------
        Store

        """
        other = copy.copy(self)
        other.who = who
        return other

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    @contextmanager
    def alone(self, progress: Progress) -> Iterator[None]:
        """Let one long command run at a time; short edits and readers need not wait.

        Parameters
        ----------
        progress : callable
            Called about once a second while another command runs; it may raise to stop waiting.

        """
        lock, patience = FileLock(self.path / ".lock"), 0.0
        while not lock.is_locked:
            try:
                lock.acquire(timeout=patience)
            except Timeout:
                progress("waiting for another command", 0, 0)  # the caller may raise here to stop waiting
                patience = 1.0
        try:
            yield
        finally:
            lock.release()

    @contextmanager
    def editing(self, verb: str) -> Iterator[Edit]:
        """Make one edit in one transaction, with its entry in the log.

        Parameters
        ----------
        verb : str
            The verb of the edit in the history.

        Yields
        ------
        Edit
            The edit in progress, with its connection.

        """
        with self.database.writing() as connection, log.editing(connection, self.who, verb) as edit:
            yield edit

    def note(self, verb: str, details: dict[str, Any]) -> None:
        """Add an entry to the history that changes no row, so that there is nothing to undo.

        Parameters
        ----------
        verb : str
            The verb of the entry.
        details : dict
            The details of the entry; JSON.

        """
        with self.editing(verb) as edit:
            edit.details = details
