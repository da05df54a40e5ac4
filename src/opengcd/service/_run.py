"""The server itself, as `opengcd serve` starts it."""

from __future__ import annotations

import ipaddress
import sys
import webbrowser
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path

import uvicorn

from opengcd.service._app import create_app
from opengcd.workspace import Workspace

LINK_LASTS = timedelta(minutes=10)
SWITCH = 0.001
"""Seconds after which a thread that computes, as a job does, lets a request go on; every query waits for that once."""


def run(
    workspace: Workspace,
    host: str = "127.0.0.1",
    port: int = 8765,
    *,
    open_page: bool = False,
    hosts: Sequence[str] = (),
    certificate: Path | None = None,
    key: Path | None = None,
    tell: Callable[[str], object] = print,
) -> None:
    """Serve a workspace until interrupted; with a certificate and its key, by https."""
    sys.setswitchinterval(SWITCH)
    app = create_app(workspace, hosts=[host, *hosts])
    config = uvicorn.Config(
        app, host, port, log_level="warning", server_header=False, ssl_certfile=certificate, ssl_keyfile=key
    )
    server = _Server(config)

    def started(port: int) -> None:
        shown = f"[{host}]" if ":" in host else host
        address = f"{'https' if certificate else 'http'}://{shown}:{port}/"
        if not len(workspace.access):
            secret = workspace.access.make(workspace.who)
            tell(f"Token, shown this once: {secret}")
            tell(f"{address}#token={secret}")
        else:
            tell(f"{address} (a token: opengcd token {workspace.path})")
        if open_page:
            webbrowser.open(f"{address}#token={workspace.access.make(workspace.who, once_within=LINK_LASTS)}")
        if not _loopback(host) and certificate is None:
            tell("Others on the network can reach this; without https they can also read along.")

    server.started_at, server.ending = started, app.state.service.events.stop
    server.run()


class _Server(uvicorn.Server):
    """Tells when it listens, and where; and when it is about to end."""

    started_at: Callable[[int], None]
    ending: Callable[[], None]

    async def startup(self, *args: object, **more: object) -> None:
        await super().startup(*args, **more)  # type: ignore[arg-type]
        if self.started:
            self.started_at(self.servers[0].sockets[0].getsockname()[1])

    async def shutdown(self, *args: object, **more: object) -> None:
        self.ending()  # else it would wait for pages that listen for events, for ever
        await super().shutdown(*args, **more)  # type: ignore[arg-type]


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
