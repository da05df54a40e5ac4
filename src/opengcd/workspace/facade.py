"""A project on disk: its methods, and the parts that do the work."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from sqlalchemy import Connection

from opengcd._internal.progress import Progress, silent
from opengcd.adapt import AdaptSettings, EpochPoint, TimeEstimate
from opengcd.adapt.networks import ignore_epoch
from opengcd.embed import Embedder, GivenVectors, Pixels
from opengcd.workspace.adaptation import Adaptation, Adapted
from opengcd.workspace.boxes import CONFIDENCE
from opengcd.workspace.browsing import Browsing
from opengcd.workspace.check import Check, Finding
from opengcd.workspace.crops import Crops
from opengcd.workspace.embedders import StoredEmbedder
from opengcd.workspace.exemplars import Exemplars
from opengcd.workspace.files import ignore_file
from opengcd.workspace.formats import Formats
from opengcd.workspace.group_discovery import Discovered, GroupDiscovery
from opengcd.workspace.groups import Group
from opengcd.workspace.held_out import HeldOut
from opengcd.workspace.image_lists import Known
from opengcd.workspace.intake import Intake
from opengcd.workspace.job_queue import Jobs
from opengcd.workspace.labelled_crops import Cutting
from opengcd.workspace.learning import Learning
from opengcd.workspace.log import Edited, Entry
from opengcd.workspace.making import make_workspace
from opengcd.workspace.models import Models
from opengcd.workspace.originals import Original, embed_originals
from opengcd.workspace.predictions import Result
from opengcd.workspace.questions import Questions
from opengcd.workspace.recognition import Recognition
from opengcd.workspace.recognizers import Recognizers
from opengcd.workspace.review import Review
from opengcd.workspace.settings import Settings
from opengcd.workspace.similarity import Similarity
from opengcd.workspace.store import Store
from opengcd.workspace.subclusters import Subclusters
from opengcd.workspace.suggestions import Suggestions
from opengcd.workspace.taxonomies import Taxonomies
from opengcd.workspace.teaching import Taught, Teaching
from opengcd.workspace.times import read_times, store_times
from opengcd.workspace.tokens import Access
from opengcd.workspace.vector_intake import VectorIntake
from opengcd.workspace.vectors import Vectors
from opengcd.workspace.verb import Verb
from opengcd.workspace.verbs import ReviewVerbs
from opengcd.workspace.versions import Version
from opengcd.workspace.videos import FPS, Frames
from opengcd.workspace.views import Status, Views


def record_nothing(connection: Connection, result: object) -> None:
    """Record nothing."""


class Workspace(ReviewVerbs):
    """A project on disk: images in, labels out, with a review by a person in between.

    A workspace is a folder. The *embedder*, a network, turns each image into a vector, its *embedding*; an
    :class:`~opengcd.OpenWorldRecognizer` works on these. The work goes in *phases*, with one method per step:

    1. :meth:`create` and :meth:`fit` learn the known classes from labelled images, and keep some of them, the
       *exemplars*, in the *memory*.
    2. :meth:`recognize` labels the images of the *stream*, those that arrive over time, and rejects images that seem to
       be of no known class.
    3. :meth:`discover` groups the images of new classes, and estimates *k*, the number of known and new classes.
    4. A person reviews the groups: on the page of the service, in folders, or with methods such as :meth:`name`,
       :meth:`move` and :meth:`confirm`.
    5. :meth:`learn` learns the confirmed groups; the next phase begins.

    Every step is an edit that :meth:`undo` undoes. Everything else is in the attributes below. Threads may share a
    workspace; use :meth:`by` for each person.

    Parameters
    ----------
    path : path
        The folder of a workspace that :meth:`create` made.
    who : str or None
        The name that the history shows; by default the user's.
    device : str
        ``"auto"``, ``"cpu"`` or ``"cuda"``.
    embedder : Embedder or None
        Your own embedder, instead of the one that was named when the workspace was created.

    Attributes
    ----------
    store : Store
        The folder, its settings and its database.
    vectors : Vectors
        The embedder, and the feature vectors of items.
    recognizers : Recognizers
        Loads versions of the recogniser.
    recognition : Recognition
        Recognises files or bytes, and stores the predictions.
    review : Review
        Edits of groups, undo and redo, and the history.
    models : Models
        The list of versions, rollback, and the limit on rejection.
    adaptation : Adaptation
        Training of the network on the images of the workspace: whether it is possible, and how long it takes.
    views : Views
        Status, groups, items and phases, for reading.
    browsing : Browsing
        Lists of all images, filtered and sorted.
    similarity : Similarity
        Similar images, and the map of all images.
    questions : Questions
        The most useful questions to a person about the groups.
    suggestions : Suggestions
        The known classes and groups that images may belong to.
    exemplars : Exemplars
        The items in the memory of the recogniser.
    held_out : HeldOut
        How well images are recognised that the recogniser was not fitted on, and labels that may be wrong.
    formats : Formats
        Exports, and the review in folders.
    taxonomies : Taxonomies
        The ranks above the classes, and for each item the deepest taxon that is sure.
    access : Access
        Access tokens for the service.
    jobs : Jobs
        Long work that was started through the service.

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
        self.browsing = Browsing(store)
        self.similarity = Similarity(store, self.vectors, self.recognizers)
        self.questions = Questions(store, self.vectors, self.recognizers)
        self.exemplars = Exemplars(store, self.vectors, self.recognizers)
        self.suggestions = Suggestions(store, self.vectors, self.recognizers, self.exemplars, self.views.counts)
        self._intake = (
            VectorIntake(store.database, self.vectors, store.path / "thumbnails")
            if store.settings.takes_vectors
            else Intake(store.database, self.vectors, Frames(store.path))
        )
        self._estimates: dict[Any, TimeEstimate] = {}
        self._sign_as(store)

    def _sign_as(self, store: Store) -> None:
        """Make the parts that write to the history, under the name of the store's user."""
        self.store = store
        seen = self.vectors, self.recognizers
        self.taxonomies = Taxonomies(store, *seen)
        self.recognition = Recognition(store, *seen, self._intake, self.taxonomies)
        self.review = Review(store, self.recognizers, Subclusters(store, *seen, self._intake))
        self.models = Models(store, self.recognizers)
        self.formats = Formats(store, self.taxonomies)
        self._discovery = GroupDiscovery(store, *seen, self.recognition)
        self._teaching = Teaching(store, self._intake, self.recognizers)
        self.held_out = HeldOut(store, *seen, self.exemplars)
        self._learning = Learning(store, *seen, self.exemplars, self._intake, self.recognition, self.held_out)
        self.adaptation = Adaptation(store, *seen, self.exemplars, self._intake, self.recognition, self._estimates)

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
        """Make a workspace and open it; if it exists with the same settings, it is only opened.

        One that has not learnt its first classes, since :meth:`fit` failed or was interrupted, takes other settings.

        Parameters
        ----------
        path : path
            The folder of the workspace; it is made if it does not exist.
        embedder : str or Embedder
            A name that :func:`opengcd.embed.load_embedder` accepts, or your own embedder.
        pooling, precision : str
            See :func:`opengcd.embed.load_embedder`.
        recognizer : mapping or None
            Parameters of :class:`~opengcd.OpenWorldRecognizer`, such as ``{"preset": "robust"}``; by default
            ``random_state`` is 0, and ``memory_size`` 20,000 or the number of known images, if that is larger.
        database : str or None
            A SQLAlchemy URL of PostgreSQL; None keeps the database in a SQLite file in the folder.
        **options
            ``who`` and ``device``, see :class:`Workspace`.

        Returns
        -------
        Workspace

        """
        name = embedder if isinstance(embedder, str) else embedder.name
        if name not in (Pixels.name, GivenVectors.name) and os.path.exists(name):
            name = os.path.abspath(name)
        made = Settings(name, pooling, {"random_state": 0} | dict(recognizer or {}), database, precision)
        make_workspace(Path(path), made)
        return cls(path, embedder=None if isinstance(embedder, str) else embedder, **options)

    def by(self, who: str) -> Self:
        """Return the same workspace for another person; both share what is open.

        Parameters
        ----------
        who : str
            The name that the history shows for edits made through the result.

        Returns
        -------
        Workspace

        """
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
        """The settings that the workspace was made with."""
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

    def fit(
        self,
        known: Known,
        *,
        boxes: str | os.PathLike[str] | None = None,
        min_confidence: float = CONFIDENCE,
        box_labels: bool = False,
        fps: float = FPS,
        progress: Progress = silent,
        on_skipped: Callable[[str], object] = ignore_file,
    ) -> list[tuple[str, str]]:
        """Learn the known classes: make the first version of the recogniser.

        Parameters
        ----------
        known : path or mapping
            A folder with one folder of images per class, named after the class, also within ``train``, ``val`` and
            ``test``; an ImageFolder of Hugging Face; a list of images with labels: CSV with the columns ``file`` and
            ``label``, JSON lines with these keys, or a dataset in COCO's format; or by class its files and folders.
            With the embedder ``"vectors"``: a file of labelled vectors, or a dataset of Hugging Face on disk.
        boxes : path or None
            A file of boxes that a detector has found, from MegaDetector or in COCO's format: each box becomes an item,
            and images without boxes are labelled ``"empty"`` but do not become items.
        min_confidence : float
            The lowest confidence of a box that is used.
        box_labels : bool
            Whether the class of a crop is that of its box, and not that of its image: its category in COCO's format,
            or what a classifier has said in MegaDetector's. Then ``known`` may be any folder of images.
        fps : float
            Frames per second that are taken of videos, with the extra ``video``; each frame becomes an item.
        progress : callable
            Called with a stage, the steps done and their total (0: not known).
        on_skipped : callable
            Called with the path of each file in a folder that is skipped: by its name it is neither an image nor a
            video.

        Returns
        -------
        list of (str, str)
            The files that could not be used, with reasons.

        Raises
        ------
        WorkspaceError
            If the workspace has a version already, or no image can be used.

        """
        cutting = None if boxes is None else Cutting(boxes, min_confidence)
        return self._learning.fit(known, progress, on_skipped, cutting, box_labels, fps)

    def recognize(
        self,
        sources: Iterable[str | os.PathLike[str]],
        *,
        boxes: str | os.PathLike[str] | None = None,
        min_confidence: float = CONFIDENCE,
        fps: float = FPS,
        progress: Progress = silent,
        on_skipped: Callable[[str], object] = ignore_file,
    ) -> Iterator[Result]:
        """Recognise the images and videos under some paths, and add them to the stream.

        Parameters
        ----------
        sources : iterable of path
            Files, folders that are searched with all folders in them, and lists of images as in :meth:`fit`, whose
            labels are not used.
        boxes : path or None
            A file of boxes that a detector has found, from MegaDetector or in COCO's format: each box becomes an item,
            and images without boxes are labelled ``"empty"`` but do not become items.
        min_confidence : float
            The lowest confidence of a box that is used.
        fps : float
            Frames per second that are taken of videos, with the extra ``video``; each frame becomes an item.
        progress : callable
            Called with a stage, the steps done and their total (0: not known).
        on_skipped : callable
            Called with the path of each file in a folder that is skipped: by its name it is neither an image nor a
            video.

        Yields
        ------
        Result
            The prediction for a file, as soon as it is safely stored; for a file that cannot be used, the reason. With
            ``boxes`` the file is that of a crop, and of a video those of its frames.

        """
        return self.recognition.recognize(
            sources, boxes=boxes, min_confidence=min_confidence, fps=fps, progress=progress, on_skipped=on_skipped
        )

    def set_times(self, table: str | os.PathLike[str]) -> int:
        """Read the times at which images were taken from a CSV file, where the image files have none or wrong ones.

        Images that follow each other within seconds and look alike are a burst, which :meth:`discover` counts once.

        Parameters
        ----------
        table : path
            With the columns ``file`` (relative to the table's folder) and ``time`` (ISO 8601); of a video, when it
            begins.

        Returns
        -------
        int
            How many files of the table, crops of its images and frames of its videos are in the workspace.

        """
        times = Frames(self.store.path).with_frames(read_times(table))
        times = Crops(self.store.path).note_times(times)
        with self.store.database.writing() as connection:
            return store_times(connection, times)

    def watch(
        self, sources: Sequence[str | os.PathLike[str]], every: float = 2.0, fps: float = FPS
    ) -> Iterator[Result]:
        """Watch folders and recognise files as they appear or change; this never ends by itself.

        Parameters
        ----------
        sources : sequence of path
            Files, and folders that are searched with all folders in them.
        every : float
            Seconds between two searches. A file is read once its size and time are the same in two searches; until
            then, another program may still be writing it.
        fps : float
            Frames per second that are taken of videos, with the extra ``video``; each frame becomes an item.

        Yields
        ------
        Result
            The prediction for a file, as soon as it is safely stored.

        """
        return self.recognition.watch(sources, every, fps)

    def discover(
        self,
        k: int | None = None,
        *,
        progress: Progress = silent,
        record: Callable[[Connection, Discovered], None] = record_nothing,
    ) -> Discovered:
        """Group the images of new classes; groups that a person has named or changed, even while it runs, are kept.

        The default preset looks at the whole stream, so that images which were recognised as a known class may turn out
        to be of a new one. Images to which a person has given a class serve as examples of it.

        Parameters
        ----------
        k : int or None
            Number of known and new classes together; None estimates it.
        progress : callable
            Called with a stage, the steps done and their total (0: not known).
        record : callable
            Called with the connection and the result in the transaction that stores the result: what it writes is
            stored together with the result, and if it raises an error, nothing is stored.

        Returns
        -------
        Discovered

        """
        return self._discovery.discover(k, progress, record)

    def groups(self) -> list[Group]:
        """Return the groups under review: of new classes (doubtful ones last), of known classes, and removed images."""
        return self.review.groups()

    def apply(self, verb: Verb) -> Edited:
        """Apply a verb of the review, as one edit.

        Parameters
        ----------
        verb : Verb
            One of the records in :mod:`opengcd.workspace.verbs`, with its parameters.

        Returns
        -------
        Edited

        Raises
        ------
        ConflictError
            If someone has changed what the edit is about since the edit ``verb.on``.

        """
        return self.review.apply(verb)

    def teach(
        self,
        source: Known,
        labels: str | os.PathLike[str] | None = None,
        *,
        replace: bool = False,
        fps: float = FPS,
        progress: Progress = silent,
        on_skipped: Callable[[str], object] = ignore_file,
        record: Callable[[Connection, Taught], None] = record_nothing,
    ) -> Taught:
        """Add labelled images of known classes or of new ones; the next :meth:`learn` takes them.

        Images that are in the workspace already, by their content, get the label. All labels are stored in one edit
        at the end. If the call is interrupted, call it again: images that it has read are not read again.

        Parameters
        ----------
        source : path or mapping
            A folder with one folder of images per class, named after the class, a list of images with labels, or the
            files of each class, as for :meth:`fit`; with ``labels``, the folder to which the files of that list are
            relative. With the embedder ``"vectors"``: a file of labelled vectors, or a dataset of Hugging Face on disk.
        labels : path or None
            A list, such as a CSV file with the columns ``file`` and ``label``.
        replace : bool
            Whether images that a person has given another label, or removed, get the new one. If not, they are listed
            as conflicts and stay as they are.
        fps : float
            Frames per second that are taken of videos, with the extra ``video``; each frame becomes an item.
        progress : callable
            Called with a stage, the steps done and their total (0: not known).
        on_skipped : callable
            As for :meth:`fit`.
        record : callable
            As for :meth:`teach_items`.

        Returns
        -------
        Taught

        Raises
        ------
        WorkspaceError
            If no image can be used, or no class has been learnt yet.

        """
        return self._teaching.teach(source, labels, record, progress, replace=replace, fps=fps, on_skipped=on_skipped)

    def teach_items(
        self,
        labels: Mapping[int, str],
        *,
        replace: bool = False,
        progress: Progress = silent,
        record: Callable[[Connection, Taught], None] = record_nothing,
    ) -> Taught:
        """Give labels to images of the workspace, as :meth:`teach` does.

        Parameters
        ----------
        labels : mapping of int to str
            The label of each image, by its number.
        replace : bool
            As for :meth:`teach`.
        progress : callable
            Called with a stage, the steps done and their total (0: not known).
        record : callable
            Called with the connection and the result in the transaction that stores the labels: what it writes is
            stored together with them, and if it raises an error, nothing is stored.

        Returns
        -------
        Taught

        """
        return self._teaching.teach_items(labels, record, progress, replace=replace)

    def upload(self, contents: Sequence[bytes], *, progress: Progress = silent) -> list[tuple[int | None, str]]:
        """Store images that come as bytes, without recognising them, so that :meth:`teach_items` can label them.

        Parameters
        ----------
        contents : sequence of bytes
            The content of image files.
        progress : callable
            Called with a stage, the steps done and their total (0: not known).

        Returns
        -------
        list of (int or None, str)
            The number of each image; None and a reason if it cannot be used.

        """
        return self._teaching.upload(contents, progress)

    def learn(
        self,
        *,
        progress: Progress = silent,
        record: Callable[[Connection, Version], None] = record_nothing,
    ) -> Version:
        """Learn the groups that were named and confirmed, which begins the next phase.

        It fails if someone changes these images while it runs; other edits do not matter.

        Parameters
        ----------
        progress : callable
            Called with a stage, the steps done and their total (0: not known).
        record : callable
            Called with the connection and the new version in the transaction that puts the version into use: what it
            writes is stored together with the version, and if it raises an error, nothing is stored.

        Returns
        -------
        Version
            The new version of the recogniser.

        """
        return self._learning.learn(progress, record)

    def adapt(
        self,
        *,
        force: bool = False,
        dry_run: bool = False,
        settings: AdaptSettings | None = None,
        unlabelled: bool | None = None,
        progress: Progress = silent,
        record: Callable[[Connection, Adapted], None] = record_nothing,
        on_epoch: Callable[[str, EpochPoint], None] = ignore_epoch,
    ) -> Adapted:
        """Train the network in use on the images of the workspace, and switch to the result if it helps.

        A rehearsal decides whether it helps: some known classes are hidden, and recognition (HNA) and discovery (HCA)
        are measured with and without the adaptation. Until the switch, everything in use stays unchanged; if
        interrupted, call it again to continue. :meth:`undo` and :meth:`rollback` return to the old network and its
        vectors without computing anything. It fails if another version is put into use while it runs.

        Parameters
        ----------
        force : bool
            Whether to switch even if the rehearsal shows no benefit.
        dry_run : bool
            Whether to rehearse only; nothing but the history is changed.
        settings : AdaptSettings or None
            How to train; see :class:`opengcd.adapt.AdaptSettings`.
        unlabelled : bool or None
            Whether to train on images of the stream without a label, too; None follows ``settings``, whose default is
            no.
        progress : callable
            Called with a stage, the steps done and their total (0: not known).
        record : callable
            Called with the connection and the result in the transaction that switches, or that notes the rehearsal:
            what it writes is stored together with the result, and if it raises an error, nothing is stored.
        on_epoch : callable
            Called with ``"rehearsing"`` or ``"training"`` and an :class:`opengcd.adapt.EpochPoint` after each epoch.

        Returns
        -------
        Adapted

        Raises
        ------
        AdaptError
            If the embedder cannot be trained; the message says what to use instead.
        ReadOnlyError
            If the workspace cannot be changed.
        WorkspaceError
            If another version was put into use meanwhile, or all learnt images of a class are gone.

        """
        return self.adaptation.adapt(settings, unlabelled, progress, record, on_epoch, force=force, dry_run=dry_run)

    # Edits.

    def undo(self, *, on: int | None = None) -> Edited:
        """Undo the last edit: of a group, by discover, learn, adapt or rollback.

        Parameters
        ----------
        on : int or None
            The number of the last edit that the person has seen. If there is a later one, a :class:`ConflictError` is
            raised; None asks for no check.

        Returns
        -------
        Edited
            What changed; ``entry`` is the edit that was undone.

        """
        return self.review.undo(on=on)

    def redo(self, *, on: int | None = None) -> Edited:
        """Redo the edit that was undone last, unless another edit followed.

        Parameters
        ----------
        on : int or None
            As for :meth:`undo`.

        Returns
        -------
        Edited
            What changed; ``entry`` is the edit that was redone.

        """
        return self.review.redo(on=on)

    def rollback(self, version: int, *, on: int | None = None) -> Edited:
        """Switch to another version of the recogniser; items that it has not learnt return to the review.

        Parameters
        ----------
        version : int
            The number of the version.
        on : int or None
            The number of the last edit that the person has seen. If another version was put into use since, a
            :class:`ConflictError` is raised; None asks for no check.

        Returns
        -------
        Edited

        """
        return self.models.rollback(version, on=on)

    # Records.

    def status(self) -> Status:
        """Return the status of the workspace."""
        return self.views.status()

    def history(self, limit: int | None = None, before: int | None = None) -> list[Entry]:
        """Return the history, the latest entry first.

        Parameters
        ----------
        limit : int or None
            Largest number of entries; None for all.
        before : int or None
            Return only entries with a number below this one.

        Returns
        -------
        list of Entry

        """
        return self.review.history(limit, before)

    def export(
        self,
        format: str,
        out: str | os.PathLike[str],
        *,
        images: str = "all",
        copy: bool = False,
        overwrite: bool = False,
        deployments: str | os.PathLike[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        progress: Progress = silent,
    ) -> list[tuple[str, str]]:
        """Write labels in the format of another tool, all or nothing: an interrupted export leaves no target.

        Parameters
        ----------
        format : str
            One of :data:`opengcd.workspace.FORMATS`, such as ``"csv"`` or ``"imagefolder"``; some are a file, others a
            folder.
        out : path
            The file or the folder to make.
        images : {"all", "reviewed", "new"}
            Which images: all, those whose class a person has given or confirmed, or those of classes and groups that
            were discovered.
        copy : bool
            Whether a folder holds copies of the images instead of links.
        overwrite : bool
            Whether to replace a file, or a folder that an export wrote. A folder with anything else is never replaced.
        deployments : path or None
            A table of where and when cameras were, which ``"camtrap-dp"`` needs; ``"darwin-core"`` and
            ``"inaturalist"`` take coordinates from it.
        metadata : mapping or None
            With ``"camtrap-dp"``: fields of its ``datapackage.json``, such as ``contributors`` and ``project``.
        progress : callable
            Called with a stage, the steps done and their total (0: not known).

        Returns
        -------
        list of (str, str)
            The files that could not be exported, with reasons.

        Raises
        ------
        WorkspaceError
            If there is something at ``out`` that may not be replaced.

        """
        return self.formats.export(
            format,
            out,
            images=images,
            copy=copy,
            overwrite=overwrite,
            deployments=deployments,
            metadata=metadata,
            progress=progress,
        )

    def check(self, *, repair: bool = False, progress: Progress = silent) -> list[Finding]:
        """Look for damage: in the database, edit log, networks, vectors, models, uploads, thumbnails and maps.

        Parameters
        ----------
        repair : bool
            Whether to compute vectors again from the images, and to delete damaged thumbnails and maps, which are made
            again when they are needed.
        progress : callable
            Called with a stage, the steps done and their total (0: not known).

        Returns
        -------
        list of Finding
            All damage that was found; empty if there is none.

        """

        def embed(stored: StoredEmbedder, originals: Sequence[Original]) -> None:
            embedder = self.vectors.load(stored)
            embed_originals(self.store.database, self.vectors.folder, embedder, originals, progress)

        check = Check(self.store.database, self.path, repair, embed, progress)
        if not repair:
            return list(check.run())
        with self.store.alone(progress):
            return list(check.run())
