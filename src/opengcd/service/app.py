"""The HTTP service of a workspace: JSON under /api/v1, and the review page."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.routing import compile_path

from opengcd import __version__
from opengcd.embed import EmbedderError
from opengcd.service import (
    adaptation_routes,
    adding_routes,
    authentication,
    browsing_routes,
    export_routes,
    job_runner,
    machine,
    map_routes,
    presence,
    quality_routes,
    recognition_routes,
    record_routes,
    review_routes,
    teaching_routes,
    telemetry,
    without_crop_routes,
)
from opengcd.service import events as events_module
from opengcd.service.adaptation_routes import Estimator
from opengcd.service.adding import Watch, Watched
from opengcd.service.authentication import problems
from opengcd.service.concurrency import ConcurrencyLimit
from opengcd.service.events import Events
from opengcd.service.job_runner import Runner
from opengcd.service.map_routes import MapRenderer
from opengcd.service.recognition_routes import Recognition
from opengcd.service.request_limits import LARGEST_BODY, RequestLimits, path_within
from opengcd.service.state import State
from opengcd.service.supervision import Health
from opengcd.service.telemetry import Metrics, WorkspaceCollector
from opengcd.service.uploads import PIECE, is_piece
from opengcd.service.vector_bodies import MOST_NUMBERS
from opengcd.service.wire import DETAILS_FIELDS, EVENTS
from opengcd.workspace import (
    DETAILS,
    ConflictError,
    MissingError,
    ReadOnlyError,
    TooLargeError,
    UnavailableError,
    Workspace,
    WorkspaceError,
)

PAGE = Path(__file__).parent / "page"
API = "/api/v1"
CODES = {MissingError: 404, ReadOnlyError: 403, TooLargeError: 413}
"""The HTTP status of each error of the workspace; others are 409 (conflict with the present state)."""
ABOUT = """A workspace of OpenGCD behind HTTP: recognise images, discover new classes, review them, and learn them.

