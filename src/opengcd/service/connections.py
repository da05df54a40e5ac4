"""Connections: those that are slow, endless, unread or too many are closed.

uvicorn itself waits for ever for headers, for a body and for a client that does not read its answer.
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
"""Connections at a time; common systems let a process open 1,024 files."""
HEADERS_WITHIN = 10.0
"""Seconds from the first byte of a request, or from the connection, to the end of the headers."""
LARGEST_HEADERS = 32 * 2**10
"""Bytes of the address and the headers of a request, or of what comes between two pieces of a body or after it."""
LOG_IN_WITHIN = 5.0
"""Seconds for the body of a request without a token, which is small."""
PIECE_WITHIN = 15.0
"""Seconds between two pieces of a body."""
GRACE, SLOWEST = 20.0, 32 * 2**10
"""A body that takes longer than so many seconds has to come with so many bytes in a second after that."""
MOST_AHEAD = 20
"""Requests that a client may send before the first of them is answered."""
READ_WITHIN = 30.0
"""Seconds for which a client may leave its answer unread."""
_HEAD, _BODY, _DONE = "head", "body", "done"


class BoundedProtocol(HttpToolsProtocol):
    """A connection that notes what it waits for; :class:`BoundedServer` asks it every second for how long it has."""

    _answering: RequestResponseCycle | None = None
    _size: int
    _since: float

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection; if there are too many, close the oldest that no request of a known sender needs."""
        super().connection_made(transport)
        self._wait_for(_HEAD)
        self._unread, self._read_at = 0, time.monotonic()
        if len(self.connections) > MOST:
            others = (one for one in self.connections if isinstance(one, BoundedProtocol) and not one._spared)
            oldest = min(others, key=lambda one: one._since)  # this one at the latest
            oldest.transport.abort()
            self.connections.discard(oldest)

    @property
    def busy(self) -> bool:
        """Whether a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def _spared(self) -> bool:
        """Whether a request is being answered whose sender is known; strangers could keep all connections busy."""
        answering = self._answering
        return answering is not None and not answering.response_complete and token_of(answering.scope) is not None

    def data_received(self, data: bytes) -> None:
        """Take what has come."""
        if self._phase is _DONE:
            self._wait_for(_HEAD)
        self._around += len(data)
        super().data_received(data)
        if self._phase is not _DONE and self._around > LARGEST_HEADERS and not self.transport.is_closing():
            if self.busy:  # an answer may be under way
                self.transport.close()
            else:
                self.send_400_response("The headers are too long.")
        if self.transport.is_closing():
            self._disconnect()

    def on_message_begin(self) -> None:
        """Note that a request begins, which may have come together with the one before."""
        if self._phase is not _HEAD:
            self._wait_for(_HEAD)
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; those after a body are left out, as they would count as if they had come before it."""
        if self._phase is _HEAD:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Note that the body is next; refuse headers that are too long, also if they have come all at once."""
        self._wait_for(_BODY)
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > LARGEST_HEADERS:
            self.app = _too_long
        if len(self.pipeline) >= MOST_AHEAD:
            raise ValueError("too many requests ahead of their answers")  # the parser ends, and the connection with it
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Note that a piece has come."""
        self._size += len(body)
        self._around = 0
        self._piece_at = time.monotonic()
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Note that the request is whole."""
        self._wait_for(_DONE)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Go on with the next request; do not read more while some wait."""
        super().on_response_complete()
        if self.pipeline:
            self.flow.pause_reading()

    def close_if_late(self, now: float) -> None:
        """Close the connection if what it waits for has not come in time."""
        unread = self.transport.get_write_buffer_size()
        if not unread or unread < self._unread:
            self._read_at = now
        self._unread = unread
        if now - self._read_at > READ_WITHIN:
            self._disconnect()
            self.transport.abort()  # to close would wait for the client to read
        elif self._late(now):
            self._disconnect()
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Let all requests know that nobody waits for their answers."""
        self._disconnect()
        super().connection_lost(exc)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def _disconnect(self) -> None:
        """Tell also the request that is being answered, if others have come after it; uvicorn tells the last alone."""
        self.pipeline.clear()
        if self._answering is not None:
            self._answering.disconnected = True
            self._answering.message_event.set()

    def _late(self, now: float) -> bool:
        if self._phase is _HEAD:
            return now - self._since > HEADERS_WITHIN and not self.busy
        if self._phase is not _BODY:
            return False
        if not self.busy:  # it was answered, and goes on sending
            return now - self._since > GRACE
        if self.flow.read_paused or self.cycle.waiting_for_100_continue:  # it is we who are slow: its time begins anew
            self._body_from = self._piece_at = now
            self._size = 0
        took = now - self._body_from
        if token_of(self.cycle.scope) is None:
            return took > LOG_IN_WITHIN
        return now - self._piece_at > PIECE_WITHIN or self._size < SLOWEST * (took - GRACE)

    def _wait_for(self, phase: str) -> None:
        self._phase, self._size, self._around = phase, 0, 0
        self._since = self._body_from = self._piece_at = time.monotonic()

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing: whoever asks for another protocol is answered by this one."""


class BoundedServer(uvicorn.Server):
    """A server that closes connections which keep it waiting."""

    async def on_tick(self, counter: int) -> bool:
        """Look after the connections once in a second."""
        if counter % 10 == 0:
            now = time.monotonic()
            for connection in list(self.server_state.connections):
                if isinstance(connection, BoundedProtocol):
                    connection.close_if_late(now)
        return await super().on_tick(counter)


def bounded_config(app: Any, host: str, port: int, **more: Any) -> uvicorn.Config:
    """Return how uvicorn serves an application on connections that are bounded; ``more`` is uvicorn's."""
    return uvicorn.Config(
        app,
        host,
        port,
        http=BoundedProtocol,
        ws="none",  # other protocols than HTTP would not be bounded
        log_config=None,
        log_level="error",  # warnings tell of garbage that any stranger may send
        server_header=False,
        **more,
    )


async def _too_long(scope: Scope, receive: Receive, send: Send) -> None:
    answer = JSONResponse({"detail": "The headers are too long."}, 431, {"Connection": "close"})
    await answer(scope, receive, send)
