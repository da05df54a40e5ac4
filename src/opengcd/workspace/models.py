"""Versions of the recogniser: list them, switch to another one, limit the rejection."""

from __future__ import annotations

from typing import Any, NamedTuple

from opengcd.workspace import class_names, versions
from opengcd.workspace.conflicts import Concerns, refuse_conflict
from opengcd.workspace.details import RejectionDetails, RollbackDetails
from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.log import Edited
from opengcd.workspace.predictions import observed_scores
from opengcd.workspace.recognizers import Recognizers
from opengcd.workspace.store import Store
from opengcd.workspace.versions import Version

LIMITS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3)
"""Limits on the share of known images rejected that a person can choose from."""


class Choice(NamedTuple):
    """A possible limit on rejection, and its effect."""

    max_known_rejected: float | None
    """None: the threshold follows the stream."""
    rejected_known: float
    """Share of known images that it rejects, measured on held-out ones."""
    rejected_stream: int
    """Images of the stream so far that it would reject."""


class Rejection(NamedTuple):
    """The present limit on rejection, and the possible ones."""

    max_known_rejected: float | None
    threshold: dict[str, Any] | None
    seen: int
    """Images of the stream so far."""
    choices: list[Choice]
    """Empty where the preset has no threshold."""


class Models:
    """Versions, rollback, and the limit on rejection."""

    def __init__(self, store: Store, recognizers: Recognizers) -> None:
        self._store = store
        self._database = store.database
        self._recognizers = recognizers

    def versions(self) -> list[Version]:
        """Return all versions of the recogniser, the oldest first."""
        with self._database.reading() as connection:
            return versions.all_versions(connection)

    def knows_classes(self) -> bool:
        """Return whether there is a version of the recogniser."""
        with self._database.reading() as connection:
            return versions.in_use(connection) is not None

    def class_names(self) -> dict[str, str]:
        """Return the present names of classes that were renamed, by the name that versions have stored."""
        with self._database.reading() as connection:
            return class_names.read(connection)

    def rollback(self, version: int, *, on: int | None = None) -> Edited:
        """Switch to another version of the recogniser; items that it has not learnt return to the review."""
        with self._store.editing("rollback") as edit:
            refuse_conflict(edit.connection, on, Concerns())
            if versions.in_use(edit.connection) != version:
                versions.use(edit, version)
                self._recognizers.note_threshold(edit.connection)
                edit.details = RollbackDetails(version).as_dict()
        return edit.done

    def rejection(self) -> Rejection:
        """Return the present limit on rejection, and what other limits would reject of the stream so far."""
        _, recognizer = self._recognizers.in_use()
        with self._database.reading() as connection:
            scores = observed_scores(connection)
        if recognizer.threshold_ is None:
            return Rejection(None, None, len(scores), [])
        limit = recognizer.max_known_rejected
        choices = []
        shares = sorted({*LIMITS, *([] if limit is None else [limit])})
        for share in (*shares, None):
            threshold = recognizer.threshold_for(share, scores)
            choices.append(Choice(share, threshold.known_rejected, int((scores > threshold.value).sum())))
        return Rejection(limit, recognizer.threshold_for(limit, scores)._asdict(), len(scores), choices)

    def limit_rejection(self, max_known_rejected: float | None, *, on: int | None = None) -> Edited:
        """Limit the share of known images that are rejected from now on.

        Predictions that are stored stay as they are; the next discovery judges by the new threshold.

        Parameters
        ----------
        max_known_rejected : float or None
            The limit; None lets the threshold follow the stream.
        on : int or None
            The last edit that the person has seen: if someone has changed the limit or the version in use since, a
            :class:`~opengcd.workspace.ConflictError` is raised. None asks for no such check.

        Returns
        -------
        Edited

        """
        try:
            self._recognizers.in_use()[1].threshold_for(max_known_rejected)
        except ValueError as error:
            raise WorkspaceError(str(error)) from None
        with self._store.editing("rejection") as edit:
            refuse_conflict(edit.connection, on, Concerns(settings=[versions.LIMIT]))
            versions.set_rejection_limit(edit, max_known_rejected)
            self._recognizers.note_threshold(edit.connection)
            edit.details = RejectionDetails(max_known_rejected).as_dict()
        return edit.done
