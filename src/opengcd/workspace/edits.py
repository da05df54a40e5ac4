"""The verbs of the review: each is one edit, which can be undone and redone."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import numpy as np
from sqlalchemy import Connection, select

from opengcd._internal.progress import Progress, silent
from opengcd.workspace import folders, log
from opengcd.workspace import groups as review
from opengcd.workspace import review_folder as exported
from opengcd.workspace import versions as models
from opengcd.workspace.conflicts import refuse_conflict, refuse_other_edit
from opengcd.workspace.database import in_parts
from opengcd.workspace.errors import UnavailableError, WorkspaceError
from opengcd.workspace.groups import Group
from opengcd.workspace.log import Edited
from opengcd.workspace.loop import Loop
from opengcd.workspace.predictions import observed_scores
from opengcd.workspace.schema import meta, paths


class Review(Loop):
    """What a person can do to groups.

    Every verb takes ``on``, the last edit that the person has seen: if someone has changed since what the edit is
    about, it is refused (:class:`~opengcd.workspace.ConflictError`); other people's other edits do not matter.
    """

    def groups(self) -> list[Group]:
        """Return the groups under review: novel ones, the doubtful last, then items put back, then removed ones."""
        with self._database.reading() as connection:
            return review.open_groups(connection)

    def name(self, group: int, label: str, *, confirm: bool = False, on: int | None = None) -> Edited:
        """Name a group; by the name of a known class or another group it joins that one."""
        with self._editing("name") as edit:
            refuse_conflict(edit.connection, on, whole=[group])
            home = review.name(edit, group, label)
            if confirm:
                review.confirm(edit, home)
            edit.details = {"group": group, "label": label, "confirmed": confirm}
        return edit.done._replace(group=home)

    def move(self, chosen: Sequence[int], group: int | str, *, on: int | None = None) -> Edited:
        """Move items to another group, or to the class or group of a name, which is made if need be."""
        _refuse_none(chosen)
        with self._editing("move") as edit:
            refuse_conflict(edit.connection, on, chosen, into=[group] if isinstance(group, int) else [])
            home = group if isinstance(group, int) else review.group_named(edit, group)
            if moved := review.move(edit, chosen, home):
                edit.details = {"images": moved, "group": home}
        return edit.done._replace(group=home)

    def separate(self, chosen: Sequence[int], label: str | None = None, *, on: int | None = None) -> Edited:
        """Move items to a group of their own."""
        _refuse_none(chosen)
        with self._editing("separate") as edit:
            refuse_conflict(edit.connection, on, chosen)
            home = review.separate(edit, chosen, label)
            edit.details = {"images": len(set(chosen)), "group": home}
        return edit.done._replace(group=home)

    def merge(self, group: int, into: int, *, on: int | None = None) -> Edited:
        """Move all items of a group to another one."""
        with self._editing("merge") as edit:
            refuse_conflict(edit.connection, on, whole=[group], into=[into])
            review.merge(edit, group, into)
            edit.details = {"group": group, "into": into}
        return edit.done._replace(group=into)

    def split(self, group: int, n: int, *, on: int | None = None) -> Edited:
        """Cluster the items of a group anew, in ``n`` parts: the largest stays, the others become groups."""
        with self._database.reading() as connection:
            refuse_conflict(connection, on, whole=[group])
            seen, items = log.last_edit(connection), review.members(connection, group)
            if not 2 <= n <= len(items):
                raise WorkspaceError(f"Group {group} has {len(items)} images and cannot be split in {n}.")
            X = self._vectors(connection, items)
        parts = self._cluster(X, n)
        with self._editing("split") as edit:
            refuse_conflict(edit.connection, seen, whole=[group])
            homes = review.split(edit, group, [([items[row] for row in rows], spread) for rows, spread in parts])
            edit.details = {"group": group, "parts": homes}
        return edit.done._replace(group=group)

    def remove(self, chosen: Sequence[int], *, on: int | None = None) -> Edited:
        """Take items out of the review for good."""
        _refuse_none(chosen)
        with self._editing("remove") as edit:
            refuse_conflict(edit.connection, on, chosen)
            if removed := review.remove(edit, chosen):
                edit.details = {"images": removed}
        return edit.done

    def confirm(self, group: int, *, on: int | None = None) -> Edited:
        """Say that a named group is right, so that :meth:`learn` takes it."""
        with self._editing("confirm") as edit:
            refuse_conflict(edit.connection, on, whole=[group])
            review.confirm(edit, group)
            edit.details = {"group": group} if edit.before else {}
        return edit.done._replace(group=group)

    def unconfirm(self, group: int, *, on: int | None = None) -> Edited:
        """Take back that a group is right."""
        with self._editing("unconfirm") as edit:
            refuse_conflict(edit.connection, on, whole=[group])
            review.unconfirm(edit, group)
            edit.details = {"group": group} if edit.before else {}
        return edit.done._replace(group=group)

    def rollback(self, version: int, *, on: int | None = None) -> Edited:
        """Use an earlier version of the recogniser, or a later one again; what it has not learnt is under review."""
        with self._editing("rollback") as edit:
            refuse_conflict(edit.connection, on)
            if models.in_use(edit.connection) != version:
                models.use(edit, version)
                self._note_threshold(edit.connection)
                edit.details = {"version": version}
        return edit.done

    def limit_rejection(self, max_known_rejected: float | None, *, on: int | None = None) -> Edited:
        """Reject at most this share of known images from now on; None lets the threshold follow the stream.

        What was said of images stays said; the next discovery judges by the new threshold.
        """
        try:
            self._load_recognizer()[1].threshold_for(max_known_rejected)
        except ValueError as error:
            raise WorkspaceError(str(error)) from None
        with self._editing("rejection") as edit:
            refuse_conflict(edit.connection, on, settings=[models.LIMIT])
            models.set_limit(edit, max_known_rejected)
            self._note_threshold(edit.connection)
            edit.details = {"max known rejected": max_known_rejected}
        return edit.done

    def undo(self, *, on: int | None = None) -> Edited:
        """Undo the last edit: of groups, a discovery, a phase, or a rollback. ``on`` must be the last edit."""
        return self._step(log.undo_last, on)

    def redo(self, *, on: int | None = None) -> Edited:
        """Redo what was undone last, unless something else was done since."""
        return self._step(log.redo_last, on)

    def _step(self, step: Callable[[Connection, str], Edited], on: int | None) -> Edited:
        with self._database.writing() as connection:
            refuse_other_edit(connection, on)
            before = models.in_use(connection), models.limit(connection)
            done = step(connection, self.who)
            if (models.in_use(connection), models.limit(connection)) != before:
                self._note_threshold(connection)
        return done

    def export_groups(
        self, out: str | os.PathLike[str], *, copy: bool = False, progress: Progress = silent
    ) -> list[tuple[str, str]]:
        """Write a folder of links (or copies) for each group, to be changed by a person and read by import_groups.

        Return the files that are gone or hold another image by now, with reasons.
        """
        found = self.groups()
        files = self._paths([item for group in found for item in group.items])
        with self._database.reading() as connection:
            id = connection.scalar(select(meta.c.value).where(meta.c.key == "id")) or ""
        return folders.export_groups(id, found, files, out, copy, progress)

    def import_groups(self, folder: str | os.PathLike[str]) -> folders.Changes:
        """Read folders that :meth:`export_groups` wrote and a person changed: all changes are one edit."""
        with self._editing("review") as edit:
            changes, note = folders.import_groups(edit, folder)
            if edit.before:
                edit.details = {key: value for key, value in changes._asdict().items() if key != "ignored"}
        exported.write_note(folder, note)
        return changes

    def _note_threshold(self, connection: Connection) -> None:
        """Write down the threshold of the version that is put to use; refuse a version that cannot be read."""
        version = self._version(connection)
        try:
            recognizer = self._read_recognizer(version, models.limit(connection))
        except UnavailableError:
            raise
        except ValueError as error:
            raise WorkspaceError(
                f"Version {version} of the recogniser cannot be read, so nothing was changed: {error} Restore "
                f"{models.folder_of(self.path / 'models', version)} from a copy, or choose another version."
            ) from None
        models.note_threshold(connection, version, recognizer.recall(observed_scores(connection)))

    def _cluster(self, X: np.ndarray, n: int) -> list[tuple[list[int], float]]:
        """The rows of each of ``n`` clusters, most typical first, with their spread; the largest cluster first."""
        from opengcd.discover import SemiSupervisedKMeans

        Z = self._load_recognizer()[1].in_metric(X)
        seed = self.settings.recognizer.get("random_state")
        found = SemiSupervisedKMeans(n, random_state=seed, device=self.device).fit([], [], Z)
        gaps = np.linalg.norm(Z - found.cluster_centers_[found.labels_], axis=1)
        parts = [np.flatnonzero(found.labels_ == cluster) for cluster in range(n)]
        parts = sorted((rows for rows in parts if len(rows)), key=len, reverse=True)
        return [
            (rows[np.argsort(gaps[rows], kind="stable")].tolist(), float(np.sqrt(np.mean(gaps[rows] ** 2))))
            for rows in parts
        ]

    def _paths(self, ids: Sequence[int]) -> dict[int, list[str]]:
        found: dict[int, list[str]] = {}
        with self._database.reading() as connection:
            for part in in_parts(ids):
                query = select(paths.c.item_id, paths.c.path).where(paths.c.item_id.in_(part)).order_by(paths.c.path)
                for item, path in connection.execute(query):
                    found.setdefault(item, []).append(path)
        return found


def _refuse_none(chosen: Sequence[int]) -> None:
    if not chosen:
        raise WorkspaceError("No image was chosen.")
