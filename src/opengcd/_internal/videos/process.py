"""Decode a video in a child process: one that crashes, hangs or exhausts its decoder is refused without harm."""

from __future__ import annotations

import math
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import IO, BinaryIO, NamedTuple

from opengcd._internal.child_process import start_child
from opengcd._internal.videos import messages as protocol
from opengcd._internal.videos.reading import VideoError

ENDING = 5.0
"""Seconds in which a process that says nothing more ends by itself."""


class VideoFacts(NamedTuple):
    """What is known about a video whose frames were read."""

    taken: float | None
    """When it begins, in seconds since 1970 by the camera's clock."""
    damage: str
    """What is damaged; empty if nothing is."""


class _Reply(NamedTuple):
    kind: bytes
    number: float
    payload: bytes


def read_video(
    file: BinaryIO,
    fps: float,
    taken: float | None,
    keep: Callable[[float, bytes], None],
    reached: Callable[[int], None],
) -> VideoFacts:
    """Read the frames of a video: the first one at or after each of the times 0, 1/fps, 2/fps ...

    Parameters
    ----------
    file : binary stream
        A file, which is read from its start.
    fps : float
        Frames per second.
    taken : float or None
        When it begins, in seconds since 1970 by the camera's clock; None if only the file may say.
    keep : callable
        Called with each frame: its time in seconds from the start of the video, and the frame as a JPEG file that says
        when it was taken.
    reached : callable
        Called now and then with the place in the file, in bytes.

    Returns
    -------
    VideoFacts

    Raises
    ------
    VideoError
        If it cannot be read, or has too many frames.

    """
    file.seek(0)
    process = start_child("opengcd._internal.videos.worker", fps, math.nan if taken is None else taken, file=file)
    assert process.stdout is not None
    begins, frames = math.nan, 0
    try:
        while True:
            reply = _receive(process, process.stdout)
            if reply.kind == protocol.REFUSED:
                raise VideoError(reply.payload.decode(errors="replace"))
            if reply.kind == protocol.ENDED and frames:
                return VideoFacts(begins if math.isfinite(begins) else None, reply.payload.decode(errors="replace"))
            if reply.kind == protocol.OPENED:
                begins = reply.number
            elif reply.kind == protocol.FRAME and math.isfinite(reply.number):
                frames += 1
                if frames > protocol.MOST_FRAMES:
                    raise VideoError(protocol.TOO_MANY)
                keep(reply.number, reply.payload)
            elif reply.kind == protocol.REACHED and math.isfinite(reply.number):
                reached(int(reply.number))
            else:
                raise VideoError("the video decoder sent an invalid reply; try again")
    finally:
        process.kill()
        process.stdout.close()
        process.wait()


def _receive(process: subprocess.Popen[bytes], replies: IO[bytes]) -> _Reply:
    """Return the next reply; a process that is silent for too long is killed."""
    late = threading.Event()

    def end() -> None:
        late.set()
        process.kill()

    limit = threading.Timer(protocol.SECONDS, end)
    limit.daemon = True
    limit.start()
    try:
        head = replies.read(protocol.REPLY.size)
        if len(head) == protocol.REPLY.size:
            kind, number, length = protocol.REPLY.unpack(head)
            if length <= protocol.MOST_REPLY and len(payload := replies.read(length)) == length:
                return _Reply(kind, number, payload)
    finally:
        limit.cancel()
    if late.is_set():
        raise VideoError(f"decoding a part of it takes more than {protocol.SECONDS:.0f} seconds")
    with suppress(subprocess.TimeoutExpired):
        process.wait(ENDING)
    raise VideoError(
        f"it crashes the decoder (exit status {process.poll()}): it is damaged, or its frames are too large"
    )
