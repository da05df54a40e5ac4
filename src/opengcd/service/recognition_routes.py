"""Routes for recognition: vectors are batched across requests and need no database; images can be kept."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from fastapi import HTTPException, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from pydantic_core import to_json
from starlette.datastructures import UploadFile

from opengcd._internal.validation import UNKNOWN_STR
from opengcd.service import wire as api
from opengcd.service.authentication import Responses, guarded, problems
from opengcd.service.concurrency import ConcurrencyLimit
from opengcd.service.state import Service
from opengcd.service.supervision import Task
from opengcd.service.vector_bodies import NPY, from_json, from_npy
from opengcd.workspace import Workspace
from opengcd.workspace.taxonomies import Answer, Namer

if TYPE_CHECKING:
    from opengcd.recognizer import OpenWorldRecognizer

POLL_SECONDS = 1.0
"""Seconds between checks whether another version is in use."""
MOST_ROWS = 1024
"""Rows in one pass; while it runs, more wait."""
GATHER = 0.004
"""Seconds for which requests gather before a pass, while one comes after the other."""
MOST_FILES = 100
AT_ONCE = 2
"""Requests whose images are decoded and embedded at a time; more of them would only share the same processors."""
MOST_WAITING = 16
"""Requests with images that may wait."""
MOST_TOLD = 1_000_000
"""Maximal number of classes in an answer, over all rows."""
SMALL = 64 * 2**10
"""Bytes up to which a body is parsed on the event loop; the cost of a thread is small for larger ones."""

log = logging.getLogger(__name__)
_Asked = tuple[np.ndarray, int, asyncio.Future[list[dict[str, Any]]]]


class Recognition:
    """Recognise vectors with the version in use, batching requests that arrive at the same time.

    A pass over a few rows takes hardly longer than over one. So a request that arrives during a pass waits for it to
    end, and shares the next pass with all that have arrived by then.
    """

    def __init__(self, workspace: Workspace, task: Task) -> None:
        self.workspace = workspace
        self._task = task
        self.outdated = False
        """Whether another version may be in use than the one that is loaded."""
        self._recognizer: OpenWorldRecognizer | None = None
        self._names: dict[str, str] = {}
        """The present names of classes that were renamed."""
        self._namer: Namer | None = None
        """Names rows by the deepest sure taxon, if there is a taxonomy."""
        self._thread = ThreadPoolExecutor(1, "recognition", initializer=_on_one_core)
        self._waiting: deque[_Asked] = deque()
        self._passes: asyncio.Task[None] | None = None
        self.image_requests = ConcurrencyLimit(AT_ONCE, MOST_WAITING)
        """Limits requests with images."""
        self.rows = 0
        """Vectors recognised so far."""

    @property
    def width(self) -> int | None:
        """How many numbers a vector has; None as long as the recogniser is not loaded."""
        return None if self._recognizer is None else self._recognizer.n_features_in_

    async def watch(self) -> None:
        """Load the recogniser, then reload it when another process changes the version in use or adds to the stream."""
        # At first in the thread whose initializer limits the libraries to one core.
        where: ThreadPoolExecutor | None = self._thread
        while True:
            pause = POLL_SECONDS
            try:
                await asyncio.get_running_loop().run_in_executor(where, self._follow)
                self._task.succeeded()
                where = None
            except Exception as error:
                pause = self._task.failed(error)
            await asyncio.sleep(pause)

    def _follow(self) -> None:
        if self.workspace.models.knows_classes():
            self.refresh()
            if self._namer is None:  # with a taxonomy, thresholds may have to be computed, which no request waits for
                self._namer = self.workspace.taxonomies.namer()
            if not gc.get_freeze_count():  # a garbage collection of all libraries would delay every request
                gc.freeze()

    def refresh(self) -> int:
        """Load the version that is in use now; return its number."""
        version, self._recognizer = self.workspace.recognizers.follow()
        self._names = self.workspace.models.class_names()
        self._namer = self.workspace.taxonomies.namer(wait=False)
        return version

    def renew(self) -> None:
        """Load the version in use after it may have changed; if that fails, the next request reports the error."""
        self.outdated = True
        try:
            self.refresh()
            self.outdated = False
        except Exception as error:
            log.warning("The version in use cannot be loaded: %s", error)

    async def ask(self, X: np.ndarray, top: int) -> list[dict[str, Any]]:
        """Return the answer for each row."""
        return [said async for part in self.ask_in_parts(X, top) for said in part]

    async def ask_in_parts(self, X: np.ndarray, top: int) -> AsyncIterator[list[dict[str, Any]]]:
        """Yield the answers in parts of one pass each, so that other requests get their turn in between."""
        if self._recognizer is None or self.outdated:
            await run_in_threadpool(self.refresh)
        assert self._recognizer is not None
        if X.shape[1] != self._recognizer.n_features_in_:
            wanted = self._recognizer.n_features_in_
            raise HTTPException(422, f"A vector of the embedder has {wanted} numbers; those sent have {X.shape[1]}.")
        if len(X) * min(top, len(self._recognizer.classes_)) > MOST_TOLD:
            raise HTTPException(422, "The answer would be too long; ask for fewer classes (top) or send fewer vectors.")
        for start in range(0, len(X), MOST_ROWS):
            answer = asyncio.get_running_loop().create_future()
            self._waiting.append((X[start : start + MOST_ROWS], top, answer))
            if self._passes is None or self._passes.done():
                self._passes = asyncio.create_task(self._pass())
            yield await answer

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
            except Exception as error:  # the requests report it
                for _, _, answer in batch:
                    if not answer.done():
                        answer.set_exception(error)
                continue
            self.rows += rows
            for (_, _, answer), said in zip(batch, answers, strict=True):
                if not answer.done():  # the client may have disconnected
                    answer.set_result(said)
            if self._waiting:
                await asyncio.sleep(GATHER)

    def _recognize(self, parts: Sequence[tuple[np.ndarray, int]]) -> list[list[dict[str, Any]]]:
        assert self._recognizer is not None
        classes = self._recognizer.classes_
        rows = np.concatenate([X for X, _ in parts])
        said = self._recognizer.recognize(rows)
        unknown, known = said.probabilities[:, 0].tolist(), said.probabilities[:, 1:]
        most = min(max(top for _, top in parts), len(classes))
        best = np.argsort(-known, axis=1, kind="stable")[:, :most]
        labels = said.labels
        if present := self._names:  # hardly any workspace has renamed a class
            classes, labels = (np.array([present.get(one, one) for one in some.tolist()]) for some in (classes, labels))
        names, shares = classes[best].tolist(), np.take_along_axis(known, best, axis=1).round(6).tolist()
        taxa = self._taxa(rows, said.labels == UNKNOWN_STR)
        answers = zip(labels.tolist(), unknown, names, shares, taxa, strict=True)
        return [
            [
                _answer(label, u, list(zip(c[:top], p[:top], strict=True)), taxon=taxon)
                for _, (label, u, c, p, taxon) in zip(X, answers)  # noqa: B905
            ]
            for X, top in parts
        ]

    def _taxa(self, X: np.ndarray, rejected: np.ndarray) -> list[dict[str, Any] | None]:
        """Return the deepest sure taxon of each row."""
        recognizer, namer = self._recognizer, self._namer
        if recognizer is None or namer is None or not namer.is_for(recognizer):  # another version came just now
            return [None] * len(X)
        return [_taxon(one, namer.error) for one in namer.name(recognizer.predict_proba(X), rejected.tolist())]


def _on_one_core() -> None:
    """Limit the passes to one core: they are too small to gain from more, and requests and jobs need the others.

    The BLAS libraries have one number of threads for the whole process; long work runs in torch.
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
    reason: str | None = None,
    taxon: dict[str, Any] | None = None,
) -> dict[str, Any]:
    return {
        "label": label,
        "unknown": round(unknown, 6),
        "top": top,
        "id": id,
        "exemplars": exemplars,
        "taxon": taxon,
        "name": None,
        "reason": reason,
    }


