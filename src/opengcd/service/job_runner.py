"""Jobs: long work in a background thread, one at a time, in the one process that holds the lock file."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import Path
from filelock import FileLock, Timeout
from sqlalchemy import Connection

from opengcd.adapt import AdaptSettings
from opengcd.adapt.reports import REHEARSING, TRAINING
from opengcd.service import wire as api
from opengcd.service.adding import add_images
from opengcd.service.authentication import MISSING, guarded
from opengcd.service.checking import check_workspace
from opengcd.service.job_reports import JobReport
from opengcd.service.recognition_routes import Recognition
from opengcd.service.state import Service, UserWorkspace
from opengcd.service.supervision import Task
from opengcd.service.teaching import teach
from opengcd.workspace import Adapted, CancelledError, Job, UnavailableError, Version, Workspace

POLL_SECONDS = 0.5
"""Seconds between two polls for jobs that other processes have added."""
STOPPED = "The server was stopped while this job ran, and nothing was changed. Start the job again."
CANCELLED = "The job was cancelled, and nothing was changed."
ADDING = "recognize"
"""The verb whose changes are made bit by bit: if it is interrupted, it goes on later with the rest."""
PARTLY = "The job was cancelled. The images that were recognised before stay."

log = logging.getLogger(__name__)


class Runner:
    """Run the jobs of a workspace in a thread, if no other process does."""

    def __init__(self, workspace: Workspace, recognition: Recognition, task: Task) -> None:
        self.workspace = workspace
        self.recognition = recognition
        self._task = task
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._lock = FileLock(workspace.path / ".jobs.lock", thread_local=False)
        self._settled = False
        """Whether all jobs that are marked as running do run; after an error that is not certain."""
        self._ended: tuple[int, str, str | None] | None = None
        """A finished job whose state could not be written yet: its number, state and error."""
        self._thread = threading.Thread(target=self._work, name="jobs", daemon=True)

    def start(self) -> None:
        """Start the thread; a read-only workspace has no jobs."""
        if not self.workspace.read_only:
            self._thread.start()

    def wake(self) -> None:
        """Check for waiting jobs now."""
        self._wake.set()

    def stop(self) -> None:
        """Stop the thread; a running job ends at its next step."""
        self._stop.set()
        self.wake()
        if self._thread.is_alive():
            self._thread.join()

    def _work(self) -> None:
        try:
            while not self._stop.is_set():
                pause = POLL_SECONDS
                try:
                    self._run_waiting()
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

    def _run_waiting(self) -> None:
        """Run all waiting jobs, unless another process holds the lock."""
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
        """Write the final state of every job that is marked as running: none is, as this process holds the lock."""
        jobs = self.workspace.jobs
        if jobs.half_done():
            self._catch_up()
        if self._ended is not None:
            jobs.end(*self._ended)
            self._ended = None
        jobs.resume(ADDING)
        jobs.end_all(STOPPED)
        self._settled = True

    def _catch_up(self) -> None:
        """Complete the work that follows the change of a job; the job counts as done even if this fails."""
        try:
            self.workspace.recognition.catch_up(progress=lambda *_: self._go_on())
        except UnavailableError:
            raise
        except (ValueError, OSError):
            log.exception("Not all images could be recognised again.")

    def _go_on(self) -> None:
        if self._stop.is_set():
            raise CancelledError

    def _run(self, job: Job) -> tuple[str, str | None]:
        """Run a job; return its state and error, which are written if the job itself has not recorded a result."""

        def recorded() -> None:
            self.recognition.outdated = True  # from the commit on no request may be answered by the old version

        report = JobReport(self.workspace.jobs, job.id, self._go_on, recorded)
        report.expect(0.0)  # so the time that is left follows the pace
        try:
            VERBS[job.verb](self.workspace.by(job.who), report, **job.arguments)
        except CancelledError:
            adds = job.verb == ADDING
            if self._stop.is_set():
                return ("waiting", None) if adds else ("failed", STOPPED)
            return "cancelled", PARTLY if adds else CANCELLED
        except ValueError as error:
            return "failed", str(error)
        except Exception as error:
            log.exception("The job %s failed.", job.verb)
            return "failed", f"{type(error).__name__}: {error}"
        finally:
            self.recognition.renew()
        return "done", None


def _discover(workspace: Workspace, report: JobReport, k: int | None = None) -> None:
    workspace.discover(
        k, progress=report.progress, record=lambda connection, found: report.record(connection, found._asdict())
    )


def _learn(workspace: Workspace, report: JobReport) -> None:
    def record(connection: Connection, version: Version) -> None:
        measured = version.report or {}
        shares = {"before": measured.get("before"), "after": measured.get("after")}
        report.record(connection, {"version": version.id, "classes": version.classes} | shares)

    workspace.learn(progress=report.progress, record=record)


def _measure(workspace: Workspace, report: JobReport) -> None:
    workspace.held_out.measure(
        progress=report.progress,
        record=lambda connection, version: report.record(connection, {"version": version}),
    )


def _adapt(
    workspace: Workspace,
    report: JobReport,
    *,
    dry_run: bool = False,
    force: bool = False,
    unlabelled: bool | None = None,
    **chosen: Any,
) -> None:
    def record(connection: Connection, adapted: Adapted) -> None:
        facts = adapted.as_dict()
        curves = {REHEARSING: facts["rehearsal_curve"], TRAINING: facts["curve"]}
        report.record(connection, {name: facts[name] for name in api.AdaptResult.model_fields}, curves)

    settings = AdaptSettings(**chosen) if chosen else None
    report.progress("measuring how long it will take", 0, 0)
    report.expect(workspace.adaptation.plan(settings, unlabelled=unlabelled, dry_run=dry_run).seconds)
    workspace.adapt(
        force=force,
        dry_run=dry_run,
        settings=settings,
        unlabelled=unlabelled,
        progress=report.progress,
        record=record,
        on_epoch=report.add_point,
    )


VERBS: dict[str, Callable[..., None]] = {
    "discover": _discover,
    "learn": _learn,
    "teach": teach,
    "measure": _measure,
    "check": check_workspace,
    "adapt": _adapt,
    ADDING: add_images,
}

JobNumber = Annotated[int, Path(ge=1, le=2**31 - 1, description="The number of the job.")]

reading = guarded("read", "jobs")
writing = guarded("write", "jobs")


@writing.post("/jobs", status_code=202, summary="Start a job", response_description="The job, which may have to wait.")
def start(workspace: UserWorkspace, service: Service, request: api.JobRequest) -> api.Job:
    """Add a job; `verb` says what it is to do. Jobs run one after another, in the order in which they were added."""
    job = workspace.jobs.add(request.verb, request.model_dump(exclude={"verb"}, exclude_none=True), workspace.who)
    service.runner.wake()
    return as_job(job)


@reading.get("/jobs", summary="List the jobs", response_description="The jobs, the latest first.")
def jobs(workspace: UserWorkspace) -> list[api.Job]:
    """Return the last hundred jobs, the latest first."""
    return [as_job(job) for job in workspace.jobs.latest()]


@reading.get("/jobs/{id}", summary="Describe a job", response_description="The job.", responses=MISSING)
def job(workspace: UserWorkspace, id: JobNumber) -> api.Job:
    """Return a job: how far it is, or how it ended."""
    return as_job(workspace.jobs.get(id))


@writing.post("/jobs/{id}/cancel", summary="Cancel a job", response_description="The job.", responses=MISSING)
def cancel(workspace: UserWorkspace, id: JobNumber) -> api.Job:
    """Cancel a job. If it is running, it stops at its next step and changes nothing; a job that is done stays done."""
    return as_job(workspace.jobs.cancel(id))


def as_job(job: Job) -> api.Job:
    """Return a job as the API shows it."""
    return api.Job.model_validate(job)
