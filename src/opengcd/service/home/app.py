"""The application of the home page, and the server that `opengcd app` starts."""

from __future__ import annotations

import asyncio
import time
import webbrowser
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from fastapi import FastAPI
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles

from opengcd import __version__
from opengcd.service import authentication, machine
from opengcd.service.app import API, PAGE, AtHome, create_app, explain_errors, largest_body
from opengcd.service.authentication import Authenticator
from opengcd.service.home import routes
from opengcd.service.home.cards import Cards
from opengcd.service.home.checks import BackboneChecks
from opengcd.service.home.creation import Creations
from opengcd.service.home.folder import ProjectFolder
from opengcd.service.home.projects import Projects
from opengcd.service.request_limits import RequestLimits
from opengcd.service.running import is_taken
from opengcd.service.server import LINK_LASTS, Site, is_loopback, listen, warn_of_network
from opengcd.service.uploads import Uploads, upload_routes
from opengcd.workspace import Workspace, WorkspaceError
from opengcd.workspace.log import user
from opengcd.workspace.tokens import Access, open_access

PORT = 8764
"""Beside the one of `opengcd serve`, so that both can run. A constant one keeps the browser signed in."""
PROJECTS = "/projects"
ADVICE = "Run `opengcd` again on the same machine: it opens a page that is signed in."
STARTING = 10.0
"""Seconds to wait for the address of a server that is starting."""
ABOUT = """The home page of OpenGCD behind HTTP: a list of projects, and creating new ones.

Each project is served below `/projects/KEY/`, as `opengcd serve` serves a workspace at `/`. One sign-in is valid for
the home page and all projects."""
TAGS = [
    {"name": "home", "description": "The projects, and what creating one needs."},
    {"name": "machine", "description": "Folders of the server's machine, for a person at that machine."},
    {"name": "uploads", "description": "Files that are sent in pieces."},
    {"name": "access", "description": "Sessions of the page."},
]


def create_home(folder: ProjectFolder, access: Access, *, hosts: Sequence[str] = (), local: bool = False) -> FastAPI:
    """Return the home page and all projects of a folder as an ASGI application.

    Parameters
    ----------
    folder : ProjectFolder
        The caller holds it by :meth:`ProjectFolder.serving`.
    access : Access
        Who may use the home page and all projects; the caller closes it.
    hosts : sequence of str
        Host names, besides localhost, that requests may be sent to; IP addresses are always allowed.
    local : bool
        Whether folders of this machine may be named: only if nobody else can reach the server.

    Returns
    -------
    FastAPI

    """

    @asynccontextmanager
    async def running(app: FastAPI) -> AsyncIterator[None]:
        await run_in_threadpool(state.creations.recover)
        closing = asyncio.create_task(projects.close_idle())
        if local:
            await projects.open_watched()
        yield
        closing.cancel()
        await run_in_threadpool(state.checks.stop)
        await run_in_threadpool(state.creations.stop)
        await projects.close_all()
        state.cards.close()

    authenticator = Authenticator(access, ADVICE)

    def make(key: str, workspace: Workspace) -> FastAPI:
        remember = partial(folder.watch, key)
        home = AtHome(
            authenticator, local=local, watched=folder.watched().get(key) if local else None, remember=remember
        )
        return create_app(workspace, hosts=hosts, home=home)

    projects = Projects(folder, authenticator, make)
    uploads = Uploads(folder.state / "uploads")
    state = routes.HomeState(
        folder=folder,
        local=local,
        authenticator=authenticator,
        projects=projects,
        cards=Cards(folder, projects.workspace),
        uploads=uploads,
        creations=Creations(folder, uploads, local=local),
        checks=BackboneChecks(),
    )
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
    app.add_middleware(RequestLimits, hosts=tuple(hosts), note=lambda *_: None, largest=_largest_body)
    for router in (
        routes.reading,
        routes.writing,
        machine.writing,
        upload_routes(lambda request: request.app.state.service.uploads),
        authentication.router,
        authentication.reading,
    ):
        app.include_router(router, prefix=API)
    explain_errors(app)

    @app.get("/", include_in_schema=False)
    def page() -> FileResponse:
        return FileResponse(PAGE / "home" / "index.html")

    app.mount("/page", StaticFiles(directory=PAGE), name="page")
    app.mount(PROJECTS, projects, name="projects")
    return app


def run_home(
    folder: Path,
    site: Site,
    *,
    any_port: bool = False,
    open_page: bool = True,
    tell: Callable[[str], object] = print,
) -> None:
    """Serve a folder of projects until interrupted; if it is served already, open the page of that server.

    Parameters
    ----------
    folder : Path
        It is made if it does not exist.
    site : Site
        Where to listen.
    any_port : bool
        Whether to choose another port if that of ``site`` is in use.
    open_page : bool
        Whether to open the page in a browser.
    tell : callable
        Called with each message for the person who started the server, such as the address.

    """
    projects = ProjectFolder(folder)
    access = open_access(projects.state / "access.db")

    def show(address: str) -> None:
        link = f"{address}#token={access.make(user(), once_within=LINK_LASTS)}"
        tell(f"Open this address in a browser; it signs in once, within {LINK_LASTS.seconds // 60} minutes:")
        tell(link)
        if open_page:
            webbrowser.open(link)

    try:
        with projects.serving() as free:
            if not free:
                tell(f"OpenGCD is already running for {projects.path}.")
                show(_address_of(projects))
                return
            if any_port and is_taken(site.host, site.port):
                site = replace(site, port=0)
            elif is_taken(site.host, site.port):
                raise OSError(f"Port {site.port} of {site.host} is in use by another program; choose another --port.")
            local = is_loopback(site.host) and not site.names and not site.proxies
            app = create_home(projects, access, hosts=[site.host, *site.names], local=local)

            def started(address: str) -> None:
                projects.address = address
                tell(f"Projects: {projects.path}")
                show(address)
                tell("To sign in another browser, run the same command again. Ctrl-C stops OpenGCD.")
                warn_of_network(site, tell)

            listen(app, site, started, app.state.service.projects.stop)
    finally:
        access.close()


def _largest_body(path: str) -> int:
    """Return the maximal bytes of the body of a request to the home page, or to a project."""
    if path.startswith(f"{PROJECTS}/"):
        _, _, rest = path.removeprefix(f"{PROJECTS}/").partition("/")
        return largest_body(f"/{rest}")
    return largest_body(path)


def _address_of(projects: ProjectFolder) -> str:
    """Return the address of the server that runs, which may just be starting."""
    deadline = time.monotonic() + STARTING
    while (address := projects.address) is None:
        if time.monotonic() > deadline:
            raise WorkspaceError(
                f"Another OpenGCD holds {projects.path} but has not started to listen. Stop it, then try again."
            )
        time.sleep(0.1)
    return address
