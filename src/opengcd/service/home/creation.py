"""Create a project in the background: all of it, or nothing."""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from opengcd._internal.durable_files import make_folder, sync_folder
from opengcd.embed import GivenVectors
from opengcd.service.adding import IMAGES
from opengcd.service.home import wire as api
from opengcd.service.home.backbones import usable_backbone
from opengcd.service.home.folder import ProjectFolder, discard
from opengcd.service.job_reports import TimeLeft
from opengcd.service.sources import Chosen, find_known, labelled_root
from opengcd.service.uploads import Uploads
from opengcd.workspace import CancelledError, Workspace, WorkspaceError

STOPPED = "OpenGCD was stopped while this project was created. Nothing of it was kept; create it again."
MOST_REASONS = 10

log = logging.getLogger(__name__)


class Creations:
    """Creates one project at a time, in a thread.

    What was asked for is stored as long as the creation runs, so that the page can show it again after the server was
    stopped or killed.

    Parameters
    ----------
    folder : ProjectFolder
    uploads : Uploads
    local : bool
        Whether folders of this machine may be named.

    """

    def __init__(self, folder: ProjectFolder, uploads: Uploads, *, local: bool) -> None:
        self._folder = folder
        self._uploads = uploads
        self._local = local
        self._lock = threading.Lock()
        self._cancelled = threading.Event()
        self._stopping = False
        self._thread: threading.Thread | None = None
        self.latest: api.Creation | None = None

    def recover(self) -> None:
        """Remove what a killed server has left behind, and show what it was creating."""
        self._folder.clean()
        if (asked := self._folder.recall("creation")) is not None:
            try:
                request = api.NewProject.model_validate(asked)
            except ValueError:  # written by another version
                self._folder.remember("creation", None)
                return
            if (self._folder.path / request.name).exists():  # it was done by then
                self._folder.remember("creation", None)
            else:
                self.latest = _creation(request).model_copy(update={"state": "failed", "error": STOPPED})

    def start(self, request: api.NewProject, who: str) -> api.Creation:
        """Start to create a project.

        Parameters
        ----------
        request : NewProject
        who : str
            The name that the history shows.

        Returns
        -------
        Creation

        Raises
        ------
        WorkspaceError
            If another project is being created, or something can be seen to be wrong beforehand.

        """
        self._folder.check_new(request.name)
        _check_settings(request.settings)
        labelled_root(request.known, self._uploads, local=self._local)
        with self._lock:
            if self._stopping or (self.latest is not None and self.latest.state == "running"):
                raise WorkspaceError("Another project is being created; wait until it is done, or cancel it.")
            self._cancelled.clear()
            self.latest = _creation(request)
            self._folder.remember("creation", api.plain(request))
            self._thread = threading.Thread(target=self._run, args=[request, who], name="creation", daemon=True)
            self._thread.start()
            return self.latest

    def cancel(self) -> None:
        """End the creation at its next step; nothing of it is kept."""
        self._cancelled.set()

    def close(self) -> None:
        """Forget the last creation, if it is over."""
        with self._lock:
            if self.latest is not None and self.latest.state != "running":
                self.latest = None
                self._folder.remember("creation", None)

    def stop(self) -> None:
        """End the creation because the server ends; the next one shows what was asked for."""
        with self._lock:
            self._stopping = True
        self.cancel()
        if self._thread is not None:
            self._thread.join()

    def _run(self, request: api.NewProject, who: str) -> None:
        outcome: dict[str, object]
        try:
            outcome = self._create(request, who)
        except CancelledError:
            outcome = {"state": "cancelled"}
        except (ValueError, OSError, ImportError, MemoryError) as error:
            outcome = {"state": "failed", "error": str(error) or "There is not enough memory."}
        except Exception as error:
            log.exception("A project could not be created.")
            outcome = {"state": "failed", "error": f"{type(error).__name__}: {error}"}
        with self._lock:
            if not self._stopping or outcome["state"] == "done":
                self._folder.remember("creation", None)
            self._update(**outcome)

    def _create(self, request: api.NewProject, who: str) -> dict[str, object]:
        self._progress("reading the labelled images", 0, 0)
        chosen = find_known(request.known, self._uploads, local=self._local)
        backbone, pooling = GivenVectors.name, "cls"
        if chosen.vectors is None:
            self._progress("loading the backbone", 0, 0)
            backbone = request.backbone
            pooling = usable_backbone(backbone, request.settings.pooling)
        self._progress("making the project", 0, 0)
        folder = self._folder.begin(request.name)
        options = request.settings.options()
        try:
            with Workspace.create(
                folder, backbone, pooling=pooling, precision=request.settings.precision, recognizer=options, who=who
            ) as made:
                if request.known.upload is not None:
                    chosen = _take_in(chosen, folder / IMAGES / "known", self._go_on)
                left = TimeLeft(0.0)

                def progress(stage: str, done: int, total: int, /) -> None:
                    self._progress(stage, done, total, left.after(stage, done, total))

                bad = made.fit(
                    chosen.classes if chosen.vectors is None else chosen.vectors,
                    boxes=chosen.boxes,
                    min_confidence=request.known.min_confidence,
                    box_labels=chosen.boxes is not None and request.known.box_labels,
                    fps=request.known.fps,
                    progress=progress,
                )
                status = made.status()
            self._go_on()
            self._folder.finish(folder)
        except BaseException:
            discard(folder)
            raise
        if request.known.upload is not None:
            self._uploads.drop(request.known.upload)
        reasons = [f"{os.path.basename(path)}: {reason}" for path, reason in bad[:MOST_REASONS]]
        images = status.counts.get("learnt", 0)
        return {"state": "done", "key": folder.name, "images": images, "unusable": len(bad), "reasons": reasons}

    def _go_on(self) -> None:
        if self._cancelled.is_set():
            raise CancelledError

    def _progress(self, stage: str, done: int, total: int, left: float | None = None) -> None:
        self._go_on()
        self._update(stage=stage, done=done, total=total, seconds_left=left)

    def _update(self, **values: object) -> None:
        assert self.latest is not None
        self.latest = self.latest.model_copy(update=values)


