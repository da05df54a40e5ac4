"""Routes for groups, images and edits."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import Field

from opengcd.service import wire as api
from opengcd.service.authentication import MISSING, Responses, guarded
from opengcd.service.edit_requests import EditBase, edit_request
from opengcd.service.state import Service, UserWorkspace
from opengcd.workspace import Entry, Workspace, read_details, readable
from opengcd.workspace.thumbnails import media_type

FOR_EVER = "private, max-age=31536000, immutable"
"""Items are identified by their content, so their pictures never change."""
PICTURE: Responses = MISSING | {
    200: {"content": {"image/jpeg": {}, "image/png": {}, "image/svg+xml": {}}},
    304: {"description": "The picture is the one whose `ETag` was sent as `If-None-Match`."},
}
RENAME = "rename_class"
"""The verb after which answers have other names."""
GroupNumber = Annotated[int, Path(ge=1, le=2**31 - 1, description="The number of the group.")]
Number = Annotated[int, Path(ge=1, le=2**31 - 1, description="The number of the image.")]
Id = Annotated[int, Field(ge=1, le=2**31 - 1)]
Offset = Annotated[int, Query(ge=0, le=2**31 - 1, description="How many images to pass over.")]

reading = guarded("read", "review")
writing = guarded("write", "review")


@reading.get("/groups", summary="List the groups", response_description="The groups.")
def groups(workspace: UserWorkspace) -> api.Groups:
    """Return all groups under review, in the order of the review."""
    edit, cards = workspace.views.overview()
    found = [
        api.Group(**group._asdict(), typical=typical, suggestion=hint, comments=written)
        for group, typical, hint, written in cards
    ]
    return api.Groups(edit=edit, groups=found)


@reading.get(
    "/groups/{id}/items", summary="List images of a group", response_description="The images.", responses=MISSING
)
def members(
    workspace: UserWorkspace,
    id: GroupNumber,
    offset: Offset = 0,
    limit: Annotated[int, Query(ge=1, le=5000, description="The largest number of images to return.")] = 500,
    order: Annotated[
        Literal["typical", "odd"], Query(description="Whether the most typical or the least typical images come first.")
    ] = "typical",
    stacked: Annotated[bool, Query(description="Whether to return one image of each stack of near copies.")] = False,
) -> api.ItemPage:
    """Return images of a group, the most typical or the least typical first."""
    page = workspace.views.members(id, offset, limit, odd=order == "odd", stacked=stacked)
    items = [
        api.Item(
            id=member.id,
            name=member.name,
            probability=member.probability,
            unknown=member.prediction and member.prediction.unknown,
            label=member.prediction and member.prediction.label,
            top=member.prediction.top if member.prediction else [],
            stack=member.stack,
            copies=member.copies,
        )
        for member in page.items
    ]
    return api.ItemPage(edit=page.edit, total=page.total, items=items)


@reading.get(
    "/groups/{id}/comments",
    summary="List the comments on a group",
    response_description="The comments, the oldest first.",
    responses=MISSING,
)
def comments(workspace: UserWorkspace, id: GroupNumber) -> list[api.GroupComment]:
    """Return the comments on a group, the oldest first."""
    return [api.GroupComment.model_validate(comment) for comment in workspace.views.comments(id)]


@reading.get("/people", summary="List the people", response_description="Their names.")
def people(workspace: UserWorkspace, service: Service) -> list[str]:
    """Return the names of all people who have a token, are in the history, or are to review a group."""
    return sorted({*workspace.views.people(), *(token.name for token in service.authenticator.access.tokens())})


@reading.get(
    "/groups/{id}/parts",
    summary="Tell whether a group is mixed",
    response_description="The parts.",
    responses=MISSING,
)
def parts(workspace: UserWorkspace, id: GroupNumber) -> api.Parts:
    """Return the two parts that a group falls into, and how likely they are different classes."""
    return api.Parts.model_validate(workspace.questions.parts(id))


@reading.get(
    "/groups/{id}/taxa", summary="Show the sure ranks of a group", response_description="The ranks.", responses=MISSING
)
def group_taxa(workspace: UserWorkspace, id: GroupNumber) -> api.GroupTaxa:
    """Return how many images of a group that was returned to a known class surely belong to each taxon of the class."""
    images = workspace.views.members(id, limit=1).total
    taxonomies = workspace.taxonomies
    ready = taxonomies.in_use() and taxonomies.thresholds(wait=False) is not None
    shares = (taxonomies.of_group(id) if ready else None) or []
    taxa = [api.GroupTaxon(name=one.name, rank=one.rank, images=one.items) for one in shares]
    return api.GroupTaxa(images=images, error=taxonomies.setting().error, taxa=taxa)


@reading.get("/questions", summary="List questions about the groups", response_description="The questions.")
def questions(
    workspace: UserWorkspace,
    limit: Annotated[int, Query(ge=1, le=100, description="The largest number of questions to return.")] = 25,
) -> api.Questions:
    """Return the questions that save the most work. Each answer has an edit: to give the answer, make that edit."""
    return api.Questions.model_validate(workspace.questions.ask(limit))


@reading.get(
    "/suggestions",
    summary="List where images may belong",
    response_description="The classes and groups.",
    responses=MISSING,
)
def suggestions(
    workspace: UserWorkspace,
    items: Annotated[list[Id], Query(min_length=1, max_length=100, description="The numbers of the images.")],
) -> api.Suggestions:
    """Return all known classes and groups, the most likely ones for some images first."""
    return api.Suggestions.model_validate(workspace.suggestions.of_items(items))


@reading.get("/items/{id}", summary="Describe an image", response_description="The details.", responses=MISSING)
def item(workspace: UserWorkspace, id: Number) -> api.ItemDetails:
    """Return the details of an image: its prediction, its group, its files and where its label comes from."""
    one, group, stack, copies = workspace.views.item(id)
    listed = workspace.browsing.image(id)
    names = [readable(os.path.basename(path)) for path in one.paths]
    return api.ItemDetails(
        id=one.item,
        name=names[0] if names else "",
        probability=one.probability,
        unknown=one.unknown,
        label=None if one.label == "unknown" else one.label,
        top=one.top,
        group=group,
        paths=names,
        width=one.width,
        height=one.height,
        source=one.source,
        stack=stack,
        copies=copies,
        origin=_origin(workspace, one.paths),
        video=_video(workspace, one.paths),
        files=[api.File(path=readable(path), state=state) for path, state in workspace.views.files(id)],
        doubt=listed.doubt,
        date=listed.date,
        who=listed.who,
    )


@reading.get("/items/{id}/reasons", summary="Explain a label", response_description="The reasons.", responses=MISSING)
def reasons(
    workspace: UserWorkspace,
    id: Number,
    limit: Annotated[int, Query(ge=1, le=100, description="The largest number of exemplars to return.")] = 6,
) -> api.Reasons:
    """Return why an image was recognised or rejected: its score beside the threshold, and the nearest exemplars."""
    near = workspace.exemplars.labelled_like(id, limit)
    score = workspace.views.score(id)
    found = [api.LabelledNeighbour.model_validate(one) for one in near]
    answer = workspace.taxonomies.answers([id]).get(id)
    taxon = api.Taxon.of(answer, workspace.taxonomies.setting().error)
    return api.Reasons(**score._asdict(), nearest=found, taxon=taxon)


@reading.get(
    "/items/{id}/camera", summary="Show the EXIF data", response_description="The EXIF data.", responses=MISSING
)
def camera(workspace: UserWorkspace, id: Number) -> api.Camera:
    """Return what the camera wrote down about an image: when and where it was taken, and how."""
    return api.Camera.model_validate(workspace.views.camera(id))


@reading.get(
    "/items/{id}/thumbnail",
    summary="Get a small picture",
    response_description="The picture.",
    response_class=Response,
    responses=PICTURE,
)
def thumbnail(request: Request, workspace: UserWorkspace, id: Number) -> Response:
    """Return a small picture of an image; for a vector without a picture, a card with its name."""
    if known := _known(request, workspace, id):
        return known
    small = workspace.views.thumbnail(id)
    return Response(small, media_type=media_type(small), headers=_headers(workspace, id))


@reading.get(
    "/items/{id}/image",
    summary="Get an image",
    response_description="The image.",
    response_class=Response,
    responses=PICTURE,
)
def image(request: Request, workspace: UserWorkspace, id: Number) -> Response:
    """Return the image itself: as its file holds it, or as a JPEG if browsers cannot show the format of the file."""
    if known := _known(request, workspace, id):
        return known
    content, kind = workspace.views.image(id)
    return Response(content, media_type=kind, headers=_headers(workspace, id))


@reading.get(
    "/items/{id}/origin",
    summary="Get the whole image of a crop",
    response_description="The picture.",
    response_class=Response,
    responses=PICTURE,
)
def origin(workspace: UserWorkspace, id: Number) -> Response:
    """Return the image that a crop was cut out of, as browsers can show it."""
    content, kind = workspace.views.origin_image(id)
    return Response(content, media_type=kind, headers=_headers(workspace, id))


@reading.get(
    "/items/{id}/neighbours",
    summary="List similar images",
    response_description="The images, the most similar first.",
    responses=MISSING,
)
def neighbours(
    workspace: UserWorkspace,
    id: Number,
    limit: Annotated[int, Query(ge=1, le=500, description="The largest number of images to return.")] = 24,
) -> list[api.Neighbour]:
    """Return the images that look most like one, whatever their labels come from."""
    return [api.Neighbour.model_validate(one) for one in workspace.similarity.neighbours(id, limit)]


@reading.get(
    "/items/{id}/similar",
    summary="List similar images of its group",
    response_description="The images, the most similar first.",
    responses=MISSING,
)
def similar(workspace: UserWorkspace, id: Number) -> api.Similar:
    """Return the images of an image's group, and how many look more like it than like the whole group."""
    return api.Similar.model_validate(workspace.similarity.similar(id))


