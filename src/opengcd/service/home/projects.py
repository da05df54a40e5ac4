"""Serves each project by an application of its own, which is opened on demand and closed when nobody uses it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from fastapi import FastAPI
from fastapi.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse
from starlette.types import Receive, Scope, Send

from opengcd.service.authentication import Authenticator, shown
from opengcd.service.home.folder import ProjectFolder
from opengcd.service.request_limits import path_within
from opengcd.workspace import MissingError, UnavailableError, Workspace, WorkspaceError

IDLE = 900.0
"""Seconds after which a project is closed that nobody uses and that has nothing to do."""
EVERY = 60.0
"""Seconds between two looks for idle projects."""

log = logging.getLogger(__name__)
Application = Callable[[str, Workspace], FastAPI]


@dataclass
class Opened:
    """A project that is open."""

    workspace: Workspace
    app: FastAPI
    resources: AsyncExitStack
    requests: int = 0
    """Requests in progress, event streams among them."""
    used: float = field(default_factory=time.monotonic)

    @property
    def idle(self) -> bool:
        """Whether nobody uses the project, and it has nothing to do."""
        if self.requests or time.monotonic() - self.used < IDLE:
            return False
        watches = self.app.state.service.watch.watched is not None
        return not watches and not self.workspace.jobs.latest(1, unfinished=True)


class Projects:
    """An ASGI application that hands ``/KEY/...`` to the application of a project.

    Parameters
    ----------
    folder : ProjectFolder
    authenticator : Authenticator
        Who may open projects; the applications get the same one.
    make : callable
        Returns the application of a project, by its key and its workspace.

    """

    def __init__(self, folder: ProjectFolder, authenticator: Authenticator, make: Application) -> None:
        self._folder = folder
        self._authenticator = authenticator
        self._make = make
        self._opened: dict[str, Opened] = {}
        self._turns: dict[str, asyncio.Lock] = {}
        """One per project, so that opening one does not keep the others waiting."""
        self._closed = False

    def workspace(self, key: str) -> Workspace | None:
        """Return the workspace of a project that is open here."""
        found = self._opened.get(key)
        return None if found is None else found.workspace

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return
        key, slash, rest = path_within(scope).lstrip("/").partition("/")
        answer = await self._refusal(scope, key, slash, rest)
        if answer is not None:
            await answer(scope, receive, send)
            return
        opened = self._opened[key]
        inner = {name: value for name, value in scope.items() if name not in ("router", "route", "endpoint")}
        inner |= {"root_path": f"{scope.get('root_path', '')}/{key}", "path_params": {}}
        opened.requests += 1
        try:
            await opened.app(inner, receive, send)
        finally:
            opened.requests -= 1
            opened.used = time.monotonic()

    async def _refusal(self, scope: Scope, key: str, slash: str, rest: str) -> JSONResponse | RedirectResponse | None:
        """Return why a project does not answer itself; None if it is open now."""
        request = Request(scope)
        page = not rest and request.method in ("GET", "HEAD")
        if page and not slash:
            return RedirectResponse(f"{request.url.path}/")
        if key in self._opened:  # its application checks the rest
            return None
        secret = shown(request)
        if secret is None or await self._authenticator.grant(*secret) is None:
            if page:
                return RedirectResponse("../../")
            return JSONResponse({"detail": "Sign in first."}, 401, {"WWW-Authenticate": "Bearer"})
        try:
            await self._open(key)
        except WorkspaceError as error:
            if page:
                return RedirectResponse("../../")  # the list shows the reason
            code = 404 if isinstance(error, MissingError) else 503 if isinstance(error, UnavailableError) else 409
            return JSONResponse({"detail": str(error)}, code)
        return None

    async def _open(self, key: str) -> None:
        async with self._turns.setdefault(key, asyncio.Lock()):
            if key in self._opened:
                return
            if self._closed:
                raise UnavailableError("The server is shutting down.")
            path = await run_in_threadpool(self._folder.project, key)
            workspace = await run_in_threadpool(_open_workspace, path)
            async with AsyncExitStack() as resources:
                resources.push_async_callback(run_in_threadpool, workspace.close)
                app = self._make(key, workspace)
                await resources.enter_async_context(app.router.lifespan_context(app))
                self._opened[key] = Opened(workspace, app, resources.pop_all())

    async def open_watched(self) -> None:
        """Open the projects that watch a folder, so that they go on with it."""
        for key in self._folder.watched():
            try:
                await self._open(key)
            except WorkspaceError as error:  # the list shows the reason
                log.warning("%s: %s", key, error)

    async def close(self, key: str) -> None:
        """Close a project, if it is open."""
        async with self._turns.setdefault(key, asyncio.Lock()):
            found = self._opened.pop(key, None)
            if found is not None:
                found.app.state.service.events.stop()
                await found.resources.aclose()

    async def close_idle(self) -> None:
        """Close projects that nobody uses, for as long as the server runs."""
        while True:
            await asyncio.sleep(EVERY)
            for key, opened in list(self._opened.items()):
                try:
                    if opened.idle:
                        await self.close(key)
                except WorkspaceError as error:
                    log.warning("%s: %s", key, error)

    def stop(self) -> None:
        """End all event streams, which have no end of their own."""
        self._closed = True
        for opened in list(self._opened.values()):
            opened.app.state.service.events.stop()

    async def close_all(self) -> None:
        """Close all projects."""
        self._closed = True
        await asyncio.gather(*(self.close(key) for key in list(self._opened)))


def _open_workspace(path: Path) -> Workspace:
    try:
        return Workspace(path)
    except OSError as error:
        raise WorkspaceError(f"{path} cannot be opened: {error.strerror or error}.") from None
