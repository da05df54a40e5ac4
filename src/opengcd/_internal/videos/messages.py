"""Messages from a process that decodes a video: a fixed header, followed by a payload.

The process gets the video as its standard input, and two numbers as arguments: the frames per second, and when the
video begins (not a number: unknown).
"""

import struct

REPLY = struct.Struct("!cdQ")
"""Kind of reply (see below), a number, and the length of the payload."""
OPENED = b"o"
"""Reply: the video can be read; the number is when it begins, in seconds since 1970 (not a number: unknown)."""
FRAME = b"f"
"""Reply: a frame, a JPEG file; the number is its time in seconds from the start of the video."""
REACHED = b"p"
"""Reply: sent now and then; the number is the place in the file in bytes."""
ENDED = b"e"
"""Reply: there are no more frames; the payload says what is damaged, in UTF-8."""
REFUSED = b"x"
"""Reply: the video cannot be read; the payload is the reason, in UTF-8."""

MISSING = 'a video; to take its frames, run `pip install "opengcd[video]"`'
MEMORY = 2 * 2**30
"""Limit of the address space of the process, in bytes."""
SECONDS = 60.0
"""Longest silence of the process, after which it is killed."""
MOST_FRAMES = 100_000
"""Frames that are taken of a video."""
MOST_REPLY = 128 * 2**20
"""Largest frame in bytes; the largest allowed image fits."""
TOO_MANY = f"it has more than {MOST_FRAMES:,} frames at this rate; choose a lower rate (--fps), or cut it into parts"