def edit_routes() -> APIRouter:
    """Return the route that takes every verb of the review that there is now."""
    router = guarded("write", "review")

    def edit(workspace: UserWorkspace, service: Service, request: EditBase) -> api.Edited:
        """Make one change to groups or images; `act` says which.

        It is refused with 409 if someone has changed what it is about since the edit `on`.
        """
        verb = request.verb()
        done = workspace.apply(verb)
        if verb.act == RENAME:
            service.recognition.renew()
        return api.Edited(edit=done.id, groups=done.groups, made=done.group, images=done.images)

    edit.__annotations__["request"] = edit_request()
    router.post("/edits", summary="Edit the groups", response_description="What has changed.", responses=MISSING)(edit)
    return router


@writing.post("/undo", summary="Undo the last edit", response_description="What was undone.", responses=MISSING)
def undo(workspace: UserWorkspace, service: Service, seen: api.On) -> api.Undone:
    """Undo the last edit that is not undone. It is refused with 409 if someone has made an edit since `on`."""
    done = workspace.undo(on=seen.on)
    service.recognition.renew()
    return api.Undone(edit=done.id, groups=done.groups, undone=as_entry(done.entry))


@writing.post("/redo", summary="Redo an edit", response_description="What was redone.", responses=MISSING)
def redo(workspace: UserWorkspace, service: Service, seen: api.On) -> api.Redone:
    """Redo the edit that was undone last. It is refused with 409 if someone has made an edit since `on`."""
    done = workspace.redo(on=seen.on)
    service.recognition.renew()
    return api.Redone(edit=done.id, groups=done.groups, redone=as_entry(done.entry))


def as_entry(entry: Entry | None) -> api.Entry:
    """Return an entry of the history as the API shows it."""
    assert entry is not None
    return api.Entry(**entry._asdict() | {"details": read_details(entry.verb, entry.details)})


def _origin(workspace: Workspace, paths: Sequence[str]) -> api.Origin | None:
    found = workspace.views.origin_of(paths)
    if found is None:
        return None
    path, _, size, box, confidence, category = found
    name = readable(os.path.basename(path))
    return api.Origin(name=name, size=size, box=box, confidence=confidence, category=category)


def _video(workspace: Workspace, paths: Sequence[str]) -> api.VideoFrame | None:
    found = workspace.views.video_of(paths)
    if found is None:
        return None
    name = readable(os.path.basename(found.path))
    return api.VideoFrame(name=name, path=readable(found.path), seconds=found.seconds)


def _headers(workspace: Workspace, id: int) -> dict[str, str]:
    return {"ETag": f'"{workspace.views.content(id)}"', "Cache-Control": FOR_EVER}


def _known(request: Request, workspace: Workspace, id: int) -> Response | None:
    """Return status 304 if the browser already has the picture."""
    headers = _headers(workspace, id)
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    return None
