"""What happens, as it happens: server-sent events, also of what other processes do."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from opengcd.service import authentication, wire
from opengcd.service.authentication import guarded
from opengcd.service.job_runner import as_job
from opengcd.service.map_routes import Draughtsman
from opengcd.service.state import Service
from opengcd.service.supervision import Task
from opengcd.workspace import Job, Workspace, WorkspaceError

LOOK = 0.25
"""Seconds between looks at the database, while someone listens."""
PING = 15.0
"""Seconds of silence after which a sign of life is sent."""
BACKLOG = 1000
"""Events that wait for one listener; one that is slower is sent away, and comes again."""


class Events:
    """Looks at the database while someone listens, and tells everybody who does."""

    def __init__(self, workspace: Workspace, draughtsman: Draughtsman, task: Task) -> None:
        self.workspace = workspace
        self._task = task
        self.draughtsman = draughtsman
        self._listeners: set[asyncio.Queue[tuple[str, Any] | None]] = set()
        self._watching: asyncio.Task[None] | None = None
        self._beginning = asyncio.Lock()
        self._edit = self._job = self._maps = 0
        """The last edit, job and map that were told of."""
        self._unfinished: dict[int, Job] = {}

    async def listen(self, allowed: Callable[[], Awaitable[bool]]) -> AsyncIterator[tuple[str, Any]]:
        """Yield events from now on, as long as that is allowed: the name and the content; first a ping."""
        queue: asyncio.Queue[tuple[str, Any] | None] = asyncio.Queue(BACKLOG)
        async with self._beginning:
            if not self._listeners:
                await run_in_threadpool(self._begin)
                self._watching = asyncio.create_task(self._watch())
            self._listeners.add(queue)
        try:
            yield "ping", {}
            for job in list(self._unfinished.values()):
                yield "job", as_job(job).model_dump()
            told = time.monotonic()
            while True:
                event: tuple[str, Any] | None = "ping", {}
                with suppress(TimeoutError):
                    event = await asyncio.wait_for(queue.get(), authentication.LOOK)
                if event is None or not await allowed():
                    return
                if event[0] != "ping" or time.monotonic() - told >= PING:
                    yield event
                    told = time.monotonic()
        finally:
            self._listeners.discard(queue)
            if not self._listeners and self._watching is not None:
                self._watching.cancel()
                self._task.succeeded()  # nobody misses it

    def stop(self) -> None:
        """Send all listeners away."""
        for queue in self._listeners:
            _send_away(queue)

    async def _watch(self) -> None:
        pause = LOOK
        while True:
            await asyncio.sleep(pause)
            try:
                happened = await run_in_threadpool(self._look)
                self._task.succeeded()
                pause = LOOK
            except Exception as error:
                pause = self._task.failed(error)
                continue
            for event in happened:
                for queue in self._listeners:
                    if queue.full():
                        _send_away(queue)
                    queue.put_nowait(event)

    def _begin(self) -> None:
        """Tell of nothing that was before, but for jobs that are not finished."""
        self._edit, self._maps = self.workspace.review.last_edit(), self.draughtsman.drawn
        self._job = max((job.id for job in self.workspace.jobs.latest(1)), default=0)
        self._unfinished = {job.id: job for job in self.workspace.jobs.latest(unfinished=True)}

    def _look(self) -> list[tuple[str, Any]]:
        """What has happened since the last look; nothing counts as told before all is read."""
        found: list[tuple[str, Any]] = []
        edits = self.workspace.review.edits_since(self._edit, BACKLOG)
        jobs = self.workspace.jobs.news(self._job, self._unfinished)
        for entry, groups in edits:
            event = wire.EditEvent(edit=entry.id, who=entry.who, verb=entry.verb, groups=groups)
            found.append(("edit", event.model_dump()))
            self._edit = entry.id
        for job in jobs:
            if job != self._unfinished.get(job.id):
                found.append(("job", as_job(job).model_dump()))
            self._unfinished[job.id] = job
            self._job = max(self._job, job.id)
        self._unfinished = {id: job for id, job in self._unfinished.items() if not job.finished}
        if self.draughtsman.drawn != self._maps:
            self._maps = self.draughtsman.drawn
            found.append(("map", {}))
        return found


def _send_away(queue: asyncio.Queue[Any]) -> None:
    while not queue.empty():
        queue.get_nowait()
    queue.put_nowait(None)


reading = guarded("read", "events")


@reading.get("/events", response_class=StreamingResponse, responses={200: {"content": {"text/event-stream": {}}}})
async def events(request: Request, service: Service) -> StreamingResponse:
    """Server-sent events: `job` with a job, `edit` with what was changed by whom, `map`, `ping`.

    The first is a `ping`, and all that happens after it is told: what was read before may be out of date.
    """

    async def allowed() -> bool:
        secret = authentication.shown(request)
        try:
            return secret is not None and await service.doorkeeper.grant(*secret) is not None
        except WorkspaceError:  # who listens comes again, and is looked up then
            return False

    async def lines() -> AsyncIterator[str]:
        async for name, content in service.events.listen(allowed):
            yield f"retry: 1000\nevent: {name}\ndata: {json.dumps(content)}\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})
