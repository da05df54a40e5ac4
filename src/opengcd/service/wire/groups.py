"""Groups under review, and questions about them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from opengcd.service.wire.values import ABOUT_AT, ABOUT_EDIT, Model


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
    at: str = Field(description=ABOUT_AT)
    who: str = Field(description="Who wrote it.")
    text: str = Field(description="What it says: plain text.")


class Groups(Model):
    """All groups, in the order of the review."""

    edit: int = Field(description=ABOUT_EDIT)
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

    edit: int = Field(description=ABOUT_EDIT)
    seconds: float = Field(description="About how long it takes to answer them.")
    questions: list[Question] = Field(description="The questions, the one that saves the most work first.")
    answered: bool = Field(
        description="Whether a question was answered since the images were last grouped. If so, the edit `regroup` "
        "assigns the images to the groups again by the answers."
    )


class Parts(Model):
    """The two parts that a group falls into, and whether they look like different classes."""

    edit: int = Field(description=ABOUT_EDIT)
    mixed: float = Field(
        description="The probability that the group contains two classes; at most one half if it cannot be estimated."
    )
    sizes: list[int] = Field(description="How many images either part has, the larger one first.")
    shown: list[list[int]] = Field(description="The numbers of the most typical images of either part.")


class GroupTaxon(Model):
    """How many images of a group surely belong to a taxon of its class."""

    name: str = Field(description="The name of the taxon.")
    rank: str = Field(description="Its rank, such as `genus`.")
    images: int = Field(description="How many images surely belong to it.")


class GroupTaxa(Model):
    """What is sure of the images of a group that was returned to a known class."""

    images: int = Field(description="How many images the group has.")
    error: float = Field(description="The largest share of images with a wrong name, as it was chosen.")
    taxa: list[GroupTaxon] = Field(
        description="From the broadest taxon to the class itself; empty without a taxonomy, while it is being "
        "calibrated, for groups of new classes, whose taxa are not known, and for groups of more than 2000 images."
    )


class Suggestion(Model):
    """A known class or a group that images may belong to."""

    label: str = Field(description="Its name, or a provisional one.")
    group: int | None = Field(description="The number of the group; null for a class without images under review.")
    known: bool = Field(description="Whether it is a known class.")
    likeness: float = Field(description="The cosine between its centre and that of the images, as the recogniser sees.")
    image: int | None = Field(description="The number of a typical image; null if there is none.")


class Suggestions(Model):
    """The known classes and groups that images may belong to."""

    edit: int = Field(description=ABOUT_EDIT)
    homes: list[Suggestion] = Field(description="All of them, the most likely first.")
