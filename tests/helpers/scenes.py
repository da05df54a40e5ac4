"""Images of several things, and the boxes that a detector finds in them."""

import json
from itertools import count

from PIL import Image

from opengcd import Workspace
from tests.helpers.pictures import KNOWN, RECOGNIZER, picture

SIDE = 40
SEEDS = count()
PERSON = [{"category": "2", "conf": 0.9, "bbox": [0, 0.5, 1, 0.5]}]
"""What MegaDetector finds in an image of a person."""


def scene(file, *colours, exif=None):
    """Write a grey image with squares of colours side by side; return MegaDetector's boxes of them."""
    image = Image.new("RGB", (SIDE * max(1, len(colours)), 2 * SIDE), (128, 128, 128))
    for place, colour in enumerate(colours):
        image.paste(picture(colour, next(SEEDS), SIDE), (place * SIDE, SIDE))
    file.parent.mkdir(parents=True, exist_ok=True)
    image.save(file, **({} if exif is None else {"exif": exif, "quality": 95}))
    share = 1 / max(1, len(colours))
    return [
        {"category": "1", "conf": 0.9 - 0.01 * place, "bbox": [place * share, 0.5, share, 0.5]}
        for place in range(len(colours))
    ]


def detections(file, found):
    names = {"1": "animal", "2": "person", "3": "vehicle"}
    images = [{"file": name, "detections": boxes} for name, boxes in found.items()]
    file.write_text(json.dumps({"images": images, "detection_categories": names, "info": {"format_version": "1.4"}}))
    return file


def learn_crops(folder):
    """Make a workspace that has learnt four colours from crops."""
    found = {
        f"{colour}/{number}.png": scene(folder / "known" / colour / f"{number}.png", *[colour] * (1 + number % 2))
        for colour in KNOWN
        for number in range(6)
    }
    scene(folder / "known" / "red" / "nothing.png")
    found["red/nothing.png"] = []
    workspace = Workspace.create(folder / "birds", "pixels", recognizer=RECOGNIZER, who="ann")
    assert workspace.fit(folder / "known", boxes=detections(folder / "known.json", found)) == []
    return workspace


def without_crops(folder):
    """Write three images: with red and an unsure blue, with only an unsure green, and with a person; return boxes."""
    unsure = [box | {"conf": 0.1} for box in scene(folder / "unsure.png", "green")]
    sure, other = scene(folder / "both.png", "red", "blue")
    scene(folder / "person.png", "white")
    found = {
        "both.png": [sure, other | {"conf": 0.1}],
        "unsure.png": unsure,
        "person.png": PERSON,
    }
    return detections(folder / "boxes.json", found)
