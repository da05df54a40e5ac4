"""Cards for items that have no picture: their name, drawn as SVG, so that they are shown wherever a picture is."""

from __future__ import annotations

import html

SIDE, LINES, LETTERS, STEP = 256, 7, 16, 31
"""Width and height of a card, its lines of text, the letters in a line, and the distance of lines."""
MEDIA_TYPE = "image/svg+xml"


def card(name: str) -> bytes:
    """Return a card with the name of a row: of what is before the sign #, its file, nothing is shown."""
    lines = _wrapped(name.partition("#")[2] or name)
    top = (SIDE - STEP * (len(lines) - 1)) / 2 + 10
    told = "".join(
        f'<text x="{SIDE // 2}" y="{top + STEP * place:g}">{html.escape(line)}</text>'
        for place, line in enumerate(lines)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIDE} {SIDE}" width="{SIDE}" height="{SIDE}">'
        f'<rect width="{SIDE}" height="{SIDE}" fill="#e7ecef"/>'
        f'<rect width="{SIDE}" height="8" fill="#5c8f8a"/>'
        '<g font-family="system-ui" font-size="25" text-anchor="middle" fill="#1b2430">'
        f"{told}</g></svg>"
    ).encode("utf-8", "replace")


def _wrapped(name: str) -> list[str]:
    """Return a name in lines, broken at spaces where that is possible."""
    text = "".join(letter if letter.isprintable() else " " for letter in name).strip() or "?"
    lines = [""]
    for word in text.split():
        while word:
            space = LETTERS - len(lines[-1]) - bool(lines[-1])
            if len(word) <= space:
                lines[-1] += (" " if lines[-1] else "") + word
                break
            if not lines[-1]:
                lines[-1], word = word[:LETTERS], word[LETTERS:]
                if not word:
                    break
            lines.append("")
    lines = [line for line in lines if line]
    return lines if len(lines) <= LINES else [*lines[: LINES - 1], f"{lines[LINES - 1][: LETTERS - 1]}…"]
