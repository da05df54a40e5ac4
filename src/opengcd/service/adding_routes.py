"""Routes to add images: from an upload, from a folder of the machine, and from one that is watched."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from fastapi import Depends, HTTPException
from fastapi.concurrency import run_in_threadpool

from opengcd.service import wire as api
from opengcd.service.adding import Watched, uploads_of
from opengcd.service.authentication import MISSING, guarded
from opengcd.service.job_runner import as_job
from opengcd.service.machine import Local, refuse_strangers
from opengcd.service.state import Service, UserWorkspace
from opengcd.service.uploads import names_as_uploaded, upload_routes
from opengcd.workspace import read_times
from opengcd.workspace.boxes import read_boxes
from opengcd.workspace.list_formats import READERS

reading = guarded("read", "images")
writing = guarded("write", "images")
uploading = upload_routes(lambda request: uploads_of(request.app.state.service.workspace))


@writing.post("/images", status_code=202, summary="Add images", response_description="The job.", responses=MISSING)
def add(workspace: UserWorkspace, service: Service, local: Local, wanted: api.AddImages) -> api.Job:
    """Recognise the images and videos of an upload or a folder, in a job. What the workspace has is not added again."""
    if (wanted.upload is None) == (wanted.folder is None):
        raise HTTPException(409, "Name either an upload or a folder of the server's machine.")
    if not workspace.models.knows_classes():
        raise HTTPException(409, "No class has been learnt yet, so nothing can be recognised.")
    arguments: dict[str, Any]
    if wanted.upload is not None:
        root = uploads_of(workspace).files(wanted.upload)
        arguments = {"upload": wanted.upload}
    else:
        assert wanted.folder is not None
        root = Path(_folder(wanted.folder, local, lists=True))
        arguments = {"folder": str(root)}
    with names_as_uploaded(root, inside=wanted.upload is not None):
        if wanted.boxes is not None:
            read_boxes(_inside(root, wanted.boxes))
            arguments |= {"boxes": wanted.boxes, "min_confidence": wanted.min_confidence}
        if wanted.times is not None:
            read_times(_inside(root, wanted.times))
            arguments["times"] = wanted.times
    if wanted.fps is not None:
        arguments["fps"] = wanted.fps
    job = workspace.jobs.add("recognize", arguments, workspace.who)
    service.runner.wake()
    return as_job(job)


@reading.get("/watch", summary="Show the folder that is watched", response_description="The watch.")
def watch(service: Service, local: Local) -> api.Watch:
    """Return which folder of the server's machine is watched, and whether others may be named."""
    found = service.watch
    folder, fps = found.watched or (None, None)
    return api.Watch(local=local, folder=folder, fps=fps, images=found.images, problem=found.problem, home=service.home)


@writing.put(
    "/watch", summary="Watch a folder", response_description="The watch.", dependencies=[Depends(refuse_strangers)]
)
async def start(workspace: UserWorkspace, service: Service, local: Local, wanted: api.WatchFolder) -> api.Watch:
    """Recognise images as they appear in a folder of the server's machine, until that is stopped."""
    folder = _folder(wanted.folder, local)
    await run_in_threadpool(service.watch.start, Watched(folder, wanted.fps), workspace.who)
    return watch(service, local)


@writing.delete("/watch", summary="Stop the watch", response_description="The watch.")
async def stop(service: Service, local: Local) -> api.Watch:
    """Stop watching the folder. What was recognised stays."""
    await run_in_threadpool(service.watch.stop)
    return watch(service, local)


def _inside(root: Path, name: str) -> Path:
    """Return a file that came with the images."""
    file = Path(os.path.normpath(root / name))
    if not file.is_relative_to(root):
        raise HTTPException(409, f"{name} must be among the images.")
    return file


def _folder(path: str, local: bool, *, lists: bool = False) -> str:
    """Return a folder of the machine that a person at it has named, or a list of images where one will do."""
    if not local:
        raise HTTPException(403, "Folders of the server's machine cannot be named here; upload the images.")
    folder = os.path.abspath(Path(path).expanduser())
    is_list = lists and Path(folder).suffix.lower() in READERS and os.path.isfile(folder)
    if "\0" in path or not (is_list or os.path.isdir(folder)):
        raise HTTPException(409, f"There is no folder {path}.")
    return folder
