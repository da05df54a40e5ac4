"""Long work that was asked for through the service: a queue in the database, so that a restart forgets nothing."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from sqlalchemy import Row, insert, or_, select, update

from opengcd.workspace._database import Database
from opengcd.workspace._errors import MissingError
from opengcd.workspace._log import now
from opengcd.workspace._schema import jobs

WAITING, RUNNING, DONE, FAILED, CANCELLED = "waiting", "running", "done", "failed", "cancelled"


class Job(NamedTuple):
    """One piece of long work."""

    id: int
    verb: str
    arguments: dict[str, Any]
    who: str
    at: str
    state: str
    """``waiting``, ``running``, ``done``, ``failed`` or ``cancelled``."""
    stage: str
    done: int
    total: int
    result: dict[str, Any] | None
    error: str | None

    @property
    def finished(self) -> bool:
        """Whether nothing more will happen."""
        return self.state not in (WAITING, RUNNING)


class Jobs:
    """The jobs of a workspace; one runs at a time."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, verb: str, arguments: dict[str, Any], who: str) -> Job:
        """Put a job at the end of the queue."""
        row: dict[str, Any] = {"verb": verb, "arguments": arguments, "who": who, "at": now(), "state": WAITING}
        row |= {"stage": "", "done": 0, "total": 0, "cancel": False}
        with self._database.writing() as connection:
            (id,) = connection.execute(insert(jobs).values(row)).inserted_primary_key or (0,)
        return self.get(id)

    def get(self, id: int) -> Job:
        """Return a job."""
        with self._database.reading() as connection:
            row = connection.execute(select(jobs).where(jobs.c.id == id)).one_or_none()
        if row is None:
            raise MissingError(f"There is no job {id}.")
        return _job(row)

    def latest(self, limit: int = 100, *, unfinished: bool = False) -> list[Job]:
        """Return jobs, the latest first."""
        query = select(jobs).order_by(jobs.c.id.desc()).limit(limit)
        if unfinished:
            query = query.where(jobs.c.state.in_([WAITING, RUNNING]))
        with self._database.reading() as connection:
            return [_job(row) for row in connection.execute(query)]

    def news(self, after: int, of: Collection[int]) -> list[Job]:
        """Return jobs that came after one, and some that were there; the oldest first."""
        query = select(jobs).where(or_(jobs.c.id > after, jobs.c.id.in_(of))).order_by(jobs.c.id)
        with self._database.reading() as connection:
            return [_job(row) for row in connection.execute(query)]

    def cancel(self, id: int) -> Job:
        """Ask a job to end: one that waits never begins, one that runs ends at its next step; others stay."""
        with self._database.writing() as connection:
            here = jobs.c.id == id
            connection.execute(update(jobs).where(here, jobs.c.state == WAITING).values(state=CANCELLED))
            connection.execute(update(jobs).where(here, jobs.c.state == RUNNING).values(cancel=True))
        return self.get(id)

    def take(self) -> Job | None:
        """Begin the job that has waited longest; for the one process that runs jobs."""
        with self._database.writing() as connection:
            query = select(jobs).where(jobs.c.state == WAITING).order_by(jobs.c.id).limit(1)
            row = connection.execute(query).one_or_none()
            if row is None:
                return None
            connection.execute(update(jobs).where(jobs.c.id == row.id).values(state=RUNNING))
        return self.get(row.id)

    def report(self, id: int, stage: str, done: int, total: int) -> bool:
        """Write down how far a job is; return whether it should end."""
        with self._database.writing() as connection:
            connection.execute(update(jobs).where(jobs.c.id == id).values(stage=stage, done=done, total=total))
            return bool(connection.scalar(select(jobs.c.cancel).where(jobs.c.id == id)))

    def finish(self, id: int, state: str, *, result: dict[str, Any] | None = None, error: str | None = None) -> None:
        """Write down how a job ended."""
        with self._database.writing() as connection:
            connection.execute(update(jobs).where(jobs.c.id == id).values(state=state, result=result, error=error))

    def bury(self, error: str) -> None:
        """Say of all jobs that seem to run that they failed; for a process that knows that no other runs any."""
        with self._database.writing() as connection:
            connection.execute(update(jobs).where(jobs.c.state == RUNNING).values(state=FAILED, error=error))


def _job(row: Row[Any]) -> Job:
    return Job(**{name: getattr(row, name) for name in Job._fields})
