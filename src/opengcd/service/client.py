"""The service from Python, in a page of code."""

from __future__ import annotations

import io
import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

import numpy as np

UNAVAILABLE = 503
"""The status of HTTP while the database or the disk cannot be used."""


class ServiceError(RuntimeError):
    """The service has refused a request: ``status`` is that of HTTP, ``body`` the answer.

    With 503 the database or the disk cannot be used at the moment: try again later. An edit that is repeated is not
    made twice, as :meth:`Client.edit` says what it is based on.
    """

    def __init__(self, status: int, body: dict[str, Any]) -> None:
        super().__init__(f"{status}: {body.get('detail', body)}")
        self.status = status
        self.body = body


class Client:
    """A workspace behind HTTP.

    Everything of the API can be had by :meth:`get` and :meth:`send`; the rest is for convenience. While the service
    says that its database cannot be used, what only reads is tried again for up to ``timeout`` seconds.

    Examples
    --------
    >>> from opengcd import Client
    >>> client = Client("http://127.0.0.1:8765", token)  # doctest: +SKIP
    >>> client.recognize(vectors)[0]["label"]  # doctest: +SKIP
    'heron'
    >>> client.run("discover")["k"]  # doctest: +SKIP
    >>> client.edit("name", group=1, label="heron", confirm=True)  # doctest: +SKIP

    """

    def __init__(self, address: str, token: str, *, timeout: float = 60.0) -> None:
        self.address = address.rstrip("/") + "/api/v1"
        self.timeout = timeout
        self.seen: int | None = None
        """The last edit that this client has seen; :meth:`edit` says so, and conflicts are refused."""
        self._headers = {"Authorization": f"Bearer {token}"}

    def get(self, path: str, **query: Any) -> Any:
        """Return what is at a path, as ``get("groups")`` or ``get("groups/3/items", limit=10)``."""
        return self._note_edit(json.loads(self.fetch("GET", path, query=query)))

    def send(self, method: str, path: str, content: Any = None, **query: Any) -> Any:
        """Send JSON, and return the answer."""
        body = None if content is None else json.dumps(content).encode()
        answer = self.fetch(method, path, body, "application/json", query)
        return self._note_edit(json.loads(answer)) if answer else None

    def recognize(self, vectors: Any, top: int = 3) -> list[dict[str, Any]]:
        """Return what is said of each row of features."""
        raw = io.BytesIO()
        np.lib.format.write_array(raw, np.atleast_2d(np.asarray(vectors, np.float32, order="C")), (1, 0), False)
        return json.loads(self.fetch("POST", "recognize", raw.getvalue(), "application/x-npy", {"top": top}))

    def recognize_images(self, *images: bytes, keep: bool = False, top: int = 3) -> list[dict[str, Any]]:
        """Return what is said of images, given as the bytes of their files; with ``keep`` they join the stream."""
        line = f"opengcd-{time.time_ns()}"
        head = 'Content-Disposition: form-data; name="files"; filename="{}"\r\n\r\n'
        parts = [f"--{line}\r\n{head.format(i)}".encode() + image + b"\r\n" for i, image in enumerate(images)]
        body = b"".join(parts) + f"--{line}--\r\n".encode()
        query = {"keep": str(keep).lower(), "top": top}
        return json.loads(self.fetch("POST", "recognize", body, f"multipart/form-data; boundary={line}", query))

    def edit(self, act: str, **what: Any) -> dict[str, Any]:
        """Change groups, as ``edit("move", items=[5, 8], group=2)``, on what this client has seen."""
        on = self.seen if self.seen is not None else self.get("status")["edit"]
        return self.send("POST", "edits", {"on": on, "act": act, **what})

    def run(self, verb: str, **arguments: Any) -> dict[str, Any]:
        """Do long work (``discover`` or ``learn``), and return its result when it is done."""
        job = self.send("POST", "jobs", {"verb": verb, **arguments})
        while job["state"] in ("waiting", "running"):
            time.sleep(0.2)
            job = self.get(f"jobs/{job['id']}")
        if job["state"] != "done":
            raise ServiceError(409, {"detail": job["error"] or job["state"]})
        self.seen = self.get("status")["edit"]
        return job["result"]

    def events(self) -> Iterator[tuple[str, Any]]:
        """Return what happens from now on: names of events, and their content."""
        request = urllib.request.Request(f"{self.address}/events", headers=self._headers)  # noqa: S310
        lines = urllib.request.urlopen(request, timeout=self.timeout)  # noqa: S310
        lines.readline()  # the service listens when it has said something

        def read() -> Iterator[tuple[str, Any]]:
            name = ""
            with lines:
                for line in lines:
                    field, _, value = line.decode().rstrip("\n").partition(": ")
                    if field == "event":
                        name = value
                    elif field == "data":
                        yield name, json.loads(value)

        return read()

    def fetch(
        self, method: str, path: str, body: bytes | None = None, kind: str = "", query: dict[str, Any] | None = None
    ) -> bytes:
        """Return the bytes that are the answer, as ``fetch("GET", "export", query={"format": "csv"})``."""
        url = f"{self.address}/{quote(path)}" + (f"?{urlencode(query)}" if query else "")
        headers = self._headers | ({"Content-Type": kind} if body is not None else {})
        request = urllib.request.Request(url, body, headers, method=method)  # noqa: S310
        give_up = time.monotonic() + self.timeout
        while True:
            try:
                with urllib.request.urlopen(request, timeout=self.timeout) as answer:  # noqa: S310
                    return answer.read()
            except urllib.error.HTTPError as error:
                refused, wait = _refusal(error), _seconds(error.headers.get("Retry-After"))
            # To read again does no harm; whether to repeat a change is for the caller to decide.
            if method != "GET" or refused.status != UNAVAILABLE or time.monotonic() + wait > give_up:
                raise refused
            time.sleep(wait)

    def _note_edit(self, answer: Any) -> Any:
        if isinstance(answer, dict) and isinstance(answer.get("edit"), int):
            self.seen = answer["edit"]
        return answer


def _refusal(error: urllib.error.HTTPError) -> ServiceError:
    with error:
        raw = error.read()
    try:
        content = json.loads(raw)
    except ValueError:
        content = {"detail": raw.decode(errors="replace")}
    return ServiceError(error.code, content)


def _seconds(told: str | None) -> float:
    return float(told) if told is not None and told.isdigit() else 5.0
