"""Tiny pictures of plain colours with some noise: an open world that plain pixels can tell apart."""

import struct
import zlib

import numpy as np
from PIL import Image

COLOURS = {
    "red": (220, 30, 30),
    "green": (30, 200, 40),
    "black": (30, 30, 30),
    "white": (230, 230, 230),
    "blue": (30, 40, 220),
    "yellow": (230, 220, 40),
}
MORE = {
    "orange": (240, 130, 20),
    "purple": (130, 30, 130),
    "cyan": (40, 220, 220),
    "brown": (110, 70, 30),
    "grey": (130, 130, 130),
    "pink": (250, 150, 180),
}
RECOGNIZER = {"preset": "paper", "classifier": "svm", "alpha": 1.0, "selector": "greedy"}
"""Rejects just what is new in this world, and needs no search."""
KNOWN = ("red", "green", "black", "white")


def picture(colour, seed, side=12):
    value = (COLOURS | MORE)[colour]
    rng = np.random.default_rng([seed, *value])
    noise = rng.integers(-25, 26, (side, side, 3))
    return Image.fromarray((np.array(value) + noise).clip(0, 255).astype(np.uint8))


def paint(folder, colour, numbers):
    """Write pictures of a colour; return their files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{colour}{number}.png" for number in numbers]
    for file, number in zip(files, numbers, strict=True):
        picture(colour, number).save(file)
    return files


def paint_world(folder, n=8):
    """Four colours are known; the stream shows blue and yellow too."""
    for colour in KNOWN:
        paint(folder / "known" / colour, colour, range(n))
    for colour in COLOURS:
        paint(folder / "stream", colour, range(100, 100 + n))
    return folder / "known", folder / "stream"


def truth(path):
    """The colour that a file is named after."""
    return next(colour for colour in COLOURS | MORE if colour in str(path).rpartition("/")[2])


def png_header(width, height):
    """A PNG file that claims to be of some size."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(b"\0" * 1000))
        + chunk(b"IEND", b"")
    )
