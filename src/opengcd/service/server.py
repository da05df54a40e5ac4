"""The server that `opengcd serve` starts."""

from __future__ import annotations

import ipaddress
import logging
import sys
import webbrowser
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from opengcd._internal.text import printable
from opengcd.service.app import create_app
from opengcd.service.connections import BoundedServer, bounded_config
from opengcd.service.running import announcing, is_taken, running_at
from opengcd.workspace import Workspace

LINK_LASTS = timedelta(minutes=10)
SWITCH = 0.001
"""Seconds after which a busy thread, such as a job, yields to others; every database query waits once for that."""


@dataclass(frozen=True)
class Site:
    """Where a server listens, and how it is reached."""

    host: str = "127.0.0.1"
    port: int = 8765
    names: Sequence[str] = ()
    """Host names that requests may be sent to, besides ``host`` and localhost."""
    proxies: Sequence[str] = ()
    """Addresses of proxies whose ``X-Forwarded-For`` and ``X-Forwarded-Proto`` are trusted."""
    certificate: Path | None = None
    """For https, with its key."""
    key: Path | None = None


def run(
    workspace: Workspace,
    site: Site | None = None,
    *,
    open_page: bool = False,
    show_link: bool = False,
    tell: Callable[[str], object] = print,
) -> None:
    """Serve a workspace until interrupted.

    Parameters
    ----------
    workspace : Workspace
        An open workspace; the caller closes it.
    site : Site or None
        Where to listen; None listens on port 8765 of this machine only.
    open_page : bool
        Whether to open the review page in a browser once the server listens.
    show_link : bool
        Whether to say a link that logs in once, even if there are tokens already; for a terminal, not for a log.
    tell : callable
        Called with each message for the person who started the server, such as the address.

    Raises
    ------
    OSError
        If the port is in use, or nothing can listen there.

    """
    site = site or Site()
    if is_taken(site.host, site.port):
        raise OSError(_who_listens(workspace, site))
    app = create_app(workspace, hosts=[site.host, *site.names])

    def started(address: str) -> None:
        announce(address)
        if not len(workspace.access):
            secret = workspace.access.make(workspace.who)
            tell(f"Token, shown only once: {secret}")
            tell(f"{address}#token={secret}")
        else:
            tell(f"{address} (for a token: opengcd token {workspace.path})")
            if show_link and not open_page:
                tell(f"Log in within ten minutes: {login_link(workspace, address)}")
        if open_page:
            webbrowser.open(login_link(workspace, address))
        warn_of_network(site, tell)

    with announcing(workspace.path) as announce:
        listen(app, site, started, app.state.service.events.stop)


def listen(app: Any, site: Site, started: Callable[[str], None], ending: Callable[[], None]) -> None:
    """Serve an application until interrupted.

    Parameters
    ----------
    app : ASGI application
    site : Site
        Where to listen.
    started : callable
        Called with the address once the server listens.
    ending : callable
        Called before the server shuts down, to end answers that have no end.

    """
    sys.setswitchinterval(SWITCH)
    config = bounded_config(
        app,
        site.host,
        site.port,
        ssl_certfile=site.certificate,
        ssl_keyfile=site.key,
        proxy_headers=bool(site.proxies),
        forwarded_allow_ips=list(site.proxies),
    )
    server = _Server(config)
    _log_to_stderr()
    shown = f"[{site.host}]" if ":" in site.host else site.host
    scheme = "https" if site.certificate else "http"
    server.started_at = lambda port: started(f"{scheme}://{shown}:{port}/")
    server.ending = ending
    server.run()


def login_link(workspace: Workspace, address: str) -> str:
    """Return a link to the page of a server that logs in once, within ten minutes."""
    return f"{address}#token={workspace.access.make(workspace.who, once_within=LINK_LASTS)}"


def _who_listens(workspace: Workspace, site: Site) -> str:
    """Return who has the port of a site, and what to do."""
    address = running_at(workspace.path)
    if address is not None and address.rstrip("/").endswith(f":{site.port}"):
        return f"This workspace is served already; log in there within ten minutes: {login_link(workspace, address)}"
    return (
        f"Port {site.port} of {site.host} is in use by another program; choose another one with --port, or --port 0 "
        "for any that is free."
    )


def warn_of_network(site: Site, tell: Callable[[str], object]) -> None:
    """Say so if others can reach the server, and read what is sent.

    Parameters
    ----------
    site : Site
    tell : callable
        Called with the message.

    """
    if not is_loopback(site.host) and site.certificate is None:
        tell("Other machines on the network can reach this address. Without https, others can read what is sent.")


class SafeFormatter(logging.Formatter):
    """Escapes control characters and line breaks, so that names cannot control a terminal or forge lines."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Return the message of a record on one line."""
        return printable(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:
        """Return a traceback, each of its lines escaped."""
        return "\n".join(map(printable, super().formatException(ei).split("\n")))


def _log_to_stderr() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(SafeFormatter("%(levelname)s: %(message)s"))
    for name in ("opengcd", "uvicorn"):
        logging.getLogger(name).addHandler(handler)


class _Server(BoundedServer):
    """Calls ``started_at`` with the port once it listens, and ``ending`` before it shuts down."""

    started_at: Callable[[int], None]
    ending: Callable[[], None]

    async def startup(self, *args: object, **more: object) -> None:
        await super().startup(*args, **more)  # type: ignore[arg-type]
        if self.started:
            self.started_at(self.servers[0].sockets[0].getsockname()[1])

    async def shutdown(self, *args: object, **more: object) -> None:
        self.ending()  # otherwise it would wait for ever for pages that listen to events
        await super().shutdown(*args, **more)  # type: ignore[arg-type]


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
