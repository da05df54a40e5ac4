"""Commands of the service: start it, and manage its tokens."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from typing import Annotated, Literal

import typer

from opengcd.cli.failures import report_errors, require
from opengcd.cli.options import Folder
from opengcd.cli.output import echo

PORT = 8765
"""Where the service listens unless told otherwise."""


def serve(
    workspace: Folder,
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 for all addresses of this machine.")
    ] = "127.0.0.1",
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port to listen on; 0 for any that is free (default: 8765).")
    ] = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="Host name under which the service is reached, besides localhost; repeat for more."),
    ] = None,
    behind_proxy: Annotated[
        list[str] | None,
        typer.Option(help="Address of a proxy whose headers X-Forwarded-For and X-Forwarded-Proto are trusted."),
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="Certificate for HTTPS, a PEM file.")
    ] = None,
    key: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="Private key of the certificate, a PEM file.")
    ] = None,
) -> None:
    """Serve the review page and the HTTP API.

    If the workspace is served already, --open opens the page of that server.
    """
    require("service", "fastapi", "uvicorn", "multipart")
    from opengcd import Workspace
    from opengcd.service import Site, run
    from opengcd.service.running import is_taken, running_at
    from opengcd.service.server import login_link

    with report_errors(), Workspace(workspace) as opened:
        if open_page and port is None:
            if (address := running_at(opened.path)) is not None:
                link = login_link(opened, address)
                echo(f"This workspace is served already; log in there within ten minutes: {link}")
                webbrowser.open(link)
                return
            if is_taken(host, PORT):
                echo(f"Port {PORT} is in use by another program, so another one is used.", err=True)
                port = 0
        site = Site(host, PORT if port is None else port, allow_host or (), behind_proxy or (), certificate, key)
        run(opened, site, open_page=open_page, show_link=sys.stdout.isatty(), tell=echo)


def token(
    workspace: Folder,
    scope: Annotated[
        Literal["read", "write"], typer.Option(help="What its user may do: only read, or also edit.")
    ] = "write",
    name: Annotated[str | None, typer.Option(help="Name of the person who will use it (default: your name).")] = None,
    show: Annotated[bool, typer.Option("--list", help="List all tokens.")] = False,
    revoke: Annotated[int | None, typer.Option(help="Number of a token to revoke.")] = None,
) -> None:
    """Make an access token for the service, or list or revoke tokens.

    The token is printed once and cannot be shown again.
    """
    from opengcd import Workspace

    with report_errors(), Workspace(workspace) as opened:
        if revoke is not None:
            opened.access.revoke(revoke)
        elif not show:
            echo(opened.access.make(name or opened.who, scope))
            return
        for found in opened.access.tokens():
            echo(f"{found.id:4} {found.at[:19]} {found.scope:5} {found.name}")
