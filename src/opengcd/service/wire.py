"""Records of the API. The OpenAPI document is made from these, and the types of the page from the document."""

from __future__ import annotations

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
from opengcd.workspace import AnyDetails, DiscoverDetails, check_label, check_name

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
    int, Field(ge=0, le=2**31 - 1, description="The last edit that the client has seen."), BeforeValidator(_number)
]
_HIDDEN = r"\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
"""Characters that no name may hold, as the document says it; see :data:`opengcd._internal.text.MISLEADING`."""
Label = Annotated[
    str,
    Field(
        min_length=1,
        max_length=200,
        description="The name of a class.",
        json_schema_extra={"pattern": rf"^[^{_HIDDEN}]*[^{_HIDDEN}\s][^{_HIDDEN}]*$"},
    ),
    AfterValidator(check_label),
]
Who = Annotated[
    str,
    Field(
        max_length=100,
        description="A name that is shown before that of the token.",
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


class Model(BaseModel):
    """A record of the API. Unknown fields are refused, so that a misspelt one is not passed over.

    What the workspace returns is converted by ``model_validate``, which reads the attributes of the same names.
    """

    model_config = ConfigDict(extra="forbid", from_attributes=True)


class Problem(BaseModel):
    """Why a request failed, for people to read."""

    detail: str


class ConflictingEdit(Model):
    """The edit of somebody else that is in conflict with a request."""

    edit: int
    who: str
    verb: str


class Conflict(Problem):
    """Why a request is not possible in the present state; ``conflict`` is the edit of somebody else, if that is why."""

    conflict: ConflictingEdit | None = None


class LogIn(Model):
    """A token, and a name that the history will show before that of the token."""

    token: str = Field(min_length=1, max_length=200)
    who: Who | None = None


class Session(Model):
    """Who is logged in; ``csrf`` goes into the header X-CSRF-Token of everything but GET."""

    who: str
    scopes: list[str]
    csrf: str


class Threshold(Model):
    """What is rejected: images with a score above ``value``."""

    value: float
    source: str = Field(description='What it was estimated from: "bound", "labelled" or "stream".')
    known_rejected: float = Field(description="The share of known images that it rejects, measured on held-out ones.")
    known_share: float | None = Field(None, description="Estimated share of the stream that is of known classes.")
    hna: float | None = Field(None, description="Expected HNA on the stream.")


class Memory(Model):
    """How full the exemplar memory is."""

    size: int
    used: int


class Accuracy(Model):
    """Accuracy on the exemplars (``memory``) and on the images that were just learnt (``confirmed``)."""

    memory: float | None = None
    confirmed: float | None = None


class Epoch(Model):
    """A point of the curve of a training."""

    epoch: int
    loss: float | None
    accuracy: float | None = Field(description="On labelled images that were kept out of the training.")


class Rehearsal(Model):
    """HNA and HCA on hidden known classes, with the features in use before (frozen) and with adapted ones."""

    frozen_hna: float
    frozen_hca: float
    adapted_hna: float
    adapted_hca: float
    hidden: int = Field(description="Number of classes that were hidden.")

    @computed_field  # type: ignore[prop-decorator]
    @property
    def helps(self) -> bool:
        """Whether adapted features are better, by more than chance."""
        return Rehearsed(self.frozen_hna, self.frozen_hca, self.adapted_hna, self.adapted_hca, self.hidden).helps


class AdaptationReport(Model):
    """What was measured when a network was adapted, and how many seconds each stage took."""

    labelled: int
    unlabelled: int
    rehearsed: Rehearsal | None
    curve: list[Epoch]
    rehearsal_curve: list[Epoch]
    seconds: dict[str, float]


class LearningReport(Model):
    """What was measured when a version was learnt; ``before`` is the accuracy of the version before it."""

    memory: Memory
    after: Accuracy
    before: Accuracy | None = None
    adapted: AdaptationReport | None = None


class Version(Model):
    """A version of the recogniser."""

    id: int
    parent: int | None
    phase: int
    classes: list[str]
    at: str
    in_use: bool
    threshold: Threshold | None
    report: LearningReport | None


class Act(Model):
    """An edit, by its number and verb."""

    id: int
    verb: str


class _Job(Model):
    id: int
    state: Literal["waiting", "running", "done", "failed", "cancelled"]
    stage: str
    done: int
    total: int
    error: str | None
    at: str
    who: str


class DiscoverResult(Model):
    """What the job ``discover`` found."""

    k: int
    k_interval: Annotated[tuple[int, int], _pair("integer", "integer")] | None
    items: int
    put_back: int
    groups: int
    trusted: bool
    reason: str
    left_alone: int = 0


class LearnResult(Model):
    """The version that the job ``learn`` made, with the accuracy of the version before it and its own."""

    version: int
    classes: list[str]
    before: Accuracy | None = None
    after: Accuracy | None = None


class DiscoverJob(_Job):
    """The search for groups of new classes."""

    verb: Literal["discover"]
    result: DiscoverResult | None


class LearnJob(_Job):
    """The learning of confirmed groups."""

    verb: Literal["learn"]
    result: LearnResult | None


class AdaptOptions(Model):
    """How to adapt the network; what is left out is chosen by the number of images and the device."""

    dry_run: StrictBool = Field(False, description="Rehearse only, and change nothing.")
    force: StrictBool = Field(False, description="Use the adapted network even if it does not help in the rehearsal.")
    method: Literal["lora", "blocks"] | None = Field(None, description="How the last blocks are trained.")
    blocks: Annotated[int, Field(ge=1, le=1000), BeforeValidator(_number)] | None = Field(
        None, description="How many of the last blocks."
    )
    epochs: Annotated[int, Field(ge=1, le=10_000), BeforeValidator(_number)] | None = Field(
        None, description="Passes over the images."
    )
    unlabelled: StrictBool | None = Field(None, description="Whether images without a label take part.")


class AdaptResult(Model):
    """What came of the job ``adapt``."""

    switched: bool = Field(description="Whether the adapted network is in use.")
    version: int | None = Field(description="The new version of the recogniser, if there is one.")
    reason: str = Field(description="Why nothing was changed; empty if the adapted network is in use.")
    images: int
    missing: int = Field(description="Images that were left out because their files are gone or have changed.")
    rehearsed: Rehearsal | None = Field(description="Null if too few classes are known to hide some of them.")
    seconds: dict[str, float] = Field(description="How long each step took.")


class Curves(Model):
    """The curves of the rehearsal's training and of the training itself, as far as they are drawn."""

    rehearsing: list[Epoch] = []
    training: list[Epoch] = []


class AdaptJob(_Job):
    """The adaptation of the network to the images of the workspace."""

    verb: Literal["adapt"]
    arguments: AdaptOptions
    seconds_left: float | None = Field(description="As it is estimated; null if that is not known.")
    curves: Curves | None
    result: AdaptResult | None


class Job(RootModel[Annotated[DiscoverJob | LearnJob | AdaptJob, Field(discriminator="verb")]]):
    """Long work."""

    model_config = ConfigDict(from_attributes=True)


class Nothing(Model):
    """An empty object."""


class Status(Model):
    """The status of the workspace."""

    name: str
    embedder: str
    version: Version | None
    versions: int
    counts: dict[str, int]
    discovered: DiscoverDetails | Nothing
    failures: int
    edit: int
    groups: int
    to_review: int
    to_learn: int
    memory: Memory | None
    can_undo: Act | None
    can_redo: Act | None
    jobs: list[Job]


class Group(Model):
    """A group under review."""

    id: int
    kind: Literal["novel", "known", "removed"]
    label: str
    named: bool
    confirmed: bool
    size: int
    cohesion: float | None = Field(validation_alias="spread")
    probability: float | None
    doubtful: bool
    typical: list[int]
    suggestion: str | None


class Groups(Model):
    """All groups, in the order of the review, as of an edit."""

    edit: int
    groups: list[Group]


class Answer(Model):
    """An answer to a question: its key, its meaning, and the edit to send for it."""

    key: str
    text: str
    edit: dict[str, Any]


class Question(Model):
    """A question about groups, with the images to show."""

    kind: Literal["split", "same"]
    text: str
    gain: float
    """Actions that the answer is expected to save, less the one that it takes."""
    groups: list[int]
    shown: list[list[int]]
    """The most typical images of both parts of a group, or of two groups."""
    answers: list[Answer]


class Questions(Model):
    """The questions that are worth asking now, the best first, as of an edit."""

    edit: int
    seconds: float
    """How long it takes to answer them, about."""
    questions: list[Question]
    answered: bool
    """Whether a question was answered since the images were last grouped; the edit `regroup` gives them to the groups
    again as the answers say."""


class Item(Model):
    """An image."""

    id: int
    name: str
    probability: float | None
    unknown: float | None
    label: str | None
    top: Top
    stack: int | None
    """The number of its stack of near copies; null if no other image of a stack is in the group."""
    copies: int
    """Images of the stack in the group, this one included."""


class ItemPage(Model):
    """Some images of a group, as of an edit."""

    edit: int
    total: int
    items: list[Item]


class ItemDetails(Item):
    """An image with its details."""

    group: int | None
    paths: list[str]
    width: int
    height: int
    source: str


class Neighbour(Model):
    """An image that looks like another one."""

    id: int
    distance: float
    group: int | None
    label: str


class Map(Model):
    """All images under review on a plane."""

    items: list[int]
    x: list[float]
    y: list[float]
    group: list[int]
    drawn: bool = Field(description="False while a better map is being drawn; the event `map` tells when it is ready.")


class _On(Model):
    on: EditId


class Edited(Model):
    """What an edit has changed."""

    edit: int
    groups: list[int]
    made: int | None
    images: int | None
    """How many images were moved, where the verb counts them."""


class On(_On):
    """Undo or redo, if the last edit is the one that was seen."""


class Entry(Model):
    """A line of the history."""

    id: int
    at: str
    who: str
    verb: str
    details: AnyDetails | dict[str, Any]
    undone: bool


class EditEvent(Model):
    """The event `edit`: who did what, and which groups it changed."""

    edit: int
    who: str
    verb: str
    groups: list[int]


class Undone(Model):
    """What was undone."""

    edit: int
    groups: list[int]
    undone: Entry


class Redone(Model):
    """What was redone."""

    edit: int
    groups: list[int]
    redone: Entry


class Discover(Model):
    """Discover new classes; ``k`` fixes the total number of classes."""

    verb: Literal["discover"]
    k: Annotated[int, Field(ge=1, le=100_000), BeforeValidator(_number)] | None = None


class Learn(Model):
    """Learn the confirmed groups: the next phase."""

    verb: Literal["learn"]


class Adapt(AdaptOptions):
    """Adapt the network to the images of the workspace, and use it if a rehearsal shows that this helps."""

    verb: Literal["adapt"]


JobRequest = Annotated[Discover | Learn | Adapt, Field(discriminator="verb")]


class LastAdaptation(Model):
    """The last adaptation, or rehearsal of one."""

    at: str
    who: str
    undone: bool
    switched: bool = Field(description="Whether the adapted network was put to use.")
    version: int | None = Field(None, description="The version of the recogniser that it made.")
    reason: str = Field(description="Why nothing was changed; empty if something was.")
    images: int
    unlabelled: int
    missing: int
    rehearsed: Rehearsal | None = None
    seconds: dict[str, float] = Field(description="How long each step took.")


class AdaptationPlan(Model):
    """What the job ``adapt`` would use, whether it is possible, and how long it would take."""

    possible: bool
    reason: str = Field(description="Why it is not possible; empty if it is.")
    images: int = Field(description="Images with labels.")
    unlabelled: int = Field(description="Images of the stream without a label.")
    seconds: float | None = Field(description="How long it will take on this machine; null if that is not known.")
    rehearsal_seconds: float | None = Field(description="The same for a dry run.")
    measuring: bool = Field(description="Whether the time is being measured; the event `adaptation` tells when it is.")
    device: str
    last: LastAdaptation | None


class ClassNumber(Model):
    """The number of classes that the last discovery estimated, and the scores behind it."""

    k: int
    interval: Annotated[tuple[int, int], _pair("integer", "integer")] | None
    trusted: bool
    reason: str
    known: int
    curve: list[Annotated[tuple[int, float], _pair("integer", "number")]] = Field(
        description="Pairs of a number of classes and its score."
    )
    confirmed: int


class Count(Model):
    """How many images of a class."""

    label: str
    count: int


class Learnable(Model):
    """What the job ``learn`` would learn."""

    new: list[Count]
    known: list[Count]
    total: int


class Rollback(_On):
    """Switch to a version of the recogniser."""

    version: Id


class EditMade(Model):
    """The number of an edit."""

    edit: int


class Failure(Model):
    """A file that could not be used."""

    name: str
    reason: str


class Vectors(Model):
    """Feature vectors of the workspace's embedder."""

    vectors: Annotated[
        list[Annotated[list[Number], Field(min_length=1), FailFast()]],
        Field(min_length=1, max_length=MOST_VECTORS),
        FailFast(),  # a message for each of a million wrong values would take longer than the values
    ]


class Recognized(Model):
    """The answer for a vector or an image."""

    label: str = Field(description='A known class, or "unknown"; empty if there is a reason.')
    unknown: float
    top: Top
    id: int | None = Field(description="Of an image that was kept.")
    exemplars: list[int] = Field(description="Items in the memory that look most like it; for images.")
    name: str | None
    reason: str | None = Field(description="Why an image cannot be used.")


class RejectionChoice(Model):
    """A limit on rejection, and how much it would reject."""

    max_known_rejected: float | None
    rejected_known: float
    rejected_stream: int
    share: float | None


class Rejection(Model):
    """The limit on rejection, and other choices."""

    max_known_rejected: float | None
    threshold: Threshold | None
    seen: int
    choices: list[RejectionChoice]


class RejectionLimit(_On):
    """Reject at most this share of known images; null lets the threshold follow the stream."""

    max_known_rejected: Annotated[float, Field(ge=0, le=1)] | None


class Phase(Model):
    """A version of the recogniser with its statistics."""

    version: int
    phase: int
    at: str
    in_use: bool
    classes: int
    learnt: int
    asked: int
    rejected: int
    unknown_rate: float | None
    accuracy: Accuracy | None


class Class(Model):
    """A known class with its exemplars."""

    label: str
    learnt: int
    exemplars: list[int]


EVENTS: dict[str, type[BaseModel]] = {"edit": EditEvent, "job": Job}
"""What the events of ``/events`` hold, by their names; `adaptation`, `map` and `ping` hold nothing."""
