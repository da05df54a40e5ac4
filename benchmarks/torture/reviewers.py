"""People and programs that use a server at the same time, at the pace of people, and note what they were answered."""

from __future__ import annotations

import http.client
import io
import json
import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

PAUSE = 0.2, 0.5
"""Seconds from an answer to the next request of a reviewer."""
TIMEOUT, IDLE = 120.0, 4.0
"""Seconds for an answer, and seconds after which a connection is not used again: the server closes it soon."""
REVIEWERS_AHEAD = 10
"""Classes that reviewers may confirm before a discovery begins that was asked for."""
FINISHED = ("done", "failed", "cancelled")
Key = tuple[str, int]
"""``("home", item)``, ``("name", group)`` or ``("confirmed", group)``."""


class Acknowledged(NamedTuple):
    """An edit that the server said it made, and what it should have changed."""

    id: int
    who: str
    verb: str
    effects: dict[Key, Any]


@dataclass
class Notes:
    """What all who use the server noted."""

    times: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Seconds of each request, by its kind."""
    edits: list[Acknowledged] = field(default_factory=list)
    undone: set[int] = field(default_factory=set)
    unsure: set[Key] = field(default_factory=set)
    """What edits without an answer may have changed."""
    conflicts: int = 0
    jobs: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """How many jobs ended how."""
    job_errors: set[str] = field(default_factory=set)
    failures: list[str] = field(default_factory=list)


class Caller:
    """One connection to the server, which is kept."""

    def __init__(self, port: int, token: str, notes: Notes) -> None:
        self.notes = notes
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
        self._headers = {"Authorization": f"Bearer {token}"}
        self._used = 0.0

    def ask(self, kind: str, path: str, content: Any = None, method: str = "") -> tuple[int, Any]:
        """Send a request, note how long the answer took, and return its status and content; 0 if none came."""
        body = content if isinstance(content, bytes) else content and json.dumps(content).encode()
        media = "application/x-npy" if isinstance(content, bytes) else "application/json"
        began = time.perf_counter()
        if began - self._used > IDLE:
            self._connection.close()
        try:
            self._connection.request(
                method or ("GET" if body is None else "POST"),
                f"/api/v1/{path}",
                body,
                self._headers | ({"Content-Type": media} if body else {}),
            )
            answer = self._connection.getresponse()
            raw = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.notes.failures.append(f"{kind}: no answer ({error!r})")
            self._connection.close()
            return 0, None
        self._used = time.perf_counter()
        self.notes.times[kind].append(self._used - began)
        if answer.status >= 500:
            self.notes.failures.append(f"{kind}: {answer.status} {raw[:200]!r}")
        is_json = answer.headers.get_content_type() == "application/json"
        return answer.status, json.loads(raw) if raw and is_json else None


class Reviewer:
    """A person who looks at groups and edits them."""

    def __init__(self, caller: Caller, who: str, seed: int, pictures: Sequence[int]) -> None:
        self.caller, self.notes, self.who = caller, caller.notes, who
        self.rng = random.Random(seed)
        self.pictures = pictures
        self.groups: list[dict[str, Any]] = []
        self.items: list[int] = []
        self.open: int | None = None
        """The group whose items were looked at last."""
        self.edit = 0
        """The last edit that this person has seen."""
        self.names = 0
        self.look_at_groups()

    def act(self) -> None:
        """Do one thing that people do: most look, some edit."""
        acts: dict[Callable[[], None], int] = {
            self.look_at_status: 15,
            self.look_at_groups: 20,
            self.look_at_members: 20,
            self.look_at_neighbours: 15,
            self.look_at_item: 10,
            self.look_at_picture: 8,
            self.name: 3,
            self.confirm: 2,
            self.move: 5,
            self.undo: 2,
        }
        self.rng.choices(list(acts), list(acts.values()))[0]()

    def look_at_status(self) -> None:
        self.caller.ask("status", "status")

    def look_at_groups(self) -> None:
        status, answer = self.caller.ask("groups", "groups")
        if status == 200:
            self.groups, self.edit = answer["groups"], answer["edit"]

    def look_at_members(self) -> None:
        if self.groups:
            group = self.rng.choice(self.groups)
            order = self.rng.choice(["typical", "odd"])
            offset = self.rng.randrange(0, max(1, group["size"]), 100)
            status, answer = self.caller.ask(
                "items of a group", f"groups/{group['id']}/items?limit=100&offset={offset}&order={order}"
            )
            if status == 200:
                self.items, self.open = [item["id"] for item in answer["items"]], group["id"]

    def look_at_neighbours(self) -> None:
        if self.items:
            self.caller.ask("neighbours", f"items/{self.rng.choice(self.items)}/neighbours")

    def look_at_item(self) -> None:
        if self.items:
            self.caller.ask("item", f"items/{self.rng.choice(self.items)}")

    def look_at_picture(self) -> None:
        self.caller.ask("thumbnail", f"items/{self.rng.choice(self.pictures)}/thumbnail")

    def name(self) -> None:
        unnamed = [group["id"] for group in self.groups if group["kind"] == "novel" and not group["named"]]
        if unnamed:
            group, self.names = self.rng.choice(unnamed), self.names + 1
            label = f"class {self.names} of {self.who}"
            self._edit("name", {"act": "name", "group": group, "label": label}, {("name", group): label})

    def confirm(self) -> None:
        named = [group for group in self.groups if group["kind"] == "novel" and group["named"]]
        if named:
            group = self.rng.choice(named)
            act, then = ("unconfirm", False) if group["confirmed"] else ("confirm", True)
            self._edit(act, {"act": act, "group": group["id"]}, {("confirmed", group["id"]): then})

    def move(self) -> None:
        targets = [group["id"] for group in self.groups if group["kind"] == "novel" and group["id"] != self.open]
        if targets and self.items:
            group = self.rng.choice(targets)
            items = self.rng.sample(self.items, min(len(self.items), self.rng.randint(1, 5)))
            effects = {("home", item): group for item in items}
            self._edit("move", {"act": "move", "items": items, "group": group}, effects)

    def undo(self) -> None:
        self._edit("undo", {}, {})

    def _edit(self, verb: str, act: dict[str, Any], effects: dict[Key, Any]) -> None:
        path = "undo" if verb == "undo" else "edits"
        status, answer = self.caller.ask("edit", path, {"on": self.edit} | act)
        if status == 200:
            self.edit = answer["edit"]
            if answer["groups"]:  # an edit that changes nothing is not in the history
                self.notes.edits.append(Acknowledged(self.edit, self.who, verb, effects))
            if verb == "undo":
                self.notes.undone.add(answer["undone"]["id"])
        elif status == 0:
            self.notes.unsure.update(effects)
        elif status in (404, 409, 422):  # someone was faster, or discovery has regrouped
            self.notes.conflicts += 1
            self.look_at_groups()
        else:
            self.notes.failures.append(f"{verb}: {status} {answer}")


def review(reviewer: Reviewer, stop: threading.Event) -> None:
    """Let a reviewer act at the pace of a person."""
    while not stop.wait(reviewer.rng.uniform(*PAUSE)):
        reviewer.act()


def recognise(caller: Caller, vectors: np.ndarray, stop: threading.Event) -> None:
    """Send ten vectors every quarter of a second, as a program does that watches a stream."""
    raw = io.BytesIO()
    np.save(raw, vectors[:10].astype(np.float32))
    while not stop.wait(0.25):
        status, _ = caller.ask("recognize", "recognize", raw.getvalue())
        if status != 200:
            caller.notes.failures.append(f"recognize: {status}")


def discover(caller: Caller, k: int, stop: threading.Event) -> None:
    """Start one discovery after the other, with ``k`` classes more than the reviewers have confirmed by then."""
    while not stop.is_set():
        _, found = caller.ask("groups", "groups")
        confirmed = {group["label"] for group in (found or {}).get("groups", ()) if group["confirmed"]}
        # With room for what they confirm before it begins: a number below that of the known classes is refused.
        _, job = caller.ask("start a job", "jobs", {"verb": "discover", "k": k + len(confirmed) + REVIEWERS_AHEAD})
        while job is not None and job["state"] not in FINISHED:
            if stop.wait(0.5):
                caller.ask("cancel a job", f"jobs/{job['id']}/cancel", method="POST")
                return
            _, job = caller.ask("job", f"jobs/{job['id']}")
        if job is not None:
            caller.notes.jobs[job["state"]] += 1
            if job["error"]:
                caller.notes.job_errors.add(job["error"])


def listen(port: int, token: str, stop: threading.Event) -> None:
    """Read events, as every open page does."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", "/api/v1/events", headers={"Authorization": f"Bearer {token}"})
    answer = connection.getresponse()
    while not stop.is_set() and answer.readline():
        pass
    connection.close()
