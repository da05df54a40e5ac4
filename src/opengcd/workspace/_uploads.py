"""Images that come without a file: they are kept in the workspace, under the hash of their content."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path

from opengcd.embed import EmbedderError, read_image
from opengcd.storage import replace_file


def store_upload(folder: Path, content: bytes) -> tuple[str, str]:
    """Return the file that an image lies in from now on, and the reason why it cannot be used, or nothing.

    No name that anybody gave it reaches the file system.
    """
    from PIL import Image

    try:
        read_image(io.BytesIO(content))  # all of it: a file that only begins well is not worth keeping
        with Image.open(io.BytesIO(content)) as image:
            suffix = (image.format or "image").lower()
    except EmbedderError as error:
        return "", str(error)
    name = hashlib.sha256(content).hexdigest()
    file = (folder / name[:2] / f"{name}.{suffix}").absolute()
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        replace_file(file, content)
    return str(file), ""
