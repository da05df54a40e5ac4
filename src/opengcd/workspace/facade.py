"""A user's project on disk: everything that can be done with it, by its verbs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

from sqlalchemy import func, select

from opengcd._internal.progress import Progress, silent
from opengcd._internal.storage import replace_file
from opengcd.embed import Embedder, Pixels
from opengcd.workspace import groups as review
from opengcd.workspace import log
from opengcd.workspace import versions as models
from opengcd.workspace.check import Check, Finding
from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.export import FORMATS, as_folders
from opengcd.workspace.files import Found, content_hash
from opengcd.workspace.groups import GroupSize
from opengcd.workspace.labels import Labelled, count_by_source, labelled_items
from opengcd.workspace.looks import Looks
from opengcd.workspace.opening import create_database
from opengcd.workspace.schema import failures, items
from opengcd.workspace.settings import Settings, write_settings
from opengcd.workspace.thumbnails import thumbnail


class Status(NamedTuple):
    """Where a workspace stands."""

    embedder: str
    version: models.Version | None
    """The version of the recogniser in use; None before the known classes are learnt."""
    versions: int
    counts: dict[str, int]
    """Items by what is known of them; see :data:`opengcd.workspace.SOURCES`."""
    groups: list[GroupSize]
    discovered: dict[str, Any]
    """What the last discovery of this version found, as the history has it; empty if there was none."""
    failures: int


class Workspace(Looks):
    """Images in, labels out, on disk.

    Parameters
    ----------
    path : path
        The folder of a workspace that :meth:`create` made.
    who : str or None
        The name that the history shows; by default the user's.
    device : str
        ``"auto"``, ``"cpu"`` or ``"cuda"``.
    embedder : Embedder or None
        An embedder of one's own instead of the one named at creation.

    Examples
    --------
    >>> from opengcd import Workspace
    >>> workspace = Workspace.create("birds", embedder="facebook/dino-vitb16")  # doctest: +SKIP
    >>> unusable = workspace.fit("images/known")  # doctest: +SKIP
    >>> for result in workspace.recognize(["images/stream"]):  # doctest: +SKIP
    ...     print(result.path, result.label, result.unknown)
    >>> workspace.discover()  # doctest: +SKIP
    >>> group = workspace.groups()[0]  # doctest: +SKIP
    >>> workspace.name(group.id, "heron", confirm=True)  # doctest: +SKIP
    >>> workspace.learn()  # doctest: +SKIP

    """

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        embedder: str | Embedder = "facebook/dino-vitb16",
        *,
        pooling: str = "cls",
        precision: str = "auto",
        recognizer: Mapping[str, Any] | None = None,
        database: str | None = None,
        **options: Any,
    ) -> Self:
        """Make a workspace; one that was made with the same settings is opened.

        ``embedder``, ``pooling`` and ``precision`` are what :func:`opengcd.embed.load_embedder` takes; or give an
        embedder of one's own.
        ``recognizer`` has parameters of :class:`~opengcd.OpenWorldRecognizer`, as ``{"preset": "robust"}``.
        ``database`` is a SQLAlchemy URL of PostgreSQL; by default all lies in the folder. ``options`` are those of the
        class itself.
        """
        name = embedder if isinstance(embedder, str) else embedder.name
        if name != Pixels.name and os.path.exists(name):
            name = os.path.abspath(name)
        made = Settings(name, pooling, {"random_state": 0} | dict(recognizer or {}), database, precision)
        create_database(Path(path), write_settings(Path(path), made))
        return cls(path, embedder=None if isinstance(embedder, str) else embedder, **options)

    def check(self, *, repair: bool = False, progress: Progress = silent) -> list[Finding]:
        """Return what in the workspace is not as it was written: database, log, vectors, models, uploads, pictures.

        With ``repair``, what can be made again is: vectors from the images, thumbnails and maps by deleting them.
        """

        def embed(files: Sequence[Found]) -> None:
            for _ in self._take(files, progress):
                pass

        check = Check(self._database, self.path, repair, embed, progress)
        if not repair:
            return list(check.run())
        with self._alone(progress):
            return list(check.run())

    # Records.

    def status(self) -> Status:
        """Return where things stand."""
        with self._database.reading() as connection:
            versions = models.versions(connection)
            current = next((version for version in versions if version.in_use), None)
            tallies = self._open.tallies
            sizes = {id: tally.size for id, tally in tallies.of_groups(connection).items()}
            return Status(
                self.settings.embedder,
                current,
                len(versions),
                count_by_source(connection, tallies),
                review.group_sizes(connection, sizes),
                {} if current is None else log.last_discovery(connection, current.id),
                connection.scalar(select(func.count()).select_from(failures)) or 0,
            )

    def failures(self) -> list[tuple[str, str]]:
        """Return the files that could not be used, with reasons."""
        with self._database.reading() as connection:
            rows = connection.execute(select(failures.c.path, failures.c.reason).order_by(failures.c.path))
            return [(path, reason) for path, reason in rows]

    def labels(self) -> list[Labelled]:
        """Return every item with its label, and who says so."""
        with self._database.reading() as connection:
            return labelled_items(connection)

    def export(
        self,
        format: str,
        out: str | os.PathLike[str],
        *,
        copy: bool = False,
        progress: Progress = silent,
    ) -> list[tuple[str, str]]:
        """Write all labels to a file (``csv``, ``json``, ``coco``) or a folder (``folders``, of links or copies).

        Return the files that are gone, with reasons.
        """
        if format == "folders":
            return as_folders(self.labels(), out, copy, progress)
        replace_file(Path(out), self.export_bytes(format))
        return []

    def export_bytes(self, format: str) -> bytes:
        """Return what :meth:`export` would write to a file."""
        if format not in FORMATS:
            raise WorkspaceError(f"Unknown format {format!r}; choose from {', '.join(FORMATS)} or folders.")
        return FORMATS[format](self.labels())

    def history(self, limit: int | None = None, before: int | None = None) -> list[log.Entry]:
        """Return who did what when, the latest first: all, or some of the entries before one."""
        with self._database.reading() as connection:
            return log.history(connection, limit, before)

    def versions(self) -> list[models.Version]:
        """Return all versions of the recogniser, the oldest first."""
        with self._database.reading() as connection:
            return models.versions(connection)

    def paths(self, item: int) -> list[str]:
        """Return the files of an item."""
        return self._paths([item]).get(item, [])

    def find(self, path: str | os.PathLike[str]) -> int | None:
        """Return the item that a file is; None if it has not been seen, also under another name."""
        with self._database.reading() as connection:
            return connection.scalar(select(items.c.id).where(items.c.hash == content_hash(path)))

    def thumbnail(self, item: int) -> bytes:
        """Return a small picture of an item, a JPEG file."""
        return thumbnail(self.path / "thumbnails", self.content(item), self.paths(item))
