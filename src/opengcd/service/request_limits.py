"""Middleware for all requests: checks the host, limits the size of the body, and adds security headers."""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, MutableMapping
from contextlib import AsyncExitStack, suppress
from typing import Any

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY = 16 * 2**10
"""Maximal bytes of a request body, except for some paths."""
MOST_LARGE = 8
"""Larger requests that are read and answered at the same time; others wait unread."""
MOST_EACH = 2
"""Of these, the requests of one token, so that a slow client does not block others."""
TURN_TIMEOUT = 30.0
"""Maximal seconds for which a larger request waits."""
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
"""Added to responses that do not set them."""
_RAW = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]


class RequestLimits:
    """Refuse requests for other host names than the server's own, which protects against DNS rebinding.

    An IP address needs no check: DNS rebinding needs a name.
    """

    def __init__(
        self,
        app: ASGIApp,
        note: Callable[[str, str, int, float], None],
        hosts: tuple[str, ...] = (),
        largest: Callable[[str], int] = lambda path: LARGEST_BODY,
    ) -> None:
        self.app = app
        self.note = note
        self.hosts = {"localhost", *(host.lower() for host in hosts)}
        self.largest = largest
        """Returns the maximal bytes of the body of a request, by its path within the application."""
        self._few = asyncio.Semaphore(MOST_LARGE)
        self._few_each: dict[int | None, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(MOST_EACH))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        status, began = 0, time.perf_counter()

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                _add_headers(message)
                route = getattr(scope.get("route"), "path", "other")
                self.note(scope["method"], route, status, time.perf_counter() - began)
            await send(message)

        if not self._is_ours(headers.get("host", "")):
            told = "The server does not take requests for this host name; --allow-host NAME allows a name."
            answer = JSONResponse({"detail": told}, 400)
            await answer(scope, receive, send_with_headers)
            return
        largest = self.largest(path_within(scope))
        too_large = HTTPException(413, f"A request here may have at most {_in_words(largest)}; send less at a time.")
        length = headers.get("content-length", "")
        expected = int(length) if length.isdigit() else largest
        if expected > largest:
            await JSONResponse({"detail": too_large.detail}, 413)(scope, receive, send_with_headers)
            return
        waits = expected > LARGEST_BODY
        size, turn = 0, AsyncExitStack()

        async def bounded() -> Message:
            nonlocal size, waits
            if waits and not status:  # the body is read only after authentication
                waits = False
                await self._take_turn(turn, token_of(scope))
            message = await receive()
            size += len(message.get("body", b""))
            if size <= largest:
                return message
            if status:  # the response has begun; the rest of the body is ignored
                return {"type": "http.disconnect"}
            raise too_large

        with suppress(ClientDisconnect):  # while its body is read, or because it is too slow
            async with turn:
                await self.app(scope, bounded, send_with_headers)

    async def _take_turn(self, turn: AsyncExitStack, token: int | None) -> None:
        try:
            async with asyncio.timeout(TURN_TIMEOUT):
                for few in (
                    self._few_each[token],
                    self._few,
                ):  # in this order, a token waiting for its own requests takes no shared place
                    await turn.enter_async_context(few)
        except TimeoutError:
            told = "There are too many large requests at the moment; send this one again later."
            raise HTTPException(503, told, {"Retry-After": "5"}) from None

    def _is_ours(self, host: str) -> bool:
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        try:
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return name.lower() in self.hosts
        return True


def path_within(scope: Mapping[str, Any]) -> str:
    """Return the path of a request without that under which the application is mounted."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def token_of(scope: Mapping[str, Any]) -> int | None:
    """Return the number of the token of an authenticated request; None if it is not authenticated (yet)."""
    grant = scope.get("state", {}).get("grant")
    return None if grant is None else grant.token


def _in_words(size: int) -> str:
    return f"{size // 2**20} MiB" if size >= 2**20 else f"{size // 2**10} KiB"


def _add_headers(message: MutableMapping[str, Any]) -> None:
    headers = message["headers"] = list(message.get("headers", ()))
    present = {name for name, _ in headers}
    headers.extend(pair for pair in _RAW if pair[0] not in present)
