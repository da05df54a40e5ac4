"""Recognition: of vectors without a look at the database, many requests in one pass; of images, kept if wanted."""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from fastapi import HTTPException, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from pydantic_core import to_json
from starlette.datastructures import UploadFile

from opengcd.service import _models as api
from opengcd.service._access import Responses, guarded
from opengcd.service._state import Service
from opengcd.service._vectors import NPY, from_json, from_npy
from opengcd.workspace import Workspace

if TYPE_CHECKING:
    from opengcd.recognizer import OpenWorldRecognizer

LOOK = 1.0
"""Seconds between looks whether another version is in use."""
MOST_ROWS = 1024
"""Rows in one pass; while it runs, more wait."""
GATHER = 0.004
"""Seconds for which requests gather before a pass, while one comes after the other."""
MOST_FILES = 100

log = logging.getLogger(__name__)
_Asked = tuple[np.ndarray, int, asyncio.Future[list[dict[str, Any]]]]


class Recognition:
    """Answers for the version in use, all that has come meanwhile in one pass.

    A pass over a few rows takes hardly longer than over one, so under load a request waits for the pass before it, and
    shares one with those that came at the same time.
    """

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._recognizer: OpenWorldRecognizer | None = None
        self._thread = ThreadPoolExecutor(1, "recognition", initializer=_on_one_core)
        self._waiting: deque[_Asked] = deque()
        self._passes: asyncio.Task[None] | None = None
        self.rows = 0
        """Vectors recognised so far."""

    async def watch(self) -> None:
        """Load the recogniser, then follow which version other processes put to use, and the stream."""
        told = ""
        # At first where the libraries are told to use one core, which is to hold for all requests.
        where: ThreadPoolExecutor | None = self._thread
        while True:
            try:
                await asyncio.get_running_loop().run_in_executor(where, self.refresh)
                where, told = None, ""
            except (ValueError, OSError) as error:  # no class is known yet, or a file cannot be read
                if str(error) != told:
                    told = str(error)
                    log.warning("%s", told)
            await asyncio.sleep(LOOK)

    def refresh(self) -> None:
        """Use the version that is in use now; for whoever has just changed it."""
        _, self._recognizer = self.workspace.follow()

    async def ask(self, X: np.ndarray, top: int) -> list[dict[str, Any]]:
        """Return what is said of each row."""
        if self._recognizer is None:
            await run_in_threadpool(self.refresh)
        assert self._recognizer is not None
        if X.shape[1] != self._recognizer.n_features_in_:
            wanted = self._recognizer.n_features_in_
            raise HTTPException(422, f"A vector has {wanted} numbers here, not {X.shape[1]}.")
        said = []
        for start in range(0, len(X), MOST_ROWS):  # one part after the other: others come in between
            answer = asyncio.get_running_loop().create_future()
            self._waiting.append((X[start : start + MOST_ROWS], top, answer))
            if self._passes is None or self._passes.done():
                self._passes = asyncio.create_task(self._pass())
            said += await answer
        return said

    async def _pass(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            batch: list[_Asked] = []
            rows = 0
            while self._waiting and (not batch or rows + len(self._waiting[0][0]) <= MOST_ROWS):
                batch.append(self._waiting.popleft())
                rows += len(batch[-1][0])
            try:
                answers = await loop.run_in_executor(self._thread, self._recognize, [(X, top) for X, top, _ in batch])
            except Exception as error:  # whoever asked is told
                for _, _, answer in batch:
                    if not answer.done():
                        answer.set_exception(error)
                continue
            self.rows += rows
            for (_, _, answer), said in zip(batch, answers, strict=True):
                if not answer.done():  # who asked may have gone
                    answer.set_result(said)
            if self._waiting:
                await asyncio.sleep(GATHER)

    def _recognize(self, parts: Sequence[tuple[np.ndarray, int]]) -> list[list[dict[str, Any]]]:
        assert self._recognizer is not None
        classes = self._recognizer.classes_
        said = self._recognizer.recognize(np.concatenate([X for X, _ in parts]))
        unknown, known = said.probabilities[:, 0].tolist(), said.probabilities[:, 1:]
        most = min(max(top for _, top in parts), len(classes))
        best = np.argsort(-known, axis=1, kind="stable")[:, :most]
        names, shares = classes[best].tolist(), np.take_along_axis(known, best, axis=1).round(6).tolist()
        rows = zip(said.labels.tolist(), unknown, names, shares, strict=True)
        return [
            [_answer(label, u, list(zip(c[:top], p[:top], strict=True))) for _, (label, u, c, p) in zip(X, rows)]  # noqa: B905
            for X, top in parts
        ]


def _on_one_core() -> None:
    """Leave the other cores to those who ask and to jobs: passes are too small to gain from more.

    The libraries under numpy know one number of threads for all of the process; what takes long runs in torch.
    """
    import torch
    from threadpoolctl import threadpool_limits

    torch.set_num_threads(1)
    threadpool_limits(1, "blas")


def _answer(
    label: str,
    unknown: float,
    top: list[tuple[str, float]],
    id: int | None = None,
    exemplars: Sequence[int] = (),
    name: str | None = None,
    reason: str | None = None,
) -> dict[str, Any]:
    return {
        "label": label,
        "unknown": round(unknown, 6),
        "top": top,
        "id": id,
        "exemplars": exemplars,
        "name": name,
        "reason": reason,
    }


_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": {"$ref": "#/components/schemas/Vectors"}},
            NPY: {"schema": {"type": "string", "format": "binary", "description": "numpy's format: n × d, float32"}},
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["files"],
                    "properties": {
                        "files": {
                            "type": "array",
                            "minItems": 1,
                            "maxItems": MOST_FILES,
                            "items": {"type": "string", "format": "binary"},
                        }
                    },
                }
            },
        },
    }
}
_ANSWERS: Responses = {200: {"model": list[api.Recognized]}, 415: {"model": api.Problem}}
reading = guarded("read", "recognition")


