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

from opengcd._internal.images import EmbedderError, as_rgb
from opengcd._internal.progress import Progress

if TYPE_CHECKING:
    from PIL.Image import Image

Batch = TypeVar("Batch")


PIXELS = 16_000_000
"""Pixels of images that are prepared together: each takes four bytes until its image is resized."""
USUAL = 256
"""What the shorter side of an image is resized to at least, as memory is counted."""
LONGEST = 100
"""How much longer than wide an image may be, or its middle is taken."""


def as_seen(image: Image) -> Image:
    """Return an image in red, green and blue, of a very long one the middle.

    Most networks have the shorter side resized to a few hundred pixels before the middle is cut out, so a file of 2 KB
    with 1 × 600,000 pixels would take gigabytes, only to be thrown away but for a square.
    """
    try:
        image = as_rgb(image)
        width, height = image.size
        # As much from both ends: what is in the middle stays there.
        left, top = max(0, width - LONGEST * height) // 2, max(0, height - LONGEST * width) // 2
        return image.crop((left, top, width - left, height - top)) if left or top else image
    except MemoryError as error:
        raise _refusal(image, error) from error


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
            part.append(as_seen(image))
            long, short = max(part[-1].size), max(1, min(part[-1].size))
            pixels += max(long * short, USUAL * USUAL * long // short)  # some are larger when they are resized
            if pixels >= PIXELS:
                break
        missing = missing - len(part) or size
        return part, missing == size

    def ready(coming: Future[tuple[list[Image], bool]]) -> tuple[Batch | None, bool]:
        part, last = coming.result()
        return _prepare(part, prepare, join) if part else None, last

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


def _prepare(part: list[Image], prepare: Callable[[list[Image]], Batch], join: Callable[[list[Batch]], Batch]) -> Batch:
    try:
        return prepare(part)
    except EmbedderError:
        raise
    except Exception as error:  # what a network's files ask for can be anything
        if len(part) == 1:
            raise _refusal(part[0], error) from error
    # Which one was it? Or all together were too much for the memory, which is free again by now.
    return join([_prepare([image], prepare, join) for image in part])


def _refusal(image: Image, error: Exception) -> EmbedderError:
    reason = "it takes more memory than there is" if isinstance(error, MemoryError) else str(error)
    size = f"{image.width} × {image.height}"
    return EmbedderError(f"An image of {size} cannot be prepared for the embedder: {reason or type(error).__name__}.")


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
