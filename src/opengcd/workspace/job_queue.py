"""Long work that was asked for through the service: a queue in the database, which survives a restart."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, String, case, insert, literal, null, or_, select, update

from opengcd.workspace.database import Database
from opengcd.workspace.errors import MissingError
from opengcd.workspace.log import now
from opengcd.workspace.schema import jobs

WAITING, RUNNING, DONE, FAILED, CANCELLED = "waiting", "running", "done", "failed", "cancelled"

Curves = dict[str, list[dict[str, Any]]]
"""The points of the curves of a training, by the name of the curve; JSON."""


class CancelledError(Exception):
    """A job was cancelled."""


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
    seconds_left: float | None
    """Estimated seconds that it will still run; None if that is unknown."""
    curves: Curves | None
    """Points of the curves of a training so far, by the name of the curve."""

    @property
    def finished(self) -> bool:
        """Whether the job is over."""
        return self.state not in (WAITING, RUNNING)


class Jobs:
    """The jobs of a workspace; one runs at a time.

    The transaction that makes the change of a job also writes the job's result (:meth:`record`), so a job without a
    result has changed nothing, and a job with a result always ends as done.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, verb: str, arguments: dict[str, Any], who: str) -> Job:
        """Add a job at the end of the queue.

        Parameters
        ----------
        verb : str
            ``"discover"``, ``"learn"``, ``"teach"`` or ``"adapt"``.
        arguments : dict
            Of the verb; JSON.
        who : str
            Who asked for it.

        Returns
        -------
        Job

        """
        row: dict[str, Any] = {"verb": verb, "arguments": arguments, "who": who, "at": now(), "state": WAITING}
        row |= {"stage": "", "done": 0, "total": 0, "cancel": False}
        with self._database.writing() as connection:
            (id,) = connection.execute(insert(jobs).values(row)).inserted_primary_key or (0,)
            return _get(connection, id)

    def get(self, id: int) -> Job:
        """Return a job.

        Parameters
        ----------
        id : int
            Its number.

        Returns
        -------
        Job

        Raises
        ------
        MissingError
            If there is no such job.

        """
        with self._database.reading() as connection:
            return _get(connection, id)

    def latest(self, limit: int = 100, *, unfinished: bool = False) -> list[Job]:
        """Return jobs, the latest first.

        Parameters
        ----------
        limit : int
            Largest number of jobs.
        unfinished : bool
            Whether to return only those that wait or run.

        Returns
        -------
        list of Job

        """
        query = select(jobs).order_by(jobs.c.id.desc()).limit(limit)
        if unfinished:
            query = query.where(jobs.c.state.in_([WAITING, RUNNING]))
        with self._database.reading() as connection:
            return [_job(row) for row in connection.execute(query)]

    def half_done(self) -> bool:
        """Return whether a job has made its change and is not over."""
        query = select(jobs.c.id).where(jobs.c.state == RUNNING, jobs.c.result.is_not(None)).limit(1)
        with self._database.reading() as connection:
            return connection.scalar(query) is not None

    def news(self, after: int, of: Collection[int]) -> list[Job]:
        """Return jobs that came after one, and some that were there; the oldest first.

        Parameters
        ----------
        after : int
            Jobs with a larger number are returned.
        of : collection of int
            Numbers of other jobs to return.

        Returns
        -------
        list of Job

        """
        query = select(jobs).where(or_(jobs.c.id > after, jobs.c.id.in_(of))).order_by(jobs.c.id)
        with self._database.reading() as connection:
            return [_job(row) for row in connection.execute(query)]

    def cancel(self, id: int) -> Job:
        """Ask a job to end.

        One that waits never begins, one that runs ends at its next step, one that has made its change is done.

        Parameters
        ----------
        id : int
            The number of the job.

        Returns
        -------
        Job
            As it is now.

        """
        with self._database.writing() as connection:
            here = jobs.c.id == id
            connection.execute(update(jobs).where(here, jobs.c.state == WAITING).values(state=CANCELLED))
            running = update(jobs).where(here, jobs.c.state == RUNNING)
            connection.execute(running.values(cancel=True))
            connection.execute(running.where(jobs.c.result.is_not(None)).values(state=DONE))
            return _get(connection, id)

    def take(self) -> Job | None:
        """Begin the job that has waited longest; for the one process that runs jobs."""
        with self._database.writing() as connection:
            query = select(jobs.c.id).where(jobs.c.state == WAITING).order_by(jobs.c.id).limit(1)
            id = connection.scalar(query)
            if id is None:
                return None
            connection.execute(update(jobs).where(jobs.c.id == id).values(state=RUNNING))
            return _get(connection, id)

    def report(self, id: int, stage: str, done: int, total: int, seconds_left: float | None = None) -> None:
        """Store the progress of a job.

        Parameters
        ----------
        id : int
            The number of the job.
        stage : str
            What it does now.
        done, total : int
            Steps of the stage; a total of 0 means that it is not known.
        seconds_left : float or None
            How long the job will still run; None if that is not known.

        Raises
        ------
        CancelledError
            If the job was cancelled.

        """
        self._store(id, {"stage": stage, "done": done, "total": total, "seconds_left": seconds_left})

    def draw(self, id: int, curves: Curves) -> None:
        """Store the curves of a training.

        Parameters
        ----------
        id : int
            The number of the job.
        curves : dict
            All points so far, by the name of the curve; JSON.

        Raises
        ------
        CancelledError
            If the job was cancelled.

        """
        self._store(id, {"curves": curves})

    def _store(self, id: int, values: dict[str, Any]) -> None:
        with self._database.writing() as connection:
            _refuse_cancelled(connection, id)
            connection.execute(update(jobs).where(jobs.c.id == id).values(values))

    def record(self, connection: Connection, id: int, result: dict[str, Any], curves: Curves | None = None) -> None:
        """Store the result of a job in the transaction that makes its change.

        Parameters
        ----------
        connection : Connection
            Of that transaction.
        id : int
            The number of the job.
        result : dict
            JSON.
        curves : dict or None
            All points of its curves, if it has any.

        Raises
        ------
        CancelledError
            If the job was cancelled.

        """
        _refuse_cancelled(connection, id)
        values = {"result": result} if curves is None else {"result": result, "curves": curves}
        connection.execute(update(jobs).where(jobs.c.id == id).values(values))

    def end(self, id: int, state: str = FAILED, error: str | None = None) -> None:
        """Store the final state of a job that runs.

        Parameters
        ----------
        id : int
            The number of the job.
        state : str
            Its state if it has made no change; one that has is done.
        error : str or None
            What went wrong; not stored if the job is done.

        """
        self._end(jobs.c.id == id, state, error)

    def resume(self, verb: str) -> None:
        """Return jobs of a verb that are marked as running to the queue, for the process that knows that none is.

        Parameters
        ----------
        verb : str
            One that can be repeated; jobs that have made their change, or that someone has cancelled, stay.

        """
        which = (jobs.c.state == RUNNING, jobs.c.verb == verb, jobs.c.result.is_(None), ~jobs.c.cancel)
        with self._database.writing() as connection:
            connection.execute(update(jobs).where(*which).values(state=WAITING))

    def end_all(self, error: str) -> None:
        """End all jobs that are marked as running, for the process that knows that none is.

        Parameters
        ----------
        error : str
            What went wrong; jobs that have made their change are done.

        """
        self._end(jobs.c.state == RUNNING, FAILED, error)

    def _end(self, which: ColumnElement[bool], state: str, error: str | None) -> None:
        made = jobs.c.result.is_not(None)
        values = {"state": case((made, DONE), else_=state), "error": case((made, null()), else_=literal(error, String))}
        with self._database.writing() as connection:
            connection.execute(update(jobs).where(which, jobs.c.state == RUNNING).values(values))


def _get(connection: Connection, id: int) -> Job:
    row = connection.execute(select(jobs).where(jobs.c.id == id)).one_or_none()
    if row is None:
        raise MissingError(f"There is no job {id}.")
    return _job(row)


def _refuse_cancelled(connection: Connection, id: int) -> None:
    if connection.scalar(select(jobs.c.cancel).where(jobs.c.id == id)):
        raise CancelledError


def _job(row: Row[Any]) -> Job:
    return Job(**{name: getattr(row, name) for name in Job._fields})