@reading.post("/recognize", response_class=Response, responses=_ANSWERS, openapi_extra=_BODY)
async def recognize(
    request: Request,
    service: Service,
    keep: bool = False,
    top: Annotated[int, Query(ge=1, le=1000, description="Classes to tell, the most likely first.")] = 3,
) -> Response:
    """Name what is known and reject what is not: feature vectors (JSON, or numpy's format), or images.

    With `keep`, images become part of the stream and of the review; that needs the scope write.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        if keep and "write" not in request.state.grant.scopes:
            raise HTTPException(403, "This token may read only; keep needs the scope write.")
        answers = await _recognize_images(request, service, keep, top)
    elif kind in ("application/json", NPY):
        if keep:
            raise HTTPException(422, "Only images can be kept; send them as multipart/form-data.")
        body = await request.body()
        X = from_npy(body) if kind == NPY else from_json(body)
        answers = await service.recognition.ask(service.workspace.scaled(X), top)
    else:
        raise HTTPException(415, f"Send application/json, {NPY} or multipart/form-data.")
    return Response(to_json(answers), media_type="application/json")


async def _recognize_images(request: Request, service: Service, keep: bool, top: int) -> list[dict[str, Any]]:
    workspace = service.workspace.by(request.state.grant.who)
    async with request.form(max_files=MOST_FILES, max_fields=0) as form:
        files = [file for name, file in form.multi_items() if name == "files" and isinstance(file, UploadFile)]
        if len(files) != len(form.multi_items()) or not files:
            raise HTTPException(422, "Send images in fields named files, each with a file name.")
        names = [os.path.basename(file.filename or "") for file in files]
        contents = [await file.read() for file in files]
    X, reasons = await run_in_threadpool(workspace.embed, contents)
    answers = iter(await service.recognition.ask(X, top) if len(X) else [])
    nearest = iter(await run_in_threadpool(workspace.nearest_exemplars, X) if len(X) else [])
    kept = await run_in_threadpool(workspace.keep, contents) if keep else None
    found = []
    for row, (name, reason) in enumerate(zip(names, reasons, strict=True)):
        if reason:
            found.append(_answer("", 0.0, [], name=name, reason=reason))
            continue
        said = next(answers) | {"name": name, "exemplars": next(nearest)}
        if kept is not None:  # what was stored is what counts
            said |= {"id": kept[row].item, "label": kept[row].label, "unknown": kept[row].unknown}
        found.append(said)
    return found
