"""Decode images in child processes: a file that crashes, hangs or exhausts its decoder is rejected without harm."""

from __future__ import annotations

import atexit
import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import astuple
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

from opengcd._internal.child_process import start_child
from opengcd._internal.images import messages as protocol
from opengcd._internal.images.camera import CameraNotes, read_notes
from opengcd._internal.images.captures import CAPTURE, Capture
from opengcd._internal.images.reading import MAX_PIXELS, EmbedderError
from opengcd._internal.images.squares import Prepared, Square

if TYPE_CHECKING:
    from PIL.Image import Image

Source = TypeVar("Source")
MOST = min(16, os.cpu_count() or 1)
"""Largest number of processes."""
AHEAD = 4 * MOST
"""Small images that are read and decoded ahead."""
SMALL = 1_000_000
"""Largest number of pixels of a small image."""
PIXELS_AHEAD = MAX_PIXELS
"""Pixels of larger images that are decoded ahead."""
PIXELS_AT_ONCE = 2 * MAX_PIXELS
"""Pixels of larger images that all processes decode at a time; each takes at most about 20 bytes of memory."""
MAX_BYTES = 256 * 2**20
"""Largest file that is decoded; the largest allowed image fits uncompressed."""
TOO_LARGE = f"the file has more than {MAX_BYTES // 2**20} MiB; make it smaller"
MOST_REPLY = 3 * MAX_PIXELS + 100
"""Largest reply in bytes: even a compromised decoder cannot exhaust the memory of this process."""
JOINED = 2**20
"""Files up to this size are copied behind the header of the request, so that both are sent by one system call."""
TICK = 0.25
"""Seconds between checks of the time limit."""


class Header(NamedTuple):
    """Size and format of an image, from the header of its file."""

    width: int
    height: int
    format: str
    """Pillow's name of it."""


class _Wish(NamedTuple):
    """What to make of an image."""

    kind: bytes
    side: int = 0
    shape: Square | None = None

    def head(self, most: int, length: int) -> bytes:
        """Return the headers of a request: the length of the file, and the largest number of pixels to decode."""
        head = protocol.REQUEST.pack(self.kind, most, self.side, length)
        return head + protocol.SHAPE.pack(*astuple(self.shape)) if self.shape else head


PIXELS = _Wish(protocol.PIXELS)


class _Reply(NamedTuple):
    kind: bytes
    size: tuple[int, int]
    payload: bytearray


class _Large(NamedTuple):
    """A file with a large image, which is decoded when enough memory is free."""

    raw: bytes
    pixels: int


class _Worker:
    """One process, used by one thread at a time."""

    def __init__(self) -> None:
        self._process = start_child("opengcd._internal.images.worker")
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests, self._replies = self._process.stdin, self._process.stdout
        self._lock = threading.Lock()
        self._deadline = math.inf
        self.late = False
        try:
            self._receive()
        except EOFError:
            raise OSError(
                f"The image decoder did not start (exit status {self.close()}); check the installation of Pillow."
            ) from None

    def ask(self, wish: _Wish, raw: bytes, most: int) -> _Reply:
        """Return the reply; an OSError or EOFError means that the process has ended."""
        self._set_deadline(time.monotonic() + protocol.SECONDS)
        head = wish.head(most, len(raw))
        for part in (head + raw,) if len(raw) <= JOINED else (head, raw):
            self._requests.write(part)
        self._requests.flush()
        reply = self._receive()
        self._set_deadline(math.inf)
        return reply

    def end_if_late(self) -> None:
        with self._lock:
            if time.monotonic() > self._deadline:
                self.late = True
                self._process.kill()

    def end(self) -> int:
        """Kill the process; return its exit status."""
        self._process.kill()
        return self.close()

    def close(self) -> int:
        """Let the process finish; return its exit status."""
        self._replies.close()
        with suppress(OSError):  # unsent data
            self._requests.close()
        return self._process.wait()

    def _set_deadline(self, deadline: float) -> None:
        with self._lock:
            self._deadline = deadline

    def _receive(self) -> _Reply:
        head = self._replies.read(protocol.REPLY.size)
        if len(head) < protocol.REPLY.size:
            raise EOFError
        kind, width, height, length = protocol.REPLY.unpack(head)
        if length > MOST_REPLY:
            raise EOFError
        payload = bytearray(length)
        if self._replies.readinto(payload) < length:  # type: ignore[attr-defined]
            raise EOFError
        return _Reply(kind, (width, height), payload)


