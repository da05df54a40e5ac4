"""Long work in the background: one job at a time, in the one process that holds the lock of jobs."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from fastapi import Path
from filelock import FileLock, Timeout
from sqlalchemy import Connection

from opengcd._internal.progress import Progress
from opengcd.service import wire as api
from opengcd.service.authentication import Responses, guarded
from opengcd.service.recognition_routes import Recognition
from opengcd.service.state import Person, Service
from opengcd.service.supervision import Task
from opengcd.workspace import CancelledError, Job, UnavailableError, Version, Workspace

LOOK = 0.5
"""Seconds between looks for work that another process was given."""
REPORT = 0.2
"""Seconds between reports of progress."""
STOPPED = "The server was stopped while this ran; nothing was changed. Start it again."
CANCELLED = "Cancelled; nothing was changed."

log = logging.getLogger(__name__)


class Runner:
    """A thread that does the jobs of a workspace, if no other process does."""

    def __init__(self, workspace: Workspace, recognition: Recognition, task: Task) -> None:
        self.workspace = workspace
        self.recognition = recognition
        self._task = task
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._lock = FileLock(workspace.path / ".jobs.lock", thread_local=False)
        self._settled = False
        """Whether no job is said to run that does not; it is not known after an error."""
        self._ended: tuple[int, str, str | None] | None = None
        """A job that is over, where that could not be written yet."""
        self._thread = threading.Thread(target=self._work, name="jobs", daemon=True)

    def start(self) -> None:
        """Begin to look for work; for a workspace that cannot be changed there is none."""
        if not self.workspace.read_only:
            self._thread.start()

    def wake(self) -> None:
        """Look for work now."""
        self._wake.set()

    def stop(self) -> None:
        """End; a job that runs ends at its next step."""
        self._stop.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def _work(self) -> None:
        try:
            while not self._stop.is_set():
                pause = LOOK
                try:
                    self._look()
                    self._task.succeeded()
                except CancelledError:  # the server ends
                    continue
                except Exception as error:
                    self._settled = False
                    pause = self._task.failed(error)
                self._wake.wait(pause)
                self._wake.clear()
        finally:
            self._lock.release()

    def _look(self) -> None:
        """Do all jobs that wait, if no other process does."""
        if not self._lock.is_locked:
            try:
                self._lock.acquire(timeout=0)
            except Timeout:
                return
        if not self._settled:
            self._settle()
        while not self._stop.is_set() and (job := self.workspace.jobs.take()):
            self._ended = job.id, *self._run(job)
            self._settle()

    def _settle(self) -> None:
        """Write down how every job ended that is said to run: nobody else runs jobs, and none is under way here."""
        jobs = self.workspace.jobs
        if jobs.half_done():
            self._catch_up()
        if self._ended is not None:
            jobs.end(*self._ended)
            self._ended = None
        jobs.end_all(STOPPED)
        self._settled = True

    def _catch_up(self) -> None:
        """Complete what comes after the change of a job; it is done also if this fails."""
        try:
            self.workspace.recognition.catch_up(progress=self._go_on)
        except UnavailableError:
            raise
        except (ValueError, OSError):
            log.exception("Not all images could be recognised anew.")

    def _go_on(self, stage: str, done: int, total: int, /) -> None:
        if self._stop.is_set():
            raise CancelledError

    def _run(self, job: Job) -> tuple[str, str | None]:
        """Do a job; return how it ended, if it has changed nothing, and why."""
        jobs = self.workspace.jobs
        last, before = 0.0, ""

        def progress(stage: str, done: int, total: int, /) -> None:
            nonlocal last, before
            self._go_on(stage, done, total)
            if stage == before and time.monotonic() - last < REPORT:
                return
            last, before = time.monotonic(), stage
            try:
                jobs.report(job.id, stage, done, total)
            except UnavailableError as error:  # what counts is whether the result can be stored
                log.warning("%s", error)

        def record(connection: Connection, result: dict[str, Any]) -> None:
            jobs.record(connection, job.id, result)
            self.recognition.outdated = True  # from the commit on nobody is answered by the version before

        try:
            VERBS[job.verb](self.workspace.by(job.who), progress, record, **job.arguments)
        except CancelledError:
            return ("failed", STOPPED) if self._stop.is_set() else ("cancelled", CANCELLED)
        except ValueError as error:
            return "failed", str(error)
        except Exception as error:
            log.exception("The job %s failed.", job.verb)
            return "failed", f"{type(error).__name__}: {error}"
        finally:
            self.recognition.renew()
        return "done", None


Record = Callable[[Connection, dict[str, Any]], None]


def _discover(workspace: Workspace, progress: Progress, record: Record, k: int | None = None) -> None:
    workspace.discover(k, progress=progress, record=lambda connection, found: record(connection, found._asdict()))


def _learn(workspace: Workspace, progress: Progress, record: Record) -> None:
    def facts(connection: Connection, version: Version) -> None:
        report = version.report or {}
        shares = {"before": report.get("before"), "after": report.get("after")}
        record(connection, {"version": version.id, "classes": version.classes} | shares)

    workspace.learn(progress=progress, record=facts)


VERBS = {"discover": _discover, "learn": _learn}

MISSING: Responses = {404: {"model": api.Problem}}
reading = guarded("read", "jobs")
writing = guarded("write", "jobs")


@writing.post("/jobs", status_code=202)
def start(workspace: Person, service: Service, request: api.JobRequest) -> api.Job:
    """Ask for long work; it is done in the order in which it was asked for."""
    job = workspace.jobs.add(request.verb, request.model_dump(exclude={"verb"}, exclude_none=True), workspace.who)
    service.runner.wake()
    return as_job(job)


@reading.get("/jobs")
def jobs(workspace: Person) -> list[api.Job]:
    """Return the last hundred jobs, the latest first."""
    return [as_job(job) for job in workspace.jobs.latest()]


@reading.get("/jobs/{id}", responses=MISSING)
def job(workspace: Person, id: int = Path(ge=1, le=2**31 - 1)) -> api.Job:
    """Return a job."""
    return as_job(workspace.jobs.get(id))


@writing.post("/jobs/{id}/cancel", responses=MISSING)
def cancel(workspace: Person, id: int = Path(ge=1, le=2**31 - 1)) -> api.Job:
    """Cancel a job: one that runs ends at its next step, and changes nothing; one that has made its change is done."""
    return as_job(workspace.jobs.cancel(id))


def as_job(job: Job) -> api.Job:
    """Return a job as the API shows it."""
    return api.Job.model_validate(job)
