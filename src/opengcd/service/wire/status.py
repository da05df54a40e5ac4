"""The state of a workspace."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from opengcd.service.wire.jobs import Job
from opengcd.service.wire.values import ABOUT_EDIT, Model, Nothing
from opengcd.service.wire.versions import Act, Memory, Version
from opengcd.workspace import DiscoverDetails


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
        description="How many images there are by where their label comes from: `learnt`, `reviewed`, `returned`, "
        "`grouped`, `removed`, `recognized`, `rejected` or `waiting`."
    )
    discovered: DiscoverDetails | Nothing = Field(
        description="What the last discovery found; empty if there was none since the last learning."
    )
    failures: int = Field(description="How many files could not be used.")
    without_crop: dict[str, int] = Field(
        description="How many whole images have no crop, by label: `empty` if a detector has found nothing in them, or "
        "the categories of its other boxes, such as `person`."
    )
    edit: int = Field(description=ABOUT_EDIT)
    groups: int = Field(description="How many groups are under review.")
    to_review: int = Field(description="How many images are in groups of new classes that nobody has confirmed.")
    to_learn: int = Field(description="How many images the job `learn` would learn.")
    memory: Memory | None = Field(description="How full the exemplar memory is; null if that is not known.")
    can_undo: Act | None = Field(description="What undo would undo; null if there is nothing.")
    can_redo: Act | None = Field(description="What redo would redo; null if there is nothing.")
    jobs: list[Job] = Field(description="The jobs that are waiting or running.")
    next: NextStep = Field(description="What to do next, jobs aside.")


class Failure(Model):
    """A file that could not be used."""

    name: str = Field(description="The name of the file.")
    reason: str = Field(description="Why it could not be used.")
