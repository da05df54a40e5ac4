"""Text from outside, such as names of files, classes and people, which may contain misleading characters."""

from __future__ import annotations

import re
import unicodedata

MISLEADING = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, line breaks, changes of the writing direction, and unpaired surrogates."""

_NO_WIDTH = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Unicode's Default_Ignorable_Code_Point: invisible characters, some of which count as letters or marks."""
_BLANK = str.maketrans("\u2800\U0001d159", "  ")
"""The blank Braille pattern and the null notehead, which look like spaces."""


def printable(text: str) -> str:
    r"""Return text that is safe to print: on one line, and without control sequences.

    >>> printable("heron\x1b[2J\n\u202e")
    'heron\\x1b[2J\\n\\u202e'
    """
    return MISLEADING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def same_look(text: str) -> str:
    r"""Return a key that is equal for names that differ only by case, spaces or invisible characters.

    >>> same_look("Ann\u200b  Lee") == same_look("ann lee")
    True
    """
    visible = (one for one in _NO_WIDTH.sub("", text) if unicodedata.category(one) != "Cf")
    return " ".join(unicodedata.normalize("NFKC", "".join(visible)).translate(_BLANK).split()).casefold()
