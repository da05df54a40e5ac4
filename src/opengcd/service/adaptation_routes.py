"""Routes for the adaptation of the network: the plan, whose time is measured in the background, and the network."""

from __future__ import annotations

import logging
import shutil
import tempfile
import threading
import time
from pathlib import Path

from fastapi.responses import FileResponse
from starlette.background import BackgroundTask

from opengcd.service import wire as api
from opengcd.service.authentication import guarded
from opengcd.service.state import Service, UserWorkspace
from opengcd.workspace import Workspace

PAUSE = 60.0
"""Seconds before the time is measured again after it could not be."""

log = logging.getLogger(__name__)
reading = guarded("read", "adaptation")


class Estimator:
    """Measure in a background thread how long an adaptation takes, once at a time."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.measured = 0
        """How many measurements have ended."""
        self.refusal = ""
        """Why an adaptation is not possible, as the last measurement found out."""
        self._not_before = 0.0
        """When to measure again after a failure, by the monotonic clock."""
        self._busy = threading.Lock()

    def start(self) -> bool:
        """Start to measure, unless that has just failed; return whether it is under way."""
        if time.monotonic() < self._not_before:
            return False
        self.refusal = ""
        if self._busy.acquire(blocking=False):
            try:
                threading.Thread(target=self._measure, name="estimate", daemon=True).start()
            except RuntimeError as error:  # too many threads
                log.warning("%s", error)
                self._busy.release()
                return False
        return True

    def _measure(self) -> None:
        known = False
        try:
            plan = self.workspace.adaptation.plan()
            known, self.refusal = plan.seconds is not None, plan.reason
        except Exception as error:  # without it, only the time is missing
            log.warning("How long an adaptation takes cannot be measured: %s", error)
        finally:
            self._not_before = 0.0 if known else time.monotonic() + PAUSE
            self._busy.release()
            self.measured += 1


@reading.get("/adaptation", summary="Plan an adaptation", response_description="The plan.")
def adaptation(workspace: UserWorkspace, service: Service) -> api.AdaptationPlan:
    """Return what the job `adapt` would use, whether it is possible, and how long it would take here.

    The time is measured in the background while no job is running. Until it is known, `seconds` is null; then the event
    `adaptation` is sent.
    """
    plan = workspace.adaptation.plan(measure=False)
    rehearsal, measuring, refusal = None, False, ""
    if plan.possible and plan.seconds is not None:
        rehearsal = workspace.adaptation.plan(dry_run=True, measure=False).seconds
    elif plan.possible and not workspace.jobs.latest(1, unfinished=True):  # a job would falsify the measurement
        measuring = service.estimator.start()
        refusal = "" if measuring else service.estimator.refusal
    last = None
    if plan.last is not None:
        told = {name: plan.last.get(name) for name in api.LastAdaptation.model_fields}
        last = api.LastAdaptation.model_validate(told)
    return api.AdaptationPlan(
        possible=plan.possible and not refusal,
        reason=plan.reason or refusal,
        images=plan.images,
        unlabelled=plan.unlabelled,
        seconds=plan.seconds,
        rehearsal_seconds=rehearsal,
        measuring=measuring,
        device=plan.device,
        last=last,
    )


@reading.get(
    "/adaptation/onnx",
    summary="Download the adapted network",
    response_description="An ONNX file.",
    response_class=FileResponse,
    responses={200: {"content": {"application/octet-stream": {}}}},
)
def onnx(workspace: UserWorkspace) -> FileResponse:
    """Return the adapted network in use as an ONNX file, which `opengcd init --embedder` takes."""
    folder = tempfile.mkdtemp(prefix="opengcd-onnx-")
    file = Path(folder) / f"{workspace.path.resolve().name}.onnx"
    try:
        workspace.adaptation.write_onnx(file)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return FileResponse(file, filename=file.name, background=BackgroundTask(shutil.rmtree, folder, ignore_errors=True))
