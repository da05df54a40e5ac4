"""The details of each edit in the history: one record for each kind of edit, stored as JSON.

A verb that has no record here may store any JSON object.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar, get_args

OLD_KEYS = {
    "k interval": "k_interval",
    "put back": "returned",
    "put_back": "returned",
    "left alone": "left_alone",
    "new classes": "new_classes",
    "max known rejected": "max_known_rejected",
}
"""Keys that earlier versions stored, and the present names of these fields."""


@dataclass(frozen=True)
class Details:
    """The details of an edit in the history. A field whose default is None is stored only if it has a value."""

    verbs: ClassVar[tuple[str, ...]]
    """The verbs whose entries have these details."""

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as they are stored."""
        values = [(field, getattr(self, field.name)) for field in fields(self)]
        return {field.name: value for field, value in values if value is not None or field.default is MISSING}


@dataclass(frozen=True)
class InitDetails(Details):
    """The first version was learnt."""

    verbs = ("init",)
    classes: int
    images: int
    bad: int
    """Files that could not be used."""


@dataclass(frozen=True)
class RecognizeDetails(Details):
    """Images were recognised."""

    verbs = ("recognize",)
    images: int
    rejected: int
    bad: int
    """Files that could not be used."""


@dataclass(frozen=True)
class DiscoverDetails(Details):
    """Groups were found."""

    verbs = ("discover",)
    k: int
    images: int
    returned: int
    groups: int
    version: int | None = None
    """The version of the recogniser that discovered them."""
    trusted: bool = True
    reason: str = ""
    left_alone: int | None = None
    k_interval: list[int] | None = None
    stacks: int | None = None
    """Stacks of near copies, each of which counted once."""
    curve: list[list[float]] | None = None
    """Pairs of a number of classes and its score."""


@dataclass(frozen=True)
class LearnDetails(Details):
    """A version was learnt."""

    verbs = ("learn",)
    version: int
    images: int
    new_classes: list[str]
    corrected: int | None = None
    """Images that were learnt before and whose label a person has corrected, or that were forgotten."""


@dataclass(frozen=True)
class AdaptDetails(Details):
    """The network was adapted, or a rehearsal showed no benefit and it was left unchanged."""

    verbs = ("adapt",)
    switched: bool
    """Whether the adapted network was put into use."""
    images: int
    unlabelled: int
    """Images without a label among them."""
    missing: int
    """Images whose files are gone or have changed."""
    reason: str
    """Why nothing was changed; empty if the network was put into use."""
    run: str
    """A hash of all that the network is made from."""
    seconds: dict[str, float]
    """How long each stage took."""
    version: int | None = None
    """The new version of the recogniser."""
    rehearsed: dict[str, float | int] | None = None
    """HNA and HCA with the features in use (``frozen``) and with adapted ones; the number of classes hidden."""


@dataclass(frozen=True)
class RollbackDetails(Details):
    """Another version was put into use."""

    verbs = ("rollback",)
    version: int


@dataclass(frozen=True)
class RejectionDetails(Details):
    """The limit on rejection was set; None lets the threshold follow the stream."""

    verbs = ("rejection",)
    max_known_rejected: float | None


@dataclass(frozen=True)
class TaxonomyDetails(Details):
    """The taxonomy was set."""

    verbs = ("taxonomy",)
    classes: int
    """Classes that it names; 0 if it was removed."""
    ranks: list[str]
    error: float
    """Largest share of images that may get a wrong taxon."""


@dataclass(frozen=True)
class ReviewDetails(Details):
    """Changes of folders were read back: how many groups were named, and images moved and removed."""

    verbs = ("review",)
    named: int
    moved: int
    removed: int


@dataclass(frozen=True)
class NameDetails(Details):
    """A group was named."""

    verbs = ("name",)
    group: int
    label: str
    confirmed: bool


@dataclass(frozen=True)
class ConfirmDetails(Details):
    """A group was confirmed, or its confirmation was withdrawn."""

    verbs = ("confirm", "unconfirm")
    group: int


@dataclass(frozen=True)
class MoveDetails(Details):
    """Images were moved to a group, or learnt ones got its name as their label."""

    verbs = ("move", "separate")
    images: int
    group: int | None
    """None if all of them were learnt."""
    confirmed: bool | None = None


@dataclass(frozen=True)
class RemoveDetails(Details):
    """Images were removed."""

    verbs = ("remove",)
    images: int


