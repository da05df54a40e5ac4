"""Parts of images as items of their own: each box of a detector is cut out once, into a file of the workspace.

The file is named after the content of the whole image and the box, so that what was cut before is found again. A record
beside it, one for each image, says where its crops are from. Crops know when the image was taken.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from opengcd._internal.durable_files import make_folder, replace_file
from opengcd._internal.images import CAPTURE, EmbedderError, decoders, exif_at
from opengcd._internal.progress import Progress
from opengcd.workspace import without_crop
from opengcd.workspace.boxes import Box, Boxes
from opengcd.workspace.database import in_parts
from opengcd.workspace.files import Found, read_file
from opengcd.workspace.named_times import named_time

if TYPE_CHECKING:
    from PIL.Image import Image

    from opengcd.workspace.store import Store

FOLDER = "crops"
EMPTY = "empty"
"""The class of an image in which a detector has found nothing."""
QUALITY = 95
SMALLEST = 2
"""Pixels; smaller boxes show nothing."""
VIDEO = "a video; boxes are of images: write its frames to a folder and run the detector on it, or leave out the boxes"
UNNAMED = "the file of boxes does not name it, or the detector could not read it"


class Cut(NamedTuple):
    """What was cut out of one image."""

    path: str
    """Of the whole image."""
    crops: list[str]
    """Files, the most confident box first."""
    labels: list[str | None]
    """The classes that the file of boxes gives to the crops."""
    label: str = ""
    """If there is no crop: ``"empty"``, or the categories of the other boxes."""
    reason: str = ""
    """Why the image cannot be used."""


class Origin(NamedTuple):
    """Where a crop is from."""

    path: str
    """The whole image, where it was when it was cut."""
    hash: str
    """The SHA-256 of its content."""
    size: tuple[int, int]
    """Its width and height."""
    box: tuple[int, int, int, int]
    """Left, top, width and height in pixels."""
    confidence: float
    category: str


class WholeImage(NamedTuple):
    """An image that a detector has looked at."""

    path: str
    """Where it was when it was looked at."""
    hash: str
    """The SHA-256 of its content."""
    size: tuple[int, int] | None
    """Its width and height; None if nothing was cut out of it by an old version of OpenGCD."""
    label: str
    """If there is no crop: ``"empty"``, or the categories of the other boxes."""
    taken: float | None
    """Seconds since 1970 at which it was taken, by the clock of its camera, if that is known."""
    crops: dict[str, Origin]
    """Where its crops are from, by their files."""


class Crops:
    """The crops of a workspace.

    Parameters
    ----------
    store : Store

    """

    def __init__(self, store: Store) -> None:
        self._folder = (store.path / FOLDER).absolute()
        self._database = store.database

    def cut(
        self, files: Sequence[Found], starts: Iterable[str], boxes: Boxes, min_confidence: float, progress: Progress
    ) -> Iterator[Cut]:
        """Cut the boxes out of some images; what was cut before is not cut again.

        Parameters
        ----------
        files : sequence of Found
            The whole images.
        starts : iterable of str
            Folders that names in the file of boxes may be relative to.
        boxes : Boxes
        min_confidence : float
            The lowest confidence of a box that is used.
        progress : callable
            Called with a stage, the steps done and their total.

        Yields
        ------
        Cut
            One for each file, in order.

        """
        places = list(starts)

        def cut(found: Found) -> tuple[Cut, dict[str, Any] | None]:
            if found.is_video:
                return Cut(found.path, [], [], reason=VIDEO), None
            here = boxes.of(found.path, places)
            if found.reason or here is None:
                return Cut(found.path, [], [], reason=found.reason or UNNAMED), None
            sure = [box for box in here if box.confidence >= min_confidence]
            chosen = [box for box in sure if boxes.only in (None, box.category)]
            try:
                return self._cut(found.path, sure, chosen)
            except EmbedderError as error:
                return Cut(found.path, [], [], reason=str(error)), None

        done = 0
        with ThreadPoolExecutor(decoders().most) as threads:
            for part in in_parts(files):
                cuts, records = [], []
                for one, record in threads.map(cut, part):
                    done += 1
                    progress("cutting out boxes", done, len(files))
                    cuts.append(one)
                    records += [record] if record else []
                without_crop.note(self._database, records)  # before they are told, so that what is told is stored
                yield from cuts

    def origin(self, paths: Iterable[str]) -> Origin | None:
        """Return where a crop is from, by its files; None for an image that is not a crop."""
        for path in map(Path, paths):
            if path.parent.parent == self._folder:
                record = self._read(path.parent / f"{path.name.partition('-')[0]}.json")
                if record and (found := self._whole(record).crops.get(str(path))):
                    return found
        return None

    def images(self) -> list[WholeImage]:
        """Return all images from which boxes were cut, or in which there were none."""
        return [self._whole(self._read(file)) for file in self._files()]

    def note_times(self, times: Mapping[str, float]) -> dict[str, float]:
        """Note when whole images were taken.

        Parameters
        ----------
        times : mapping of str to float
            Seconds since 1970, by path.

        Returns
        -------
        dict of str to float
            These times together with those of the crops of these images.

        """
        found = dict(times)
        for file in self._files():
            record = self._read(file)
            if (taken := times.get(record["path"])) is not None:
                found |= dict.fromkeys(self._whole(record).crops, taken)
                replace_file(file, _as_json(record | {"taken": taken}))
        return found

    def _cut(self, path: str, sure: Sequence[Box], chosen: Sequence[Box]) -> tuple[Cut, dict[str, Any]]:
        raw = read_file(path)
        content = hashlib.sha256(raw).hexdigest()
        home = self._folder / content[:2]
        before = self._read(home / f"{content}.json")
        image: Image | None = None
        size, taken = before.get("size"), before.get("taken")
        if size is None or "taken" not in before:  # also without a box: an image that cannot be read is not empty
            image = decoders().image(raw)
            size, taken = list(image.size), _taken(image)
        if taken is None:
            taken = named_time(path)
        known = {one["file"]: one for one in before.get("crops", [])}
        files: dict[str, str | None] = {}
        for box in sorted(chosen, key=lambda box: -box.confidence):
            left, top, right, bottom = edges = box.pixels(*size)
            if right - left < SMALLEST or bottom - top < SMALLEST:
                continue
            place = [left, top, right - left, bottom - top]
            file = home / f"{content}-{'-'.join(map(str, place))}.jpg"
            if not file.exists():
                image = decoders().image(raw) if image is None else image
                make_folder(home)
                replace_file(file, _encoded(image, edges, taken))
            files.setdefault(str(file), box.label)
            facts = {"file": file.name, "box": place, "confidence": box.confidence, "category": box.category}
            known.setdefault(file.name, facts)
        label = "" if files else ", ".join(sorted({box.category for box in sure})) or EMPTY
        record = {"path": path, "sha256": content, "size": size, "taken": taken, "label": "" if known else label}
        record["crops"] = list(known.values())
        if record != before:
            make_folder(home)
            replace_file(home / f"{content}.json", _as_json(record))
        return Cut(path, list(files), list(files.values()), label), record

    def _files(self) -> list[Path]:
        """Return the files of all records."""
        return sorted(self._folder.glob("*/*.json"))

    def _whole(self, record: Mapping[str, Any]) -> WholeImage:
        path, content = record["path"], record["sha256"]
        size: Any = None if record["size"] is None else tuple(record["size"])
        crops = {
            str(self._folder / content[:2] / one["file"]): Origin(
                path, content, size, tuple(one["box"]), one["confidence"], one["category"]
            )
            for one in record["crops"]
        }
        return WholeImage(path, content, size, record["label"], record.get("taken"), crops)

    @staticmethod
    def _read(file: Path) -> dict[str, Any]:
        try:
            return dict(json.loads(file.read_bytes()))
        except FileNotFoundError:
            return {}


def _as_json(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, indent=1).encode()


def _taken(image: Image) -> float | None:
    """Return when an image was taken, as its file says."""
    capture = image.info.get(CAPTURE)
    return None if capture is None else capture.taken


def _encoded(image: Image, box: tuple[int, int, int, int], taken: float | None) -> bytes:
    """Return a part of an image as a JPEG file that says when the image was taken."""
    stream = io.BytesIO()
    image.crop(box).save(stream, "JPEG", quality=QUALITY, subsampling=0, exif=exif_at(taken))
    return stream.getvalue()


def starts_of(
    sources: Iterable[str | os.PathLike[str]], files: Sequence[Found], boxes: str | os.PathLike[str]
) -> list[str]:
    """Return the folders that names in a file of boxes may be relative to.

    These are its own, those that are searched, and the one that all files are in.
    """
    found = [os.path.abspath(source) for source in sources]
    places = [
        os.path.dirname(os.path.abspath(boxes)),
        *(one if os.path.isdir(one) else os.path.dirname(one) for one in found),
    ]
    with suppress(ValueError):  # there are no files, or they are on several drives
        places.append(os.path.commonpath([os.path.dirname(one.path) for one in files]))
    return places
