"""Routes for whole images in which a detector has found nothing to cut out, such as empty ones."""

from __future__ import annotations

import os
from typing import Annotated

from fastapi import Path, Query, Response

from opengcd.service import wire as api
from opengcd.service.authentication import guarded
from opengcd.service.browsing_routes import MOST
from opengcd.service.review_routes import FOR_EVER, PICTURE, Offset
from opengcd.service.state import UserWorkspace
from opengcd.workspace import readable
from opengcd.workspace.thumbnails import media_type

HEADERS = {"Cache-Control": FOR_EVER}
Content = Annotated[str, Path(pattern="^[0-9a-f]{64}$", description="The SHA-256 of the image's content.")]

reading = guarded("read", "review")


@reading.get("/images/without-crop", summary="List images without a crop", response_description="The images.")
def without_crop(
    workspace: UserWorkspace,
    label: Annotated[
        str | None,
        Query(max_length=200, pattern=r"^[^\u0000]*$", description="`empty`, or the categories of the other boxes."),
    ] = None,
    offset: Offset = 0,
    limit: Annotated[int, Query(ge=1, le=MOST, description="The largest number of images to return.")] = 100,
) -> list[api.ImageWithoutCrop]:
    """Return whole images in which a detector has found nothing to cut out, by label and path.

    The status counts them, in `without_crop`. They are not learnt, and not sent to discovery.
    """
    return [
        api.ImageWithoutCrop(
            hash=one.hash, name=readable(os.path.basename(one.path)), path=readable(one.path), label=one.label
        )
        for one in workspace.without_crop.images(label, offset, limit)
    ]


@reading.get(
    "/images/without-crop/{hash}/thumbnail",
    summary="Get a small picture of an image without a crop",
    response_description="The picture.",
    response_class=Response,
    responses=PICTURE,
)
def small_picture(workspace: UserWorkspace, hash: Content) -> Response:
    """Return a small picture of a whole image."""
    small = workspace.without_crop.thumbnail(hash)
    return Response(small, media_type=media_type(small), headers=HEADERS)


@reading.get(
    "/images/without-crop/{hash}/image",
    summary="Get an image without a crop",
    response_description="The image.",
    response_class=Response,
    responses=PICTURE,
)
def picture(workspace: UserWorkspace, hash: Content) -> Response:
    """Return a whole image: as its file holds it, or as a JPEG if browsers cannot show the format of the file."""
    content, kind = workspace.without_crop.picture(hash)
    return Response(content, media_type=kind, headers=HEADERS)
