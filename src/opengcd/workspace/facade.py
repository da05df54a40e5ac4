"""A user's project on disk: its verbs, and the parts that do the work."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from sqlalchemy import Connection

from opengcd._internal.progress import Progress, silent
from opengcd.embed import Embedder, Pixels
from opengcd.workspace.check import Check, Finding
from opengcd.workspace.exemplars import Exemplars
from opengcd.workspace.files import Found
from opengcd.workspace.formats import Formats
from opengcd.workspace.group_discovery import Discovered, GroupDiscovery
from opengcd.workspace.groups import Group
from opengcd.workspace.intake import Intake
from opengcd.workspace.job_queue import Jobs
from opengcd.workspace.learning import Learning
from opengcd.workspace.log import Edited, Entry
from opengcd.workspace.models import Models
from opengcd.workspace.opening import create_database
from opengcd.workspace.predictions import Result
from opengcd.workspace.recognition import Recognition
from opengcd.workspace.recognizers import Recognizers
from opengcd.workspace.review import Review
from opengcd.workspace.settings import Settings, write_settings
from opengcd.workspace.similarity import Similarity
from opengcd.workspace.store import Store
from opengcd.workspace.subclusters import Subclusters
from opengcd.workspace.tokens import Access
from opengcd.workspace.vectors import Vectors
from opengcd.workspace.verbs import ReviewVerbs, Verb
from opengcd.workspace.versions import Version
from opengcd.workspace.views import Status, Views


def record_nothing(connection: Connection, result: object) -> None:
    """Record nothing."""


class Workspace(ReviewVerbs):
    """Images in, labels out, on disk.

    The verbs of the loop are methods; the rest is reached through the parts. Threads may share a workspace, each person
    with their own :meth:`by`.

    Parameters
    ----------
    path : path
        The folder of a workspace that :meth:`create` made.
    who : str or None
        The name that the history shows; by default the user's.
    device : str
        ``"auto"``, ``"cpu"`` or ``"cuda"``.
    embedder : Embedder or None
        Your own embedder instead of the one named at creation.

    Attributes
    ----------
    store : Store
        The folder, its settings and its database.
    vectors : Vectors
        The embedder, and the feature vectors of items.
    recognizers : Recognizers
        Versions of the recogniser, as objects.
    recognition : Recognition
        From files or bytes to stored predictions.
    review : Review
        The verbs of the review, undo and redo, the history.
    models : Models
        Versions, rollback, the limit on rejection.
    views : Views
        Status, groups, items and phases, to look at.
    similarity : Similarity
        Neighbours, and the map.
    exemplars : Exemplars
        The items in the memory of the recogniser.
    formats : Formats
        Exports, and the review in folders.
    access : Access
        Who may use the service.
    jobs : Jobs
        Long work that the service was asked for.

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

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        who: str | None = None,
        device: str = "auto",
        embedder: Embedder | None = None,
    ) -> None:
        store = Store(path, who, device)
        self.access = Access(store.database)
        self.jobs = Jobs(store.database)
        self.vectors = Vectors(store, embedder)
        self.recognizers = Recognizers(store)
        self.views = Views(store)
        self.similarity = Similarity(store, self.vectors, self.recognizers)
        self.exemplars = Exemplars(store, self.vectors, self.recognizers)
        self._intake = Intake(store.database, self.vectors)
        self._sign_as(store)

    def _sign_as(self, store: Store) -> None:
        """Make the parts that write to the history, under the name of the store's user."""
        self.store = store
        seen = self.vectors, self.recognizers
        self.recognition = Recognition(store, *seen, self._intake)
        self.review = Review(store, self.recognizers, Subclusters(store, *seen))
        self.models = Models(store, self.recognizers)
        self.formats = Formats(store)
        self._discovery = GroupDiscovery(store, *seen, self.recognition)
        self._learning = Learning(store, *seen, self.exemplars, self._intake, self.recognition)

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

        ``embedder``, ``pooling`` and ``precision`` are what :func:`opengcd.embed.load_embedder` takes; or
        pass an embedder of your own.
        ``recognizer`` has parameters of :class:`~opengcd.OpenWorldRecognizer`, as ``{"preset": "robust"}``.
        ``database`` is a SQLAlchemy URL of PostgreSQL; by default the database is a file in the folder. ``options`` are
        those of the class itself.
        """
        name = embedder if isinstance(embedder, str) else embedder.name
        if name != Pixels.name and os.path.exists(name):
            name = os.path.abspath(name)
        made = Settings(name, pooling, {"random_state": 0} | dict(recognizer or {}), database, precision)
        create_database(Path(path), write_settings(Path(path), made))
        return cls(path, embedder=None if isinstance(embedder, str) else embedder, **options)

    def by(self, who: str) -> Self:
        """Return the same workspace for another person; both share what is open."""
        other = copy.copy(self)
        other._sign_as(self.store.by(who))
        return other

    def close(self) -> None:
        """Close the database; a workspace is also a context manager that does so."""
        self.access.close()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def path(self) -> Path:
        """The folder of the workspace."""
        return self.store.path

    @property
    def settings(self) -> Settings:
        """What the workspace was made with."""
        return self.store.settings

    @property
    def who(self) -> str:
        """The name that the history shows."""
        return self.store.who

    @property
    def read_only(self) -> bool:
        """Whether the workspace cannot be changed, because its folder is read-only."""
        return self.store.database.read_only

    # The loop.

    def fit(self, known: str | os.PathLike[str], *, progress: Progress = silent) -> list[tuple[str, str]]:
        """Learn the classes of a folder of folders; return the files that could not be used, with reasons."""
        return self._learning.fit(known, progress)

    def recognize(self, sources: Iterable[str | os.PathLike[str]], *, progress: Progress = silent) -> Iterator[Result]:
        """Yield the prediction for each file under some paths, as soon as it is safely stored."""
        return self.recognition.recognize(sources, progress=progress)

    def watch(self, sources: Sequence[str | os.PathLike[str]], every: float = 2.0) -> Iterator[Result]:
        """Yield the predictions for files as they appear or change, for ever.

        A file is taken once its size and time have not changed for ``every`` seconds: before, it may still be written.
        """
        return self.recognition.watch(sources, every)

    def discover(
        self,
        k: int | None = None,
        *,
        progress: Progress = silent,
        record: Callable[[Connection, Discovered], None] = record_nothing,
    ) -> Discovered:
        """Group images of new classes; groups that a person has named or changed, also meanwhile, are kept.

        Where the preset takes the whole stream, as the default does, images that were accepted may turn out to be new,
        too. Those that a person has given a class serve as examples of it.
        ``k`` is the number of classes, known ones included; without it, it is estimated.
        ``record`` is called with the result in the transaction that stores it: what it writes is stored with it, and if
        it raises, nothing is.
        """
        return self._discovery.discover(k, progress, record)

    def groups(self) -> list[Group]:
        """Return the groups under review: novel (doubtful ones last), returned to known classes, removed."""
        return self.review.groups()

    def apply(self, verb: Verb) -> Edited:
        """Make one edit of a verb of the review; :mod:`opengcd.workspace.verbs` has them all."""
        return self.review.apply(verb)

    def learn(
        self,
        *,
        progress: Progress = silent,
        record: Callable[[Connection, Version], None] = record_nothing,
    ) -> Version:
        """Enter the next phase with what was reviewed; return the new version of the recogniser.

        It is refused if someone changes what it learns from while it runs; other edits do not matter.
        ``record`` is called with the new version in the transaction that puts it to use: what it writes is stored with
        it, and if it raises, nothing is.
        """
        return self._learning.learn(progress, record)

    # Edits.

    def undo(self, *, on: int | None = None) -> Edited:
        """Undo the last edit: of groups, a discovery, a phase, or a rollback. ``on`` must be the last edit."""
        return self.review.undo(on=on)

    def redo(self, *, on: int | None = None) -> Edited:
        """Redo the edit that was undone last, unless another edit followed."""
        return self.review.redo(on=on)

    def rollback(self, version: int, *, on: int | None = None) -> Edited:
        """Switch to another version of the recogniser; items that it has not learnt return to the review."""
        return self.models.rollback(version, on=on)

    # Records.

    def status(self) -> Status:
        """Return the status of the workspace."""
        return self.views.status()

    def history(self, limit: int | None = None, before: int | None = None) -> list[Entry]:
        """Return the history, the latest entry first: all of it, or up to ``limit`` entries before one."""
        return self.review.history(limit, before)

    def export(
        self, format: str, out: str | os.PathLike[str], *, copy: bool = False, progress: Progress = silent
    ) -> list[tuple[str, str]]:
        """Write all labels to a file (``csv``, ``json``, ``coco``) or a folder (``folders``, of links or copies).

        Return the files that are missing, with reasons.
        """
        return self.formats.export(format, out, copy=copy, progress=progress)

    def check(self, *, repair: bool = False, progress: Progress = silent) -> list[Finding]:
        """Return all damage in the workspace: database, edit log, vectors, models, uploads, thumbnails and maps.

        With ``repair``, vectors are computed again from the images, and damaged thumbnails and maps are deleted.
        """

        def embed(files: Sequence[Found]) -> None:
            for _ in self._intake.take(files, progress):
                pass

        check = Check(self.store.database, self.path, repair, embed, progress)
        if not repair:
            return list(check.run())
        with self.store.alone(progress):
            return list(check.run())