class Decoders:
    """A pool of processes that decode images; they start on demand and end with this process.

    It is thread-safe. A file that cannot be decoded raises an :class:`EmbedderError` with the reason.
    """

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self._room = threading.BoundedSemaphore(most)
        self._idle: list[_Worker] = []
        self._busy: set[_Worker] = set()
        self._lock = threading.Lock()
        self._watching = False
        self._changed = threading.Condition()
        self._pixels = 0
        """Pixels of the large images that are being decoded."""
        atexit.register(self.close)

    def header(self, raw: bytes) -> Header:
        """Return the size and format of an image, from its header alone."""
        reply = self._ask(PIXELS, raw, most=0)
        return Header(*reply.size, reply.payload.decode())

    def notes(self, raw: bytes) -> CameraNotes:
        """Return what the camera wrote down about an image, from its header alone."""
        return read_notes(bytes(self._ask(_Wish(protocol.NOTES), raw, most=0).payload))

    def check(self, raw: bytes) -> str:
        """Decode all of an image and return its format."""
        return self._whole(_Wish(protocol.CHECK), raw).payload.decode()

    def image(self, raw: bytes) -> Image:
        """Return the same image as :func:`~opengcd.embed.read_image`."""
        return _image(self._whole(PIXELS, raw))

    def jpeg(self, raw: bytes, side: int = 0) -> bytes:
        """Return an image as a JPEG file, at most ``side`` pixels wide and high unless that is 0."""
        return bytes(self._whole(_Wish(protocol.JPEG, side), raw).payload)

    @overload
    def stream(
        self, sources: Iterable[Source], read: Callable[[Source], bytes], shape: None = None
    ) -> Generator[tuple[Source, Image | str]]: ...

    @overload
    def stream(
        self, sources: Iterable[Source], read: Callable[[Source], bytes], shape: Square
    ) -> Generator[tuple[Source, Prepared | str]]: ...

    def stream(
        self, sources: Iterable[Source], read: Callable[[Source], bytes], shape: Square | None = None
    ) -> Generator[tuple[Source, Any]]:
        """Yield each source in order, with its image or the reason why it cannot be decoded.

        ``read`` returns the file of a source. Following images are decoded ahead, large ones up to ``PIXELS_AHEAD``
        pixels together. With a ``shape``, only that square of each image is sent here, as :class:`Prepared`; large
        images are then limited only in how many are decoded at a time.
        """
        source = iter(sources)
        wish, most = (_Wish(protocol.SQUARE, shape=shape), PIXELS_AT_ONCE) if shape else (PIXELS, PIXELS_AHEAD)
        begun: deque[tuple[Source, Future[Image | Prepared | _Large | str]]] = deque()
        coming: deque[tuple[Source, int, Future[Any]]] = deque()
        pixels = 0
        threads = ThreadPoolExecutor(2 * self.most, "decoding")  # half of them read files while the others wait
        try:
            while True:
                more = islice(source, AHEAD - len(begun))
                begun.extend((one, threads.submit(self._begin, wish, read, one)) for one in more)
                while begun and (not coming or (len(coming) < AHEAD and begun[0][1].done())):
                    one, future = begun[0]
                    found = future.result()
                    if not isinstance(found, _Large):
                        coming.append((one, 0, future))
                    elif not coming or pixels + found.pixels <= most:
                        coming.append((one, found.pixels, threads.submit(self._finish, wish, found)))
                        pixels += found.pixels
                    else:
                        break
                    begun.popleft()
                if not coming:
                    return
                one, size, image = coming.popleft()
                yield one, image.result()
                pixels -= size
        finally:
            threads.shutdown(cancel_futures=True)

    def close(self) -> None:
        """End the idle processes."""
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.close()

    def _begin(self, wish: _Wish, read: Callable[[Source], bytes], one: Source) -> Image | Prepared | _Large | str:
        """Decode an image if it is small."""
        try:
            raw = read(one)
            reply = self._ask(wish, raw, SMALL)
        except EmbedderError as error:
            return str(error)
        return _Large(raw, math.prod(reply.size)) if reply.kind == protocol.DESCRIBED else _result(wish, reply)

    def _finish(self, wish: _Wish, file: _Large) -> Image | Prepared | str:
        try:
            return _result(wish, self._large(wish, file))
        except EmbedderError as error:
            return str(error)

    def _whole(self, wish: _Wish, raw: bytes) -> _Reply:
        reply = self._ask(wish, raw, SMALL)
        if reply.kind == protocol.DESCRIBED:
            reply = self._large(wish, _Large(raw, math.prod(reply.size)))
        return reply

    def _large(self, wish: _Wish, file: _Large) -> _Reply:
        """Decode a large image as soon as the limit on pixels allows."""
        with self._changed:
            self._changed.wait_for(lambda: not self._pixels or self._pixels + file.pixels <= PIXELS_AT_ONCE)
            self._pixels += file.pixels
        try:
            return self._ask(wish, file.raw, MAX_PIXELS)
        finally:
            with self._changed:
                self._pixels -= file.pixels
                self._changed.notify_all()

    def _ask(self, wish: _Wish, raw: bytes, most: int) -> _Reply:
        if len(raw) > MAX_BYTES:
            raise EmbedderError(TOO_LARGE)
        with self._room:
            worker = self._take()
            try:
                reply = worker.ask(wish, raw, most)
            except (OSError, EOFError):
                raise EmbedderError(_why(worker.late, worker.end())) from None
            except BaseException:
                worker.end()  # a later reply would belong to no request
                raise
            finally:
                with self._lock:
                    self._busy.discard(worker)
            with self._lock:
                self._idle.append(worker)
        if reply.kind == protocol.REFUSED:
            raise EmbedderError(reply.payload.decode())
        return reply

    def _take(self) -> _Worker:
        with self._lock:
            worker = self._idle.pop() if self._idle else None
            if not self._watching:
                self._watching = True
                threading.Thread(target=self._watch, name="decoders", daemon=True).start()
        worker = worker or _Worker()
        with self._lock:
            self._busy.add(worker)
        return worker

    def _watch(self) -> None:
        while True:
            time.sleep(TICK)
            with self._lock:
                busy = list(self._busy)
            for worker in busy:
                worker.end_if_late()


