"""Small pictures of items, made when first asked for: most images are never looked at."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path

from opengcd.embed import EmbedderError, read_image
from opengcd.storage import replace_file
from opengcd.workspace._errors import WorkspaceError

SIDE = 256


def thumbnail(folder: Path, content: str, sources: Iterable[str]) -> Path:
    """Return the file of a picture at most ``SIDE`` pixels wide and high; ``sources`` are the files of the item."""
    file = folder / content[:2] / f"{content}.jpg"
    if file.exists():
        return file
    for source in sources:
        try:
            image = read_image(source)
        except (OSError, EmbedderError):
            continue
        image.thumbnail((SIDE, SIDE))
        raw = io.BytesIO()
        image.save(raw, "JPEG", quality=85)
        file.parent.mkdir(parents=True, exist_ok=True)
        replace_file(file, raw.getvalue())
        return file
    raise WorkspaceError(f"No file of the item {content[:12]} can be read any more; was it moved or deleted?")
