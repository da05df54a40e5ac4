"""Images per second from files to the input of the network, and what limits them.

    python -m benchmarks.decoding [FOLDER] [--images N] [--network NETWORK]

The old path sends whole images to this process, where threads prepare them. The new one sends small squares that were
prepared where the image was decoded. Both end with batches on the device of the network, which is left out unless a
folder names one.
"""

from __future__ import annotations

import argparse
import io
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import cycle, islice
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from PIL import Image

from opengcd._internal.images import Square, decoders, open_image, read_image

ROUNDS = 3
SIDE, CROP, BICUBIC = 256, 224, 3
SIZE = (500, 375)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.decoding", description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", help="folder of images; by default, JPEG files of 500 × 375 are made")
    parser.add_argument("--images", type=int, help="images that are read in a round, some of them more than once")
    parser.add_argument("--network", help="folder of a network that embeds them too")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        files = sorted(Path(asked.folder).rglob("*.*")) if asked.folder else make_files(Path(temporary), 200)
        files = [file for file in files if is_image(file)]
        if not files:
            parser.error(f"there is no image in {asked.folder}.")
        number = asked.images or 250 * decoders().most
        measure(list(islice(cycle(files), number)), asked.network)


def measure(files: Sequence[Path], network: str | None) -> None:
    """Print the rates of both paths and of their parts."""
    from benchmarks.measure import best_of

    embedder = load(network)
    shape: Square | None = embedder.prepares
    if shape is None:
        raise SystemExit(f"{network} prepares images in its own way, which decoder processes cannot do.")
    squares = [square_file(shape)] * len(files)
    names = ("old path", "new path", "new path, fast", "pipe and stacking alone", "old path without preparing")
    spent = dict.fromkeys(names, 0.0)
    steps = (
        lambda: rows(embedder.stream(images(files, read_bytes))),
        lambda: rows(embedder.stream_prepared(images(files, read_bytes, shape))),
        lambda: rows(embedder.stream_prepared(images(files, read_bytes, replace(shape, fast=True)))),
        lambda: rows(embedder.stream_prepared(images(squares, bytes, replace(shape, resize=shape.crop)))),
        lambda: sum(1 for _ in images(files, read_bytes)),
    )
    for step in steps:
        step()  # to start the processes
    timed = (partial(with_own_time, name, step, spent) for name, step in zip(names, steps, strict=True))
    found = best_of(ROUNDS, *timed)
    rates = {name: len(files) / seconds for name, (seconds, _) in zip(names, found, strict=True)}
    bare = bare_rates(files, shape)

    print(f"{len(files):,} images, {decoders().most} decoder processes, {network or 'no network'} on {embedder.device}")
    print(f"best of {ROUNDS} rounds, in each all paths in turn\n")
    print(f"{'':34}{'images/s':>9}  processor time of this process")
    for name in names:
        print(f"{name:34}{rates[name]:9,.0f}  {spent[name] / len(files) * 1e6:,.0f} µs an image")
    for name, rate in bare.items():
        print(f"{name:34}{rate:9,.0f}")
    if network:
        print(f"{'network alone':34}{network_rate(embedder, shape):9,.0f}")
    old, new = (result for _, result in found[:2])
    print(f"\nnew / old: {rates['new path'] / rates['old path']:.2f}")
    print(f"the vectors of both are {'the same to the bit' if np.array_equal(old, new) else 'DIFFERENT'}")
    bounds = {"decoding and preparing": min(bare.values()), "the pipes and stacking": rates["pipe and stacking alone"]}
    lowest = min(bounds, key=lambda name: bounds[name])
    print(f"the new path is bounded by {lowest}, and reaches {rates['new path'] / bounds[lowest]:.0%} of that")


def load(network: str | None) -> Any:
    """Return an embedder; without a network, one whose vectors are three values of the prepared image."""
    import torch
    from transformers import BitImageProcessorPil

    from opengcd.embed import load_embedder
    from opengcd.embed.backbone import BATCH, Backbone, Execution

    if network:
        return load_embedder(network)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    processor = BitImageProcessorPil(size={"shortest_edge": SIDE}, crop_size={"height": CROP, "width": CROP})

    def no_network(pixel_values: Any) -> SimpleNamespace:
        return SimpleNamespace(last_hidden_state=pixel_values[:, None, :, CROP // 2, CROP // 2])

    return Backbone("none", no_network, processor, "cls", Execution(device, False, BATCH[device.type]))


def images(sources: Sequence[Any], read: Callable[[Any], bytes], shape: Square | None = None) -> Iterator[Any]:
    for source, image in decoders().stream(sources, read, shape):  # type: ignore[call-overload]
        if isinstance(image, str):
            raise SystemExit(f"{source} cannot be read: {image}.")
        yield image


def rows(stream: Iterator[np.ndarray]) -> np.ndarray:
    return np.concatenate(list(stream))


def with_own_time(name: str, step: Callable[[], Any], spent: dict[str, float]) -> Any:
    """Take a step, and note the processor time of this process, without its child processes."""
    start = time.process_time()
    result = step()
    spent[name] = time.process_time() - start
    return result


def bare_rates(files: Sequence[Path], shape: Square) -> dict[str, float]:
    """Images per second of as many processes that share nothing."""
    processes = decoders().most
    parts = [files[i::processes] for i in range(processes)]
    rates = {}
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        for name, square in (("decoding alone", None), ("decoding and preparing alone", shape)):
            list(pool.map(decode, [part[:2] for part in parts], [square] * processes))  # to start them
            times = []
            for _ in range(ROUNDS):
                start = time.perf_counter()
                list(pool.map(decode, parts, [square] * processes))
                times.append(time.perf_counter() - start)
            rates[name] = len(files) / min(times)
    return rates


def decode(files: Sequence[Path], shape: Square | None) -> None:
    for file in files:
        image = read_image(file)
        if shape is not None:
            shape.of(image).tobytes()


def network_rate(embedder: Any, shape: Square) -> float:
    """Images per second of the network, on a batch that is on its device."""
    import torch

    from benchmarks.measure import best_of

    batch = torch.rand(embedder.batch_size, 3, shape.crop, shape.crop, device=embedder.device)

    def step() -> None:
        with torch.inference_mode(), torch.autocast(embedder.device.type, torch.bfloat16, enabled=embedder.half):
            for _ in range(10 if batch.is_cuda else 2):
                embedder.model(batch)
        if batch.is_cuda:
            torch.cuda.synchronize()

    step()
    ((seconds, _),) = best_of(ROUNDS, step)
    return (10 if batch.is_cuda else 2) * embedder.batch_size / seconds


def square_file(shape: Square) -> bytes:
    """Return a file that is decoded at once and is a square already."""
    stream = io.BytesIO()
    Image.new("RGB", (shape.crop, shape.crop)).save(stream, "PPM")
    return stream.getvalue()


def make_files(folder: Path, number: int) -> list[Path]:
    """Write JPEG files of soft colours."""
    rng = np.random.default_rng(0)
    files = [folder / f"{i}.jpg" for i in range(number)]
    for file in files:
        coarse = Image.fromarray(rng.integers(0, 256, (15, 20, 3), dtype=np.uint8))
        coarse.resize(SIZE).save(file, quality=90)
    return files


def is_image(file: Path) -> bool:
    try:
        with open_image(file):
            return True
    except (OSError, ValueError):
        return False


def read_bytes(file: str | os.PathLike[str]) -> bytes:
    return Path(file).read_bytes()


if __name__ == "__main__":
    main()
