"""Child process that decodes one video, its standard input; see ``process.py``."""

from __future__ import annotations

import io
import math
import os
import sys
import time
from typing import BinaryIO

from opengcd._internal.child_process import confine, end_after, quiet_output
from opengcd._internal.images import exif_at
from opengcd._internal.videos import messages as protocol
from opengcd._internal.videos.reading import OpenVideo, VideoError

QUALITY = 95
OFTEN = 0.5
"""Seconds between reports of the place in the file."""


def serve(file: BinaryIO, replies: BinaryIO, fps: float, taken: float) -> None:
    """Send the frames of a video.

    Parameters
    ----------
    file : binary stream
    replies : binary stream
    fps : float
        Frames per second.
    taken : float
        When it begins; not a number if only the file may say.

    """

    def reply(kind: bytes, number: float = 0.0, payload: bytes = b"") -> None:
        replies.write(protocol.REPLY.pack(kind, number, len(payload)) + payload)
        replies.flush()
        end_after(2 * protocol.SECONDS)

    end_after(2 * protocol.SECONDS)
    try:
        video = OpenVideo(file)
        begins = video.taken if math.isnan(taken) else taken
        reply(protocol.OPENED, math.nan if begins is None else begins)
        told = time.monotonic()
        for frame in video.frames(fps):
            if frame is not None:
                stream = io.BytesIO()
                exif = exif_at(None if begins is None else begins + frame.seconds)
                frame.image.save(stream, "JPEG", quality=QUALITY, subsampling=0, exif=exif)
                reply(protocol.FRAME, frame.seconds, stream.getvalue())
            if time.monotonic() - told > OFTEN:
                reply(protocol.REACHED, file.tell())
                told = time.monotonic()
        reply(protocol.ENDED, payload=video.damage.encode())
    except (VideoError, MemoryError) as error:
        reason = str(error) or "decoding it needs too much memory; make its frames smaller"
        reply(protocol.REFUSED, payload=reason.encode(errors="backslashreplace"))


def main() -> None:
    """Decode standard input; output of libraries is discarded."""
    confine(protocol.MEMORY)
    fps, taken = map(float, sys.argv[1:])
    try:
        serve(sys.stdin.buffer, quiet_output(), fps, taken)
    except BrokenPipeError:
        os._exit(0)  # the parent is gone


if __name__ == "__main__":
    main()
