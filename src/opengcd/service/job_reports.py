"""What a running job tells: how far it is, how long it will take, its curves, and in the end its result."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection

from opengcd.adapt import EpochPoint
from opengcd.workspace import UnavailableError
from opengcd.workspace.job_queue import Curves, Jobs

REPORT = 0.2
"""Seconds between reports of progress."""

log = logging.getLogger(__name__)


class TimeLeft:
    """Estimates how long a job will still run: by what was expected beforehand, and by the pace of its present stage.

    Parameters
    ----------
    expected : float
        Seconds of the whole job; 0 if that is not known.
    clock : callable
        Returns seconds.

    """

    def __init__(self, expected: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._expected = expected
        self._end = clock() + expected
        self._stage = ""
        self._began, self._first = 0.0, 0
        """When the stage was reported first, and how many steps were done by then."""

    def after(self, stage: str, done: int, total: int) -> float | None:
        """Return the seconds that are left after a number of steps of a stage, None while that is unknown.

        Parameters
        ----------
        stage : str
        done, total : int
            Its steps; a total of 0 means that it is not known.

        Returns
        -------
        float or None
            What is left of the expected time, or of the stage if that is more.

        """
        now = self._clock()
        if stage != self._stage or done < self._first:
            self._stage, self._began, self._first = stage, now, done
        made = done - self._first
        paced = made > 0 and total > 0
        if not paced and not self._expected:
            return None
        stage_left = (now - self._began) * (total - done) / made if paced else 0.0
        return max(0.0, self._end - now, stage_left)


class JobReport:
    """Stores what a job tells while it runs.

    Parameters
    ----------
    jobs : Jobs
    id : int
        The number of the job.
    go_on : callable
        Called at every step; raises if the job is to end.
    recorded : callable
        Called when the result is about to be committed.

    """

    def __init__(self, jobs: Jobs, id: int, go_on: Callable[[], None], recorded: Callable[[], None]) -> None:
        self._jobs, self._id = jobs, id
        self._go_on, self._recorded = go_on, recorded
        self._last, self._stage = 0.0, ""
        self._time_left: TimeLeft | None = None
        self._curves: Curves = {}

    def expect(self, seconds: float | None) -> None:
        """Note how long the job will run, if that is known.

        Parameters
        ----------
        seconds : float or None

        """
        self._time_left = None if seconds is None else TimeLeft(seconds)

    def progress(self, stage: str, done: int, total: int, /) -> None:
        """Report progress, at most every :data:`REPORT` seconds within a stage."""
        self._go_on()
        left = None if self._time_left is None else self._time_left.after(stage, done, total)
        if stage == self._stage and time.monotonic() - self._last < REPORT:
            return
        self._last, self._stage = time.monotonic(), stage
        try:
            self._jobs.report(self._id, stage, done, total, left)
        except UnavailableError as error:  # a lost report does no harm; the result is what must be stored
            log.warning("%s", error)

    def add_point(self, curve: str, point: EpochPoint) -> None:
        """Draw one more point of a curve.

        Parameters
        ----------
        curve : str
            Its name.
        point : EpochPoint

        """
        numbers = {name: value if math.isfinite(value) else None for name, value in point._asdict().items()}
        self._curves.setdefault(curve, []).append(numbers)
        try:
            self._jobs.draw(self._id, self._curves)
        except UnavailableError as error:  # the next point brings this one, too
            log.warning("%s", error)

    def record(self, connection: Connection, result: dict[str, Any], curves: Curves | None = None) -> None:
        """Store the result in the transaction that makes the change.

        Parameters
        ----------
        connection : Connection
            Of that transaction.
        result : dict
            JSON.
        curves : dict or None
            All points of its curves, including those that an interrupted job has drawn before.

        """
        self._jobs.record(connection, self._id, result, curves)
        self._recorded()
