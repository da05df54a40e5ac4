"""Images in batches: read and prepared by threads while the last batch is computed."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from opengcd._internal.progress import Progress
from opengcd.embed.images import EmbedderError, as_rgb

if TYPE_CHECKING:
    from PIL.Image import Image

Batch = TypeVar("Batch")


PIXELS = 16_000_000
"""Pixels of images that are prepared together: each takes four bytes until its image is resized."""


def prepared(
    images: Iterable[Image],
    size: int,
    prepare: Callable[[list[Image]], Batch],
    join: Callable[[list[Batch]], Batch],
    threads: int,
) -> Generator[Batch]:
    """Yield batches as a network takes them, in order: one thread reads images, others prepare what it has read.

    A batch of large images is prepared in parts that are then joined, so that few are in memory at a time.
    """
    threads = min(threads, os.cpu_count() or 1)
    source = iter(images)
    missing = size

    def read() -> tuple[list[Image], bool]:
        """The next part of a batch, and whether it is the last one."""
        nonlocal missing
        part: list[Image] = []
        pixels = 0
        for image in islice(source, missing):
            # Decoded one by one: an image may be closed as soon as the next one is asked for.
            part.append(as_rgb(image))
            pixels += image.width * image.height
            if pixels >= PIXELS:
                break
        missing = missing - len(part) or size
        return part, missing == size

    def ready(coming: Future[tuple[list[Image], bool]]) -> tuple[Batch | None, bool]:
        part, last = coming.result()
        return prepare(part) if part else None, last

    with ThreadPoolExecutor(1) as reader, ThreadPoolExecutor(threads) as preparers:

        def request() -> Future[tuple[Batch | None, bool]]:
            return preparers.submit(ready, reader.submit(read))

        coming = deque(request() for _ in range(threads + 1))
        parts: list[Batch] = []
        while (found := coming.popleft().result())[0] is not None:
            coming.append(request())
            parts.append(found[0])
            if found[1]:
                yield join(parts)
                parts = []
        if parts:
            yield join(parts)


def gather(stream: Generator[np.ndarray], total: int | None, progress: Progress) -> np.ndarray:
    """Return all rows of a stream, and report how many there are so far."""
    parts: list[np.ndarray] = []
    done = 0
    progress("embedding images", done, total or 0)
    with closing(stream):
        for rows in stream:
            parts.append(rows)
            done += len(rows)
            progress("embedding images", done, total or 0)
    if not parts:
        raise EmbedderError("There are no images to embed.")
    return np.concatenate(parts)
