"""From image files to vectors: files are decoded, and prepared where the embedder allows it, in child processes."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np

from opengcd._internal.images import CAPTURE, Capture, Prepared, Square, decoders
from opengcd.embed.embedder import Embedder

if TYPE_CHECKING:
    from PIL.Image import Image

Source = TypeVar("Source")
Picture = TypeVar("Picture", "Image", Prepared)


class Decoded(NamedTuple):
    """The facts about an image that are known once it is decoded."""

    size: tuple[int, int]
    """Width and height."""
    capture: Capture | None
    """When it was taken, and its perceptual hash."""


@runtime_checkable
class TakesPrepared(Protocol):
    """An embedder that can take squares of images in place of whole images."""

    @property
    def prepares(self) -> Square | None:
        """How a square is made of an image; None if it must be given whole images."""

    def stream_prepared(self, images: Iterable[Prepared]) -> Generator[np.ndarray]:
        """Yield the same rows as for the whole images, in batches.

        Parameters
        ----------
        images : iterable of Prepared
            Made as ``prepares`` says.

        Yields
        ------
        float32 array of shape (b, d)

        """


def embed_files(
    embedder: Embedder,
    sources: Iterable[Source],
    read: Callable[[Source], bytes],
    note: Callable[[Source, Decoded | str], None],
) -> Generator[np.ndarray]:
    """Yield the vectors of the images that can be decoded, in batches and in order.

    Parameters
    ----------
    embedder : Embedder
    sources : iterable
    read : callable
        Returns the content of the file of a source; an EmbedderError that it raises is the reason why there is none.
    note : callable
        Called for each source, in order and before its vector is yielded, with what is known of its image, or the
        reason why it cannot be decoded. The calls come from another thread.

    Yields
    ------
    float32 array of shape (b, d)
        One row for each image that can be decoded.

    """

    def usable(stream: Generator[tuple[Source, Picture | str]]) -> Iterator[Picture]:
        with closing(stream):
            for source, image in stream:
                if isinstance(image, str):
                    note(source, image)
                else:
                    capture = image.capture if isinstance(image, Prepared) else image.info.get(CAPTURE)
                    note(source, Decoded(image.size, capture))
                    yield image

    pool = decoders()
    if isinstance(embedder, TakesPrepared) and (shape := embedder.prepares) is not None:
        rows = embedder.stream_prepared(usable(pool.stream(sources, read, shape)))
    else:
        rows = embedder.stream(usable(pool.stream(sources, read)))
    with closing(rows):
        yield from rows
