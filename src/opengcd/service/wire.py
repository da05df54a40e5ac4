"""Records of the API. The OpenAPI document is made from these, and the types of the page from the document."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    FailFast,
    Field,
    RootModel,
    StrictBool,
    WithJsonSchema,
    computed_field,
)

from opengcd.adapt import Rehearsed
from opengcd.workspace import AnyDetails, DiscoverDetails, check_label, check_name, comments, people

MOST_ITEMS = 200_000
"""Items in one edit."""
MOST_VECTORS = 10_000
"""Vectors in JSON; more are sent in numpy's format."""


def _number(value: Any) -> Any:
    """Refuse true and false, which Python takes for 1 and 0."""
    if isinstance(value, bool):
        raise ValueError("not a number")
    return value


Id = Annotated[int, Field(ge=1, le=2**31 - 1), BeforeValidator(_number)]
"""The number of an item, a group, a version or a job."""
EditId = Annotated[
    int,
    Field(
        ge=0,
        le=2**31 - 1,
        description="The last edit that you have seen, from the field `edit` of an answer. The request is refused if "
        "someone has changed since then what it is about.",
    ),
    BeforeValidator(_number),
]
_HIDDEN = r"\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
"""Characters that no name may hold, as the document says it; see :data:`opengcd._internal.text.MISLEADING`."""
_VISIBLE = {"pattern": rf"^[^{_HIDDEN}]*[^{_HIDDEN}\s][^{_HIDDEN}]*$"}
Label = Annotated[
    str,
    Field(
        min_length=1,
        max_length=200,
        description="The name of a class.",
        json_schema_extra=_VISIBLE,
    ),
    AfterValidator(check_label),
]
Person = Annotated[
    str,
    Field(min_length=1, max_length=people.LONGEST, description="The name of a person.", json_schema_extra=_VISIBLE),
    AfterValidator(people.check_person),
]
CommentText = Annotated[
    str,
    Field(min_length=1, max_length=comments.LONGEST, description="One line.", json_schema_extra=_VISIBLE),
    AfterValidator(comments.check_comment),
]
Who = Annotated[
    str,
    Field(
        max_length=100,
        description="The name that the history shows before that of the token.",
        json_schema_extra={"pattern": rf"^[^{_HIDDEN}()]*$"},
    ),
    AfterValidator(check_name),
]
LARGEST_NUMBER = 1e15
"""In a vector: the squares of a million of these have a sum that 32 bits can hold."""
Number = Annotated[float, Field(ge=-LARGEST_NUMBER, le=LARGEST_NUMBER, allow_inf_nan=False)]
Items = Annotated[list[Id], Field(min_length=1, max_length=MOST_ITEMS), FailFast()]
Seen = Annotated[list[Id], Field(max_length=MOST_ITEMS)]


def _pair(first: str, second: str) -> WithJsonSchema:
    """Return how the document describes a pair.

    ``prefixItems`` would say it, but schemathesis 4.32 cannot read it in answers. So the types of the two are in an
    extension too, from which the types of the page are made.
    """
    kinds = [{"type": kind} for kind in (first, second)]
    items = {"anyOf": kinds} if first != second else kinds[0]
    return WithJsonSchema({"type": "array", "items": items, "minItems": 2, "maxItems": 2, "x-prefixItems": kinds})


Top = list[Annotated[tuple[str, float], _pair("string", "number")]]
"""Pairs of a class and its probability."""

_ABOUT_TOP = "The most likely known classes, each with its probability, the most likely first."
_ABOUT_PROBABILITY = "How likely the image belongs to its group, from 0 to 1; null if a person put it there."
_ABOUT_UNKNOWN = "The probability that the image is of no known class."
_ABOUT_EDIT = "The last edit that this shows. Send it as `on` with what you do next."
_ABOUT_AT = "When, in UTC, as in 2026-05-01T06:30:12+00:00."
_ABOUT_SOURCE = "Where its label comes from, as in the `counts` of the status."
_ABOUT_DOUBT = (
    "How likely the label is wrong, from 0 to 1; null if it was learnt, decided by a person, or there is none yet."
)
_ABOUT_DATE = (
    "When the image was taken, by the camera's clock, or else when its file was last changed; null if unknown."
)
_ABOUT_NAMER = "The person who gave the label; null if nobody did."
_ABOUT_COPIES = "How many images of the stack are in the group, this one included."
_ABOUT_STEPS = "Seconds that each step took, by its name."
_ABOUT_GROUPS = "The numbers of the groups that have changed."


class Model(BaseModel):
    """A record of the API. Unknown fields are refused, so that a misspelt one is not passed over.

    What the workspace returns is converted by ``model_validate``, which reads the attributes of the same names.
    """

    model_config = ConfigDict(extra="forbid", from_attributes=True)


class Problem(BaseModel):
    """Why a request failed."""

    detail: str = Field(description="What happened and what to do, in words for a person to read.")


