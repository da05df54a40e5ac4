"""Child process that decodes images until its parent is gone; see ``pool.py``."""

from __future__ import annotations

import io
import json
import os
import sys
from math import nan
from typing import TYPE_CHECKING, BinaryIO

from opengcd._internal.child_process import confine, end_after, quiet_output
from opengcd._internal.images import messages as protocol
from opengcd._internal.images.camera import camera_notes
from opengcd._internal.images.captures import difference_hash, taken_at
from opengcd._internal.images.reading import EmbedderError, decoded, is_turned, open_image
from opengcd._internal.images.squares import Square

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFile import ImageFile

QUALITY = 85


def serve(requests: BinaryIO, replies: BinaryIO) -> None:
    """Answer requests until there are no more."""
    _reply(replies, protocol.READY)
    while len(head := requests.read(protocol.REQUEST.size)) == protocol.REQUEST.size:
        kind, most, side, length = protocol.REQUEST.unpack(head)
        shape = None
        if kind == protocol.SQUARE:
            shape = Square(*protocol.SHAPE.unpack(requests.read(protocol.SHAPE.size)))
        raw = requests.read(length)
        end_after(2 * protocol.SECONDS)  # in case the parent is gone and cannot enforce its limit
        try:
            _answer(replies, io.BytesIO(raw), kind, most, side, shape)
        except (EmbedderError, MemoryError) as error:
            reason = str(error) or "decoding it needs too much memory; make it smaller"
            _reply(replies, protocol.REFUSED, payload=reason.encode(errors="backslashreplace"))
        end_after(0)


def _answer(replies: BinaryIO, file: BinaryIO, kind: bytes, most: int, side: int, shape: Square | None) -> None:
    image, taken = None, nan
    with open_image(file, confined=True) as opened:
        size, format = opened.size, (opened.format or "").encode()
        if kind == protocol.NOTES:
            _reply(replies, protocol.DONE, size, json.dumps(camera_notes(opened)).encode())
            return
        if size[0] * size[1] <= most:
            if kind in (protocol.SQUARE, protocol.PIXELS):
                taken = taken_at(opened)
            image, size = _square(opened, shape) if shape else (decoded(opened), size)
    if image is None:
        _reply(replies, protocol.DESCRIBED, size, format)
    elif kind == protocol.CHECK:
        _reply(replies, protocol.DONE, size, format)
    elif kind == protocol.SQUARE:
        _reply(replies, protocol.DONE, size, image.tobytes() + protocol.CAPTURE.pack(difference_hash(image), taken))
    elif kind == protocol.PIXELS:
        # Pillow writes a PPM file, which is a short header and the plain pixels, without making a copy of them.
        length = len(protocol.ppm_header(*image.size)) + 3 * image.width * image.height
        capture = protocol.CAPTURE.pack(difference_hash(image), taken)
        replies.write(protocol.REPLY.pack(protocol.DONE, *image.size, length + len(capture)))
        image.save(replies, "PPM")
        replies.write(capture)
        replies.flush()
    else:
        if side:
            image.thumbnail((side, side))
        stream = io.BytesIO()
        image.save(stream, "JPEG", quality=QUALITY)
        _reply(replies, protocol.DONE, image.size, stream.getvalue())


def _square(opened: ImageFile, shape: Square) -> tuple[Image, tuple[int, int]]:
    """Return the square of an image, and the size of the image itself."""
    size = opened.size
    if shape.fast:
        width, height = shape.resized(*size)
        opened.draft(None, (2 * width, 2 * height))
    if opened.size == size:
        image = decoded(opened, shape.upright)
        return shape.of(image), image.size
    if shape.upright and is_turned(opened):
        size = size[::-1]
    return shape.of(decoded(opened, shape.upright)), size


def _reply(replies: BinaryIO, kind: bytes, size: tuple[int, int] = (0, 0), payload: bytes = b"") -> None:
    replies.write(protocol.REPLY.pack(kind, *size, len(payload)) + payload)
    replies.flush()


def main() -> None:
    """Serve standard input; output of libraries is discarded."""
    confine(protocol.MEMORY)
    replies = quiet_output()
    try:
        serve(sys.stdin.buffer, replies)
    except BrokenPipeError:
        os._exit(0)  # the parent is gone


if __name__ == "__main__":
    main()
