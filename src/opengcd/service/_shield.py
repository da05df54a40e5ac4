"""What every request passes: its host is checked, its size bounded, and the answer tells browsers to be careful."""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Callable, MutableMapping
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY = 64 * 2**20
"""Bytes of a request."""
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' blob:; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""What an answer does not say itself."""
_RAW = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]


class TooLargeError(Exception):
    """A body without an end."""


class Shield:
    """Refuse requests by other names than our own, so that no other site's name can be made to point here.

    An address needs no check: a site has a name.
    """

    def __init__(self, app: ASGIApp, note: Callable[[str, str, int, float], None], hosts: tuple[str, ...] = ()) -> None:
        self.app = app
        self.note = note
        self.hosts = {"localhost", *(host.lower() for host in hosts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        status, began = 0, time.perf_counter()

        async def careful(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                _add_headers(message)
                route = getattr(scope.get("route"), "path", "other")
                self.note(scope["method"], route, status, time.perf_counter() - began)
            await send(message)

        if not self._is_ours(headers.get("host", "")):
            answer = JSONResponse({"detail": "Unknown host; start the server with --allow-host NAME."}, 400)
            await answer(scope, receive, careful)
            return
        size = 0

        async def bounded() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > LARGEST_BODY:
                raise TooLargeError
            return message

        try:
            if headers.get("content-length", "0").isdigit() and int(headers.get("content-length", 0)) > LARGEST_BODY:
                raise TooLargeError
            await self.app(scope, bounded, careful)
        except TooLargeError:
            if not status:
                told = f"A request may have {LARGEST_BODY // 2**20} MiB; send less at a time."
                await JSONResponse({"detail": told}, 413)(scope, receive, careful)

    def _is_ours(self, host: str) -> bool:
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        try:
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return name.lower() in self.hosts
        return True


def _add_headers(message: MutableMapping[str, Any]) -> None:
    headers = message["headers"] = list(message.get("headers", ()))
    present = {name for name, _ in headers}
    headers.extend(pair for pair in _RAW if pair[0] not in present)
