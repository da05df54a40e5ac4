"""Labelled images or vectors that were found, and how they are taken in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from opengcd._internal.progress import Progress
from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.image_lists import NO_LABEL, Known, KnownImages
from opengcd.workspace.intake import Intake, Taken
from opengcd.workspace.vector_intake import VectorIntake
from opengcd.workspace.videos import with_labels


class ToTake(NamedTuple):
    """Labelled images or vectors that were found, and a way to take them in."""

    classes: list[str]
    label_of: dict[str, str]
    """By path."""
    bad: list[tuple[str, str]]
    """What cannot be used, with reasons."""
    take: Callable[[Progress], Iterator[list[Taken]]]


def images_to_take(intake: Intake, known: KnownImages, fps: float, progress: Progress) -> ToTake:
    """Return labelled images, and the frames of labelled videos.

    Parameters
    ----------
    intake : Intake
    known : KnownImages
    fps : float
        Frames per second that are taken of videos.
    progress : callable

    Returns
    -------
    ToTake

    """
    given = known.labelled_files()
    labels, twice = with_labels(given, intake.expand([found for found, _ in given], fps, progress))
    label_of = {found.path: label for found, label in labels.items()}
    bad = [*known.bad, *twice]
    return ToTake(sorted(known.classes), label_of, bad, lambda progress: intake.take(list(labels), progress))


def vectors_to_take(intake: VectorIntake, known: Known, fewest: int) -> ToTake:
    """Return the labelled rows of a file of vectors.

    Parameters
    ----------
    intake : VectorIntake
    known : path
    fewest : int
        How many classes there must be.

    Returns
    -------
    ToTake

    """
    if isinstance(known, Mapping):
        raise WorkspaceError("Give one file of labelled vectors, not files by class.")
    rows = intake.read(known)
    label_of = {name: label for name, label in zip(rows.names, rows.labels, strict=True) if label is not None}
    bad = [(name, NO_LABEL) for name in rows.names if name not in label_of]
    classes = sorted(set(label_of.values()))
    if len(classes) < fewest:
        needed = "at least two classes" if fewest > 1 else "a class"
        raise WorkspaceError(f"{known} should hold labelled vectors of {needed}, in labels.")
    kept = rows.only([name in label_of for name in rows.names])
    return ToTake(classes, label_of, bad, lambda progress: intake.take_rows(kept, progress))
