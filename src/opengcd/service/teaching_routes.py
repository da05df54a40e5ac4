"""Routes for labelled images: uploading them. The job ``teach`` gives them their labels."""

from __future__ import annotations

import os

from fastapi import Request
from fastapi.concurrency import run_in_threadpool

from opengcd.service import wire as api
from opengcd.service.authentication import guarded, problems
from opengcd.service.recognition_routes import IMAGES_FORM, uploaded
from opengcd.service.state import Service

_BODY = {"requestBody": {"description": "Images as a form.", "required": True, "content": IMAGES_FORM}}

reading = guarded("read", "jobs")
writing = guarded("write", "jobs")


@writing.post(
    "/taught-images",
    summary="Upload images to teach",
    response_description="The images, in the order in which they were sent.",
    openapi_extra=_BODY,
    responses=problems(413),
)
async def upload(request: Request, service: Service) -> list[api.Uploaded]:
    """Store images without recognising them. The job `teach` then gives them their labels."""
    workspace = service.workspace.by(request.state.grant.who)
    async with uploaded(request) as files, service.recognition.image_requests.slot():
        names = [os.path.basename(file.filename or "") for file in files]
        contents = [await file.read() for file in files]
        stored = await run_in_threadpool(workspace.upload, contents)
    return [
        api.Uploaded(id=item, name=name, reason=reason or None)
        for name, (item, reason) in zip(names, stored, strict=True)
    ]
