"""Routes for exports: labels as files, and folders of images as zip files that are made while they are sent."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Query, Response
from fastapi.responses import StreamingResponse
from pydantic import AfterValidator, WithJsonSchema
from starlette.types import Receive, Scope, Send

from opengcd.service import wire as api
from opengcd.service.authentication import guarded
from opengcd.service.concurrency import ConcurrencyLimit
from opengcd.service.state import Service, UserWorkspace
from opengcd.workspace import FORMATS, IMAGES, Workspace
from opengcd.workspace.exports.registry import Format, format_named

AT_ONCE, MOST_WAITING = 2, 8
"""Zip files that are made at a time, and requests that may wait: each reads images from the disk."""
OFFERED = {name: one for name, one in FORMATS.items() if not one.needs_places}
"""Formats that need nothing but the workspace."""

reading = guarded("read", "records")


def _one_of(names: tuple[str, ...]) -> Any:
    """Return the annotations of a text that is one of some names."""

    def check(value: str) -> str:
        if value not in names:
            raise ValueError(f"choose from {', '.join(names)}")
        return value

    return AfterValidator(check), WithJsonSchema({"type": "string", "enum": list(names)})


_FORMAT, _FORMAT_SCHEMA = _one_of(tuple(OFFERED))
_IMAGES, _IMAGES_SCHEMA = _one_of(tuple(IMAGES))


class _Zip(StreamingResponse):
    """A zip file that is made while it is sent, as long as not too many others are."""

    def __init__(self, limit: ConcurrencyLimit, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the file, or answer 503 if there are too many."""
        async with self._limit.slot():
            await super().__call__(scope, receive, send)


@reading.get("/export/formats", summary="List the formats of exports", response_description="The formats.")
def formats(workspace: UserWorkspace) -> list[api.ExportFormat]:
    """Return the formats of exports. Those that need a table of deployments are for `POST /export`."""
    return [
        api.ExportFormat(
            name=one.name,
            title=one.title,
            about=one.about,
            suffix=one.suffix or "zip",
            places="needed" if one.needs_places else "used" if one.uses_places else "none",
        )
        for one in FORMATS.values()
        if not (one.needs_images and workspace.settings.takes_vectors)
    ]


@reading.get(
    "/export",
    summary="Download the labels",
    response_description="A file, or a folder as a zip file.",
    response_class=Response,
    responses={200: {"content": {kind: {} for kind in sorted({one.media_type for one in OFFERED.values()})}}},
)
def export(
    workspace: UserWorkspace,
    service: Service,
    format: Annotated[str, _FORMAT, _FORMAT_SCHEMA, Query(description="The format.")] = "csv",
    images: Annotated[
        str,
        _IMAGES,
        _IMAGES_SCHEMA,
        Query(description="All images, those that a person has reviewed, or those of new classes."),
    ] = "all",
) -> Response:
    """Return the label of every image, and where it comes from.

    Folders come as a zip file with copies of the images. Images whose file is missing are listed in its `left-out.txt`.
    """
    return _download(workspace, service, OFFERED[format], images=images)


@reading.post(
    "/export",
    summary="Download the labels with places",
    response_description="A file, or a folder as a zip file.",
    response_class=Response,
    responses={200: {"content": {kind: {} for kind in sorted({one.media_type for one in FORMATS.values()})}}},
)
def export_with_places(workspace: UserWorkspace, service: Service, wanted: api.ExportWanted) -> Response:
    """Return what `GET /export` does, with a table of deployments: where and when each camera was."""
    return _download(workspace, service, format_named(wanted.format), **wanted.model_dump(exclude={"format"}))


def _download(workspace: Workspace, service: Service, chosen: Format, **options: Any) -> Response:
    format = chosen.name
    name = quote(f"{workspace.path.resolve().name}-{format}.{chosen.suffix or 'zip'}")
    headers = {"Content-Disposition": f"attachment; filename*=utf-8''{name}"}
    if chosen.is_folder:
        pieces = workspace.formats.export_zip(format, **options)
        return _Zip(service.exports, pieces, media_type=chosen.media_type, headers=headers)
    content = workspace.formats.export_bytes(format, **options)
    return Response(content, media_type=chosen.media_type, headers=headers)
