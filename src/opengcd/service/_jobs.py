"""Long work in the background: one job at a time, in the one process that holds the lock of jobs."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from fastapi import Path
from filelock import FileLock, Timeout

from opengcd.service import _models as api
from opengcd.service._access import Responses, guarded
from opengcd.service._state import Person, Service
from opengcd.workspace import Job, Workspace

LOOK = 0.5
"""Seconds between looks for work that another process was given."""
REPORT = 0.2
"""Seconds between reports of progress."""
STOPPED = "The server was stopped while this ran; nothing was changed. Start it again."

log = logging.getLogger(__name__)


class CancelledError(Exception):
    """Somebody wants the job to end."""


class Runner:
    """A thread that does the jobs of a workspace, if no other process does."""

    def __init__(self, workspace: Workspace, done: Callable[[], None]) -> None:
        self.workspace = workspace
        self.done = done
        """Called before a job is said to be done."""
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="jobs", daemon=True)

    def start(self) -> None:
        """Begin to look for work."""
        self._thread.start()

    def wake(self) -> None:
        """Look for work now."""
        self._wake.set()

    def stop(self) -> None:
        """End; a job that runs ends at its next step."""
        self._stop.set()
        self._wake.set()
        self._thread.join()

    def _work(self) -> None:
        lock = FileLock(self.workspace.path / ".jobs.lock", thread_local=False)
        while not self._stop.is_set():
            try:
                lock.acquire(timeout=0)
                break
            except Timeout:
                self._pause()
        else:
            return
        with lock:
            # Nobody else runs jobs: what seems to run was left by a process that is no more.
            self.workspace.jobs.bury(STOPPED)
            while not self._stop.is_set():
                try:
                    job = self.workspace.jobs.take()
                    if job is not None:
                        self._run(job)
                        continue
                except Exception:  # the next job may fare better
                    log.exception("A job could not be run.")
                self._pause()

    def _pause(self) -> None:
        self._wake.wait(LOOK)
        self._wake.clear()

    def _run(self, job: Job) -> None:
        jobs = self.workspace.jobs
        last = 0.0
        before = ""

        def progress(stage: str, done: int, total: int, /) -> None:
            nonlocal last, before
            if self._stop.is_set():
                raise CancelledError(STOPPED)
            if stage == before and time.monotonic() - last < REPORT:
                return
            last, before = time.monotonic(), stage
            if jobs.report(job.id, stage, done, total):
                raise CancelledError("Cancelled; nothing was changed.")

        try:
            result = VERBS[job.verb](self.workspace.by(job.who), progress, **job.arguments)
            self.done()
        except CancelledError as error:
            jobs.finish(job.id, "failed" if self._stop.is_set() else "cancelled", error=str(error))
        except ValueError as error:
            jobs.finish(job.id, "failed", error=str(error))
        except Exception as error:
            log.exception("The job %s failed.", job.verb)
            jobs.finish(job.id, "failed", error=f"{type(error).__name__}: {error}")
        else:
            jobs.finish(job.id, "done", result=result)


def _discover(workspace: Workspace, progress: Any, k: int | None = None) -> dict[str, Any]:
    return workspace.discover(k, progress=progress)._asdict()


def _learn(workspace: Workspace, progress: Any) -> dict[str, Any]:
    version = workspace.learn(progress=progress)
    report = version.report or {}
    facts = {"version": version.id, "classes": version.classes}
    return facts | {"before": report.get("before"), "after": report.get("after")}


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
    """Cancel a job: one that runs ends at its next step, and changes nothing."""
    return as_job(workspace.jobs.cancel(id))


def as_job(job: Job) -> api.Job:
    """Return a job as the API shows it."""
    return api.Job(**{name: getattr(job, name) for name in api.Job.model_fields})
