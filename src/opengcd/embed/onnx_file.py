"""Networks in ONNX files, run by onnxruntime. A file holds data only: no Python code in it is executed."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Generator, Iterable
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from opengcd._internal.images import EmbedderError
from opengcd._internal.progress import Progress, silent
from opengcd._internal.validation import check_integer
from opengcd.embed.batches import gather, prepared

if TYPE_CHECKING:
    from PIL.Image import Image

BATCH = 16
SIDE = 224
"""Side of the input image if the network accepts any size."""
MOST_SIDE = 2048
MOST_PIXELS = 16 * MOST_SIDE**2
"""Largest input batch. A small file can declare an input of any size, and images are resized to it."""
MARGIN = 256 / 224
"""Ratio of the resized image to its centre crop."""
MEAN = np.array([0.485, 0.456, 0.406], dtype=np.float32)
STD = np.array([0.229, 0.224, 0.225], dtype=np.float32)


class OnnxNetwork:
    """A network with one input, images of batch × 3 × height × width; its first output is used.

    Preprocessing is the usual one of networks trained on ImageNet: the shorter side is resized to 8/7 of the input's,
    the centre is cropped, and channels are normalised by the mean and standard deviation of ImageNet.
    """

    def __init__(self, file: str, device: str = "auto", pooling: str = "cls", batch_size: int | None = None) -> None:
        self.name = file
        self.pooling = pooling
        self.session = _session(file, device)
        inputs = _inputs(self.session, file)
        if len(inputs) != 1 or len(inputs[0][1]) != 4 or inputs[0][1][1] not in (3, "3"):
            shapes = ", ".join(f"{name} {shape}" for name, shape in inputs)
            raise EmbedderError(f"{file} should take images of batch × 3 × height × width, but takes {shapes}.")
        ((self._input, shape),) = inputs
        rows, _, height, width = shape
        self.size = tuple(side if isinstance(side, int) else SIDE for side in (width, height))
        asked = rows if isinstance(rows, int) else 1
        if not (
            1 <= asked * math.prod(self.size) <= MOST_PIXELS and 1 <= min(self.size) <= max(self.size) <= MOST_SIDE
        ):
            raise EmbedderError(
                f"{file} takes images of {shape}; a side may have 1 to {MOST_SIDE} pixels, "
                f"and a batch 1 to {MOST_PIXELS:,}."
            )
        # A network that was exported with a fixed batch size accepts no other.
        self.batch_size = rows if isinstance(rows, int) else check_integer(batch_size or BATCH, "batch_size")
        self._fixed = isinstance(rows, int)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the file, the preprocessing and the pooling."""
        settings = json.dumps([self.pooling, self.size, MARGIN, MEAN.tolist(), STD.tolist()])
        digest = hashlib.sha256(settings.encode())
        file = Path(self.name)
        for part in sorted(f for f in file.parent.iterdir() if f.name.startswith(file.name)):
            digest.update(part.read_bytes())  # large networks store weights in model.onnx.data or model.onnx_data
        return digest.hexdigest()

    def __call__(self, images: Iterable[Image], total: int | None = None, progress: Progress = silent) -> np.ndarray:
        """Return one row per image."""
        return gather(self.stream(images), total, progress)

    def stream(self, images: Iterable[Image]) -> Generator[np.ndarray]:
        """Yield rows batch by batch; the next batches are decoded and preprocessed while the network computes."""
        with closing(prepared(images, self.batch_size, self._prepare, np.concatenate, 1)) as batches:
            for batch in batches:
                yield self._vectors(batch)

    def _prepare(self, images: list[Image]) -> np.ndarray:
        return np.stack([self._prepare_one(image) for image in images]).transpose(0, 3, 1, 2)

    def _prepare_one(self, image: Image) -> np.ndarray:
        from PIL.Image import Resampling

        width, height = self.size
        scale = max(width * MARGIN / image.width, height * MARGIN / image.height)
        large = image.resize((round(image.width * scale), round(image.height * scale)), Resampling.BICUBIC)
        left, top = (large.width - width) // 2, (large.height - height) // 2
        center = large.crop((left, top, left + width, top + height))
        return (np.asarray(center, dtype=np.float32) / 255 - MEAN) / STD

    def _vectors(self, batch: np.ndarray) -> np.ndarray:
        rows = len(batch)
        if self._fixed and rows < self.batch_size:
            batch = np.concatenate([batch, np.zeros((self.batch_size - rows, *batch.shape[1:]), dtype=np.float32)])
        feed = {self._input: np.ascontiguousarray(batch)}
        try:
            output = np.asarray(self.session.run(None, feed)[0], dtype=np.float32)
        except Exception as error:  # a file can be invalid in any way
            raise EmbedderError(f"{self.name} cannot be run: {error}") from error
        if output.ndim < 2 or len(output) != len(batch):
            shape = " × ".join(map(str, output.shape)) or "one number"
            raise EmbedderError(
                f"The first output of {self.name} must have a row for each of {len(batch)} images: {shape}."
            )
        return self._pooled(output[:rows])

    def _pooled(self, output: np.ndarray) -> np.ndarray:
        if output.ndim == 2 or (self.pooling == "pooled" and output.ndim > 2 and output[0].size == output.shape[1]):
            return output.reshape(len(output), -1)
        if output.ndim == 3 and self.pooling != "pooled":
            return output[:, 0] if self.pooling == "cls" else output.mean(1)
        if output.ndim == 4 and self.pooling == "mean":
            return output.mean((2, 3))
        raise EmbedderError(
            f"The first output of {self.name} has the shape {list(output.shape)}, which pooling={self.pooling!r} does "
            "not suit; use 'cls' or 'mean' for tokens, 'mean' for a map of channels × height × width."
        )


def _inputs(session: Any, file: str) -> list[tuple[str, list[Any]]]:
    """Return the names and shapes of the inputs of a network."""
    try:
        return [(one.name, one.shape) for one in session.get_inputs()]
    except UnicodeDecodeError:
        raise EmbedderError(f"{file} is damaged: the names of its inputs are not text.") from None


def _session(file: str, device: str) -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        raise ImportError(f'The embedder {file!r} needs onnxruntime: pip install "opengcd[onnx]".') from error
    options = onnxruntime.SessionOptions()
    # Its log prints text from the file unescaped, which could control a terminal; errors are raised anyway.
    options.log_severity_level = 4
    cpu, cuda = ["CPUExecutionProvider"], "CUDAExecutionProvider"
    tries = [cpu]
    if device != "cpu" and cuda in onnxruntime.get_available_providers():
        tries.insert(0, [cuda, *cpu])
    for providers in tries:
        try:
            # Its own fallback from GPU to CPU prints banners.
            return onnxruntime.InferenceSession(file, options, providers, enable_fallback=0)
        except Exception as error:  # a file can be invalid in any way
            wrong = error
    raise EmbedderError(f"{file} does not contain a network that onnxruntime can use: {wrong}") from wrong
