"""Limits on connections: those that are too slow, too large, not read or too many are closed.

uvicorn itself has no time limit for headers, for a body, or for a client that does not read its answer.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

import uvicorn
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from opengcd.service.request_limits import token_of

MOST = 500
"""Maximal number of connections; many systems let a process open 1,024 files."""
HEADER_TIMEOUT = 10.0
"""Seconds from the first byte of a request, or from the connection, to the end of the headers."""
LARGEST_HEADERS = 32 * 2**10
"""Maximal bytes of URL and headers of a request, and of the framing between two chunks of a body or after it."""
TOO_LONG = f"The URL and headers are too long; they may have at most {LARGEST_HEADERS // 2**10} KiB."
LOG_IN_TIMEOUT = 5.0
"""Seconds for the body of a request that is not authenticated, which is small."""
CHUNK_TIMEOUT = 15.0
"""Maximal seconds between two chunks of a body."""
MIN_RATE_AFTER, MIN_BYTES_PER_SECOND = 20.0, 32 * 2**10
"""The minimal rate of a body, after its first seconds."""
MOST_AHEAD = 20
"""Requests that a client may pipeline before the first of them is answered."""
READ_TIMEOUT = 30.0
"""Seconds after which a client that does not read its answer is disconnected."""
_HEAD, _BODY, _DONE = "head", "body", "done"


class BoundedProtocol(HttpToolsProtocol):
    """A connection that records what it waits for and since when; :class:`BoundedServer` checks it every second."""

    _answering: RequestResponseCycle | None = None
    _size: int
    _since: float

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection; if there are too many, close the oldest without an authenticated request in progress."""
        super().connection_made(transport)
        self._wait_for(_HEAD)
        self._unread, self._read_at = 0, time.monotonic()
        if len(self.connections) > MOST:
            others = (one for one in self.connections if isinstance(one, BoundedProtocol) and not one._spared)
            oldest = min(others, key=lambda one: one._since)  # this connection is among them
            oldest.transport.abort()
            self.connections.discard(oldest)

    @property
    def busy(self) -> bool:
        """Whether a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def _spared(self) -> bool:
        """Whether an authenticated request is being answered; others could keep all connections busy."""
        answering = self._answering
        return answering is not None and not answering.response_complete and token_of(answering.scope) is not None

    def data_received(self, data: bytes) -> None:
        """Process received bytes."""
        if self._phase is _DONE:
            self._wait_for(_HEAD)
        self._around += len(data)
        super().data_received(data)
        if self._phase is not _DONE and self._around > LARGEST_HEADERS and not self.transport.is_closing():
            if self.busy:  # a response may be in progress
                self.transport.close()
            else:
                self.send_400_response(TOO_LONG)
        if self.transport.is_closing():
            self._disconnect()

    def on_message_begin(self) -> None:
        """Note that a request begins; it may have arrived together with the previous one."""
        if self._phase is not _HEAD:
            self._wait_for(_HEAD)
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Process a header; trailers are ignored, since they would be mixed with the headers."""
        if self._phase is _HEAD:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Note that the body is next; refuse headers that are too long, even if they arrived all at once."""
        self._wait_for(_BODY)
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > LARGEST_HEADERS:
            self.app = _too_long
        if len(self.pipeline) >= MOST_AHEAD:
            raise ValueError(
                "too many requests ahead of their answers"
            )  # the parser stops, and uvicorn closes the connection
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Note that a chunk has arrived."""
        self._size += len(body)
        self._around = 0
        self._chunk_at = time.monotonic()
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Note that the request is complete."""
        self._wait_for(_DONE)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Continue with the next request; read no more while requests are queued."""
        super().on_response_complete()
        if self.pipeline:
            self.flow.pause_reading()

    def close_if_late(self, now: float) -> None:
        """Close the connection if it has exceeded a time limit."""
        unread = self.transport.get_write_buffer_size()
        if not unread or unread < self._unread:
            self._read_at = now
        self._unread = unread
        if now - self._read_at > READ_TIMEOUT:
            self._disconnect()
            self.transport.abort()  # close() would wait for the client to read
        elif self._late(now):
            self._disconnect()
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell all requests that the client has disconnected."""
        self._disconnect()
        super().connection_lost(exc)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def _disconnect(self) -> None:
        """Tell the request that is being answered, too, if others are queued; uvicorn tells only the last one."""
        self.pipeline.clear()
        if self._answering is not None:
            self._answering.disconnected = True
            self._answering.message_event.set()

    def _late(self, now: float) -> bool:
        if self._phase is _HEAD:
            return now - self._since > HEADER_TIMEOUT and not self.busy
        if self._phase is not _BODY:
            return False
        if not self.busy:  # it was answered, and the client keeps sending
            return now - self._since > MIN_RATE_AFTER
        if (
            self.flow.read_paused or self.cycle.waiting_for_100_continue
        ):  # the server is the slow side: the time starts again
            self._body_from = self._chunk_at = now
            self._size = 0
        took = now - self._body_from
        if token_of(self.cycle.scope) is None:
            return took > LOG_IN_TIMEOUT
        return now - self._chunk_at > CHUNK_TIMEOUT or self._size < MIN_BYTES_PER_SECOND * (took - MIN_RATE_AFTER)

    def _wait_for(self, phase: str) -> None:
        self._phase, self._size, self._around = phase, 0, 0
        self._since = self._body_from = self._chunk_at = time.monotonic()

    def _unsupported_upgrade_warning(self) -> None:
        """Log nothing: a request to upgrade the protocol is answered as plain HTTP."""


class BoundedServer(uvicorn.Server):
    """A server that closes connections which exceed a time limit."""

    async def on_tick(self, counter: int) -> bool:
        """Check all connections once per second."""
        if counter % 10 == 0:
            now = time.monotonic()
            for connection in list(self.server_state.connections):
                if isinstance(connection, BoundedProtocol):
                    connection.close_if_late(now)
        return await super().on_tick(counter)


def bounded_config(app: Any, host: str, port: int, **more: Any) -> uvicorn.Config:
    """Return a configuration of uvicorn with bounded connections; ``more`` is passed to uvicorn."""
    return uvicorn.Config(
        app,
        host,
        port,
        http=BoundedProtocol,
        ws="none",  # other protocols than HTTP would have no limits
        log_config=None,
        log_level="error",  # warnings report malformed requests, which anyone may send
        server_header=False,
        **more,
    )


async def _too_long(scope: Scope, receive: Receive, send: Send) -> None:
    answer = JSONResponse({"detail": TOO_LONG}, 431, {"Connection": "close"})
    await answer(scope, receive, send)
