"""Labels of crops, in the form in which MegaDetector writes its boxes."""

from __future__ import annotations

import os
from collections.abc import Iterator

from opengcd.workspace.exports.labels import ExportLabels, Part
from opengcd.workspace.exports.tables import document


def as_crops(labels: ExportLabels) -> Iterator[Part]:
    """Make one object for each image that a detector has looked at, with its boxes and the labels of their crops.

    ``label`` of an image is ``"empty"``, or the categories of its other boxes, if it has no crop.
    """
    items = {os.path.basename(path): one for one in labels.found for path in one.paths}
    images = []
    for record in labels.detections():
        boxes = []
        for one in record["crops"]:
            (width, height), (x, y, w, h) = record["size"], one["box"]
            place = [round(n, 6) for n in (x / width, y / height, w / width, h / height)]
            crop = {"bbox": place, "conf": one["confidence"], "category": one["category"], "crop": one["file"]}
            if item := items.get(one["file"]):
                crop |= {"item": item.item, "label": item.label, "source": item.source}
            boxes.append(crop)
        facts = {"file": record["path"], "sha256": record["sha256"], "label": record["label"] or None}
        images.append(facts | {"detections": boxes})
    yield Part("", document({"info": {"description": "crops and labels by OpenGCD"}, "images": images}))
