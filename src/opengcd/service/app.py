"""The HTTP service of a workspace: JSON under /api/v1, and the review page."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from copy import deepcopy
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
    authentication,
    job_runner,
    map_routes,
    recognition_routes,
    record_routes,
    review_routes,
    teaching_routes,
    telemetry,
)
from opengcd.service import events as events_module
from opengcd.service.adaptation_routes import Estimator
from opengcd.service.authentication import problems
from opengcd.service.events import Events
from opengcd.service.job_runner import Runner
from opengcd.service.map_routes import MapRenderer
from opengcd.service.recognition_routes import Recognition
from opengcd.service.request_limits import RequestLimits
from opengcd.service.state import State
from opengcd.service.supervision import Health
from opengcd.service.telemetry import Metrics, WorkspaceCollector
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
    {"name": "events", "description": "What happens in the workspace, as it happens."},
    {"name": "access", "description": "Sessions of the review page."},
    {"name": "health", "description": "Whether the service works, and its metrics."},
]
RETRY_AFTER = "5"
"""Seconds."""
DISK = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE}
DISK |= {errno.ENOMEM, errno.ESTALE, errno.ETIMEDOUT}
"""Errors of the operating system that an administrator can fix while the service runs."""
LARGEST = dict.fromkeys([f"{API}/recognize", f"{API}/uploads"], 64 * 2**20)
LARGEST |= dict.fromkeys([f"{API}/edits", f"{API}/jobs"], 4 * 2**20)
"""Maximal bytes of a request body where the default is too small: images and vectors, and the ids of many items."""


def create_app(workspace: Workspace, *, hosts: Sequence[str] = ()) -> FastAPI:
    """Return the service of a workspace as an ASGI application.

    Parameters
    ----------
    workspace : Workspace
        An open workspace; the caller closes it.
    hosts : sequence of str
        Host names, besides localhost, that requests may be sent to; IP addresses are always allowed.

    Returns
    -------
    FastAPI

    """

    @asynccontextmanager
    async def running(app: FastAPI) -> AsyncIterator[None]:
        state.runner.start()
        watching = asyncio.create_task(state.recognition.watch())
        yield
        watching.cancel()
        await run_in_threadpool(state.runner.stop)

    health = Health()
    map_renderer = MapRenderer(workspace, health.task("map"))
    estimator = Estimator(workspace)
    recognition = Recognition(workspace, health.task("recognition"))
    state = State(
        workspace=workspace,
        authenticator=authentication.Authenticator(workspace),
        runner=Runner(workspace, recognition, health.task("jobs")),
        events=Events(workspace, map_renderer, estimator, health.task("events")),
        recognition=recognition,
        metrics=Metrics(),
        map_renderer=map_renderer,
        estimator=estimator,
        health=health,
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
        lifespan=running,
    )
    app.state.service = state
    app.add_middleware(RequestLimits, hosts=tuple(hosts), note=state.metrics.note, largest=LARGEST)
    app.include_router(telemetry.reading)
    for module in (
        recognition_routes,
        record_routes,
        review_routes,
        map_routes,
        adaptation_routes,
        teaching_routes,
        job_runner,
        events_module,
    ):  # the busiest is found first
        for router in (module.reading, getattr(module, "writing", None)):
            if router is not None:
                app.include_router(router, prefix=API)
    for router in (review_routes.edit_routes(), authentication.router, authentication.reading):
        app.include_router(router, prefix=API)
    _explain_errors(app)
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


def _explain_errors(app: FastAPI) -> None:
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
        here = [names for path, names in documented if compile_path(path)[0].match(request.url.path)]
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
