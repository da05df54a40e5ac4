"""The command that opens all projects in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from opengcd.cli.failures import report_errors, require
from opengcd.cli.output import echo


def app(
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FOLDER]",
            help="Folder of projects (default: OPENGCD_PROJECTS, or the data folder of your account).",
        ),
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port to listen on (default: 8764, or a free one).")
    ] = None,
    host: Annotated[
        str,
        typer.Option(help="Address to listen on. If others can reach it, folders cannot be chosen on the page."),
    ] = "127.0.0.1",
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="Host name under which the service is reached, besides localhost; repeat for more."),
    ] = None,
    open_page: Annotated[bool, typer.Option("--open/--no-open", help="Whether to open the page in a browser.")] = True,
) -> None:
    """Open all projects in the browser: create them, add images, review, learn.

    `opengcd` without a command does the same. If it is already running for this folder, its page is opened.
    """
    open_home(folder, port, host, allow_host or (), open_page=open_page)


def open_home(
    folder: Path | None = None,
    port: int | None = None,
    host: str = "127.0.0.1",
    names: list[str] | tuple[str, ...] = (),
    *,
    open_page: bool = True,
) -> None:
    """Serve a folder of projects, and open the page."""
    require("service", "fastapi", "uvicorn", "multipart")
    from opengcd.service import Site
    from opengcd.service.home.app import PORT, run_home
    from opengcd.service.home.folder import default_folder

    with report_errors():
        site = Site(host, PORT if port is None else port, names)
        run_home(folder or default_folder(), site, any_port=port is None, open_page=open_page, tell=echo)
