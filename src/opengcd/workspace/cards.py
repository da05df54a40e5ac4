"""Cards for items that have no picture: their name, drawn as SVG, so that they are shown wherever a picture is."""

from __future__ import annotations

import html

SIDE, LINES, LETTERS = 256, 8, 17
"""Width and height of a card, its lines of text, and the letters in a line."""
MEDIA_TYPE = "image/svg+xml"


def card(content: str, name: str) -> bytes:
    """Return a card; its colour follows from the hash of the item."""
    hue = int(content[:4], 16) % 360
    lines = _wrapped(name)
    top = (SIDE - 26 * (len(lines) - 1)) / 2 + 7
    told = "".join(
        f'<text x="128" y="{top + 26 * place:g}">{html.escape(line)}</text>' for place, line in enumerate(lines)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIDE} {SIDE}" width="{SIDE}" height="{SIDE}">'
        f'<rect width="{SIDE}" height="{SIDE}" fill="hsl({hue},42%,90%)"/>'
        f'<rect width="{SIDE}" height="8" fill="hsl({hue},45%,48%)"/>'
        f'<g font-family="system-ui,sans-serif" font-size="21" text-anchor="middle" fill="hsl({hue},45%,18%)">'
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
