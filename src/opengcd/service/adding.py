"""Images and videos that are added in the page: uploads, folders of the machine, and one folder that is watched."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import select

from opengcd._internal.durable_files import make_folder, sync_folder
from opengcd.service.job_reports import JobReport
from opengcd.service.supervision import Task
from opengcd.service.uploads import Uploads, names_as_uploaded
from opengcd.service.vector_uploads import read_inside
from opengcd.workspace import MissingError, Workspace, WorkspaceError, find_files, readable
from opengcd.workspace.boxes import CONFIDENCE
from opengcd.workspace.database import in_parts
from opengcd.workspace.files import Found, content_hash, look_at
from opengcd.workspace.schema import failures, items, paths
from opengcd.workspace.videos import FPS, Frames

IMAGES = "images"
"""The folder of a workspace for images that were uploaded, under their own names."""
ADDED = Path(IMAGES) / "added"
INCOMING = ".incoming"
"""The folder of a workspace for uploads that are under way."""
MOST_REASONS = 10
EVERY = 2.0
"""Seconds between two looks at the folder that is watched."""


def uploads_of(workspace: Workspace) -> Uploads:
    """Return the uploads of a workspace.

    Parameters
    ----------
    workspace : Workspace

    Returns
    -------
    Uploads

    """
    return Uploads(workspace.path / INCOMING)


def add_images(
    workspace: Workspace,
    report: JobReport,
    *,
    upload: str | None = None,
    folder: str | None = None,
    fps: float = FPS,
    boxes: str | None = None,
    min_confidence: float = CONFIDENCE,
    times: str | None = None,
) -> None:
    """Recognise the images of an upload or a folder, as a job.

    It may be repeated after it was interrupted: what was recognised is kept, and the rest follows.

    Parameters
    ----------
    workspace : Workspace
    report : JobReport
    upload : str or None
        The upload, whose files are moved into the workspace.
    folder : str or None
        A folder of the machine, whose files stay where they are.
    fps : float
        Frames per second that are taken of videos.
    boxes : str or None
        A file of boxes that are cut out, relative to the upload or the folder.
    min_confidence : float
        The lowest confidence of a box that is used.
    times : str or None
        A CSV file with the times of images and videos, relative to the upload or the folder.

    """
    skipped = 0
    start = Path(folder) if folder is not None else workspace.path.absolute() / ADDED / str(upload)
    if upload is not None:
        skipped = _move_in(workspace, upload, start, report, [name for name in (boxes, times) if name])
    with workspace.store.database.reading() as connection:
        newest = connection.scalar(select(items.c.id).order_by(items.c.id.desc()).limit(1)) or 0
    counts = {"images": 0, "rejected": 0, "duplicates": skipped, "bad": 0, "empty": 0}
    seen: set[int] = set()
    reasons: list[str] = []
    given: dict[str, Any] = {
        "boxes": None if boxes is None else start / boxes,
        "min_confidence": min_confidence,
        "fps": fps,
    }
    starts = [start] if start.exists() else []  # all of an upload may be duplicates
    for result in workspace.recognition.recognize(starts, **given, progress=report.progress) if starts else ():
        if result.item is None and not result.reason:
            counts["empty"] += 1
        elif result.item is None:
            counts["bad"] += 1
            reasons += [f"{os.path.basename(readable(result.path))}: {result.reason}"][: MOST_REASONS - len(reasons)]
        elif result.item <= newest or result.item in seen:
            counts["duplicates"] += 1
        else:
            seen.add(result.item)
            counts["images"] += 1
            counts["rejected"] += result.label == "unknown"
    if times is not None and starts:
        workspace.set_times(start / times)
    with workspace.store.database.writing() as connection:
        report.record(connection, {**counts, "reasons": reasons})
    if upload is not None:
        uploads_of(workspace).drop(upload)


def _move_in(workspace: Workspace, upload: str, target: Path, report: JobReport, beside: Sequence[str]) -> int:
    """Move the files of an upload into the workspace; return how many are duplicates, which stay out."""
    try:
        root = uploads_of(workspace).files(upload)
    except MissingError:
        if target.exists():  # the job was interrupted at its very end
            return 0
        raise
    vectors = workspace.settings.takes_vectors
    files = _files_of(workspace, root, beside)
    there = {content_hash(found.path) for found in find_files([target])} if target.exists() else set()
    hashes: dict[str, str] = {}
    for number, found in enumerate(files):
        report.progress("looking for duplicates", number, len(files))
        if not found.reason:
            hashes[found.path] = found.path if vectors else content_hash(found.path)  # rows tell duplicates apart
    there |= _present(workspace, list(set(hashes.values())))
    skipped = 0
    folders: set[Path] = set()
    for found in files:
        content = hashes.get(found.path)
        if content is None or content in there:
            skipped += 1
            continue
        there.add(content)
        file = target / Path(found.path).relative_to(root)
        make_folder(file.parent)
        with open(found.path, "rb+") as stream:  # what is reported as recognised survives a power failure
            os.fsync(stream.fileno())
        os.replace(found.path, file)
        folders.add(file.parent)
    for folder in folders:
        sync_folder(folder)
    return skipped


def _files_of(workspace: Workspace, root: Path, beside: Sequence[str]) -> list[Found]:
    """Return the files of an upload that are of use: images and files about them, or vectors and what they name."""
    if workspace.settings.takes_vectors:
        with names_as_uploaded(root):
            for found in workspace.recognition.find([root]):
                read_inside(Path(found.path), root)
        return [look_at(str(file)) for file in root.rglob("*") if file.is_file()]
    return [*find_files([root]), *(look_at(str(root / name)) for name in beside if (root / name).is_file())]


def _present(workspace: Workspace, hashes: Sequence[str]) -> set[str]:
    """Return those contents that a file of an item still has."""
    found: set[str] = set()
    with workspace.store.database.reading() as connection:
        for part in in_parts(hashes):
            query = select(items.c.hash, paths.c.path).join(paths, paths.c.item_id == items.c.id)
            found |= {
                row.hash for row in connection.execute(query.where(items.c.hash.in_(part))) if os.path.exists(row.path)
            }
    return found


class Watched(NamedTuple):
    """A folder of the machine whose images are recognised as they appear."""

    folder: str
    fps: float = FPS
    """Frames per second that are taken of videos."""


class Watch:
    """Recognises images as they appear in a folder of the machine, until it is stopped.

    Parameters
    ----------
    workspace : Workspace
    task : Task
        Reports whether it works.
    remember : callable
        Called with what is watched, or None when the watch is stopped, so that a later start can go on.

    """

    def __init__(self, workspace: Workspace, task: Task, remember: Callable[[Watched | None], None]) -> None:
        self._workspace = workspace
        self._task = task
        self._remember = remember
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        self.watched: Watched | None = None
        self.images = 0
        """Images added since the watch began."""
        self.problem = ""
        """Why nothing can be added at the moment."""

    def start(self, wanted: Watched, who: str) -> None:
        """Watch a folder, and no longer the previous one.

        Parameters
        ----------
        wanted : Watched
        who : str
            The name that the history shows.

        """
        if not os.path.isdir(wanted.folder):
            raise WorkspaceError(f"There is no folder {wanted.folder}.")
        if Path(wanted.folder).resolve().is_relative_to(self._workspace.path.resolve()):
            raise WorkspaceError("Choose a folder outside of the project.")
        if not self._workspace.models.knows_classes():
            raise WorkspaceError("No class has been learnt yet, so nothing can be recognised.")
        self.stop()
        with self._lock:
            self.watched, self.images, self.problem = wanted, 0, ""
            self._ending = threading.Event()
            arguments = (self._workspace.by(who), wanted, self._ending)
            self._thread = threading.Thread(target=self._watch, args=arguments, name="watch", daemon=True)
            self._thread.start()
        self._remember(wanted)

    def stop(self, *, forget: bool = True) -> None:
        """End the watch at its next step.

        Parameters
        ----------
        forget : bool
            Whether a later start should not go on with it.

        """
        with self._lock:
            self._ending.set()
            if self._thread is not None:
                self._thread.join()
            self._thread, self.watched, self.problem = None, None, ""
            self._task.succeeded()
        if forget:
            self._remember(None)

    def _watch(self, workspace: Workspace, wanted: Watched, ending: threading.Event) -> None:
        def go_on(*_: Any) -> None:
            if ending.is_set():
                raise _EndedError

        before: set[Found] = set()
        tried: set[Found] = set()
        pause = 0.0
        while not ending.wait(pause):
            pause = EVERY
            try:
                if not os.path.isdir(wanted.folder):
                    self.problem, before = "The folder is not there. It is watched again as soon as it is back.", set()
                    continue
                now = set(workspace.recognition.find([wanted.folder]))
                settled = sorted(now & before - tried)
                new = not_taken(workspace, settled, wanted.fps)
                for result in workspace.recognition.recognize_files(new, fps=wanted.fps, progress=go_on):
                    self.images += result.item is not None
                tried, before = tried & now | set(settled), now
                self.problem = ""
                self._task.succeeded()
            except _EndedError:
                return
            except Exception as error:
                self.problem = str(error)
                pause = self._task.failed(error)


class _EndedError(Exception):
    """The watch is to end."""


def not_taken(workspace: Workspace, files: Sequence[Found], fps: float) -> list[Found]:
    """Return the files that are new or have changed, without those that could not be used before."""
    frames = Frames(workspace.path)
    known: set[tuple[str, int, int]] = set()
    bad: set[str] = set()
    with workspace.store.database.reading() as connection:
        for part in in_parts([found.path for found in files]):
            query = select(paths.c.path, paths.c.size, paths.c.mtime).where(paths.c.path.in_(part))
            known |= {(row.path, row.size, row.mtime) for row in connection.execute(query)}
            bad |= set(connection.scalars(select(failures.c.path).where(failures.c.path.in_(part))))
    new = [found for found in files if found[:3] not in known and found.path not in bad]
    return [found for found in new if not (found.is_video and frames.has(found, fps))]
