"""Decode video files in this process. This is the only module that uses PyAV, and with it FFmpeg."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

from opengcd._internal.images import MAX_PIXELS
from opengcd._internal.videos.messages import MISSING, MOST_FRAMES, TOO_MANY

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = ("mov", "mp4", "avi", "matroska", "webm", "mpegts", "mpeg", "asf")
"""Allowed formats, by FFmpeg's names.

FFmpeg chooses a format by the content of a file, not by its name. Many of those left out name other files or addresses,
which FFmpeg would open (playlists, lists of files, scripts); the others are rare, and each adds code that a hostile
file can reach.
"""
DECODERS = (
    "h264", "hevc", "av1", "libdav1d", "vp8", "vp9", "mpeg4", "mjpeg", "mpeg1video", "mpeg2video", "h263", "msmpeg4v2",
    "msmpeg4", "wmv1", "wmv2", "wmv3", "vc1", "prores", "dvvideo", "ffv1", "rawvideo",
)  # fmt: skip
"""Allowed decoders of pictures; sound is not decoded."""
OPTIONS = {
    "format_whitelist": ",".join(FORMATS),
    "codec_whitelist": ",".join(DECODERS),
    "protocol_whitelist": "none",  # nothing but the file itself is read
}
THREADS = 4
CLOSE = 0.001
"""Seconds by which times may be rounded; many formats store milliseconds."""
LONGEST = 10_000_000.0
"""Seconds; times beyond are damaged."""
EARLY = 2.0
"""Seconds by which the pictures may end before the time that the file states; sound may be longer."""
YEARS = range(1990, 2100)
"""A camera whose clock was never set says 1904 or 1970."""
STRAIGHT = {
    (False, False): None,
    (True, False): "FLIP_LEFT_RIGHT",
    (False, True): "FLIP_TOP_BOTTOM",
    (True, True): "ROTATE_180",
}
"""Pillow's names of turns by a display matrix, by whether it makes x and y negative."""
ACROSS = {
    (False, False): "TRANSPOSE",
    (True, False): "ROTATE_90",
    (False, True): "ROTATE_270",
    (True, True): "TRANSVERSE",
}
"""Those that exchange width and height, by whether what x becomes in y, and y in x, is negative."""
NOT_A_VIDEO = "not a readable video; if it is one in another format, convert it to MP4"
NOTHING = "no frame of it can be decoded: it is damaged or incomplete, or protected"


class VideoError(ValueError):
    """A video cannot be used; the message is the reason."""


class Frame(NamedTuple):
    """A frame of a video."""

    seconds: float
    """From the start of the video."""
    image: Image
    """In RGB, upright."""


class OpenVideo:
    """A video whose frames can be read once.

    Parameters
    ----------
    file : binary stream
        That can seek.

    Attributes
    ----------
    taken : float or None
        When it begins by what the file says, in seconds since 1970.
    damage : str
        What is damaged, once all frames were read; empty if nothing is.

    """

    def __init__(self, file: BinaryIO) -> None:
        try:
            import av
        except ImportError:
            raise VideoError(MISSING) from None
        self._errors = av.FFmpegError, OSError, ValueError  # a damaged file names places that cannot be
        try:
            self._container = cast(Any, av.open(file, container_options=OPTIONS))
        except self._errors:
            raise VideoError(NOT_A_VIDEO) from None
        self._stream = self._container.streams.best("video")
        if self._stream is None or self._stream.codec_context is None:
            raise VideoError("it has no pictures that can be decoded")
        codec = self._stream.codec_context
        if codec.name not in DECODERS:
            raise VideoError(f"its pictures are coded as {codec.name}, which is not read; convert it to H.264")
        if codec.width * codec.height > MAX_PIXELS:
            raise VideoError(f"its frames of {codec.width} × {codec.height} have more than {MAX_PIXELS:,} pixels")
        codec.thread_type, codec.thread_count = "AUTO", THREADS
        self._start = (self._container.start_time or 0) / 1e6
        self.taken = _begins(self._container.metadata)
        self.damage = ""

    def frames(self, fps: float) -> Iterator[Frame | None]:
        """Yield the first frame at or after each of the times 0, 1/fps, 2/fps ..., and None for other frames.

        Parameters
        ----------
        fps : float
            Frames per second; a frame that is the first after several of these times is taken once.

        Yields
        ------
        Frame or None

        """
        if self._duration * fps > MOST_FRAMES:
            raise VideoError(TOO_MANY)
        wanted, last, bad, taken = 0, 0.0, 0, 0
        for frame in self._decoded():
            seconds = math.nan if frame is None or frame.time is None else frame.time - self._start
            if frame is None or frame.is_corrupt or not seconds <= LONGEST:
                bad += 1
                continue
            last = max(last, seconds + float((frame.duration or 0) * (frame.time_base or 0)))
            if seconds + CLOSE < wanted / fps:
                yield None
                continue
            wanted = math.floor((seconds + CLOSE) * fps) + 1
            taken += 1
            yield Frame(max(0.0, seconds), _upright(frame.to_image(), frame.side_data))
        if not taken:
            raise VideoError(NOTHING)
        if last < self._duration - EARLY:
            self.damage = f"it is incomplete: it ends after {last:.1f} of {self._duration:.1f} seconds"
        elif bad:
            self.damage = "parts of it are damaged"

    @property
    def _duration(self) -> float:
        """Seconds that the file states; 0 if it does not."""
        if self._stream.duration is not None:
            return float(self._stream.duration * self._stream.time_base)
        return (self._container.duration or 0) / 1e6

    def _decoded(self) -> Iterator[Any]:
        """Yield all frames in the order of their times, and None for what cannot be decoded."""
        packets = self._container.demux(self._stream)
        while True:
            try:
                packet = next(packets)
            except StopIteration:
                return
            except self._errors:  # the file ends within a packet, or its structure is damaged from here on
                yield None
                packet = None
            if packet is not None and packet.is_corrupt:
                yield None
            try:
                yield from self._stream.codec_context.decode(packet)
            except self._errors:
                yield None
            if packet is None:
                return


def _begins(metadata: dict[str, str]) -> float | None:
    """Return when a video begins: by the local time of a phone if there is one, or else by the time that is in UTC."""
    for key in ("com.apple.quicktime.creationdate", "creation_time"):
        try:
            time = datetime.fromisoformat(metadata.get(key, "").strip()).replace(tzinfo=UTC)
        except ValueError:
            continue
        if time.year in YEARS:
            return time.timestamp()
    return None


def _upright(image: Image, side_data: Any) -> Image:
    """Turn and mirror a frame as the display matrix of the video says, if it has one."""
    from PIL.Image import Transpose

    for one in side_data:
        if one.type.name == "DISPLAYMATRIX":
            a, b, _, c, d, *_ = struct.unpack("=9i", bytes(one)[:36])  # (x, y) is shown at (ax + cy, bx + dy)
            straight = abs(a) + abs(d) >= abs(b) + abs(c)
            turns = STRAIGHT[a < 0, d < 0] if straight else ACROSS[b < 0, c < 0]
            return image if turns is None else image.transpose(Transpose[turns])
    return image