class ConflictingEdit(Model):
    """The edit by which somebody else changed what a request is about."""

    edit: int = Field(description="The number of the edit.")
    who: str = Field(description="Who made it.")
    verb: str = Field(description="Its verb, such as `name` or `move`.")


class Conflict(Problem):
    """Why a request is not possible in the present state of the workspace."""

    conflict: ConflictingEdit | None = Field(
        None, description="The edit of somebody else that is in the way; null if there is another reason."
    )


class LogIn(Model):
    """A token to sign in with, and optionally the name of the person."""

    token: str = Field(min_length=1, max_length=200, description="A token from `opengcd token`.")
    who: Who | None = Field(None, description="The name that the history shows before that of the token.")


class Session(Model):
    """Who is signed in, and what they may do."""

    who: str = Field(description="The name that the history shows.")
    scopes: list[str] = Field(description="What the token allows: `read`, or `read` and `write`.")
    csrf: str = Field(
        description="To be sent in the header `X-CSRF-Token` of every request other than GET that is authenticated by "
        "the cookie; empty if the request was authenticated by a token."
    )


class Upload(Model):
    """An upload that was begun."""

    id: str = Field(description="Its name, which the other requests about it need.")
    piece: int = Field(description="The largest number of bytes in one piece.")


class UploadedFile(Model):
    """A file of an upload."""

    path: str = Field(description="Its name, with folders.")
    received: int = Field(description="Bytes that have arrived; sending goes on there.")
    size: int = Field(description="Bytes of the whole file.")


class Received(Model):
    """How much of a file has arrived."""

    received: int = Field(description="Where the next piece begins; the size of the file if it is complete.")


class Finished(Model):
    """An upload that is complete."""

    files: int = Field(description="How many files it has, after zips were unpacked.")


class Place(Model):
    """A folder to begin at."""

    name: str = Field(description="What it is called.")
    path: str = Field(description="Where it is.")


class FolderListing(Model):
    """What is in a folder of this machine."""

    path: str = Field(description="The folder.")
    parent: str | None = Field(description="The folder that holds it; null for the outermost one.")
    folders: list[str] = Field(description="The folders in it.")
    files: list[str] = Field(description="Tables, networks and zips in it.")
    images: int = Field(description="How many images are in it, by their names.")
    more: bool = Field(description="Whether there is more in it than is listed.")
    places: list[Place] = Field(description="Folders to begin at.")


class AddImages(Model):
    """Images to add: an upload, or a folder of the server's machine."""

    upload: str | None = Field(None, pattern="^[0-9a-f]{16}$", description="An upload that is complete.")
    folder: str | None = Field(
        None, min_length=1, max_length=1000, description="A folder; only a person at the server's machine may name one."
    )
    fps: float | None = Field(
        None, gt=0, le=1000, description="Frames per second that are taken of videos; null for one."
    )
    boxes: str | None = Field(
        None,
        min_length=1,
        max_length=1000,
        description="A file of boxes in it, from MegaDetector or in COCO's format: each box becomes an image.",
    )
    min_confidence: float = Field(0.2, ge=0, le=1, description="The lowest confidence of a box that is used.")


class WatchFolder(Model):
    """A folder to watch."""

    folder: str = Field(min_length=1, max_length=1000, description="A folder of the server's machine.")


class Watch(Model):
    """The folder whose new images are recognised as they appear."""

    local: bool = Field(description="Whether you may name folders of the server's machine.")
    folder: str | None = Field(description="The folder that is watched; null if there is none.")
    images: int = Field(description="How many images were added since the watch began.")
    problem: str = Field(description="Why nothing can be added at the moment; empty if it can.")
    home: bool = Field(description="Whether this is one of several projects, which are listed at `../../`.")


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
    seconds: dict[str, float] = Field(description=_ABOUT_STEPS)


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
    at: str = Field(description=_ABOUT_AT)
    in_use: bool = Field(description="Whether it is the version in use.")
    threshold: Threshold | None = Field(description="Null if the recogniser's preset has no threshold.")
    report: LearningReport | None = Field(description="What was measured when it was made; null if nothing was.")


class Act(Model):
    """An edit that can be undone or redone."""

    id: int = Field(description="Its number.")
    verb: str = Field(description="Its verb, such as `name` or `discover`.")


class _Job(Model):
    id: int = Field(description="The number of the job.")
    state: Literal["waiting", "running", "done", "failed", "cancelled"] = Field(
        description="Whether the job waits for its turn, is running, or how it ended."
    )
    stage: str = Field(description="What it is doing, in words.")
    done: int = Field(description="How many steps of this stage are done.")
    total: int = Field(description="How many steps the stage has; 0 if that is not known.")
    error: str | None = Field(description="Why it failed or was cancelled; null otherwise.")
    at: str = Field(description=f"When the job was added. {_ABOUT_AT}")
    who: str = Field(description="Who started it.")