def _creation(request: api.NewProject) -> api.Creation:
    """Return a creation that begins."""
    nothing: dict[str, Any] = {
        "stage": "",
        "done": 0,
        "total": 0,
        "seconds_left": None,
        "images": 0,
        "unusable": 0,
        "reasons": [],
    }
    return api.Creation(id=secrets.token_hex(4), state="running", request=request, **nothing)


def _check_settings(settings: api.ProjectSettings) -> None:
    """Refuse settings that do not go together, before anything is read."""
    from opengcd.recognizer import OpenWorldRecognizer

    try:
        OpenWorldRecognizer(**settings.options()).check_parameters(2)
    except ValueError as error:
        raise WorkspaceError(f"The settings cannot be used. {error}") from None


def _take_in(chosen: Chosen, target: Path, check: Callable[[], None]) -> Chosen:
    """Copy the files that are used into the workspace, by links where the disk allows; return them there."""
    if chosen.vectors is None:
        used = list({file: None for files in chosen.classes.values() for file in files})  # one may have many boxes
    else:  # it may name pictures
        used = [file for file in chosen.root.rglob("*") if file.is_file()]
    folders: set[Path] = set()
    for file in [*used, *([chosen.boxes] if chosen.boxes else [])]:
        check()
        copy = target / file.relative_to(chosen.root)
        make_folder(copy.parent)
        try:
            os.link(file, copy)
        except OSError:
            shutil.copyfile(file, copy)
        with open(copy, "rb+") as stream:
            os.fsync(stream.fileno())
        folders.add(copy.parent)
    for folder in folders:
        sync_folder(folder)
    return chosen.moved(target)
