"""Routes for what held-out images show: accuracy by class, confused classes, and labels that may be wrong."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from opengcd.service import wire as api
from opengcd.service.authentication import guarded
from opengcd.service.state import UserWorkspace

reading = guarded("read", "records")

ClassName = Annotated[str, Query(min_length=1, max_length=200, description="The name of a class.")]
VersionId = Annotated[
    int | None, Query(ge=1, le=2**31 - 1, description="The number of the version; without it, the one in use.")
]


@reading.get("/held-out", summary="Show held-out accuracy", response_description="The accuracy.")
def measured(workspace: UserWorkspace, version: VersionId = None) -> api.HeldOut:
    """Return how well a version recognises its exemplars when they are held out, and which it mixes up."""
    return api.HeldOut.model_validate({"measured": workspace.held_out.report(version)})


@reading.get("/held-out/items", summary="List confused images", response_description="The images.")
def confused(
    workspace: UserWorkspace, label: ClassName, predicted: ClassName, version: VersionId = None
) -> api.ConfusedImages:
    """Return the held-out images of one class that a version takes for another class, or for their own."""
    return api.ConfusedImages(items=workspace.held_out.cell(label, predicted, version))


@reading.get("/suspects", summary="List suspected label errors", response_description="The images.")
def suspects(
    workspace: UserWorkspace,
    limit: Annotated[int, Query(ge=1, le=500, description="The largest number of images to return.")] = 50,
    offset: Annotated[int, Query(ge=0, le=2**31 - 1, description="How many images to pass over.")] = 0,
) -> api.Suspects:
    """Return learnt images whose labels may be wrong. The edits `keep_label`, `relabel` and `discard` judge them."""
    return api.Suspects.model_validate(workspace.held_out.suspects(limit, offset))
