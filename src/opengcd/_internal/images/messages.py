"""What a decoder process is asked, and what it answers: fixed headers, each followed by some bytes."""

import struct

REQUEST = struct.Struct("!cIIQ")
"""The wish (see below), the most pixels, the side of a picture that is wished for, and the length of the file."""
CHECK = b"c"
"""Wish: nothing but that all of the image is decoded."""
PIXELS = b"p"
"""Wish: a PPM file, which is a header and red, green and blue, row by row."""
JPEG = b"j"
"""Wish: a JPEG file of a picture at most so wide and high; 0 leaves the size as it is."""

REPLY = struct.Struct("!cIIQ")
"""How it went (see below), width, height, and the length of what follows."""
READY = b"r"
"""The process has started and waits for requests."""
REFUSED = b"x"
"""The image cannot be decoded; what follows is the reason, in UTF-8."""
DESCRIBED = b"h"
"""The image has more pixels than the request allows, and was not decoded; what follows is its format."""
DONE = b"d"
"""What follows is what was wished for; after a check it is the format."""

MEMORY = 2 * 2**30
"""Bytes of address space of a decoder process. The largest image takes about 1.5 GB in the worst mode."""
SECONDS = 30.0
"""For one image; the process is then ended."""


def ppm_header(width: int, height: int) -> bytes:
    """Return what a PPM file begins with."""
    return b"P6\n%d %d\n255\n" % (width, height)