def _taxon(answer: Answer | None, error: float) -> dict[str, Any] | None:
    taxon = api.Taxon.of(answer, error)
    return None if taxon is None else taxon.model_dump()


IMAGES_FORM: dict[str, Any] = {
    "multipart/form-data": {
        "schema": {
            "type": "object",
            "additionalProperties": False,
            "required": ["files"],
            "properties": {
                "files": {
                    "type": "array",
                    "description": "Image files, each with a file name.",
                    "minItems": 1,
                    "maxItems": MOST_FILES,
                    "items": {"type": "string", "format": "binary"},
                }
            },
        }
    },
}
"""The body of a request that sends images, which :func:`uploaded` reads."""
_BODY = {
    "requestBody": {
        "description": "Vectors as JSON or in numpy's format, or images as a form.",
        "required": True,
        "content": {
            "application/json": {"schema": api.Vectors.model_json_schema()},
            NPY: {
                "schema": {
                    "type": "string",
                    "format": "binary",
                    "description": "An array of n × d numbers in numpy's format (`numpy.save`), preferably float32.",
                }
            },
            **IMAGES_FORM,
        },
    }
}
_ANSWERS: Responses = {200: {"model": list[api.Recognized]}}
_ANSWERS |= problems(415)
reading = guarded("read", "recognition")


