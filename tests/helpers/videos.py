"""Small videos, made by PyAV."""

import struct
from fractions import Fraction

import av
from PIL import Image

from tests.helpers.pictures import picture

SIDE = 32
TAKEN = "2024-05-01T06:30:12"
"""The time of videos in tests, which is 1714545012 seconds since 1970."""
BEGINS = 1714545012.0


def film(file, images, rate=10, codec="libx264", times=None, pixels="yuv420p", **metadata):
    """Write images as a video; ``times`` are those of the frames in milliseconds, by default ``rate`` per second."""
    file.parent.mkdir(parents=True, exist_ok=True)
    options = {"movflags": "faststart+use_metadata_tags"} if file.suffix in (".mp4", ".mov") else {}
    with av.open(str(file), "w", options=options) as container:
        container.metadata.update(metadata)
        stream = container.add_stream(codec, rate=rate)
        stream.pix_fmt = pixels
        stream.width, stream.height = images[0].size
        stream.options = {"crf": "5", "g": "10", "q": "2", "qmin": "1"}
        if times is not None:
            stream.codec_context.time_base = stream.time_base = Fraction(1, 1000)
        for number, image in enumerate(images):
            frame = av.VideoFrame.from_image(image)
            if times is not None:
                frame.pts, frame.time_base = times[number], Fraction(1, 1000)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return file


def plain(colour, frames):
    return [picture(colour, 7, SIDE)] * frames


def clip(file, *colours, seconds=2, **options):
    """Write a video of ten frames per second that shows some colours, each for some seconds."""
    return film(file, [one for colour in colours for one in plain(colour, 10 * seconds)], **options)


def quarters(width=64, height=48):
    """A grey image whose upper left quarter is red."""
    image = Image.new("RGB", (width, height), (128, 128, 128))
    image.paste((220, 30, 30), (0, 0, width // 2, height // 2))
    return image


def turn(file, a, b, c, d):
    """Give an MP4 file a display matrix: what is at (x, y) is shown at (ax + cy, bx + dy)."""
    raw = bytearray(file.read_bytes())
    place = raw.find(b"tkhd") + 44  # of version 0
    raw[place : place + 36] = struct.pack(">9i", a << 16, b << 16, 0, c << 16, d << 16, 0, 0, 0, 1 << 30)
    file.write_bytes(raw)
    return file
