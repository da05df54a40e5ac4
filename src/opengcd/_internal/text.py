"""Text that came from outside: names of files, classes and people, which may hold characters that mislead."""

from __future__ import annotations

import re
import unicodedata

MISLEADING = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, breaks of lines, changes of the direction of writing, and halves of surrogate pairs."""

_NO_WIDTH = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Unicode's Default_Ignorable_Code_Point: what is not shown, though some of it counts as letters or marks."""
_BLANK = str.maketrans("\u2800\U0001d159", "  ")
"""A pattern without dots and a note without a head, which look like spaces."""


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
    visible = (one for one in _NO_WIDTH.sub("", text) if unicodedata.category(one) != "Cf")
    return " ".join(unicodedata.normalize("NFKC", "".join(visible)).translate(_BLANK).split()).casefold()
