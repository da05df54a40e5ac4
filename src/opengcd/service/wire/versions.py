"""Versions of the recogniser, how they were made, and what is to be learnt next."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, StrictBool, computed_field

from opengcd.adapt import Rehearsed
from opengcd.service.wire.images import Count
from opengcd.service.wire.values import ABOUT_AT, ABOUT_STEPS, Id, Model, OnEdit, pair, refuse_booleans


class Threshold(Model):
    """The threshold of open-set rejection: an image with a higher score is rejected as unknown."""

    value: float = Field(description="The threshold.")
    source: str = Field(
        description="What it was estimated from: `bound` (a limit on rejected known images), `labelled` (labelled "
        "images) or `stream` (the images that were added)."
    )
    known_rejected: float = Field(description="The share of held-out known images that it rejects.")
    known_share: float | None = Field(None, description="The estimated share of the stream that is of known classes.")
    hna: float | None = Field(
        None,
        description="The HNA to expect on the stream: the harmonic mean of the share of known images that get the "
        "right label and the share of new ones that are rejected.",
    )


class Memory(Model):
    """How full the exemplar memory is. Exemplars are the learnt images that the recogniser keeps."""

    size: int = Field(description="The largest number of exemplars.")
    used: int = Field(description="The number of exemplars that are kept.")


class Accuracy(Model):
    """The accuracy of a version of the recogniser, from 0 to 1."""

    memory: float | None = Field(None, description="On the exemplars.")
    confirmed: float | None = Field(None, description="On the images that the version has just learnt.")


class Epoch(Model):
    """A point of the curves of a training."""

    epoch: int = Field(description="The epoch: how many times all images were passed over.")
    loss: float | None = Field(description="The loss, which the training minimises.")
    accuracy: float | None = Field(
        description="The accuracy on labelled images that were held out of the training; null without any."
    )


class Rehearsal(Model):
    """What a rehearsal measured: some known classes were hidden from a short training and treated as new.

    HNA is the harmonic mean of the share of known images that get the right label and the share of new ones that are
    rejected. HCA is that of the share of known images that get the right label and the share of new ones that join the
    right group.
    """

    frozen_hna: float = Field(description="HNA with the network that is in use.")
    frozen_hca: float = Field(description="HCA with the network that is in use.")
    adapted_hna: float = Field(description="HNA with the adapted network.")
    adapted_hca: float = Field(description="HCA with the adapted network.")
    hidden: int = Field(description="The number of classes that were hidden.")

    @computed_field  # type: ignore[prop-decorator]
    @property
    def helps(self) -> bool:
        """Whether the adapted network is better by more than chance."""
        return Rehearsed(self.frozen_hna, self.frozen_hca, self.adapted_hna, self.adapted_hca, self.hidden).helps


class AdaptationReport(Model):
    """What was measured when the network was adapted."""

    labelled: int = Field(description="The number of images with a label.")
    unlabelled: int = Field(description="The number of images without one.")
    rehearsed: Rehearsal | None = Field(description="Null if too few classes are known to hide some of them.")
    curve: list[Epoch] = Field(description="The curve of the training.")
    rehearsal_curve: list[Epoch] = Field(description="The curve of the training in the rehearsal.")
    seconds: dict[str, float] = Field(description=ABOUT_STEPS)


class LearningReport(Model):
    """What was measured when a version was learnt."""

    memory: Memory = Field(description="How full the exemplar memory is.")
    after: Accuracy = Field(description="The accuracy of the version.")
    before: Accuracy | None = Field(None, description="The accuracy of the version before it, on the same images.")
    adapted: AdaptationReport | None = Field(None, description="Null if the network was not adapted for this version.")


class Version(Model):
    """A version of the recogniser. Learning and adapting each make a new one, and all are kept."""

    id: int = Field(description="Its number.")
    parent: int | None = Field(description="The version that it was made from; null for the first.")
    phase: int = Field(description="The phase: how many times the recogniser had learnt, this time included.")
    classes: list[str] = Field(description="The names of the classes that it knows.")
    at: str = Field(description=ABOUT_AT)
    in_use: bool = Field(description="Whether it is the version in use.")
    threshold: Threshold | None = Field(description="Null if the recogniser's preset has no threshold.")
    report: LearningReport | None = Field(description="What was measured when it was made; null if nothing was.")


class Act(Model):
    """An edit that can be undone or redone."""

    id: int = Field(description="Its number.")
    verb: str = Field(description="Its verb, such as `name` or `discover`.")


class AdaptOptions(Model):
    """How to adapt the network. What is left out is chosen by the number of images and the device."""

    dry_run: StrictBool = Field(False, description="Rehearse only, and change nothing.")
    force: StrictBool = Field(False, description="Use the adapted network even if it does not help in the rehearsal.")
    method: Literal["lora", "blocks"] | None = Field(
        None,
        description="How the last blocks are trained: `lora` trains low-rank changes of their weights, `blocks` trains "
        "all their weights.",
    )
    blocks: Annotated[int, Field(ge=1, le=1000), BeforeValidator(refuse_booleans)] | None = Field(
        None, description="How many of the network's last blocks are trained."
    )
    epochs: Annotated[int, Field(ge=1, le=10_000), BeforeValidator(refuse_booleans)] | None = Field(
        None, description="How many times all images are passed over."
    )
    batch_size: Annotated[int, Field(ge=4, le=10_000), BeforeValidator(refuse_booleans)] | None = Field(
        None, description="How many images each step of the training takes."
    )
    unlabelled: StrictBool | None = Field(None, description="Whether images without a label take part.")


class Curves(Model):
    """The curves of the two trainings of an adaptation, as far as they have got."""

    rehearsing: list[Epoch] = Field([], description="The training of the rehearsal.")
    training: list[Epoch] = Field([], description="The training itself.")


class LastAdaptation(Model):
    """The last adaptation of the network, or the last rehearsal of one."""

    at: str = Field(description=ABOUT_AT)
    who: str = Field(description="Who started it.")
    undone: bool = Field(description="Whether it is undone at present.")
    switched: bool = Field(description="Whether the adapted network was put into use.")
    version: int | None = Field(None, description="The version of the recogniser that it made; null if there is none.")
    reason: str = Field(description="Why nothing was changed; empty if something was.")
    images: int = Field(description="How many images were used.")
    unlabelled: int = Field(description="How many of them had no label.")
    missing: int = Field(description="Images that were left out because their files are missing or have changed.")
    rehearsed: Rehearsal | None = Field(None, description="Null if too few classes were known to hide some of them.")
    seconds: dict[str, float] = Field(description=ABOUT_STEPS)


class AdaptationPlan(Model):
    """What the job ``adapt`` would use, whether it is possible, and how long it would take."""

    possible: bool = Field(description="Whether the network can be adapted here.")
    reason: str = Field(description="Why it cannot; empty if it can.")
    images: int = Field(description="How many images with a label it would use.")
    unlabelled: int = Field(description="How many images of the stream have no label, and could be used too.")
    seconds: float | None = Field(description="How long it would take on this machine; null if that is not known.")
    rehearsal_seconds: float | None = Field(description="The same for a dry run.")
    measuring: bool = Field(
        description="Whether the time is being measured; the event `adaptation` tells when it is known."
    )
    device: str = Field(description="Where the network would be trained: `cpu` or `cuda`; empty if it is not possible.")
    last: LastAdaptation | None = Field(description="The last adaptation or rehearsal; null if there was none.")


class ClassNumber(Model):
    """How many classes the last discovery found, and the scores behind this number."""

    k: int = Field(description="The number of classes, known and new ones together.")
    interval: Annotated[tuple[int, int], pair("integer", "integer")] | None = Field(
        description="The interval that holds the number of classes with a probability of 90 %; null if it is not known."
    )
    trusted: bool = Field(description="Whether the estimate can be relied on.")
    reason: str = Field(description="Why it cannot; empty if it can.")
    known: int = Field(description="How many classes are known.")
    curve: list[Annotated[tuple[int, float], pair("integer", "number")]] = Field(
        description="Pairs of a number of classes and its score: the higher, the better the number fits. Empty if the "
        "number was given and not estimated."
    )
    confirmed: int = Field(description="How many groups are confirmed.")


class Learnable(Model):
    """What the job ``learn`` would learn."""

    new: list[Count] = Field(description="Images of new classes.")
    known: list[Count] = Field(description="More images of known classes.")
    corrected: int = Field(description="Images that were learnt before and now have another label.")
    forgotten: int = Field(description="Images that were learnt before and were removed.")
    total: int = Field(description="The number of all these images.")


class Rollback(OnEdit):
    """A version of the recogniser to switch to."""

    version: Id = Field(description="The number of the version.")


class Phase(Model):
    """A version of the recogniser with its statistics."""

    version: int = Field(description="The number of the version.")
    phase: int = Field(description="The phase: how many times the recogniser had learnt, this time included.")
    at: str = Field(description="When the version was made, in UTC, as in 2026-05-01T06:30:12+00:00.")
    in_use: bool = Field(description="Whether it is the version in use.")
    classes: int = Field(description="How many classes it knows.")
    learnt: int = Field(description="How many images it learnt.")
    asked: int = Field(description="How many images of the stream it has recognised or rejected.")
    rejected: int = Field(description="How many of them it rejected as unknown.")
    unknown_rate: float | None = Field(description="The same as a share; null before the first image.")
    accuracy: Accuracy | None = Field(description="Null if it was not measured.")
    held_out: float | None = Field(
        description="The share of its exemplars that it recognises when they are held out; null if not measured."
    )


class Class(Model):
    """A known class with its exemplars."""

    label: str = Field(description="The name of the class.")
    learnt: int = Field(description="How many images of it were learnt.")
    exemplars: list[int] = Field(description="The numbers of the images that are kept of it.")
