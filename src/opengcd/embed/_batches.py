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

from opengcd.embed._images import EmbedderError, as_rgb
from opengcd.progress import Progress

if TYPE_CHECKING:
    from PIL.Image import Image

Batch = TypeVar("Batch")


def prepared(
    images: Iterable[Image], size: int, prepare: Callable[[list[Image]], Batch], threads: int
) -> Generator[Batch]:
    """Yield batches as a network takes them, in order: one thread reads images, others prepare what it has read."""
    threads = min(threads, os.cpu_count() or 1)
    source = iter(images)

    def read() -> list[Image]:
        # Decoded one by one: an image may be closed as soon as the next one is asked for.
        return [as_rgb(image) for image in islice(source, size)]

    def ready(batch: Future[list[Image]]) -> Batch | None:
        found = batch.result()
        return prepare(found) if found else None

    with ThreadPoolExecutor(1) as reader, ThreadPoolExecutor(threads) as preparers:

        def request() -> Future[Batch | None]:
            return preparers.submit(ready, reader.submit(read))

        coming = deque(request() for _ in range(threads + 1))
        while (batch := coming.popleft().result()) is not None:
            coming.append(request())
            yield batch


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