Every request except that to `/healthz` needs a token, made by `opengcd token`, in the header `Authorization: Bearer
TOKEN`, or a session, as the review page has it. Each change is an edit with a number. A request that changes something
says with `on` which edit its sender saw last, and is refused with 409 if somebody has changed the same things since."""
TAGS = [
    {"name": "recognition", "description": "Recognise known classes, and reject what is unknown."},
    {"name": "review", "description": "Groups of new classes, their images, questions about them, and edits."},
    {"name": "records", "description": "The state of the workspace: versions, classes, limits, history and labels."},
    {"name": "jobs", "description": "Long work that runs in the server: discover, learn, teach and adapt."},
    {"name": "adaptation", "description": "The plan to adapt the network to the images of the workspace."},
    {"name": "images", "description": "Add images from uploads and folders, and watch a folder."},
    {"name": "uploads", "description": "Files that are sent in pieces."},
    {"name": "machine", "description": "Folders of the server's machine, for a person at that machine."},
    {"name": "events", "description": "What happens in the workspace, as it happens."},
    {"name": "access", "description": "Sessions of the review page."},
    {"name": "health", "description": "Whether the service works, and its metrics."},
]
RETRY_AFTER = "5"
"""Seconds."""
DISK = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE}
DISK |= {errno.ENOMEM, errno.ESTALE, errno.ETIMEDOUT}
"""Errors of the operating system that an administrator can fix while the service runs."""
LARGEST = dict.fromkeys([f"{API}/recognize", f"{API}/taught-images"], 64 * 2**20)
LARGEST |= dict.fromkeys([f"{API}/edits", f"{API}/jobs", f"{API}/taxonomy"], 4 * 2**20)
"""Maximal bytes of a request body where the default is too small: images and vectors, and the ids of many items."""


def largest_body(path: str) -> int:
    """Return the maximal bytes of the body of a request."""
    return PIECE if is_piece(path) else LARGEST.get(path, LARGEST_BODY)


@dataclass(frozen=True)
class AtHome:
    """What the home page decides for a project."""

    authenticator: authentication.Authenticator
    local: bool = False
    """Whether folders of this machine may be named."""
    watched: Watched | None = None
    """The folder that was watched when the project was last open."""
    remember: Callable[[Watched | None], None] = lambda watched: None
    """Called with what is watched from now on, or None."""


def create_app(workspace: Workspace, *, hosts: Sequence[str] = (), home: AtHome | None = None) -> FastAPI:
    """Return the service of a workspace as an ASGI application.

    Parameters
    ----------
    workspace : Workspace
        An open workspace; the caller closes it.
    hosts : sequence of str
        Host names, besides localhost, that requests may be sent to; IP addresses are always allowed.
    home : AtHome or None
        If the workspace is one of several projects: what the home page decides for it.

    Returns
    -------
    FastAPI

    """
    place = home or AtHome(authentication.Authenticator(workspace.access))
    health = Health()
    map_renderer = MapRenderer(workspace, health.task("map"))
    estimator = Estimator(workspace)
    looking = presence.Presence()
    recognition = Recognition(workspace, health.task("recognition"))
    state = State(
        workspace=workspace,
        authenticator=place.authenticator,
        runner=Runner(workspace, recognition, health.task("jobs")),
        events=Events(workspace, map_renderer, estimator, looking, health.task("events")),
        presence=looking,
        recognition=recognition,
        metrics=Metrics(),
        map_renderer=map_renderer,
        estimator=estimator,
        health=health,
        watch=Watch(workspace, health.task("watch"), place.remember),
        local=place.local,
        home=home is not None,
        exports=ConcurrencyLimit(export_routes.AT_ONCE, export_routes.MOST_WAITING),
    )
    state.metrics.registry.register(WorkspaceCollector(state))
    app = FastAPI(
        title="OpenGCD",
        version=__version__,
        description=ABOUT,
        openapi_tags=TAGS,
        openapi_url=f"{API}/openapi.json",
        docs_url=None,  # it would load scripts from elsewhere
        redoc_url=None,
        lifespan=_running,
    )
    app.state.service, app.state.watched = state, place.watched
    app.add_middleware(RequestLimits, hosts=tuple(hosts), note=state.metrics.note, largest=largest_body)
    app.include_router(telemetry.reading)
    for module in (
        recognition_routes,
        record_routes,
        review_routes,
        browsing_routes,
        without_crop_routes,
        map_routes,
        adaptation_routes,
        teaching_routes,
        quality_routes,
        export_routes,
        job_runner,
        presence,
        events_module,
    ):  # the busiest is found first
        for router in (module.reading, getattr(module, "writing", None)):
            if router is not None:
                app.include_router(router, prefix=API)
    for router in (
        review_routes.edit_routes(),
        adding_routes.reading,
        adding_routes.writing,
        adding_routes.uploading,
        machine.writing,
        authentication.router,
        authentication.reading,
    ):
        app.include_router(router, prefix=API)
    explain_errors(app)
    _complete_document(app, recognition)

    @app.get(
        "/healthz",
        tags=["health"],
        summary="Check the health",
        response_description="The service works.",
        responses=problems(400, 503),
    )
    def healthz() -> dict[str, str]:
        """Say whether the service, its database and its background tasks work. No token is needed."""
        down = sorted(health.down)
        try:
            workspace.review.last_edit()
        except UnavailableError:
            down = ["database", *down]
        if down:  # the reason is in the log, since anybody may call this
            raise UnavailableError(f"Down: {', '.join(down)}. The log of the server says why.")
        return {"status": "ok"}

    @app.get("/", include_in_schema=False)
    def page() -> FileResponse:
        return FileResponse(PAGE / "index.html")

    app.mount("/page", StaticFiles(directory=PAGE), name="page")
    return app


@asynccontextmanager
async def _running(app: FastAPI) -> AsyncIterator[None]:
    """Run the background tasks of an application."""
    state: State = app.state.service
    state.runner.start()
    watching = asyncio.create_task(state.recognition.watch())
    if app.state.watched is not None:
        with suppress(WorkspaceError):  # the folder may be gone
            await run_in_threadpool(state.watch.start, app.state.watched, state.workspace.who)
    yield
    watching.cancel()
    await run_in_threadpool(partial(state.watch.stop, forget=False))
    await run_in_threadpool(state.runner.stop)


def explain_errors(app: FastAPI) -> None:
    """Register handlers that turn errors into JSON with one line of explanation."""

    @app.exception_handler(WorkspaceError)
    def refused(_: Request, error: WorkspaceError) -> Response:
        content: dict[str, object] = {"detail": str(error)}
        if isinstance(error, ConflictError):
            entry = error.entry
            content["conflict"] = {"edit": entry.id, "who": entry.who, "verb": entry.verb}
            return JSONResponse(content, 409)
        if isinstance(error, UnavailableError):
            return JSONResponse(content, 503, {"Retry-After": RETRY_AFTER})
        return JSONResponse(content, CODES.get(type(error), 409))

    @app.exception_handler(EmbedderError)
    def unusable(_: Request, error: EmbedderError) -> Response:
        return JSONResponse({"detail": str(error)}, 422)

    @app.exception_handler(OSError)
    def disk(_: Request, error: OSError) -> Response:
        if error.errno not in DISK:
            raise error
        told = f"The disk cannot be used ({error.strerror}). What was finished before is kept. Try again later."
        return JSONResponse({"detail": told}, 503, {"Retry-After": RETRY_AFTER})

    @app.exception_handler(RequestValidationError)
    def malformed(_: Request, error: RequestValidationError) -> Response:
        problems = error.errors()[:10]
        told = [
            f"{'.'.join(map(str, problem['loc'][1:])) or 'body'}: {problem['msg'].removeprefix('Value error, ')}"
            for problem in problems
        ]
        return JSONResponse({"detail": "; ".join(told)}, 422)

    @app.exception_handler(405)
    def other_method(request: Request, error: HTTPException) -> Response:
        """Name all methods of the path: the error itself knows those of one route only."""
        documented = app.openapi()["paths"].items()
        here = [names for path, names in documented if compile_path(path)[0].match(path_within(request.scope))]
        methods = sorted({name.upper() for names in here for name in names}) or ["GET"]
        told = f"This path does not take {request.method}; use {' or '.join(methods)}."
        return JSONResponse({"detail": told}, 405, {"Allow": ", ".join(methods)})


def _references(records: Mapping[str, type]) -> dict[str, dict[str, str]]:
    """Return references to the schemas of records, by the same names."""
    return {name: {"$ref": f"#/components/schemas/{record.__name__}"} for name, record in records.items()}


def _complete_document(app: FastAPI, recognition: Recognition) -> None:
    """Add what the routes do not say to the OpenAPI document.

    These are the contents of events, the details of entries by verb with what they mean, and the length and maximal
    number of vectors once known.
    """
    make = app.openapi

    def openapi() -> dict[str, Any]:
        document = deepcopy(make())
        schemas = document["components"]["schemas"]
        for model in EVENTS.values():
            schemas.setdefault(model.__name__, model.model_json_schema(ref_template="#/components/schemas/{model}"))
        stream = document["paths"][f"{API}/events"]["get"]["responses"]["200"]["content"]["text/event-stream"]
        stream["schema"] = {"type": "string"}
        stream["x-events"] = _references(EVENTS)
        schemas["Entry"]["properties"]["details"]["x-by-verb"] = _references(DETAILS)
        for record in DETAILS.values():
            for name, field in schemas[record.__name__]["properties"].items():
                field.setdefault("description", DETAILS_FIELDS.get(name, ""))
        if recognition.width is not None:
            body = document["paths"][f"{API}/recognize"]["post"]["requestBody"]["content"]["application/json"]
            rows = body["schema"]["properties"]["vectors"]
            rows["items"]["minItems"] = rows["items"]["maxItems"] = recognition.width
            rows["maxItems"] = min(rows["maxItems"], MOST_NUMBERS // recognition.width)
        return document

    app.openapi = openapi  # type: ignore[method-assign]