@cache
def decoders() -> Decoders:
    """Return the pool that the whole process shares."""
    return Decoders()


if hasattr(os, "register_at_fork"):  # child processes belong to one parent only
    os.register_at_fork(after_in_child=decoders.cache_clear)


def _result(wish: _Wish, reply: _Reply) -> Image | Prepared:
    return _prepared(reply, wish.shape) if wish.shape else _image(reply)


def _take_capture(payload: bytearray) -> Capture:
    """Cut the capture of an image off the end of the payload of a reply, and return it."""
    if len(payload) < protocol.CAPTURE.size:
        raise _strange_reply()
    hash, taken = protocol.CAPTURE.unpack(payload[-protocol.CAPTURE.size :])
    del payload[-protocol.CAPTURE.size :]
    return Capture(hash, taken if math.isfinite(taken) else None)


def _prepared(reply: _Reply, shape: Square) -> Prepared:
    import numpy as np

    capture = _take_capture(reply.payload)
    if len(reply.payload) != shape.bytes or not 1 <= math.prod(reply.size) <= MAX_PIXELS:
        raise _strange_reply()
    return Prepared(np.frombuffer(reply.payload, np.uint8).reshape(shape.crop, shape.crop, 3), reply.size, capture)


def _image(reply: _Reply) -> Image:
    from PIL import Image

    capture = _take_capture(reply.payload)
    header, pixels = protocol.ppm_header(*reply.size), reply.payload
    if not pixels.startswith(header) or len(pixels) != len(header) + 3 * math.prod(reply.size):
        raise _strange_reply()
    del pixels[: len(header)]
    image = Image.frombuffer("RGB", reply.size, pixels, "raw", "RGB", 0, 1)
    image.info[CAPTURE] = capture
    return image


def _strange_reply() -> OSError:
    return OSError("The image decoder sent an invalid reply; try again.")


def _why(late: bool, status: int) -> str:
    if late:
        return f"decoding it takes more than {protocol.SECONDS:.0f} seconds"
    return f"it crashes the decoder (exit status {status}): it is damaged, or too large; repair or remove it"
