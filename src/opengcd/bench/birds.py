"""The birds of the tutorials, from an unpacked CUB-200-2011: ``python -m opengcd.bench.birds CUB_200_2011 images``.

Twelve classes are known: their official training images go to ``known/<class>``. The stream holds their official test
images and all images of eight classes that are new, in an order that is always the same: numbered files in ``stream``,
which do not tell the class. ``stream_truth.csv`` does. The images are scaled to 256 pixels on their shorter side.

The dataset is published at https://www.vision.caltech.edu/datasets/cub_200_2011/.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from opengcd._internal.images import open_image
from opengcd.bench.raw import RawDatasetError, read_raw

if TYPE_CHECKING:
    from PIL.Image import Image

KNOWN = (
    "American_Goldfinch", "Anna_Hummingbird", "Barn_Swallow", "Blue_Jay", "Brown_Pelican", "Cardinal",
    "European_Goldfinch", "Green_Jay", "Horned_Puffin", "Mallard", "Painted_Bunting", "Western_Grebe",
)  # fmt: skip
NEW = (
    "Cedar_Waxwing", "Downy_Woodpecker", "Laysan_Albatross", "Pied_Kingfisher", "Red_winged_Blackbird",
    "Scarlet_Tanager", "Vermilion_Flycatcher", "White_Pelican",
)  # fmt: skip
SIDE = 256
"""Networks look at no more of an image; a fifth of the bytes remains to be read."""
QUALITY = 85


def write_birds(raw: str | os.PathLike[str], out: str | os.PathLike[str]) -> tuple[int, int]:
    """Write the folders of known classes, the stream and its true classes.

    Parameters
    ----------
    raw : path
        The folder ``CUB_200_2011``, or its parent.
    out : path
        The folder to write to; it must be new or empty.

    Returns
    -------
    (int, int)
        The number of images of known classes, and of those in the stream.

    Raises
    ------
    RawDatasetError
        If the dataset is missing, incomplete or damaged, or the folder is not empty.

    """
    out = Path(out)
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise RawDatasetError(f"{out} exists and is not an empty folder; name a new folder.")
    taught, stream = _split(Path(raw))
    for file, label in taught:
        _copy(file, out / "known" / label / file.name)
    for number, (file, _) in enumerate(stream):
        _copy(file, out / "stream" / f"{number:04d}.jpg")
    with open(out / "stream_truth.csv", "w", newline="") as table:
        rows = csv.writer(table, lineterminator="\n")
        rows.writerow(["file", "class", "known"])
        rows.writerows([f"{n:04d}.jpg", label, int(label in KNOWN)] for n, (_, label) in enumerate(stream))
    return len(taught), len(stream)


def _split(raw: Path) -> tuple[list[tuple[Path, str]], list[tuple[Path, str]]]:
    """Return the training images of the known classes, and the stream, with their classes."""
    data = read_raw(raw, "cub")
    assert data.files is not None
    names = [name.replace(" ", "_") for name in data.class_names]
    absent = sorted({*KNOWN, *NEW} - set(names))
    if absent:
        raise RawDatasetError(f"{raw} has no class {absent[0]}; unpack the archive of CUB-200-2011 again.")
    train, test = ([names[c] for c in y] for y in (data.y_train, data.y_test))
    files = list(zip(data.files, train + test, strict=True))
    taught = [(file, label) for file, label in files[: len(train)] if label in KNOWN]
    place = _places(data.files)
    stream = [(file, label) for file, label in files[: len(train)] if label in NEW]
    stream += [(file, label) for file, label in files[len(train) :] if label in KNOWN + NEW]
    stream.sort(key=lambda one: place[one[0]])
    random.Random(0).shuffle(stream)  # noqa: S311  no secret
    return taught, stream


def _places(files: Sequence[Path]) -> dict[Path, int]:
    """Return where the dataset lists each file."""
    images = files[0].parents[1]
    lines = (images.parent / "images.txt").read_text().splitlines()
    return {images / line.split(maxsplit=1)[1].strip(): n for n, line in enumerate(lines) if line.strip()}


def _copy(file: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with open_image(file) as image:
            _scaled(image.convert("RGB")).save(target, quality=QUALITY)
    except (OSError, ValueError) as error:
        raise RawDatasetError(f"The image {file} cannot be read: {error}; unpack the archive again.") from error


def _scaled(image: Image) -> Image:
    factor = SIDE / min(image.size)
    return image if factor >= 1 else image.resize((round(image.width * factor), round(image.height * factor)))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run as a command."""
    parser = argparse.ArgumentParser(
        prog="python -m opengcd.bench.birds",
        description="Make the folders of birds that the tutorials use from an unpacked CUB-200-2011.",
    )
    parser.add_argument("raw", metavar="CUB_200_2011", help="folder that the archive unpacks to")
    parser.add_argument("out", metavar="OUT", help="new folder for known/, stream/ and stream_truth.csv")
    given = parser.parse_args(arguments)
    try:
        taught, stream = write_birds(given.raw, given.out)
    except (RawDatasetError, ImportError) as error:
        parser.error(str(error))
    print(f"{given.out}: {taught} images of {len(KNOWN)} known classes, {stream} in the stream.")


if __name__ == "__main__":
    main()
