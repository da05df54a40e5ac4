"""Server-sent events about edits, jobs, people, maps and the plan to adapt, including what other processes do."""

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
from opengcd.service.adaptation_routes import Estimator
from opengcd.service.authentication import guarded
from opengcd.service.job_runner import as_job
from opengcd.service.map_routes import MapRenderer
from opengcd.service.presence import PageName, Presence, as_presence, open_page
from opengcd.service.state import Service
from opengcd.service.supervision import Task
from opengcd.workspace import Job, Workspace, WorkspaceError

POLL_SECONDS = 0.25
"""Seconds between two polls of the database while there are listeners."""
IMAGES_SECONDS = 1.0
"""Least seconds between two events that report new images: recognising adds many in a row."""
PING = 15.0
"""Seconds without an event after which a ping is sent."""
BACKLOG = 1000
"""Events queued for one listener; a slower one is disconnected, and connects again by itself."""


class Events:
    """Poll the database while there are listeners, and send each of them what has changed."""

    def __init__(
        self, workspace: Workspace, map_renderer: MapRenderer, estimator: Estimator, presence: Presence, task: Task
    ) -> None:
        self.workspace = workspace
        self.presence = presence
        self._task = task
        self.map_renderer = map_renderer
        self.estimator = estimator
        self._listeners: set[asyncio.Queue[tuple[str, Any] | None]] = set()
        self._watching: asyncio.Task[None] | None = None
        self._beginning = asyncio.Lock()
        self._edit = self._job = self._maps = self._estimates = self._revision = 0
        """The last edit, job, map, estimate and revision of the images that were reported."""
        self._told_images = 0.0
        """When the last revision was reported, by the monotonic clock."""
        self._unfinished: dict[int, Job] = {}
        self._looking: dict[int, list[str]] = {}
        """Who looks at which group, as it was reported."""

    async def listen(self, allowed: Callable[[], Awaitable[bool]]) -> AsyncIterator[tuple[str, Any]]:
        """Yield names and contents of events from now on, for as long as ``allowed`` says so; the first is a ping."""
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
            if self._looking:
                yield "presence", as_presence(self._looking).model_dump()
            told = time.monotonic()
            while True:
                event: tuple[str, Any] | None = "ping", {}
                with suppress(TimeoutError):
                    event = await asyncio.wait_for(queue.get(), authentication.POLL_SECONDS)
                if event is None or not await allowed():
                    return
                if event[0] != "ping" or time.monotonic() - told >= PING:
                    yield event
                    told = time.monotonic()
        finally:
            self._listeners.discard(queue)
            if not self._listeners and self._watching is not None:
                self._watching.cancel()
                self._task.succeeded()  # without listeners nothing is down

    def stop(self) -> None:
        """Disconnect all listeners."""
        for queue in self._listeners:
            _disconnect(queue)

    async def _watch(self) -> None:
        pause = POLL_SECONDS
        while True:
            await asyncio.sleep(pause)
            try:
                happened = await run_in_threadpool(self._poll)
                self._task.succeeded()
                pause = POLL_SECONDS
            except Exception as error:
                pause = self._task.failed(error)
                continue
            for event in [*happened, *self._looked()]:
                for queue in self._listeners:
                    if queue.full():
                        _disconnect(queue)
                    queue.put_nowait(event)

    def _begin(self) -> None:
        """Start from the present state: of the past only unfinished jobs are reported."""
        self._edit, self._maps = self.workspace.review.last_edit(), self.map_renderer.drawn
        self._estimates, self._revision = self.estimator.measured, self.workspace.views.revision()
        self._job = max((job.id for job in self.workspace.jobs.latest(1)), default=0)
        self._unfinished = {job.id: job for job in self.workspace.jobs.latest(unfinished=True)}
        self._looking = {}

    def _looked(self) -> list[tuple[str, Any]]:
        """Return an event if other people look at other groups than before."""
        looking = self.presence.now()
        if looking == self._looking:
            return []
        self._looking = looking
        return [("presence", as_presence(looking).model_dump())]

    def _poll(self) -> list[tuple[str, Any]]:
        """Return what has happened since the last poll; state is updated only after everything was read."""
        found: list[tuple[str, Any]] = []
        edits = self.workspace.review.edits_since(self._edit, BACKLOG)
        jobs = self.workspace.jobs.news(self._job, self._unfinished)
        revision = self.workspace.views.revision()
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
        if revision != self._revision and time.monotonic() - self._told_images >= IMAGES_SECONDS:
            self._revision, self._told_images = revision, time.monotonic()
            found.append(("images", {}))
        if self.map_renderer.drawn != self._maps:
            self._maps = self.map_renderer.drawn
            found.append(("map", {}))
        if self.estimator.measured != self._estimates:
            self._estimates = self.estimator.measured
            found.append(("adaptation", {}))
        return found


def _disconnect(queue: asyncio.Queue[Any]) -> None:
    while not queue.empty():
        queue.get_nowait()
    queue.put_nowait(None)


reading = guarded("read", "events")


@reading.get(
    "/events",
    summary="Listen to events",
    response_description="Events, for as long as the connection is open.",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}}},
)
async def events(request: Request, service: Service, page: PageName = None) -> StreamingResponse:
    """Send what happens from now on, as server-sent events.

    They are `edit`, `images`, `job`, `presence`, `map`, `adaptation` and `ping`.

    The first event is a `ping`: everything that happens after it is reported, and what was read before it may be out of
    date. `edit` holds what was changed by whom, `job` holds a job, `presence` holds who looks at which group, and the
    others hold nothing. `images` tells that images or predictions were added.
    """

    async def allowed() -> bool:
        secret = authentication.shown(request)
        try:
            return secret is not None and await service.authenticator.grant(*secret) is not None
        except WorkspaceError:  # the listener connects again, and is checked then
            return False

    async def lines() -> AsyncIterator[str]:
        try:
            async for name, content in service.events.listen(allowed):
                yield f"retry: 1000\nevent: {name}\ndata: {json.dumps(content)}\n\n"
        finally:  # the page was closed, or its token was revoked
            if page is not None:
                service.presence.leave(open_page(request, page))

    return StreamingResponse(lines(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})