@reading.post(
    "/recognize",
    summary="Recognise images or vectors",
    response_description="An answer for each vector or image, in the order in which they were sent.",
    response_class=Response,
    responses=_ANSWERS,
    openapi_extra=_BODY,
)
async def recognize(
    request: Request,
    service: Service,
    keep: Annotated[
        bool,
        Query(description="Whether images are kept in the workspace, as part of the stream; needs the scope write."),
    ] = False,
    top: Annotated[int, Query(ge=1, le=1000, description="How many of the most likely classes each answer lists.")] = 3,
) -> Response:
    """Recognise known classes, and reject what is unknown: in images, or in feature vectors (JSON or numpy's format).

    With `keep`, images become part of the stream and of the review. The answer is then what was stored of them, with
    at most three classes.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        if keep and "write" not in request.state.grant.scopes:
            raise HTTPException(403, "This token may only read. To keep images, ask for a token with the scope write.")
        raw = to_json(await _recognize_images(request, service, keep, top))
    elif kind in ("application/json", NPY):
        if keep:
            raise HTTPException(409, "Only images can be kept, not vectors; send images as multipart/form-data.")
        X = await _vectors(request, from_npy if kind == NPY else from_json)
        # Each part is freed once it is JSON: a garbage collection over millions of answers would take long.
        parts = service.recognition.ask_in_parts(service.workspace.vectors.scaled(X), top)
        raw = b"[" + b",".join([to_json(part)[1:-1] async for part in parts]) + b"]"
    else:
        raise HTTPException(415, f"The content type must be application/json, {NPY} or multipart/form-data.")
    return Response(raw, media_type="application/json")


async def _vectors(request: Request, read: Callable[[bytes], np.ndarray]) -> np.ndarray:
    pieces = [piece async for piece in request.stream()]
    if sum(map(len, pieces)) < SMALL:
        return read(b"".join(pieces))
    return await run_in_threadpool(lambda: read(b"".join(pieces)))  # joining tens of megabytes takes long, too


@asynccontextmanager
async def uploaded(request: Request) -> AsyncIterator[list[UploadFile]]:
    """Yield the images that a request sends as a form."""
    async with request.form(max_files=MOST_FILES, max_fields=0) as form:
        files = [file for name, file in form.multi_items() if name == "files" and isinstance(file, UploadFile)]
        if len(files) != len(form.multi_items()) or not files:
            raise HTTPException(422, "Send the images in form fields named files, each with a file name.")
        yield files


async def _recognize_images(request: Request, service: Service, keep: bool, top: int) -> list[dict[str, Any]]:
    workspace = service.workspace.by(request.state.grant.who)
    async with uploaded(request) as files:
        names = [os.path.basename(file.filename or "") for file in files]
        async with service.recognition.image_requests.slot():
            contents = [await file.read() for file in files]
            if keep:
                said = await run_in_threadpool(_kept, workspace, contents, top)
            else:
                said = await _looked_at(service, workspace, contents, top)
    return [one | {"name": name} for name, one in zip(names, said, strict=True)]


def _kept(workspace: Workspace, contents: Sequence[bytes], top: int) -> list[dict[str, Any]]:
    """Add images to the stream, and return the stored answers."""
    results = workspace.recognition.keep(contents)
    items = [result.item for result in results if result.item is not None]
    near = dict(zip(items, workspace.exemplars.nearest_to_items(items), strict=True)) if items else {}
    error = workspace.taxonomies.setting().error
    return [
        _refused(r.reason)
        if r.item is None
        else _answer(r.label, r.unknown, r.top[:top], r.item, near[r.item], taxon=_taxon(r.taxon, error))
        for r in results
    ]


async def _looked_at(
    service: Service, workspace: Workspace, contents: Sequence[bytes], top: int
) -> list[dict[str, Any]]:
    """Return the answers for images without storing anything.

    If another version is put into use meanwhile, they may have been embedded by another network than that of the
    version that answered; then they are embedded and recognised again.
    """
    before, version = None, await run_in_threadpool(service.recognition.refresh)
    while before != version:
        before = version
        X, reasons = await run_in_threadpool(workspace.recognition.embed, contents)
        said = iter(await service.recognition.ask(X, top) if len(X) else [])
        near = iter(await run_in_threadpool(workspace.exemplars.nearest, X) if len(X) else [])
        version = await run_in_threadpool(service.recognition.refresh)
    return [_refused(reason) if reason else next(said) | {"exemplars": next(near)} for reason in reasons]


def _refused(reason: str) -> dict[str, Any]:
    return _answer("", 0.0, [], reason=reason)
