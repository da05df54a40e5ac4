"""Boxes that a detector has found in images: from a file of MegaDetector, or in COCO's format."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from opengcd._internal.limited_reading import read_limited
from opengcd.workspace.errors import WorkspaceError

LARGEST = 2**30
"""Bytes of a file of boxes."""
CONFIDENCE = 0.2
"""The lowest confidence of a box that is used: what MegaDetector's authors recommend to begin with."""
ANIMAL = "animal"
"""The category of MegaDetector's boxes that are cut out; another detector may have none of this name."""


class Box(NamedTuple):
    """A box in an image, in shares of its width and height."""

    x: float
    y: float
    width: float
    height: float
    confidence: float
    """1 if the file does not say."""
    category: str
    label: str | None = None
    """The class that the file gives to the box: its category in COCO's format, what a classifier has said in
    MegaDetector's; None if there is none."""

    def pixels(self, width: int, height: int) -> tuple[int, int, int, int]:
        """Return left, top, right and bottom in an image of some size; whole pixels that the box touches."""
        # Shares of whole pixels are not exact: 0.29 of 100 pixels is 28.999999999999996.
        left, top = max(0, math.floor(round(self.x * width, 6))), max(0, math.floor(round(self.y * height, 6)))
        right = min(width, math.ceil(round((self.x + self.width) * width, 6)))
        bottom = min(height, math.ceil(round((self.y + self.height) * height, 6)))
        return left, top, right, bottom


class Boxes:
    """The boxes of many images, by the names of their files.

    Parameters
    ----------
    by_file : mapping of str to list of Box
        By the path as the file of boxes has it.
    only : str or None
        The category of boxes that are cut out; None for all.

    """

    def __init__(self, by_file: Mapping[str, list[Box]], only: str | None) -> None:
        self._by_file = {os.path.normpath(name.replace("\\", "/")): found for name, found in by_file.items()}
        self.only = only

    def __len__(self) -> int:
        return len(self._by_file)

    def of(self, path: str, starts: Iterable[str]) -> list[Box] | None:
        """Return the boxes of a file; None if the file of boxes does not name it.

        Parameters
        ----------
        path : str
            Absolute.
        starts : iterable of str
            Absolute paths of folders that names in the file of boxes may be relative to.

        Returns
        -------
        list of Box or None

        """
        for name in (path, *(os.path.relpath(path, start) for start in starts)):
            if name in self._by_file:
                return self._by_file[name]
        return None


def read_boxes(file: str | os.PathLike[str]) -> Boxes:
    """Read a file of boxes: the output of MegaDetector, or a dataset in COCO's format.

    Parameters
    ----------
    file : path
        MegaDetector's boxes are ``[x, y, width, height]`` in shares of the image, COCO's are in pixels.

    Returns
    -------
    Boxes

    Raises
    ------
    WorkspaceError
        If the file cannot be read, or is in neither format.

    """
    try:
        raw = read_limited(file, LARGEST)
        document = json.loads(raw or b"")
    except OSError as error:
        raise WorkspaceError(f"The file of boxes {file} cannot be read: {error.strerror or error}.") from None
    except (ValueError, RecursionError) as error:
        raise WorkspaceError(f"The file of boxes {file} is not JSON: {error}.") from None
    try:
        if "annotations" in document:
            return Boxes(_coco(document), None)
        if any("detections" in image or "failure" in image for image in document["images"]):
            named = dict(document.get("detection_categories") or {}).values()
            return Boxes(_megadetector(document), ANIMAL if ANIMAL in named or not named else None)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise WorkspaceError(f"The file of boxes {file} is damaged: {type(error).__name__}, {error}.") from None
    raise WorkspaceError(
        f"{file} has no boxes; give the output of MegaDetector, with images and their detections, or a dataset in "
        "COCO's format, with images and annotations."
    )


def _megadetector(document: Mapping[str, Any]) -> dict[str, list[Box]]:
    names = {"1": ANIMAL, "2": "person", "3": "vehicle"} | dict(document.get("detection_categories", {}))
    classes = dict(document.get("classification_categories", {}))
    return {
        image["file"]: [
            _box(found["bbox"], (1.0, 1.0), found.get("conf", 1.0), names[str(found["category"])])._replace(
                label=next((str(classes[number]) for number, _ in found.get("classifications") or ()), None)
            )
            for found in image["detections"]
        ]
        for image in document["images"]
        if image.get("detections") is not None  # the detector could not read it
    }


def _coco(document: Mapping[str, Any]) -> dict[str, list[Box]]:
    names = {category["id"]: category["name"] for category in document.get("categories", [])}
    images = {image["id"]: image for image in document["images"]}
    found: dict[str, list[Box]] = {image["file_name"]: [] for image in images.values()}
    for one in document["annotations"]:
        image = images[one["image_id"]]
        size = float(image["width"]), float(image["height"])
        name = str(names.get(one.get("category_id"), "object"))
        box = _box(one["bbox"], size, one.get("score", 1.0), name)
        found[image["file_name"]].append(box._replace(label=name if one.get("category_id") in names else None))
    return found


def _box(numbers: Iterable[Any], size: tuple[float, float], confidence: Any, category: str) -> Box:
    x, y, width, height = map(float, numbers)
    box = Box(x / size[0], y / size[1], width / size[0], height / size[1], float(confidence), str(category))
    if not all(map(math.isfinite, box[:5])) or width < 0 or height < 0:
        raise ValueError(f"the box {[x, y, width, height]}")
    return box


def folder_of(file: str | os.PathLike[str]) -> str:
    """Return the folder of a file, absolute: names in it may be relative to this."""
    return str(Path(os.path.abspath(file)).parent)
