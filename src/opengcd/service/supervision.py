"""Health of background tasks: after an error they retry with growing pauses, and ``/healthz`` reports them as down."""

from __future__ import annotations

import logging

from opengcd.workspace import UnavailableError

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 15.0
"""Seconds before a task that failed tries again; the pause doubles from one failure to the next."""

log = logging.getLogger(__name__)


class Health:
    """Which background tasks are down, and why."""

    def __init__(self) -> None:
        self.down: dict[str, str] = {}

    def task(self, name: str) -> Task:
        """Return a handle with which a task reports its state."""
        return Task(name, self)


class Task:
    """Reports successes and failures of one background task."""

    def __init__(self, name: str, health: Health) -> None:
        self.name = name
        self._health = health
        self._pause = FIRST_PAUSE

    def succeeded(self) -> None:
        """Note that the task works."""
        self._pause = FIRST_PAUSE
        if self._health.down.pop(self.name, None) is not None:
            log.warning("%s: works again.", self.name)

    def failed(self, error: Exception) -> float:
        """Note that the task failed; return the seconds to wait before it tries again."""
        told = f"{type(error).__name__}: {error}"
        if self._health.down.get(self.name) != told:
            trace = None if isinstance(error, UnavailableError) else error  # an outage is no bug, so no traceback
            log.error("%s: failed, and will try again. %s", self.name, told, exc_info=trace)
        self._health.down[self.name] = told
        pause, self._pause = self._pause, min(2 * self._pause, LONGEST_PAUSE)
        return pause
