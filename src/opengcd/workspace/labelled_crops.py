"""Crops with labels: those of their images, or those that a file of boxes gives to each box."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from opengcd._internal.progress import Progress
from opengcd._internal.validation import UNKNOWN_STR
from opengcd.workspace import groups
from opengcd.workspace.boxes import CONFIDENCE, read_boxes
from opengcd.workspace.crops import Crops, starts_of
from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.files import Found, look_at
from opengcd.workspace.image_lists import KnownImages

NO_CLASS = "the file of boxes gives this box no class"
Paths = Sequence[str | os.PathLike[str]]


class Cutting(NamedTuple):
    """Which boxes are cut out of labelled images."""

    boxes: str | os.PathLike[str]
    """The file of boxes."""
    min_confidence: float = CONFIDENCE
    """The lowest confidence of a box that is used."""

    def by_image(self, crops: Crops, images: KnownImages, starts: Paths, progress: Progress) -> KnownImages:
        """Return the crops of labelled images, which have the classes of their images.

        Parameters
        ----------
        crops : Crops
        images : KnownImages
        starts : sequence of path
            What names in the file of boxes may be relative to.
        progress : callable
            Called with a stage, the steps done and their total.

        Returns
        -------
        KnownImages

        """
        read = read_boxes(self.boxes)
        places = starts_of(starts, [found for some in images.classes.values() for found in some], self.boxes)
        classes, bad = {}, list(images.bad)
        for label, files in images.classes.items():
            cuts = list(crops.cut(files, places, read, self.min_confidence, progress))
            classes[label] = [look_at(crop) for cut in cuts for crop in cut.crops]
            bad += [(cut.path, cut.reason) for cut in cuts if cut.reason]
        return self._checked(classes, bad)

    def by_box(self, crops: Crops, files: Sequence[Found], starts: Paths, progress: Progress) -> KnownImages:
        """Return the crops of images, which have the classes that the file gives to their boxes.

        Parameters
        ----------
        crops : Crops
        files : sequence of Found
            The images.
        starts, progress
            As for :meth:`by_image`.

        Returns
        -------
        KnownImages

        """
        read, places = read_boxes(self.boxes), starts_of(starts, files, self.boxes)
        classes: dict[str, list[Found]] = {}
        bad: list[tuple[str, str]] = []
        for cut in crops.cut(files, places, read, self.min_confidence, progress):
            if cut.reason:
                bad.append((cut.path, cut.reason))
            for crop, label in zip(cut.crops, cut.labels, strict=True):
                if label is None or label.strip() in ("", UNKNOWN_STR):
                    bad.append((cut.path, NO_CLASS))
                else:
                    classes.setdefault(groups.check_label(label), []).append(look_at(crop))
        return self._checked(classes, bad)

    def _checked(self, classes: dict[str, list[Found]], bad: list[tuple[str, str]]) -> KnownImages:
        if not any(classes.values()):
            why = bad[0][1] if bad else "no box has the confidence that is needed"
            raise WorkspaceError(f"{self.boxes} has no boxes for these images: {why}.")
        return KnownImages(classes, list(dict.fromkeys(bad)))
