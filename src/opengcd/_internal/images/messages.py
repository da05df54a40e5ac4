"""Messages to and from a decoder process: a fixed header, followed by a payload."""

import struct

REQUEST = struct.Struct("!cIIQ")
"""Kind of request (see below), largest number of pixels, largest side of the result, and length of the file."""
CHECK = b"c"
"""Request: decode the whole image, but return no pixels."""
PIXELS = b"p"
"""Request: a PPM file, which is a header and RGB values, row by row."""
JPEG = b"j"
"""Request: a JPEG file of at most the given side; 0 keeps the size."""
NOTES = b"n"
"""Request: what the camera wrote down about the image, as JSON; no pixels are decoded."""
SQUARE = b"s"
"""Request: a small square of the image, as described by a second header that comes before the file."""
SHAPE = struct.Struct("!IIB???")
"""That header: the fields of a ``Square``."""

REPLY = struct.Struct("!cIIQ")
"""Kind of reply (see below), width and height of the image, and length of the payload."""
READY = b"r"
"""Reply: the process has started and waits for requests."""
REFUSED = b"x"
"""Reply: the image cannot be decoded; the payload is the reason, in UTF-8."""
DESCRIBED = b"h"
"""Reply: the image has more pixels than allowed and was not decoded; the payload is its format."""
DONE = b"d"
"""Reply: the payload is what was requested; for a check, the format; for a square, its RGB values, row by row."""
CAPTURE = struct.Struct("!Qd")
"""At the end of pixels and squares: the perceptual hash of the image, and when it was taken (not a number: unknown)."""

MEMORY = 2 * 2**30
"""Limit of the address space of a decoder process, in bytes. The largest image takes about 1.5 GB in the worst mode."""
SECONDS = 30.0
"""Time limit for one image, after which the process is killed."""


def ppm_header(width: int, height: int) -> bytes:
    """Return the header of a PPM file."""
    return b"P6\n%d %d\n255\n" % (width, height)
