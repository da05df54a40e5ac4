"""Batches of images, read and preprocessed by threads while the network computes the last batch."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from opengcd._internal.images import EmbedderError, as_rgb, centered
from opengcd._internal.progress import Progress

if TYPE_CHECKING:
    from PIL.Image import Image

Batch = TypeVar("Batch")


PIXELS = 16_000_000
"""Pixels that are preprocessed together: each takes four bytes until its image is resized."""
USUAL = 256
"""Assumed length of the shorter side after resizing, to estimate memory."""


def rgb_center(image: Image) -> Image:
    """Convert an image to RGB, and crop a very long one to its centre."""
    try:
        return centered(as_rgb(image))
    except MemoryError as error:
        raise _refusal(image, error) from error


def prepared(
    images: Iterable[Image],
    size: int,
    prepare: Callable[[list[Image]], Batch],
    join: Callable[[list[Batch]], Batch],
    threads: int,
) -> Generator[Batch]:
    """Yield preprocessed batches in order: one thread reads images, others preprocess them.

    A batch of large images is preprocessed in parts that are then joined, so that few are in memory at a time.

    Parameters
    ----------
    images : iterable of Image
        Read by one thread.
    size : int
        Images per batch.
    prepare, join : callable
        Preprocess a list of images, and concatenate several results.
    threads : int
        Threads that preprocess.

    """
    threads = min(threads, os.cpu_count() or 1)
    source = iter(images)
    missing = size

    def read() -> tuple[list[Image], bool]:
        """Return the next part of a batch, and whether it is the last one."""
        nonlocal missing
        part: list[Image] = []
        pixels = 0
        for image in islice(source, missing):
            # Decoded one by one: an image may be closed when the next one is requested.
            part.append(rgb_center(image))
            long, short = max(part[-1].size), max(1, min(part[-1].size))
            pixels += max(long * short, USUAL * USUAL * long // short)  # resizing makes some larger
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


def made_ahead(make: Callable[[], Batch | None], number: int = 2) -> Generator[Batch]:
    """Yield what ``make`` returns until that is None; another thread makes the next ones meanwhile.

    Parameters
    ----------
    make : callable
        Called by one thread.
    number : int
        Batches that are made ahead.

    """
    with ThreadPoolExecutor(1) as maker:
        coming = deque(maker.submit(make) for _ in range(number))
        while (batch := coming.popleft().result()) is not None:
            coming.append(maker.submit(make))
            yield batch


def _prepare(part: list[Image], prepare: Callable[[list[Image]], Batch], join: Callable[[list[Batch]], Batch]) -> Batch:
    try:
        return prepare(part)
    except EmbedderError:
        raise
    except Exception as error:  # a preprocessor from elsewhere can fail in any way
        if len(part) == 1:
            raise _refusal(part[0], error) from error
    # Find the image that caused it. If all together needed too much memory, one at a time succeeds.
    return join([_prepare([image], prepare, join) for image in part])


def _refusal(image: Image, error: Exception) -> EmbedderError:
    reason = "it takes more memory than there is" if isinstance(error, MemoryError) else str(error)
    size = f"{image.width} × {image.height}"
    return EmbedderError(f"An image of {size} cannot be prepared for the embedder: {reason or type(error).__name__}.")


def gather(stream: Generator[np.ndarray], total: int | None, progress: Progress) -> np.ndarray:
    """Return all rows of a stream, and report progress."""
    parts: list[np.ndarray] = []
    done = 0
    progress("embedding images", done, total or 0)
    with closing(stream):
        for rows in stream:
            parts.append(rows)
            done += len(rows)
            progress("embedding images", done, total or 0)
    if not parts:
        raise EmbedderError("There are no images to embed; give at least one.")
    return np.concatenate(parts)
