"""How good the recogniser is, and labels that may be wrong."""

from __future__ import annotations

from pydantic import Field

from opengcd.service.wire.values import ABOUT_EDIT, Model


class ClassAccuracy(Model):
    """How many held-out images of a class are recognised."""

    label: str = Field(description="The name of the class.")
    images: int = Field(description="The number of its images.")
    right: int = Field(description="How many of them are recognised.")
    before: float | None = Field(
        description="The share that the version before recognised; null if it did not know the class or was not "
        "measured."
    )


class ConfusedPair(Model):
    """How many held-out images of a class are taken for another class."""

    label: str = Field(description="The class that they were learnt under.")
    predicted: str = Field(description="The class that they are taken for.")
    images: int = Field(description="The number of these images.")
    before: int | None = Field(
        description="The same for the version before; null if it did not know both classes or was not measured."
    )


class Measured(Model):
    """How well a version recognises its exemplars, each judged by a classifier that was fitted without it."""

    version: int = Field(description="The number of the version.")
    previous: int | None = Field(description="The version that it is compared with; null if there is none.")
    accuracy: float = Field(description="The share of the held-out images that are recognised.")
    accuracy_before: float | None = Field(description="The same for the version before, on its own exemplars.")
    images: int = Field(description="The number of held-out images.")
    classes: list[ClassAccuracy] = Field(description="The classes, by name.")
    pairs: list[ConfusedPair] = Field(description="All pairs that are mixed up, the most confused first.")
    trained: bool = Field(
        description="Whether the network was trained on some of these images, so that the result is too optimistic."
    )


class HeldOut(Model):
    """What held-out images show of a version."""

    measured: Measured | None = Field(
        description="Null if it was not measured; the job `measure` does it for the version in use."
    )


class ConfusedImages(Model):
    """The held-out images of a class that are taken for a class."""

    items: list[int] = Field(description="The numbers of the images, the clearest cases first.")


class Suspect(Model):
    """A learnt image whose label may be wrong."""

    item: int = Field(description="The number of the image.")
    label: str = Field(description="Its label.")
    suggested: str = Field(description="The class that it is more likely of.")
    own: float = Field(description="The probability of its label, by a classifier that was fitted without the image.")
    rival: float = Field(description="The probability of the suggested class.")
    copy_of: int | None = Field(
        validation_alias="copy", description="A near copy of it with another label; null if there is none."
    )
    like_label: list[int] = Field(description="The images of the class of its label that look most like it.")
    like_suggested: list[int] = Field(description="The images of the suggested class that look most like it.")


class Suspects(Model):
    """Learnt images whose labels may be wrong. Images that a person has judged are left out."""

    edit: int = Field(description=ABOUT_EDIT)
    measured: bool = Field(description="Whether the version in use was measured; if not, the job `measure` does it.")
    total: int = Field(description="How many such images there are.")
    suspects: list[Suspect] = Field(description="The most doubtful first.")
