"""Text that came from outside: names of files, classes and people, which may hold characters that mislead."""

from __future__ import annotations

import re
import unicodedata

MISLEADING = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, breaks of lines, changes of the direction of writing, and halves of surrogate pairs."""


def printable(text: str) -> str:
    r"""Return text that is safe to print: a terminal obeys nothing in it, and it stays on one line.

    >>> printable("heron\x1b[2J\n\u202e")
    'heron\\x1b[2J\\n\\u202e'
    """
    return MISLEADING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def same_look(text: str) -> str:
    r"""Return what two names have in common that differ by case, spaces or characters without width only.

    >>> same_look("Ann\u200b  Lee") == same_look("ann lee")
    True
    """
    visible = "".join(one for one in unicodedata.normalize("NFKC", text) if unicodedata.category(one) != "Cf")
    return " ".join(visible.split()).casefold()