class DiscoverResult(Model):
    """What the job ``discover`` found."""

    k: int = Field(description="The number of classes, known and new ones together.")
    k_interval: Annotated[tuple[int, int], _pair("integer", "integer")] | None = Field(
        description="The interval that holds the number of classes with a probability of 90 %; null if it is not known."
    )
    items: int = Field(description="The number of images that were grouped.")
    put_back: int = Field(
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
    seconds_left: float | None = Field(description="Estimated seconds that the job will still run; null if unknown.")


class AdaptOptions(Model):
    """How to adapt the network. What is left out is chosen by the number of images and the device."""

    dry_run: StrictBool = Field(False, description="Rehearse only, and change nothing.")
    force: StrictBool = Field(False, description="Use the adapted network even if it does not help in the rehearsal.")
    method: Literal["lora", "blocks"] | None = Field(
        None,
        description="How the last blocks are trained: `lora` trains low-rank changes of their weights, `blocks` trains "
        "all their weights.",
    )
    blocks: Annotated[int, Field(ge=1, le=1000), BeforeValidator(_number)] | None = Field(
        None, description="How many of the network's last blocks are trained."
    )
    epochs: Annotated[int, Field(ge=1, le=10_000), BeforeValidator(_number)] | None = Field(
        None, description="How many times all images are passed over."
    )
    unlabelled: StrictBool | None = Field(None, description="Whether images without a label take part.")


class AdaptResult(Model):
    """The result of the job ``adapt``."""

    switched: bool = Field(description="Whether the adapted network is in use.")
    version: int | None = Field(description="The new version of the recogniser; null if there is none.")
    reason: str = Field(description="Why nothing was changed; empty if the adapted network is in use.")
    images: int = Field(description="How many images the network was adapted to or rehearsed with.")
    missing: int = Field(description="Images that were left out because their files are missing or have changed.")
    rehearsed: Rehearsal | None = Field(description="Null if too few classes are known to hide some of them.")
    seconds: dict[str, float] = Field(description=_ABOUT_STEPS)


class Curves(Model):
    """The curves of the two trainings of an adaptation, as far as they have got."""

    rehearsing: list[Epoch] = Field([], description="The training of the rehearsal.")
    training: list[Epoch] = Field([], description="The training itself.")


class AdaptJob(_Job):
    """A job that adapts the network to the images of the workspace."""

    verb: Literal["adapt"] = Field(description="What the job does.")
    arguments: AdaptOptions = Field(description="How the network is to be adapted.")
    seconds_left: float | None = Field(description="About how long it will still take; null if that is not known.")
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


class Nothing(Model):
    """An empty object."""


class NextStep(Model):
    """What to do next."""

    step: Literal["init", "view", "adapt", "review", "learn", "discover", "recognize", "export"] = Field(
        description="`init`: no class has been learnt. `view`: the workspace is read-only. `adapt`: an adaptation was "
        "interrupted. `review`: groups wait for a person. `learn`: reviewed images can be learnt. `discover`: images "
        "wait to be grouped. `recognize`: no image was recognised yet. `export`: everything is done."
    )
    images: int = Field(description="How many images it is about.")
    groups: int = Field(description="With `review`: how many groups it is about.")


class Status(Model):
    """The state of the workspace in numbers."""

    name: str = Field(description="The name of the workspace's folder.")
    embedder: str = Field(description="The network that turns each image into a vector (an embedding).")
    version: Version | None = Field(description="The version of the recogniser in use; null before the first.")
    versions: int = Field(description="How many versions there are.")
    counts: dict[str, int] = Field(
        description="How many images there are by where their label comes from: `learnt`, `reviewed`, `put back`, "
        "`grouped`, `removed`, `recognized`, `rejected` or `waiting`."
    )
    discovered: DiscoverDetails | Nothing = Field(
        description="What the last discovery found; empty if there was none since the last learning."
    )
    failures: int = Field(description="How many files could not be used.")
    edit: int = Field(description=_ABOUT_EDIT)
    groups: int = Field(description="How many groups are under review.")
    to_review: int = Field(description="How many images are in groups of new classes that nobody has confirmed.")
    to_learn: int = Field(description="How many images the job `learn` would learn.")
    memory: Memory | None = Field(description="How full the exemplar memory is; null if that is not known.")
    can_undo: Act | None = Field(description="What undo would undo; null if there is nothing.")
    can_redo: Act | None = Field(description="What redo would redo; null if there is nothing.")
    jobs: list[Job] = Field(description="The jobs that are waiting or running.")
    next: NextStep = Field(description="What to do next, jobs aside.")


class Group(Model):
    """A group of images under review."""

    id: int = Field(description="Its number.")
    kind: Literal["novel", "known", "removed"] = Field(
        description="`novel`: images of a new class. `known`: images that were assigned to a known class. `removed`: "
        "images that were removed from the review."
    )
    label: str = Field(description="Its name, or a provisional one.")
    named: bool = Field(description="Whether a person has named it.")
    confirmed: bool = Field(description="Whether a person has confirmed it: then it will be learnt.")
    size: int = Field(description="How many images it has.")
    cohesion: float | None = Field(
        validation_alias="spread",
        description="The root mean squared distance of its images to their centre: the smaller, the more alike.",
    )
    probability: float | None = Field(
        description="How likely it is a class, and not a chance cluster; null if that is not known."
    )
    doubtful: bool = Field(
        description="Whether nobody has named it, and it is more likely a chance cluster than a class."
    )
    typical: list[int] = Field(description="The numbers of its most typical images.")
    suggestion: str | None = Field(
        description="The known class that most of its images look like; null if there is none."
    )
    assignee: str | None = Field(description="Who is to review it; null if it is assigned to nobody.")
    confirmed_by: list[str] = Field(
        description="Who has confirmed it; empty if nobody has, or if that was with an older version of OpenGCD."
    )
    comments: int = Field(description="How many comments it has.")


class GroupComment(Model):
    """A comment on a group."""

    id: int = Field(description="Its number.")
    at: str = Field(description=_ABOUT_AT)
    who: str = Field(description="Who wrote it.")
    text: str = Field(description="What it says: plain text.")


class Groups(Model):
    """All groups, in the order of the review."""

    edit: int = Field(description=_ABOUT_EDIT)
    groups: list[Group] = Field(description="New classes first, the largest first, doubtful ones last.")


class Answer(Model):
    """An answer to a question."""

    key: str = Field(description="The key that gives this answer on the page and in the terminal.")
    text: str = Field(description="What the answer means.")
    edit: dict[str, Any] = Field(description="The edit that gives the answer: send it to `/edits`, with `on` added.")


class Question(Model):
    """A question about groups that nobody has named."""

    kind: Literal["split", "same"] = Field(
        description="`split`: is this group one class, or does it split here? `same`: are these groups the same class?"
    )
    text: str = Field(description="The question in words.")
    gain: float = Field(description="How many actions the answer is expected to save, less the one that it takes.")
    groups: list[int] = Field(description="The number of the group, or of both groups.")
    shown: list[list[int]] = Field(description="The most typical images of both parts of a group, or of both groups.")
    answers: list[Answer] = Field(description="The possible answers.")


class Questions(Model):
    """The questions whose answers are expected to save more work than they take."""

    edit: int = Field(description=_ABOUT_EDIT)
    seconds: float = Field(description="About how long it takes to answer them.")
    questions: list[Question] = Field(description="The questions, the one that saves the most work first.")
    answered: bool = Field(
        description="Whether a question was answered since the images were last grouped. If so, the edit `regroup` "
        "assigns the images to the groups again by the answers."
    )


class Parts(Model):
    """How a group falls in two, and whether these look like different classes."""

    edit: int = Field(description=_ABOUT_EDIT)
    mixed: float = Field(
        description="The probability that the group contains two classes; at most one half if it cannot be estimated."
    )
    sizes: list[int] = Field(description="How many images either part has, the larger one first.")
    shown: list[list[int]] = Field(description="The numbers of the most typical images of either part.")


class Suggestion(Model):
    """A known class or a group that images may belong to."""

    label: str = Field(description="Its name, or a provisional one.")
    group: int | None = Field(description="The number of the group; null for a class without images under review.")
    known: bool = Field(description="Whether it is a known class.")
    likeness: float = Field(description="The cosine between its centre and that of the images, as the recogniser sees.")
    image: int | None = Field(description="The number of a typical image; null if there is none.")


class Suggestions(Model):
    """The known classes and groups that images may belong to."""

    edit: int = Field(description=_ABOUT_EDIT)
    homes: list[Suggestion] = Field(description="All of them, the most likely first.")


class Item(Model):
    """An image."""

    id: int = Field(description="Its number.")
    name: str = Field(description="The name of its file.")
    probability: float | None = Field(description=_ABOUT_PROBABILITY)
    unknown: float | None = Field(description=_ABOUT_UNKNOWN)
    label: str | None = Field(description="Its label; null if the image is unknown.")
    top: Top = Field(description=_ABOUT_TOP)
    stack: int | None = Field(
        description="The number of its stack of near copies, such as a burst; null if no other image of a stack is in "
        "the group."
    )
    copies: int = Field(description=_ABOUT_COPIES)


class ItemPage(Model):
    """Some of the images of a group."""

    edit: int = Field(description=_ABOUT_EDIT)
    total: int = Field(description="How many images there are in all, or stacks if `stacked` was asked for.")
    items: list[Item] = Field(description="The images.")


class Origin(Model):
    """Where a crop is from."""

    name: str = Field(description="The name of the file of the whole image.")
    size: tuple[int, int] = Field(description="Width and height of the whole image in pixels.")
    box: tuple[int, int, int, int] = Field(description="Left, top, width and height of the crop in pixels.")
    confidence: float = Field(description="How sure the detector is.")
    category: str = Field(description="What the detector takes it for.")


class VideoFrame(Model):
    """Which frame of a video an image is."""

    name: str = Field(description="The name of the file of the video.")
    path: str = Field(description="The video, where it was when the frame was taken.")
    seconds: float = Field(description="The time of the frame, from the start of the video.")


Source = Literal["learnt", "reviewed", "put back", "grouped", "removed", "recognized", "rejected", "waiting"]


class Image(Model):
    """An image with its label, in a list of all images."""

    id: int = Field(description="Its number.")
    name: str = Field(description="The name of its file.")
    label: str = Field(description="Its present label, the name of a class or group, or `unknown`.")
    source: Source = Field(description=_ABOUT_SOURCE)
    group: int | None = Field(description="The number of its group; null if it is in none, or learnt.")
    unknown: float | None = Field(description=_ABOUT_UNKNOWN)
    doubt: float | None = Field(description=_ABOUT_DOUBT)
    date: datetime | None = Field(description=_ABOUT_DATE)
    who: str | None = Field(description=_ABOUT_NAMER)
    stack: int | None = Field(description="The number of its stack of near copies; null if it is in none.")
    copies: int = Field(description=_ABOUT_COPIES)


class ImagePage(Model):
    """A page of a list of images."""

    edit: int = Field(description=_ABOUT_EDIT)
    images: list[Image] = Field(description="The images, in the order that was asked for.")
    next: str | None = Field(description="Send it as `after` to get the next page; null if this is the last one.")


class ImageStarts(Model):
    """How long a list of images is, and where its pages begin."""

    edit: int = Field(description=_ABOUT_EDIT)
    total: int = Field(description="How many images the list has.")
    cursors: list[str] = Field(description="For each page but the first, what to send as `after` to get it.")


class FolderCount(Model):
    """How many files of the workspace are in a folder."""

    folder: str = Field(description="The folder, on the machine of the workspace.")
    count: int = Field(description="The number of files.")


class Count(Model):
    """How many images of a class there are."""

    label: str = Field(description="The name of the class.")
    count: int = Field(description="The number of images.")


class ImageChoices(Model):
    """What the list of images can be filtered by, as far as there are such images."""

    labels: list[Count] = Field(description="All labels with their numbers of images, sorted by label.")
    folders: list[FolderCount] = Field(description="The folders with the most files, sorted by folder.")
    people: list[str] = Field(description="Who has given labels.")


class File(Model):
    """A file of an image."""

    path: str = Field(description="Where it is, on the machine of the workspace.")
    state: Literal["present", "missing", "changed"] = Field(
        description="Whether it is still there with the content of the image, is missing, or has other content now."
    )


class LabelledNeighbour(Model):
    """A learnt image that looks like another one."""

    id: int = Field(description="Its number.")
    distance: float = Field(description="How different it looks: 1 minus the cosine of the angle between both vectors.")
    label: str = Field(description="Its class.")


class Taxon(Model):
    """A class, or a group of classes in the taxonomy."""

    name: str = Field(description="Its name.")
    rank: str = Field(description="Its rank, such as `genus`.")
    path: list[str] = Field(description="The names from the broadest taxon to this one.")
    probability: float = Field(description="How likely it is; 1 if a person gave the label.")
    error: float = Field(description="The largest share of images with a wrong name, as it was chosen.")


class Reasons(Model):
    """Why an image has been recognised as a class, or rejected."""

    score: float | None = Field(
        description="Its unknown score: the higher, the less it looks like any known class; null if the version in use "
        "has not recognised it."
    )
    threshold: float | None = Field(
        description="The threshold in use now, which follows the stream: images with a higher score are rejected; null "
        "if the recogniser has none."
    )
    rejected: bool | None = Field(description="Whether the image was rejected; null if it was not recognised.")
    nearest: list[LabelledNeighbour] = Field(description="The most similar exemplars, with their classes.")
    taxon: Taxon | None = Field(description="The deepest rank that is sure; null if none is, or without a taxonomy.")


class Camera(Model):
    """What the camera wrote down about an image (EXIF); null where it did not."""

    taken: str | None = Field(description="When it was taken, by the camera's clock, as in 2026-05-01 06:30:12.")
    camera: str | None = Field(description="The make and model of the camera.")
    lens: str | None = Field(description="The model of the lens.")
    exposure: float | None = Field(description="The exposure time in seconds.")
    aperture: float | None = Field(description="The f-number.")
    iso: float | None = Field(description="The sensitivity.")
    focal_length: float | None = Field(description="The focal length in millimetres.")
    latitude: float | None = Field(description="Degrees north.")
    longitude: float | None = Field(description="Degrees east.")


class ItemDetails(Item):
    """An image with its details."""

    group: int | None = Field(description="The number of its group; null if it is in none.")
    paths: list[str] = Field(description="The names of its files: several if copies of it were added.")
    width: int = Field(description="Its width in pixels.")
    height: int = Field(description="Its height in pixels.")
    source: str = Field(description=_ABOUT_SOURCE)
    files: list[File] = Field(description="Its files, with their folders.")
    doubt: float | None = Field(description=_ABOUT_DOUBT)
    date: datetime | None = Field(description=_ABOUT_DATE)
    who: str | None = Field(description=_ABOUT_NAMER)
    origin: Origin | None = Field(
        description="Where it was cut out, if it is a crop of another image; null otherwise. `/items/{id}/origin` is "
        "the whole image."
    )
    video: VideoFrame | None = Field(description="Which frame of a video it is; null if it is not one.")


class Neighbour(Model):
    """An image that looks like another one."""

    id: int = Field(description="Its number.")
    distance: float = Field(description="How different it looks: 1 minus the cosine of the angle between both vectors.")
    group: int | None = Field(description="The number of its group; null if it is learnt.")
    label: str = Field(description="Its label, or that of its group.")


class Similar(Model):
    """The images of a group, those first that look more like one of them than like the whole group."""

    items: list[int] = Field(
        description="The numbers of the image itself and then of the others; of a stack of near copies only one."
    )
    number: int = Field(description="How many of them look more like the image than like the group, itself included.")


class Map(Model):
    """All images under review as points of a plane: similar images lie close together. All lists have one order."""

    items: list[int] = Field(description="The numbers of the images.")
    x: list[float] = Field(description="Horizontal places, from 0 to 1.")
    y: list[float] = Field(description="Vertical places, from 0 to 1.")
    group: list[int] = Field(description="The numbers of their groups.")
    drawn: bool = Field(description="False while a better map is being drawn; the event `map` tells when it is ready.")


class _On(Model):
    on: EditId


class Edited(Model):
    """What an edit has changed."""

    edit: int = Field(description="The number of the edit; that of the last one if nothing has changed.")
    groups: list[int] = Field(description=_ABOUT_GROUPS)
    made: int | None = Field(
        description="The group that holds the images of the edit now; null if that is not one group."
    )
    images: int | None = Field(description="How many images were moved; null if the verb does not count them.")


class On(_On):
    """The edit that was seen last: undo and redo are refused if somebody has made another one since."""


class Entry(Model):
    """A line of the history."""

    id: int = Field(description="The number of the edit.")
    at: str = Field(description=_ABOUT_AT)
    who: str = Field(description="Who made it.")
    verb: str = Field(description="What was done, such as `name` or `discover`.")
    details: AnyDetails | dict[str, Any] = Field(description="More about it; the fields depend on the verb.")
    undone: bool = Field(description="Whether it is undone at present.")


class EditEvent(Model):
    """The event `edit`: somebody has changed the workspace."""

    edit: int = Field(description="The number of the edit.")
    who: str = Field(description="Who made it.")
    verb: str = Field(description="What was done, such as `name` or `discover`.")
    groups: list[int] = Field(description=_ABOUT_GROUPS)


PageName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{8,64}$")]
"""The name that a page gives itself."""


class Look(Model):
    """The group that a page shows."""

    page: PageName = Field(description="A name for the page, at random: letters and digits, at least eight.")
    group: Id | None = Field(description="The number of the group; null if the page shows none.")


class Looking(Model):
    """The people who look at a group now."""

    group: int = Field(description="The number of the group.")
    people: list[str] = Field(description="Their names, as the history shows them.")


class Presence(Model):
    """The event `presence`: who looks at which group now, yourself included."""

    groups: list[Looking] = Field(description="The groups that somebody looks at.")


class Undone(Model):
    """What was undone."""

    edit: int = Field(description="The number of this undo, which is an edit itself.")
    groups: list[int] = Field(description=_ABOUT_GROUPS)
    undone: Entry = Field(description="The edit that was undone.")


class Redone(Model):
    """What was redone."""

    edit: int = Field(description="The number of this redo, which is an edit itself.")
    groups: list[int] = Field(description=_ABOUT_GROUPS)
    redone: Entry = Field(description="The edit that was redone.")


class Discover(Model):
    """Group the rejected images into new classes."""

    verb: Literal["discover"] = Field(description="What the job is to do.")
    k: Annotated[int, Field(ge=1, le=100_000), BeforeValidator(_number)] | None = Field(
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


class Uploaded(Model):
    """An image that was uploaded."""

    id: int | None = Field(description="Its number; null if it cannot be used.")
    name: str = Field(description="The name of the file.")
    reason: str | None = Field(description="Why it cannot be used; null if it can.")


class Adapt(AdaptOptions):
    """Adapt the network to the images of the workspace, and use it if a rehearsal shows that this helps."""

    verb: Literal["adapt"] = Field(description="What the job is to do.")


JobRequest = Annotated[Discover | Learn | Teach | Measure | Check | Adapt, Field(discriminator="verb")]


class LastAdaptation(Model):
    """The last adaptation of the network, or the last rehearsal of one."""

    at: str = Field(description=_ABOUT_AT)
    who: str = Field(description="Who started it.")
    undone: bool = Field(description="Whether it is undone at present.")
    switched: bool = Field(description="Whether the adapted network was put into use.")
    version: int | None = Field(None, description="The version of the recogniser that it made; null if there is none.")
    reason: str = Field(description="Why nothing was changed; empty if something was.")
    images: int = Field(description="How many images were used.")
    unlabelled: int = Field(description="How many of them had no label.")
    missing: int = Field(description="Images that were left out because their files are missing or have changed.")
    rehearsed: Rehearsal | None = Field(None, description="Null if too few classes were known to hide some of them.")
    seconds: dict[str, float] = Field(description=_ABOUT_STEPS)


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
    interval: Annotated[tuple[int, int], _pair("integer", "integer")] | None = Field(
        description="The interval that holds the number of classes with a probability of 90 %; null if it is not known."
    )
    trusted: bool = Field(description="Whether the estimate can be relied on.")
    reason: str = Field(description="Why it cannot; empty if it can.")
    known: int = Field(description="How many classes are known.")
    curve: list[Annotated[tuple[int, float], _pair("integer", "number")]] = Field(
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
    """What held-out images show of the version in use."""

    measured: Measured | None = Field(description="Null if it was not measured; the job `measure` does it.")


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

    edit: int = Field(description=_ABOUT_EDIT)
    measured: bool = Field(description="Whether the version in use was measured; if not, the job `measure` does it.")
    total: int = Field(description="How many such images there are.")
    suspects: list[Suspect] = Field(description="The most doubtful first.")


class Agreement(Model):
    """How often two people gave the same images the same name."""

    people: list[str] = Field(description="Their names.")
    images: int = Field(description="How many images both have named or confirmed.")
    same: int = Field(description="How many of these have the same name by both.")
    share: float = Field(description="The same as a share.")
    kappa: float | None = Field(description="Cohen's kappa: 1 if they always agree, 0 if as often as by chance.")


class Rollback(_On):
    """A version of the recogniser to switch to."""

    version: Id = Field(description="The number of the version.")


class EditMade(Model):
    """The edit that was made."""

    edit: int = Field(description="Its number.")


class ExportFormat(Model):
    """A format of exports."""

    name: str = Field(description="The name of the format, as `/export` takes it.")
    title: str = Field(description="Its name for people.")
    about: str = Field(description="What it holds or is for.")
    suffix: str = Field(description="The suffix of the file: `zip` for a folder.")
    places: Literal["none", "used", "needed"] = Field(
        description="Whether a table of deployments is of use, or needed; `POST /export` takes it."
    )


class ExportWanted(Model):
    """An export with places."""

    format: str = Field(max_length=100, description="The name of the format.")
    images: Literal["all", "reviewed", "new"] = Field("all", description="Which images.")
    deployments: str | None = Field(
        None,
        max_length=4_000_000,
        description="A table of deployments in CSV, with the columns of Camtrap DP and `folder`: the end of the path "
        "of the images, such as `cam1`.",
    )
    metadata: dict[str, Any] | None = Field(None, description="Fields of the `datapackage.json` of Camtrap DP.")


class Failure(Model):
    """A file that could not be used."""

    name: str = Field(description="The name of the file.")
    reason: str = Field(description="Why it could not be used.")


class Vectors(Model):
    """Feature vectors of the workspace's embedder."""

    vectors: Annotated[
        list[Annotated[list[Number], Field(min_length=1), FailFast()]],
        Field(
            min_length=1, max_length=MOST_VECTORS, description="One list of numbers per image, all of the same length."
        ),
        FailFast(),  # a message for each of a million wrong values would take longer than the values
    ]


class Recognized(Model):
    """What the recogniser says about a vector or an image."""

    label: str = Field(description='A known class, or "unknown"; empty if the image cannot be used.')
    unknown: float = Field(description=_ABOUT_UNKNOWN)
    top: Top = Field(description=_ABOUT_TOP)
    id: int | None = Field(description="The number of the image, if it was kept; null otherwise.")
    exemplars: list[int] = Field(
        description="The numbers of the exemplars that look most like the image; empty for vectors."
    )
    name: str | None = Field(description="The name of the file; null for vectors.")
    reason: str | None = Field(description="Why the image cannot be used; null if it can.")


class RejectionChoice(Model):
    """A limit on the rejection of known images, and its effect on what was seen so far."""

    max_known_rejected: float | None = Field(
        description="The largest share of known images to reject; null lets the threshold follow the stream."
    )
    rejected_known: float = Field(description="The share of held-out known images that it rejects.")
    rejected_stream: int = Field(description="How many images of the stream it would have rejected.")
    share: float | None = Field(description="The same as a share of the stream; null before the first image.")


class Rejection(Model):
    """The limit on the rejection of known images, and the other limits that could be chosen."""

    max_known_rejected: float | None = Field(
        description="The largest share of known images to reject; null if the threshold follows the stream."
    )
    threshold: Threshold | None = Field(description="The threshold in use; null if the recogniser's preset has none.")
    seen: int = Field(description="How many images of the stream were seen so far.")
    choices: list[RejectionChoice] = Field(description="Empty if the recogniser's preset has no threshold.")


class RejectionLimit(_On):
    """The limit on the rejection of known images."""

    max_known_rejected: Annotated[float, Field(ge=0, le=1)] | None = Field(
        description="The largest share of known images to reject; null lets the threshold follow the stream."
    )


class TaxonomyTable(Model):
    """The ranks above the classes."""

    ranks: list[str] = Field(description="The ranks, the broadest first, without that of the classes.", max_length=50)
    class_rank: str = Field(min_length=1, max_length=200, description="The rank of the classes, such as `species`.")
    lineages: dict[str, list[Annotated[str, Field(max_length=200)]]] = Field(
        description="The taxon of each class at each rank; empty where it has none."
    )
    error: Annotated[float, Field(gt=0, lt=1)] = Field(description="The largest share of images with a wrong name.")


class TaxonomyWanted(TaxonomyTable, _On):
    """The taxonomy to set."""


class TaxonomyFile(_On):
    """The taxonomy to set, as a CSV file."""

    table: str = Field(
        max_length=4_000_000,
        description="CSV whose first line names the ranks, such as `family,genus,species`, with a line for each class.",
    )


class Phase(Model):
    """A version of the recogniser with its statistics."""

    version: int = Field(description="The number of the version.")
    phase: int = Field(description="The phase: how many times the recogniser had learnt, this time included.")
    at: str = Field(description=f"When the version was made. {_ABOUT_AT}")
    in_use: bool = Field(description="Whether it is the version in use.")
    classes: int = Field(description="How many classes it knows.")
    learnt: int = Field(description="How many images it learnt.")
    asked: int = Field(description="How many images of the stream it has recognised or rejected.")
    rejected: int = Field(description="How many of them it rejected as unknown.")
    unknown_rate: float | None = Field(description="The same as a share; null before the first image.")
    accuracy: Accuracy | None = Field(description="Null if it was not measured.")


class Class(Model):
    """A known class with its exemplars."""

    label: str = Field(description="The name of the class.")
    learnt: int = Field(description="How many images of it were learnt.")
    exemplars: list[int] = Field(description="The numbers of the images that are kept of it.")


EVENTS: dict[str, type[BaseModel]] = {"edit": EditEvent, "job": Job, "presence": Presence}
"""What the events of ``/events`` hold, by their names; `adaptation`, `images`, `map` and `ping` hold nothing."""

DETAILS_FIELDS = {
    "bad": "How many files could not be used.",
    "comment": "The number of the comment.",
    "classes": "How many classes there are, or their names.",
    "confirmed": "Whether the group was confirmed, too.",
    "corrected": "How many images were learnt before and have another label now, or none; null if none.",
    "curve": "Pairs of a number of classes and its score; null if the number was given.",
    "edit": "The number of the edit that was undone or redone.",
    "error": "The largest share of images that may get a wrong name.",
    "group": "The number of the group.",
    "groups": "The number of groups of new classes.",
    "images": "The number of images.",
    "into": "The number of the other group.",
    "k": "The number of classes, known and new ones together.",
    "k_interval": "The interval that holds the number of classes with a probability of 90 %; null if it is not known.",
    "known": "The name that the known class had.",
    "label": "The name that the group, the class or the images got.",
    "left_alone": "How many images were left as they were, because someone edited them in the meantime.",
    "max_known_rejected": "The largest share of known images to reject; null lets the threshold follow the stream.",
    "missing": "Images that were left out because their files are missing or have changed.",
    "moved": "How many images were moved.",
    "named": "How many groups were named.",
    "new_classes": "The names of the new classes.",
    "one": "Whether the images that stayed are a class.",
    "other": "Whether the images that were moved are a class.",
    "part": "The number of the group that the images were moved to.",
    "parts": "The numbers of the groups that it is now.",
    "person": "The name of the person; null if the group is assigned to nobody.",
    "put_back": "How many images were assigned to a known class other than the one that recognition gave them.",
    "ranks": "The ranks above the classes, the broadest first.",
    "reason": "Why the estimate cannot be relied on, or why nothing was changed; empty if there is no reason.",
    "rehearsed": "What the rehearsal measured; null if there was none.",
    "rejected": "How many of the images were rejected as unknown.",
    "removed": "How many images were removed.",
    "replaced": "How many images had another label before; null if none.",
    "run": "A hash of all that the adapted network is made from.",
    "same": "Whether both groups are the same class.",
    "seconds": _ABOUT_STEPS,
    "seen": "The numbers of the images that the person had looked at; null means all.",
    "stacks": "How many stacks of near copies there were, each of which counted once.",
    "started": "How many groups were started in place of those that are not a class.",
    "switched": "Whether the adapted network was put into use.",
    "text": "What the comment says.",
    "trusted": "Whether the estimated number of classes can be relied on.",
    "unlabelled": "How many of the images had no label.",
    "verb": "The verb of the edit that was undone or redone.",
    "version": "The number of the version of the recogniser.",
}
"""What the fields of the history's details mean, by their names, for the OpenAPI document."""
