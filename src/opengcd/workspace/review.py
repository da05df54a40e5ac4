"""The review: the edits of groups by a person, undo and redo."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from sqlalchemy import Connection

from opengcd.workspace import groups, log, versions
from opengcd.workspace.conflicts import refuse_conflict, refuse_other_edit
from opengcd.workspace.groups import Group
from opengcd.workspace.log import Edited, Entry
from opengcd.workspace.recognizers import Recognizers
from opengcd.workspace.store import Store
from opengcd.workspace.subclusters import Subclusters
from opengcd.workspace.verb import Verb
from opengcd.workspace.verbs import ReviewVerbs


class UndoState(NamedTuple):
    """The edits that can be undone and redone, at the time of an edit."""

    edit: int
    undo: Entry | None
    redo: Entry | None


class Review(ReviewVerbs):
    """The edits of groups by people, and their history."""

    def __init__(self, store: Store, recognizers: Recognizers, subclusters: Subclusters) -> None:
        self._store = store
        self._database = store.database
        self._recognizers = recognizers
        self._subclusters = subclusters

    def groups(self) -> list[Group]:
        """Return the groups under review: of new classes (doubtful ones last), of known classes, and removed images."""
        with self._database.reading() as connection:
            return groups.open_groups(connection)

    def apply(self, verb: Verb) -> Edited:
        """Make one edit of a verb."""
        ready = verb.prepare(self._subclusters)
        with self._store.editing(ready.act) as edit:
            ready = ready.with_copies(edit.connection)
            refuse_conflict(edit.connection, ready.on, ready.concerns())
            group = ready.apply(edit)
        return edit.done._replace(group=group)

    def undo(self, *, on: int | None = None) -> Edited:
        """Undo the last edit; ``on``, if given, must be the last edit."""
        return self._step(log.undo_last, on)

    def redo(self, *, on: int | None = None) -> Edited:
        """Redo the edit that was undone last, unless another edit followed."""
        return self._step(log.redo_last, on)

    def undo_state(self) -> UndoState:
        """Return what :meth:`undo` and :meth:`redo` would do, and the edit that they need to be based on."""
        with self._database.reading() as connection:
            return UndoState(log.last_edit(connection), log.to_undo(connection), log.to_redo(connection))

    def can_undo(self) -> Entry | None:
        """Return the edit that :meth:`undo` would undo."""
        return self.undo_state().undo

    def can_redo(self) -> Entry | None:
        """Return the edit that :meth:`redo` would redo."""
        return self.undo_state().redo

    def last_edit(self) -> int:
        """Return the number of the last edit."""
        with self._database.reading() as connection:
            return log.last_edit(connection)

    def edits_since(self, id: int, limit: int) -> list[tuple[Entry, list[int]]]:
        """Return edits after one, the oldest first, with the groups that look different since.

        Parameters
        ----------
        id : int
            Number of the edit after which to begin; 0 begins with the first.
        limit : int
            Largest number of edits.

        Returns
        -------
        list of (Entry, list of int)
            Each edit with the numbers of the groups that it changed.

        """
        with self._database.reading() as connection:
            return log.edits_since(connection, id, limit)

    def history(self, limit: int | None = None, before: int | None = None) -> list[Entry]:
        """Return the history, the latest entry first: all of it, or up to ``limit`` entries before one."""
        with self._database.reading() as connection:
            return log.history(connection, limit, before)

    def _step(self, step: Callable[[Connection, str], Edited], on: int | None) -> Edited:
        with self._database.writing() as connection:
            refuse_other_edit(connection, on)
            before = versions.in_use(connection), versions.rejection_limit(connection)
            done = step(connection, self._store.who)
            if (versions.in_use(connection), versions.rejection_limit(connection)) != before:
                self._recognizers.note_threshold(connection)
        return done