@dataclass(frozen=True)
class UnstackDetails(Details):
    """Stacks of images were opened."""

    verbs = ("unstack",)
    images: int


@dataclass(frozen=True)
class MergeDetails(Details):
    """A group was merged into another one."""

    verbs = ("merge",)
    group: int
    into: int


@dataclass(frozen=True)
class SplitDetails(Details):
    """A group was split; ``parts`` are the resulting groups."""

    verbs = ("split",)
    group: int
    parts: list[int]


@dataclass(frozen=True)
class KeepDetails(Details):
    """A person said that a group is one class."""

    verbs = ("keep",)
    group: int
    seen: list[int] | None = None
    """Images of it that the person has looked at; None: all."""


@dataclass(frozen=True)
class CompareDetails(Details):
    """A person said whether two groups are the same class; if so, they were merged."""

    verbs = ("compare",)
    group: int
    into: int
    same: bool


@dataclass(frozen=True)
class DivideDetails(Details):
    """A person said that some images of a group, now in the group ``part``, are not of its class."""

    verbs = ("divide",)
    group: int
    part: int
    one: bool
    other: bool
    seen: list[int] | None = None
    """Images that the person has looked at, of the parts that are classes; None: all."""


@dataclass(frozen=True)
class RegroupDetails(Details):
    """Images were assigned to the groups again, by the answers of a person."""

    verbs = ("regroup",)
    images: int
    """How many of them went to another group."""
    started: int
    """Groups that were started in place of those that are not a class."""


@dataclass(frozen=True)
class RenameClassDetails(Details):
    """A known class was renamed."""

    verbs = ("rename_class",)
    known: str
    label: str


@dataclass(frozen=True)
class MergeClassesDetails(Details):
    """The images of a known class were given to another one; the next learning makes them one class."""

    verbs = ("merge_classes",)
    known: str
    label: str
    images: int


@dataclass(frozen=True)
class CorrectDetails(Details):
    """The label of learnt images was corrected, confirmed, or taken away."""

    verbs = ("relabel", "keep_label", "discard")
    images: int
    label: str | None = None


@dataclass(frozen=True)
class AssignDetails(Details):
    """A group was assigned to a person, or to nobody."""

    verbs = ("assign",)
    group: int
    person: str | None = None


@dataclass(frozen=True)
class CommentDetails(Details):
    """A comment was added to a group."""

    verbs = ("comment",)
    group: int
    comment: int
    text: str


@dataclass(frozen=True)
class TeachDetails(Details):
    """Labelled images were added."""

    verbs = ("teach",)
    images: int
    classes: list[str]
    replaced: int | None = None
    """Images that had another label before."""
    bad: int | None = None
    """Files that could not be used."""


@dataclass(frozen=True)
class UndoDetails(Details):
    """An edit was undone or redone: its number and verb."""

    verbs = ("undo", "redo")
    edit: int
    verb: str


AnyDetails = (
    InitDetails
    | RecognizeDetails
    | DiscoverDetails
    | LearnDetails
    | AdaptDetails
    | RollbackDetails
    | RejectionDetails
    | TaxonomyDetails
    | ReviewDetails
    | NameDetails
    | ConfirmDetails
    | KeepDetails
    | MoveDetails
    | RemoveDetails
    | UnstackDetails
    | MergeDetails
    | SplitDetails
    | CompareDetails
    | DivideDetails
    | RegroupDetails
    | RenameClassDetails
    | MergeClassesDetails
    | CorrectDetails
    | AssignDetails
    | CommentDetails
    | TeachDetails
    | UndoDetails
)
DETAILS: dict[str, type[AnyDetails]] = {verb: record for record in get_args(AnyDetails) for verb in record.verbs}
"""The record of each verb."""


def renamed(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return stored details with the present names of their fields."""
    return {OLD_KEYS.get(key, key): value for key, value in stored.items()}


def read_details(verb: str, details: dict[str, Any]) -> AnyDetails | dict[str, Any]:
    """Return the record of an entry's details.

    Parameters
    ----------
    verb : str
        The verb of the entry.
    details : dict
        As the entry holds them.

    Returns
    -------
    AnyDetails or dict
        The record; unknown details are returned unchanged.

    """
    try:
        return DETAILS[verb](**details)
    except (KeyError, TypeError):
        return details
