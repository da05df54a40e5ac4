"""A client of the service, for Python programs.

This module needs httpx and numpy only, so a program that talks to a service on another machine can be installed without
the extra ``service``.
"""

from __future__ import annotations

import io
import json
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import quote

import httpx
import numpy as np

MOST_FILES = 50
"""Images in one request."""
UNAVAILABLE = 503
"""The HTTP status while the database or the disk cannot be used."""
KEEP_ALIVE = 2.0
"""Seconds for which an unused connection is kept: less than the five after which the server closes it, so that no
request is sent on a connection that is just being closed."""


class ServiceError(RuntimeError):
    """The service has refused a request.

    The status 503 means that the database or the disk cannot be used at the moment: try again later. An edit that is
    repeated is not made twice, because :meth:`Client.edit` says what it is based on.

    Parameters
    ----------
    status : int
        The HTTP status of the answer.
    body : dict
        The answer; ``body["detail"]`` says what happened and what to do.

    """

    def __init__(self, status: int, body: dict[str, Any]) -> None:
        super().__init__(f"{status}: {body.get('detail', body)}")
        self.status = status
        self.body = body


class Client:
    """A workspace behind HTTP.

    :meth:`get` and :meth:`send` reach all of the API; the other methods are shortcuts. While the service answers that
    its database cannot be used, requests that only read are repeated for up to ``timeout`` seconds. Threads can share a
    client. :meth:`close` closes its connections, and so does a ``with`` block.

    Parameters
    ----------
    address : str
        The address of the service, such as ``http://127.0.0.1:8765``.
    token : str
        A token from ``opengcd token``.
    timeout : float
        Seconds to wait for an answer.

    Raises
    ------
    ServiceError
        By all methods, if the service refuses a request.
    OSError
        By all methods, if the service cannot be reached (``ConnectionError``) or does not answer (``TimeoutError``).

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
        """The last edit that this client has seen. :meth:`edit` sends it, so that conflicting edits are refused."""
        self._http = httpx.Client(
            headers={"Authorization": f"Bearer {token}"},
            timeout=timeout,
            limits=httpx.Limits(max_connections=None, keepalive_expiry=KEEP_ALIVE),
            follow_redirects=True,
        )
        self._finalizer = weakref.finalize(self, self._http.close)

    def close(self) -> None:
        """Close all connections; the client cannot be used after that."""
        self._finalizer()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def get(self, path: str, **query: Any) -> Any:
        """Return what is at a path, such as ``get("groups")`` or ``get("groups/3/items", limit=10)``.

        Parameters
        ----------
        path : str
            The path below ``/api/v1/``.
        **query
            Parameters of the query.

        Returns
        -------
        object
            The answer, parsed from JSON.

        """
        return self._note_edit(json.loads(self.fetch("GET", path, query=query)))

    def send(self, method: str, path: str, content: Any = None, **query: Any) -> Any:
        """Send JSON to a path.

        Parameters
        ----------
        method : str
            The HTTP method, such as ``"POST"``.
        path : str
            The path below ``/api/v1/``.
        content : object
            What to send as JSON; None sends no body.
        **query
            Parameters of the query.

        Returns
        -------
        object
            The answer, parsed from JSON; None if it is empty.

        """
        body = None if content is None else json.dumps(content).encode()
        answer = self.fetch(method, path, body, "application/json", query)
        return self._note_edit(json.loads(answer)) if answer else None

    def recognize(self, vectors: Any, top: int = 3) -> list[dict[str, Any]]:
        """Return the predictions of the recogniser for feature vectors.

        Parameters
        ----------
        vectors : array of shape (n, d) or (d,)
            Vectors of the workspace's embedder; they are sent as float32.
        top : int
            How many of the most likely classes each prediction lists.

        Returns
        -------
        list of dict
            One prediction for each row.

        """
        raw = io.BytesIO()
        np.lib.format.write_array(raw, np.atleast_2d(np.asarray(vectors, np.float32, order="C")), (1, 0), False)
        return json.loads(self.fetch("POST", "recognize", raw.getvalue(), "application/x-npy", {"top": top}))

    def recognize_images(self, *images: bytes, keep: bool = False, top: int = 3) -> list[dict[str, Any]]:
        """Return the predictions of the recogniser for images.

        Parameters
        ----------
        *images : bytes
            The content of image files.
        keep : bool
            Whether to store the images in the workspace, as part of the stream.
        top : int
            How many of the most likely classes each prediction lists.

        Returns
        -------
        list of dict
            One prediction for each image.

        """
        files = [("files", (str(i), image)) for i, image in enumerate(images)]
        return json.loads(self._request("POST", "recognize", files=files, params={"keep": keep, "top": top}))

    def teach(self, images: Mapping[str, Sequence[bytes]], *, replace: bool = False) -> dict[str, Any]:
        """Upload labelled images of known or new classes; ``run("learn")`` takes them.

        Parameters
        ----------
        images : mapping of str to sequence of bytes
            The contents of image files, by the name of their class.
        replace : bool
            Whether images that a person has given another label get the new one.

        Returns
        -------
        dict
            What was taught: ``images``, ``conflicts`` ...; ``bad`` are the images that could not be used: the class,
            the place among its images, and the reason.

        """
        items: dict[str, list[int]] = {}
        bad: list[tuple[str, int, str]] = []
        for label, contents in images.items():
            for start in range(0, len(contents), MOST_FILES):
                some = contents[start : start + MOST_FILES]
                files = [("files", (str(place), image)) for place, image in enumerate(some, start)]
                for place, one in enumerate(json.loads(self._request("POST", "taught-images", files=files)), start):
                    if one["id"] is None:
                        bad.append((label, place, one["reason"]))
                    elif one["id"] not in items.setdefault(label, []):
                        items[label].append(one["id"])
        done = self.run(
            "teach",
            classes=[{"label": label, "items": some} for label, some in items.items() if some],
            replace=replace,
        )
        return done | {"bad": bad}

    def edit(self, act: str, **what: Any) -> dict[str, Any]:
        """Change groups or images, such as ``edit("move", items=[5, 8], group=2)``.

        The edit is based on the last edit that the client has seen, or else on the present state. It is refused if
        someone has changed what it is about since then.

        Parameters
        ----------
        act : str
            The verb: ``name``, ``confirm``, ``move``, ``merge`` ...
        **what
            The parameters of the verb.

        Returns
        -------
        dict
            What was changed.

        """
        on = self.seen if self.seen is not None else self.get("status")["edit"]
        return self.send("POST", "edits", {"on": on, "act": act, **what})

    def questions(self, limit: int = 25) -> list[dict[str, Any]]:
        """Return the questions about groups that save the most work, the best first. :meth:`answer` answers one.

        Parameters
        ----------
        limit : int
            The largest number of questions.

        Returns
        -------
        list of dict
            Each with its ``text``, the images to show (``shown``), and its ``answers``.

        """
        return self.get("questions", limit=limit)["questions"]

    def answer(self, question: Mapping[str, Any], key: str) -> dict[str, Any]:
        """Answer a question by the edit that comes with the answer.

        Parameters
        ----------
        question : mapping
            One that :meth:`questions` returned.
        key : str
            The ``key`` of one of its answers.

        Returns
        -------
        dict
            What was changed.

        """
        edits = {answer["key"]: answer["edit"] for answer in question["answers"]}
        if key not in edits:
            raise ValueError(f"{key!r} is not an answer to this question; give one of {', '.join(edits)}.")
        return self.edit(**edits[key])

    def run(self, verb: str, **arguments: Any) -> dict[str, Any]:
        """Start a job and wait until it has ended.

        Parameters
        ----------
        verb : str
            What to do: ``"discover"``, ``"learn"``, ``"teach"`` or ``"adapt"``.
        **arguments
            Arguments of the job, such as ``k=30`` for ``discover``.

        Returns
        -------
        dict
            The result of the job.

        Raises
        ------
        ServiceError
            If the job failed or was cancelled.

        """
        job = self.send("POST", "jobs", {"verb": verb, **arguments})
        while job["state"] in ("waiting", "running"):
            time.sleep(0.2)
            job = self.get(f"jobs/{job['id']}")
        if job["state"] != "done":
            raise ServiceError(409, {"detail": job["error"] or job["state"]})
        self.seen = self.get("status")["edit"]
        return job["result"]

    def adaptation(self) -> dict[str, Any]:
        """Return what :meth:`adapt` would use, whether it is possible, and how long it would take.

        Returns
        -------
        dict
            The plan; its ``seconds`` are None as long as ``measuring`` is true.

        """
        return self.get("adaptation")

    def adapt(
        self,
        *,
        dry_run: bool = False,
        force: bool = False,
        method: str | None = None,
        blocks: int | None = None,
        epochs: int | None = None,
        unlabelled: bool | None = None,
    ) -> dict[str, Any]:
        """Adapt the network to the images of the workspace if a rehearsal shows that this helps, and wait for the end.

        Parameters
        ----------
        dry_run : bool
            Whether to rehearse only, and change nothing.
        force : bool
            Whether to use the adapted network even if it does not help in the rehearsal.
        method : {"lora", "blocks"} or None
            How the last blocks of the network are trained; for this and the following, None lets the service choose.
        blocks : int or None
            How many of the last blocks are trained.
        epochs : int or None
            How many times all images are passed over.
        unlabelled : bool or None
            Whether images without a label take part.

        Returns
        -------
        dict
            ``switched`` says whether the adapted network is in use, and ``reason`` why not.

        Raises
        ------
        ServiceError
            If the job failed or was cancelled.

        """
        asked = {"method": method, "blocks": blocks, "epochs": epochs, "unlabelled": unlabelled}
        return self.run("adapt", dry_run=dry_run, force=force, **asked)

    def images(self, *, limit: int = 500, **filters: Any) -> Iterator[dict[str, Any]]:
        """List all images that some filters let pass, page by page.

        Parameters
        ----------
        limit : int
            Images to ask for at a time.
        **filters
            The parameters of ``GET /images``, such as ``label="heron"``, ``source=["rejected", "grouped"]``,
            ``doubt_min=0.5``, ``sort="doubt"`` and ``descending=True``.

        Yields
        ------
        dict
            An image with its ``id``, ``name``, ``label`` and ``source``.

        """
        after: dict[str, str] = {}
        while True:
            page = self.get("images", limit=limit, **filters, **after)
            yield from page["images"]
            if page["next"] is None:
                return
            after = {"after": page["next"]}

    def events(self) -> Iterator[tuple[str, Any]]:
        """Listen to what happens in the workspace from now on.

        Yields
        ------
        name : str
            The name of an event.
        content : object
            Its content, parsed from JSON.

        """
        with _explained():
            response = self._http.send(self._http.build_request("GET", f"{self.address}/events"), stream=True)
            if response.is_error:
                with closing(response):
                    response.read()
                raise _refusal(response)
            lines = _lines(response)
            next(lines)  # after its first line the service reports everything
        return self._read_events(response, lines)

    def _read_events(self, response: httpx.Response, lines: Iterator[str]) -> Iterator[tuple[str, Any]]:
        """Yield events; a method, so that the client is kept open for as long as its events are read."""
        name = ""
        with closing(response), _explained():
            for line in lines:
                field, _, value = line.partition(": ")
                if field == "event":
                    name = value
                elif field == "data":
                    yield name, json.loads(value)

    def fetch(
        self, method: str, path: str, body: bytes | None = None, kind: str = "", query: dict[str, Any] | None = None
    ) -> bytes:
        """Send bytes and return bytes, such as ``fetch("GET", "export", query={"format": "csv"})``.

        Parameters
        ----------
        method : str
            The HTTP method.
        path : str
            The path below ``/api/v1/``.
        body : bytes or None
            What to send.
        kind : str
            The media type of the body.
        query : dict or None
            Parameters of the query.

        Returns
        -------
        bytes
            The body of the answer.

        """
        headers = {"Content-Type": kind} if body is not None else {}
        return self._request(method, path, content=body, headers=headers, params=query or None)

    def _request(self, method: str, path: str, **options: Any) -> bytes:
        give_up = time.monotonic() + self.timeout
        while True:
            with _explained():
                answer = self._http.request(method, f"{self.address}/{quote(path)}", **options)
            if answer.is_success:
                return answer.content
            wait = _seconds(answer.headers.get("Retry-After"))
            # Reading again is safe; whether to repeat a change is for the caller to decide.
            if method != "GET" or answer.status_code != UNAVAILABLE or time.monotonic() + wait > give_up:
                raise _refusal(answer)
            time.sleep(wait)

    def _note_edit(self, answer: Any) -> Any:
        if isinstance(answer, dict) and isinstance(answer.get("edit"), int):
            self.seen = answer["edit"]
        return answer


@contextmanager
def _explained() -> Iterator[None]:
    """Raise Python's own errors where httpx could not get an answer, so that callers need not know httpx."""
    try:
        yield
    except httpx.UnsupportedProtocol as error:
        raise ValueError(f"The address must begin with http:// or https://: {error}") from error
    except httpx.TimeoutException as error:
        raise TimeoutError(f"The service does not answer: {error}") from error
    except httpx.HTTPError as error:
        raise ConnectionError(f"The service cannot be reached: {error}") from error


def _lines(response: httpx.Response) -> Iterator[str]:
    """Yield the lines of a stream until it ends, be it because the server was stopped.

    ``response.iter_lines`` would also break a line at characters that JSON may hold, such as U+2028.
    """
    rest = b""
    try:
        for piece in response.iter_bytes():
            *lines, rest = (rest + piece).split(b"\n")
            yield from (line.decode() for line in lines)
    except httpx.RemoteProtocolError:
        return


def _refusal(answer: httpx.Response) -> ServiceError:
    try:
        content = answer.json()
    except ValueError:
        content = None
    return ServiceError(answer.status_code, content if isinstance(content, dict) else {"detail": answer.text})


def _seconds(told: str | None) -> float:
    return float(told) if told is not None and told.isdigit() else 5.0
