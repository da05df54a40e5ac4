"""Jobs: what is asked for, how far they are, and their results."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, ConfigDict, Field, RootModel, StrictBool

from opengcd.service.wire.values import ABOUT_STEPS, Items, Label, Model, pair, refuse_booleans
from opengcd.service.wire.versions import Accuracy, AdaptOptions, Curves, Rehearsal


class _Job(Model):
    id: int = Field(description="The number of the job.")
    state: Literal["waiting", "running", "done", "failed", "cancelled"] = Field(
        description="Whether the job waits for its turn, is running, or how it ended."
    )
    stage: str = Field(description="What it is doing, in words.")
    done: int = Field(description="How many steps of this stage are done.")
    total: int = Field(description="How many steps the stage has; 0 if that is not known.")
    seconds_left: float | None = Field(description="Estimated seconds that the job will still run; null if unknown.")
    error: str | None = Field(description="Why it failed or was cancelled; null otherwise.")
    at: str = Field(description="When the job was added, in UTC, as in 2026-05-01T06:30:12+00:00.")
    who: str = Field(description="Who started it.")


class DiscoverResult(Model):
    """What the job ``discover`` found."""

    k: int = Field(description="The number of classes, known and new ones together.")
    k_interval: Annotated[tuple[int, int], pair("integer", "integer")] | None = Field(
        description="The interval that holds the number of classes with a probability of 90 %; null if it is not known."
    )
    items: int = Field(description="The number of images that were grouped.")
    returned: int = Field(
        description="How many of them were assigned to a known class other than the one that recognition gave them."
    )
    groups: int = Field(description="The number of groups of new classes.")
    trusted: bool = Field(description="Whether the estimated number of classes can be relied on.")
    reason: str = Field(description="Why it cannot; empty if it can.")
    left_alone: int = Field(
        0, description="How many images were left as they were, because someone edited them in the meantime."
    )


class LearnResult(Model):
    """The version that the job ``learn`` made."""

    version: int = Field(description="The number of the version.")
    classes: list[str] = Field(description="The names of the classes that it knows.")
    before: Accuracy | None = Field(None, description="The accuracy of the version before it, on the same images.")
    after: Accuracy | None = Field(None, description="Its own accuracy.")


class TeachConflict(Model):
    """An image to which a person has given another label already, and which kept it."""

    item: int = Field(description="The number of the image.")
    present: str = Field(description="Its label; empty if a person removed it from the review.")
    given: str = Field(description="The label that it was to get.")


class TeachResult(Model):
    """What the job ``teach`` did."""

    images: int = Field(description="How many images have got a label.")
    classes: dict[str, int] = Field(description="How many of them there are of each class.")
    already: int = Field(description="How many images had their label before.")
    replaced: int = Field(description="How many images, of those with a new label, had another label before.")
    conflicts: list[TeachConflict] = Field(description="Images with another label, which they kept; at most 1,000.")
    conflicting: int = Field(description="How many such images there are.")
    bad: int = Field(0, description="How many files could not be used.")
    reasons: list[str] = Field([], description="Some of them, with reasons.")


class DiscoverJob(_Job):
    """A job that groups rejected images into new classes."""

    verb: Literal["discover"] = Field(description="What the job does.")
    result: DiscoverResult | None = Field(description="Null until the job is done.")


class LearnJob(_Job):
    """A job that learns the confirmed groups."""

    verb: Literal["learn"] = Field(description="What the job does.")
    result: LearnResult | None = Field(description="Null until the job is done.")


class TeachJob(_Job):
    """A job that gives labels to images."""

    verb: Literal["teach"] = Field(description="What the job does.")
    result: TeachResult | None = Field(description="Null until the job is done.")


class MeasureResult(Model):
    """The version that the job ``measure`` measured."""

    version: int = Field(description="The number of the version.")


class MeasureJob(_Job):
    """A job that measures the version in use on held-out images."""

    verb: Literal["measure"] = Field(description="What the job does.")
    result: MeasureResult | None = Field(description="Null until the job is done.")


class Finding(Model):
    """Damage that was found."""

    what: str = Field(description="The damaged file, or the part of the workspace.")
    problem: str = Field(description="What is wrong.")
    remedy: str = Field(description="What to do, or what was done.")
    repaired: bool = Field(description="Whether it was repaired.")


class CheckResult(Model):
    """What the job ``check`` found."""

    findings: list[Finding] = Field(description="The damage, at most 200 parts of it; empty if there is none.")
    total: int = Field(description="How many parts are damaged.")
    repair: bool = Field(description="Whether it was to be repaired.")


class CheckJob(_Job):
    """A job that verifies the workspace."""

    verb: Literal["check"] = Field(description="What the job does.")
    result: CheckResult | None = Field(description="Null until the job is done.")


class RecognizeResult(Model):
    """What the job ``recognize`` added."""

    images: int = Field(description="How many images were added.")
    rejected: int = Field(description="How many of them were recognised as unknown.")
    duplicates: int = Field(description="How many files were images that are in the workspace already.")
    bad: int = Field(description="How many files could not be used.")
    empty: int = Field(0, description="In how many images there was no box to cut out.")
    reasons: list[str] = Field(description="Some of them, with reasons.")


class RecognizeJob(_Job):
    """A job that adds images and recognises them; `POST /images` starts it."""

    verb: Literal["recognize"] = Field(description="What the job does.")
    result: RecognizeResult | None = Field(description="Null until the job is done.")


class AdaptResult(Model):
    """The result of the job ``adapt``."""

    switched: bool = Field(description="Whether the adapted network is in use.")
    version: int | None = Field(description="The new version of the recogniser; null if there is none.")
    reason: str = Field(description="Why nothing was changed; empty if the adapted network is in use.")
    images: int = Field(description="How many images the network was adapted to or rehearsed with.")
    missing: int = Field(description="Images that were left out because their files are missing or have changed.")
    rehearsed: Rehearsal | None = Field(description="Null if too few classes are known to hide some of them.")
    seconds: dict[str, float] = Field(description=ABOUT_STEPS)


class AdaptJob(_Job):
    """A job that adapts the network to the images of the workspace."""

    verb: Literal["adapt"] = Field(description="What the job does.")
    arguments: AdaptOptions = Field(description="How the network is to be adapted.")
    curves: Curves | None = Field(description="Null before the first epoch.")
    result: AdaptResult | None = Field(description="Null until the job is done.")


class Job(
    RootModel[
        Annotated[
            DiscoverJob | LearnJob | TeachJob | MeasureJob | CheckJob | AdaptJob | RecognizeJob,
            Field(discriminator="verb"),
        ]
    ]
):
    """Long work that runs in the server. Its fields depend on ``verb``."""

    model_config = ConfigDict(from_attributes=True)


class Discover(Model):
    """Group the images of new classes."""

    verb: Literal["discover"] = Field(description="What the job is to do.")
    k: Annotated[int, Field(ge=1, le=100_000), BeforeValidator(refuse_booleans)] | None = Field(
        None, description="The number of classes, known and new ones together; without it, the number is estimated."
    )


class Learn(Model):
    """Learn the confirmed groups, which begins a new phase."""

    verb: Literal["learn"] = Field(description="What the job is to do.")


class TaughtClass(Model):
    """A class, and images of it."""

    label: Label = Field(description="The name of the class, a known or a new one.")
    items: Items = Field(description="The numbers of the images.")


class Teach(Model):
    """Give labels to images, which then are examples of known or new classes; the job ``learn`` takes them."""

    verb: Literal["teach"] = Field(description="What the job is to do.")
    classes: Annotated[list[TaughtClass], Field(min_length=1, max_length=250)] = Field(
        description="The classes with their images; no image may be listed with two classes."
    )
    replace: StrictBool = Field(
        False, description="Whether images that a person has given another label get the new one."
    )


class Measure(Model):
    """Measure the version in use on held-out images; the job ``learn`` does it, too."""

    verb: Literal["measure"] = Field(description="What the job is to do.")


class Check(Model):
    """Verify all data of the workspace, and repair what can be computed again."""

    verb: Literal["check"] = Field(description="What the job is to do.")
    repair: StrictBool = Field(False, description="Whether to repair what can be computed from the images.")


class Adapt(AdaptOptions):
    """Adapt the network to the images of the workspace, and use it if a rehearsal shows that this helps."""

    verb: Literal["adapt"] = Field(description="What the job is to do.")


JobRequest = Annotated[Discover | Learn | Teach | Measure | Check | Adapt, Field(discriminator="verb")]
