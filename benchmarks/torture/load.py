"""Load: five reviewers, a program that recognises vectors, and one discovery after the other, on one server."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image
from sqlalchemy import insert, select

from benchmarks.torture.report import Outcome, Setting
from benchmarks.torture.reviewers import Acknowledged, Caller, Key, Notes, Reviewer, discover, listen, recognise, review
from benchmarks.workspace import KNOWN, WIDTH, fill
from opengcd import Workspace
from opengcd.workspace import schema

SIZES = 4_000, 20_000, 100_000
"""Items."""
SECONDS = 60
"""Of load on each, at scale 1."""
REVIEWERS, NOVEL, PICTURES = 5, 10, 50
PROMPT, PROMISED = 0.3, ("status", "groups", "neighbours")
"""Half of the answers of these kinds are promised within so many seconds."""
FINISH = 0.95
"""The share of jobs that is promised to finish."""
QUIET = 10
"""Requests of each kind whose processor time is measured before the load begins, each after an edit."""
ROOT = Path(__file__).resolve().parents[2]


class Server(NamedTuple):
    """A server in a process of its own, and how to reach it."""

    pid: int
    port: int
    token: str


def attack(setting: Setting) -> Iterator[Outcome]:
    """Yield one outcome for each number of items."""
    for n in SIZES:
        folder = setting.folder / str(n)
        setting.tell(f"load: making a workspace of {n:,} items")
        fill(folder, n, NOVEL)
        with Workspace(folder) as workspace:
            workspace.discover(KNOWN + NOVEL)
            pictures = _give_pictures(workspace, setting.folder / f"pictures-{n}")
        seconds = SECONDS * setting.scale
        setting.tell(f"load: {n:,} items for {seconds:.0f} s")
        yield load(folder, pictures, seconds, setting.seed)


def load(folder: Path, pictures: Sequence[int], seconds: float, seed: int) -> Outcome:
    """Serve a workspace, let everyone use it for some time, and report."""
    notes = Notes()
    with _served(folder) as server:
        people = [
            Reviewer(Caller(server.port, server.token, notes), f"reviewer {i}", seed + i, pictures)
            for i in range(REVIEWERS)
        ]
        cost = _processor_times(server, people[0])
        notes.times.clear()
        start = _memory(server.pid, "VmRSS")
        _use(server, people, seconds)
        memory = [start, _memory(server.pid, "VmRSS"), _memory(server.pid, "VmHWM")]
    with Workspace(folder) as workspace:
        items = workspace.status().counts
        lost = _lost_edits(workspace, notes)
    failures = notes.failures + lost
    figures = {}
    for kind, times in sorted(notes.times.items()):
        median, late = (1000 * float(np.quantile(times, q)) for q in (0.5, 0.99))
        used = f", {1000 * cost[kind]:.0f} ms of processor each" if kind in cost else ""
        figures[kind] = f"p50 {median:.0f} ms, p99 {late:.0f} ms{used}"
        if kind in PROMISED and median > 1000 * PROMPT:
            failures.append(f"{kind} took {median:.0f} ms at the median")
    ended = sum(notes.jobs.values())
    if ended and notes.jobs["done"] < FINISH * ended:
        failures.append(f"{ended - notes.jobs['done']} of {ended} jobs failed: {'; '.join(sorted(notes.job_errors))}")
    figures |= {
        "jobs finished": f"{notes.jobs['done']} of {ended}",
        "acknowledged edits": f"{len(notes.edits):,}, {len(lost)} lost",
        "edits refused as conflicts": str(notes.conflicts),
        "memory": "{:,.0f} MB at the start, {:,.0f} at the end, {:,.0f} at most".format(*memory),
    }
    requests = sum(map(len, notes.times.values()))
    return Outcome(f"load on {sum(items.values()):,} items, {seconds:.0f} s", requests, figures, failures)


def _use(server: Server, people: Sequence[Reviewer], seconds: float) -> None:
    """Let everyone use the server at once."""
    stop = threading.Event()
    address, notes = (server.port, server.token), people[0].notes
    vectors = np.random.default_rng(0).normal(size=(10, WIDTH))
    threads = [
        *(threading.Thread(target=review, args=(one, stop)) for one in people),
        *(threading.Thread(target=listen, args=(*address, stop)) for _ in people),
        threading.Thread(target=recognise, args=(Caller(*address, notes), vectors, stop)),
        threading.Thread(target=discover, args=(Caller(*address, notes), KNOWN + NOVEL, stop)),
    ]
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    stop.set()
    for thread in threads:
        thread.join()


def _processor_times(server: Server, person: Reviewer) -> dict[str, float]:
    """Return the processor time of requests in seconds while nothing else runs, each on a state that is new."""
    kinds = {
        "status": person.look_at_status,
        "groups": person.look_at_groups,
        "items of a group": person.look_at_members,
        "neighbours": person.look_at_neighbours,
        "item": person.look_at_item,
    }
    spent = dict.fromkeys(kinds, 0.0)
    person.caller.ask("classes", "classes")
    person.look_at_members()
    for look in kinds.values():  # after what is loaded once, as the recogniser
        look()
    person.name()
    for _ in range(QUIET):
        for kind, look in kinds.items():
            person.look_at_groups()
            person.confirm()
            before = _processor_seconds(server.pid)
            look()
            spent[kind] += _processor_seconds(server.pid) - before
    return {kind: seconds / QUIET for kind, seconds in spent.items()}


def _lost_edits(workspace: Workspace, notes: Notes) -> list[str]:
    """Return what is missing of acknowledged edits: entries of the history, and effects that nothing changed later."""
    history = {entry.id: entry for entry in workspace.history()}
    lost = []
    expected: dict[Key, tuple[Any, Acknowledged]] = {}
    for edit in sorted(notes.edits):
        entry = history.get(edit.id)
        if entry is None or entry.verb != edit.verb:
            lost.append(f"edit {edit.id} ({edit.verb} by {edit.who}) is not in the history")
        elif edit.id not in notes.undone:
            expected |= {key: (value, edit) for key, value in edit.effects.items()}
    with workspace.store.database.reading() as connection:
        homes = {row.item_id: row.group_id for row in connection.execute(select(schema.assignments))}
        groups = {row.id: row for row in connection.execute(select(schema.groups))}
    for (what, id), (value, edit) in expected.items():
        found = homes.get(id) if what == "home" else getattr(groups.get(id), what, None)
        if found != value and (what, id) not in notes.unsure:
            lost.append(f"{what} of {id} is {found!r}, but edit {edit.id} ({edit.verb}) made it {value!r}")
    return lost


def _give_pictures(workspace: Workspace, folder: Path) -> list[int]:
    """Give some items a file, so that there is something to show; return these items."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    chosen = list(range(1, PICTURES + 1))
    for item in chosen:
        coarse = Image.fromarray(rng.integers(0, 256, (15, 20, 3), dtype=np.uint8))
        coarse.resize((500, 375)).save(folder / f"{item}.jpg")
    with workspace.store.database.writing() as connection:
        rows = [{"path": str(folder / f"{item}.jpg"), "item_id": item, "size": 1, "mtime": 1} for item in chosen]
        connection.execute(insert(schema.paths), rows)
    return chosen


@contextmanager
def _served(folder: Path) -> Iterator[Server]:
    with Workspace(folder) as workspace:
        token = workspace.access.make("load")
    command = [sys.executable, "-u", "-m", "opengcd", "serve", str(folder), "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://[^:]+:(\d+)/", process.stdout.readline())
            assert found is not None
            yield Server(process.pid, int(found[1]), token)
        finally:
            process.kill()


def _memory(pid: int, field: str) -> float:
    """Return a field of the memory of a process in MB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) * 1024 / 1e6


def _processor_seconds(pid: int) -> float:
    """Return the processor time of all threads of a process so far."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9
