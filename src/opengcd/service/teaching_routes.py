"""Routes for labelled images: looking at them, and teaching them by the job ``teach``."""

from __future__ import annotations

import os

from fastapi import Request
from fastapi.concurrency import run_in_threadpool

from opengcd.service import wire as api
from opengcd.service.adding import uploads_of
from opengcd.service.authentication import MISSING, guarded, problems
from opengcd.service.job_runner import as_job
from opengcd.service.machine import Local
from opengcd.service.recognition_routes import IMAGES_FORM, uploaded
from opengcd.service.sources import preview
from opengcd.service.state import Service, UserWorkspace
from opengcd.service.teaching import taught_root

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


@writing.post("/known", summary="Look at labelled images", response_description="Their classes.", responses=MISSING)
def known(workspace: UserWorkspace, local: Local, wanted: api.LabelledFiles) -> api.KnownPreview:
    """Return the classes of labelled images or vectors, before they are taught."""
    return preview(api.KnownImages(**wanted.model_dump()), uploads_of(workspace), local=local, fewest=1)


@writing.post(
    "/taught-files", status_code=202, summary="Teach files", response_description="The job.", responses=MISSING
)
def teach(workspace: UserWorkspace, service: Service, local: Local, wanted: api.TeachFiles) -> api.Job:
    """Teach the labelled images or vectors of an upload or a folder, in the job `teach`; the job `learn` takes them."""
    root = taught_root(workspace, wanted, local=local)
    arguments = wanted.model_dump() | {"folder": None if wanted.upload else str(root)}
    job = workspace.jobs.add("teach", arguments, workspace.who)
    service.runner.wake()
    return as_job(job)
