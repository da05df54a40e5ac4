"""Faults around the service: a full or read-only disk, a clock that jumps, and databases that stop or are locked.

A real server works under load while the fault lasts and after it. No edit that was acknowledged may be lost, no answer
may be wrong, no process may end, no job may be left running or say something else than the database.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.torture.postgresql import NoServerError, running
from benchmarks.torture.report import Outcome, Setting
from benchmarks.torture.session import RECOGNIZER, paint
from opengcd import Client, Workspace
from opengcd.service.client import ServiceError

PEOPLE = 4
RECOVERY = 90.0
"""Seconds within which all must be well after a fault."""
HONEST = {409, 503}
"""Refusals that a fault may cause: a conflict, and that the service is unavailable at the moment."""
CLOCK = """
import datetime, sys, time
from pathlib import Path
from opengcd import cli
from opengcd.workspace import log, tokens
file, real = Path(sys.argv.pop(1)), time.time
moved = lambda: float(file.read_text() or 0)
class Clock(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(real() + moved(), tz)
time.time = lambda: real() + moved()
tokens.datetime = log.datetime = Clock
cli.main()
"""
"""A server whose clock is as many seconds off as a file says."""


class UnavailableFaultError(Exception):
    """A fault cannot be caused on this machine; the text says why."""


def attack(setting: Setting) -> Iterator[Outcome]:
    """Cause each fault, and count what it breaks."""
    faults: dict[str, Callable[[Setting, Path], Trial]] = {
        "disk full under load and during jobs": _full_disk,
        "folder read-only when commands start": _read_only,
        "clock moved by hours in both directions": _moved_clock,
        "SQLite locked for longer than writers wait": _locked,
        "PostgreSQL stopped and started under load and during jobs": _stopped_postgresql,
    }
    for number, (name, cause) in enumerate(faults.items()):
        folder = setting.folder / str(number)
        folder.mkdir()
        try:
            trial = cause(setting, folder)
        except UnavailableFaultError as error:
            setting.tell(f"{name}: skipped, {error}")
            yield Outcome(f"{name} (skipped: {error})", 0, {}, [])
            continue
        yield Outcome(name, trial.tries, trial.figures(), trial.failures)


class Trial:
    """A server under load, what its clients were told, and what was wrong with it."""

    def __init__(self) -> None:
        self.tries = 0
        self.acknowledged: dict[int, str] = {}
        self.answers: Counter[str] = Counter()
        self.failures: list[str] = []

    def figures(self) -> dict[str, str]:
        """Return what was counted."""
        told = ", ".join(f"{number} × {answer}" for answer, number in sorted(self.answers.items()))
        return {"acknowledged edits": str(len(self.acknowledged)), "answers": told or "none"}

    def ask(self, what: Callable[[], Any]) -> Any:
        """Ask the server something; count the answer, and note one that no fault excuses."""
        try:
            answer = what()
        except ServiceError as error:
            self.answers[str(error.status)] += 1
            if error.status not in HONEST:
                self.failures.append(f"the server answered {error}")
            return None
        except OSError as error:
            self.failures.append(f"the server did not answer: {error}")
            return None
        self.answers["200"] += 1
        return answer


class Server(NamedTuple):
    """A server in a process of its own."""

    process: subprocess.Popen[str]
    client: Client


class Load:
    """People who rename groups and ask for recognition until they are stopped."""

    def __init__(self, trial: Trial, server: Server, groups: list[int | None], vectors: np.ndarray) -> None:
        self._trial, self._server, self._stop = trial, server, threading.Event()
        labels = [one["label"] for one in server.client.recognize(vectors)]
        acts = [self._edits(person, groups[person % len(groups)]) for person in range(PEOPLE)]
        acts.append(self._recognitions(vectors, labels))
        self._people = [threading.Thread(target=self._repeat, args=[act]) for act in acts]

    def __enter__(self) -> Load:
        for person in self._people:
            person.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for person in self._people:
            person.join()

    def _repeat(self, act: Iterator[None]) -> None:
        for _ in act:
            if self._stop.wait(0.02):
                return

    def _edits(self, person: int, group: int | None) -> Iterator[None]:
        number = 0
        while True:
            number += 1
            label = f"{person} {number}"
            # Whatever the others do: as one who has seen it all.
            what = {"on": 2**31 - 1, "act": "name", "group": group, "label": label}
            done = self._trial.ask(lambda what=what: self._server.client.send("POST", "edits", what))
            if done is not None:
                self._trial.acknowledged[done["edit"]] = label
            yield

    def _recognitions(self, vectors: np.ndarray, labels: list[str]) -> Iterator[None]:
        while True:
            said = self._trial.ask(lambda: self._server.client.recognize(vectors))
            if said is not None and [one["label"] for one in said] != labels:
                self._trial.failures.append(f"wrong labels: {[one['label'] for one in said]} instead of {labels}")
            yield


def _make(folder: Path, database: str | None = None) -> tuple[str, list[int | None], np.ndarray]:
    """Make a workspace with two groups; return a token, the groups, and vectors to recognise."""
    paint(folder / "images", 12)
    with Workspace.create(folder / "workspace", "pixels", recognizer=RECOGNIZER, database=database) as workspace:
        workspace.fit(folder / "images" / "known")
        list(workspace.recognize([folder / "images" / "stream"]))
        workspace.discover(k=6)
        with workspace.store.database.reading() as connection:
            vectors = workspace.vectors.read(connection, [1, 13])
        # What a person has put into a group stays there; the rest is for discoveries.
        groups = [workspace.separate(group.items[:3], str(group.id)).group for group in workspace.groups()]
        return workspace.access.make("ann"), groups, vectors


@contextmanager
def _serving(folder: Path, token: str, *prelude: str) -> Iterator[Server]:
    command = [sys.executable, "-u", *(prelude or ("-m", "opengcd")), "serve", str(folder), "--port", "0"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    with open(folder.parents[1] / "log", "a") as log:  # not on the disk whose faults are tried
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
    try:
        assert process.stdout is not None
        address = next(line for line in process.stdout if line.startswith("http")).split()[0].partition("#")[0]
        yield Server(process, Client(address.rstrip("/"), token, timeout=RECOVERY))
    finally:
        process.kill()
        process.communicate()


def _recover(trial: Trial, server: Server, folder: Path) -> None:
    """Wait until all is well again, and compare what clients were told with the database."""
    deadline = time.monotonic() + RECOVERY
    while time.monotonic() < deadline and _is_ill(server):
        time.sleep(0.2)
    if server.process.poll() is not None:
        trial.failures.append(f"the server ended with status {server.process.returncode}")
        return
    if ill := _is_ill(server):
        trial.failures.append(f"not well {RECOVERY:.0f} s after the fault: {ill}")
    with Workspace(folder) as workspace:
        history = workspace.history()
        told = {entry.id: entry.details.get("label") for entry in history if entry.verb == "name"}
        lost = [id for id, label in trial.acknowledged.items() if told.get(id) != label]
        if lost:
            trial.failures.append(f"{len(lost)} acknowledged edits are lost, the first is {lost[0]}")
        done = Counter(job.verb for job in workspace.jobs.latest(1000) if job.state == "done")
        made = sum(entry.verb == "discover" for entry in history) - 1  # the first one was no job
        if done["discover"] != made:
            trial.failures.append(f"{done['discover']} jobs say that they are done, but {made} discoveries were made")


def _is_ill(server: Server) -> str:
    """What is not well: the health as the server tells it, and jobs that are not over."""
    try:
        address = server.client.address.removesuffix("/api/v1")
        with urllib.request.urlopen(f"{address}/healthz", timeout=10):
            pass
        left = [job for job in server.client.get("jobs") if job["state"] in ("waiting", "running")]
    except (ServiceError, OSError) as error:
        return str(error)
    return f"{len(left)} jobs are not over" if left else ""


def _ask_for_jobs(trial: Trial, server: Server, number: int) -> None:
    for _ in range(number):
        trial.ask(lambda: server.client.send("POST", "jobs", {"verb": "discover", "k": 6}))


@contextmanager
def _mounted(folder: Path, size: str) -> Iterator[None]:
    """A small disk at a folder."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder]
    if os.name != "posix" or os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode:
        raise UnavailableFaultError("mounting a small disk is not permitted")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def _full_disk(setting: Setting, folder: Path) -> Trial:
    trial = Trial()
    disk = folder / "disk"
    with _mounted(disk, "32m"):
        token, groups, vectors = _make(disk)
        with _serving(disk / "workspace", token) as server:
            with Load(trial, server, groups, vectors):
                for _ in range(setting.tries(3)):
                    trial.tries += 1
                    _ask_for_jobs(trial, server, 3)
                    _fill(disk / "filler")
                    time.sleep(4)
                    _ask_for_jobs(trial, server, 2)
                    time.sleep(2)
                    (disk / "filler").unlink()
                    time.sleep(3)
            _recover(trial, server, disk / "workspace")
    return trial


def _fill(file: Path) -> None:
    with open(file, "wb", buffering=0) as raw:
        for block in (2**20, 2**12):
            try:
                while True:
                    raw.write(bytes(block))
            except OSError:  # not so much any more
                continue


def _read_only(setting: Setting, folder: Path) -> Trial:
    trial = Trial()
    disk = folder / "disk"
    with _mounted(disk, "32m"):
        token, groups, vectors = _make(disk)
        for _ in range(setting.tries(2)):
            trial.tries += 1
            subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
            try:
                for command in ("discover", "undo", "learn"):
                    _must_refuse(trial, command, disk / "workspace")
                with _serving(disk / "workspace", token) as server:
                    _must_only_show(trial, server, groups[0], vectors)
            finally:
                subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
            with _serving(disk / "workspace", token) as server:
                with Load(trial, server, groups, vectors):
                    _ask_for_jobs(trial, server, 1)
                    time.sleep(2)
                _recover(trial, server, disk / "workspace")
    return trial


def _must_refuse(trial: Trial, command: str, workspace: Path) -> None:
    """See that a command ends with an error in one line."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "opengcd", command, workspace], capture_output=True, text=True, timeout=90
        )
    except subprocess.TimeoutExpired:
        trial.failures.append(f"{command} does not end on a read-only disk")
        return
    if done.returncode == 0 or "Traceback" in done.stderr:
        trial.failures.append(f"{command} on a read-only disk ended with {done.returncode}: {done.stderr[-300:]}")


def _must_only_show(trial: Trial, server: Server, group: int | None, vectors: np.ndarray) -> None:
    """See that a server on a read-only disk answers questions and refuses edits."""
    for look in ("status", "groups", "history"):
        trial.ask(lambda look=look: server.client.get(look))
    trial.ask(lambda: server.client.recognize(vectors))
    try:
        server.client.send("POST", "edits", {"on": 2**31 - 1, "act": "name", "group": group, "label": "new"})
    except ServiceError as error:
        if error.status != 403:
            trial.failures.append(f"an edit on a read-only disk: {error}")
    else:
        trial.failures.append("an edit was acknowledged on a read-only disk")


def _moved_clock(setting: Setting, folder: Path) -> Trial:
    trial = Trial()
    token, groups, vectors = _make(folder)
    offset = folder / "offset"
    offset.write_text("0")
    with _serving(folder / "workspace", token, "-c", CLOCK, str(offset)) as server:
        with Load(trial, server, groups, vectors):
            for hours in (6, -6, 30, -48, 0) * setting.tries(1):
                trial.tries += 1
                offset.write_text(str(3600 * hours))
                _ask_for_jobs(trial, server, 1)
                time.sleep(2)
        _recover(trial, server, folder / "workspace")
        numbers = [entry["id"] for entry in server.client.get("history", limit=1000)]
        if numbers != sorted(numbers, reverse=True):
            trial.failures.append("the history is not in the order of what happened")
    return trial


def _locked(setting: Setting, folder: Path) -> Trial:
    trial = Trial()
    token, groups, vectors = _make(folder)
    short = "from opengcd.workspace import database; database.WAIT_SECONDS = 2; from opengcd import cli; cli.main()"
    with _serving(folder / "workspace", token, "-c", short) as server:
        with Load(trial, server, groups, vectors):
            for _ in range(setting.tries(3)):
                trial.tries += 1
                _ask_for_jobs(trial, server, 2)
                holder = sqlite3.connect(folder / "workspace" / "workspace.db", isolation_level=None, timeout=60)
                holder.execute("BEGIN IMMEDIATE")
                time.sleep(6)
                trial.ask(lambda: server.client.get("groups"))  # readers need not wait
                holder.execute("ROLLBACK")
                holder.close()
                time.sleep(2)
        _recover(trial, server, folder / "workspace")
    return trial


def _stopped_postgresql(setting: Setting, folder: Path) -> Trial:
    trial = Trial()
    with ExitStack() as stack:
        try:
            database = stack.enter_context(running())
        except NoServerError as error:
            raise UnavailableFaultError(str(error)) from None
        token, groups, vectors = _make(folder, database.url)
        server = stack.enter_context(_serving(folder / "workspace", token))
        with Load(trial, server, groups, vectors):
            for how in ("fast", "immediate", "fast") * setting.tries(1):
                trial.tries += 1
                _ask_for_jobs(trial, server, 3)
                database.stop(how)
                time.sleep(4)
                database.start()
                time.sleep(2)
        _recover(trial, server, folder / "workspace")
    return trial
