"""Edits, and who makes them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from opengcd.service.wire.values import ABOUT_AT, ABOUT_STEPS, Id, Model, OnEdit
from opengcd.workspace import AnyDetails

_ABOUT_GROUPS = "The numbers of the groups that have changed."


class Edited(Model):
    """What an edit has changed."""

    edit: int = Field(description="The number of the edit; that of the last one if nothing has changed.")
    groups: list[int] = Field(description=_ABOUT_GROUPS)
    made: int | None = Field(
        description="The group that holds the images of the edit now; null if that is not one group."
    )
    images: int | None = Field(description="How many images were moved; null if the verb does not count them.")


class On(OnEdit):
    """The edit that was seen last: undo and redo are refused if somebody has made another one since."""


class Entry(Model):
    """A line of the history."""

    id: int = Field(description="The number of the edit.")
    at: str = Field(description=ABOUT_AT)
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


class Agreement(Model):
    """How often two people gave the same images the same name."""

    people: list[str] = Field(description="Their names.")
    images: int = Field(description="How many images both have named or confirmed.")
    same: int = Field(description="How many of these have the same name by both.")
    share: float = Field(description="The same as a share.")
    kappa: float | None = Field(description="Cohen's kappa: 1 if they always agree, 0 if as often as by chance.")


class EditMade(Model):
    """The edit that was made."""

    edit: int = Field(description="Its number.")


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
    "returned": "How many images were assigned to a known class other than the one that recognition gave them.",
    "ranks": "The ranks above the classes, the broadest first.",
    "reason": "Why the estimate cannot be relied on, or why nothing was changed; empty if there is no reason.",
    "rehearsed": "What the rehearsal measured; null if there was none.",
    "rejected": "How many of the images were rejected as unknown.",
    "removed": "How many images were removed.",
    "replaced": "How many images had another label before; null if none.",
    "run": "A hash of all that the adapted network is made from.",
    "same": "Whether both groups are the same class.",
    "seconds": ABOUT_STEPS,
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
