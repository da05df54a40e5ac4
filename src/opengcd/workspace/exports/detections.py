"""Labels of crops, in the form in which MegaDetector writes its boxes and classifiers their labels of them."""

from __future__ import annotations

import os
from collections.abc import Iterator

from opengcd.workspace.exports.labels import ExportLabels, Part, certainty, has_class
from opengcd.workspace.exports.tables import document

FORMAT = "1.4"
"""The version of MegaDetector's format."""


def as_crops(labels: ExportLabels) -> Iterator[Part]:
    """Make one object for each image that a detector has looked at, with its boxes and the classes of their crops.

    Beside the fields of the format, a box has the crop that was cut out by it, its label and where that is from, and an
    image without a crop the label ``"empty"``, or the categories of its other boxes.
    """
    items = {path: one for one in labels.found for path in one.paths}
    origins = [origin for image in labels.looked_at for origin in image.crops.values()]
    categories = _numbers(origin.category for origin in origins)
    classes = _numbers(one.label for one in labels.found if has_class(one))
    images = []
    for image in labels.looked_at:
        boxes = []
        for file, origin in image.crops.items():
            (width, height), (x, y, w, h) = origin.size, origin.box
            box = {
                "category": categories[origin.category],
                "conf": float(origin.confidence),
                "bbox": [x / width, y / height, w / width, h / height],
                "crop": os.path.basename(file),
            }
            if one := items.get(file):
                box |= {"item": one.item, "label": one.label, "source": one.source}
                if has_class(one):
                    p = certainty(one)
                    box["classifications"] = [[classes[one.label], 1.0 if p is None else p]]
            boxes.append(box)
        facts = {"file": image.path, "sha256": image.hash, "label": image.label or None}
        images.append(facts | {"detections": boxes})
    content = {
        "info": {"format_version": FORMAT, "classifier": "OpenGCD"},
        "detection_categories": {number: name for name, number in categories.items()},
        "classification_categories": {number: name for name, number in classes.items()},
        "images": images,
    }
    yield Part("", document(content))


def _numbers(names: Iterator[str]) -> dict[str, str]:
    """Return the number of each name, as text."""
    return {name: str(number) for number, name in enumerate(sorted(set(names)), 1)}
