"""Images that come without a file: they are kept in the workspace, under the hash of their content."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from opengcd._internal.durable_files import make_folder, store_file
from opengcd._internal.images import EmbedderError, decoders
from opengcd.workspace.errors import TooLargeError

MOST_PIXELS = 400_000_000
"""Of all images that come together."""


def check_pixels(contents: Sequence[bytes]) -> None:
    """Refuse images that have too many pixels together, by what their headers say."""
    pixels = 0
    for content in contents:
        try:
            header = decoders().header(content)
        except EmbedderError:
            continue  # the decoder reports it
        pixels += header.width * header.height
    if pixels > MOST_PIXELS:
        raise TooLargeError(
            f"The images have {pixels:,} pixels together; send images of at most {MOST_PIXELS:,} at a time."
        )


def store_uploads(folder: Path, contents: Sequence[bytes]) -> list[tuple[str, str]]:
    """Return the new file of each image, and the reason why it cannot be used, or nothing.

    No name that anybody gave it reaches the file system.
    """
    with ThreadPoolExecutor(decoders().most) as threads:
        return list(threads.map(lambda content: _store(folder, content), contents))


def _store(folder: Path, content: bytes) -> tuple[str, str]:
    try:
        suffix = decoders().check(content).lower()  # all of it: an image that is cut off is not kept
    except EmbedderError as error:
        return "", str(error)
    name = hashlib.sha256(content).hexdigest()
    file = (folder / name[:2] / f"{name}.{suffix}").absolute()
    make_folder(file.parent)
    store_file(file, content)
    return str(file), ""
