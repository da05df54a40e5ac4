"""Labels as folders of images, as tools that train or browse image classifiers read them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence

from opengcd._internal.validation import UNKNOWN_STR
from opengcd.workspace.exports.labels import ExportLabels, Part, certainty
from opengcd.workspace.exports.pictures import picture_name
from opengcd.workspace.exports.tables import document
from opengcd.workspace.labels import Labelled
from opengcd.workspace.outgoing import Source, distinct, folder_name

VALIDATION = 5
"""Every fifth image of a class is for validation."""


class _Names:
    """Names of files that differ from each other, also without their suffixes and where case does not count."""

    def __init__(self) -> None:
        self._folders: dict[str, str] = {}
        self._taken_folders: set[str] = set()
        self._taken: dict[str, set[str]] = {}

    def folder(self, label: str) -> str:
        """Return the name of the folder of a label."""
        if label not in self._folders:
            self._folders[label] = distinct(folder_name(label), self._taken_folders)
        return self._folders[label]

    def file(self, folder: str, source: Source) -> str:
        """Return a free name in a folder for a picture, like the one that it has."""
        stem, suffix = os.path.splitext(picture_name(source))
        return f"{folder}/{distinct(stem, self._taken.setdefault(folder, set()))}{suffix}"


def as_folders(labels: ExportLabels) -> Iterator[Part]:
    """Make a folder for each label."""
    names = _Names()
    for one, source in labels.pictures():
        yield Part(names.file(names.folder(one.label), source), source)


def as_yolo(labels: ExportLabels) -> Iterator[Part]:
    """Make folders of classes in ``train`` and ``val``; near copies are on the same side."""
    names = _Names()
    known = labels.labelled("it has no class, and this format has classes only")
    sides = split(known, labels.stacks)
    for one, source in labels.pictures(known):
        yield Part(names.file(f"{sides[one.item]}/{names.folder(one.label)}", source), source)


def split(found: Sequence[Labelled], stacks: Mapping[int, int]) -> dict[int, str]:
    """Return ``train`` or ``val`` for each item.

    Within a class, every fifth image is for validation, and at least one if there are two. The order is that of the
    hashes of their contents, so that the split is the same in each export. Near copies stay together.
    """
    sides: dict[int, str] = {}
    classes: dict[str, dict[tuple[int, int], list[Labelled]]] = {}
    for one in sorted(found, key=lambda one: one.hash):
        stack = stacks.get(one.item)
        together = (0, one.item) if stack is None else (1, stack)
        classes.setdefault(one.label, {}).setdefault(together, []).append(one)
    for piles in classes.values():
        for place, pile in enumerate(piles.values()):
            val = len(piles) > 1 and place % VALIDATION == 1
            sides |= dict.fromkeys([one.item for one in pile], "val" if val else "train")
    return sides


def as_imagefolder(labels: ExportLabels) -> Iterator[Part]:
    """Make the split ``train`` of an ImageFolder, with the labels in ``metadata.jsonl``."""
    names = _Names()
    lines = []
    for one, source in labels.pictures():
        name = names.file(names.folder(one.label), source)
        yield Part(f"train/{name}", source)
        row = {
            "file_name": name,
            "label": None if one.label == UNKNOWN_STR else one.label,
            "source": one.source,
            "probability": certainty(one),
            "sha256": one.hash,
        }
        lines.append(json.dumps(row) + "\n")
    yield Part("train/metadata.jsonl", "".join(lines).encode())


def as_fiftyone(labels: ExportLabels) -> Iterator[Part]:
    """Make FiftyOne's own format for image classification: ``data`` and ``labels.json``."""
    names = _Names()
    classes = sorted({one.label for one in labels.found} - {UNKNOWN_STR})
    numbers = {label: number for number, label in enumerate(classes)}
    targets: dict[str, dict[str, object] | None] = {}
    for one, source in labels.pictures():
        name = names.file("data", source)
        yield Part(name, source)
        target: dict[str, object] | None = None
        if one.label in numbers:
            target = {
                "label": numbers[one.label],
                "confidence": certainty(one),
                "attributes": {"source": one.source, "sha256": one.hash},
            }
        targets[os.path.splitext(name.removeprefix("data/"))[0]] = target
    yield Part("labels.json", document({"classes": classes, "labels": targets}))
