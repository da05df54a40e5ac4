"""A small session on a workspace, step by step, in processes that can be recorded and killed.

``python -m benchmarks.torture.session`` imports everything once and then runs steps in forked processes: a line of JSON
on standard input is a step, the answer is its exit status, its seconds and how many operations on files it made.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from opengcd import Workspace

RECOGNIZER = {"preset": "paper", "classifier": "svm", "alpha": 1.0, "selector": "greedy"}
COLOURS = {
    "red": (220, 30, 30), "green": (30, 200, 40), "black": (30, 30, 30), "white": (230, 230, 230),
    "blue": (30, 40, 220), "yellow": (230, 220, 40),
}  # fmt: skip
KNOWN = ("red", "green", "black", "white")


class Place(NamedTuple):
    """Where a session takes place."""

    folder: str
    """Of the workspace."""
    images: str
    """Folder with ``known``, ``stream`` and ``upload``."""
    database: str | None


def paint(folder: Path, each: int = 6) -> Path:
    """Write images of plain colours with noise, which pixels can tell apart: so many of each, and two to upload."""
    for part, colours, numbers in (("known", KNOWN, range(each)), ("stream", COLOURS, range(100, 100 + each)),
                                   ("upload", ("blue",), range(200, 202))):  # fmt: skip
        for colour in colours:
            home = folder / part / colour if part == "known" else folder / part
            home.mkdir(parents=True, exist_ok=True)
            for number in numbers:
                noise = np.random.default_rng([number, *COLOURS[colour]]).integers(-25, 26, (12, 12, 3))
                image = (np.array(COLOURS[colour]) + noise).clip(0, 255).astype(np.uint8)
                Image.fromarray(image).save(home / f"{colour}{number}.png")
    return folder


def _init(place: Place) -> None:
    with Workspace.create(place.folder, "pixels", recognizer=RECOGNIZER, database=place.database) as workspace:
        workspace.fit(Path(place.images) / "known")


def _name(workspace: Workspace) -> None:
    for group in workspace.groups():
        if not group.confirmed:
            colour = Path(workspace.views.paths(group.items[0])[0]).stem.rstrip("0123456789")
            workspace.name(group.id, colour, confirm=True)


def _keep(workspace: Workspace, images: Path) -> None:
    workspace.recognition.keep([file.read_bytes() for file in sorted(images.iterdir())])


def _opened(act: Callable[[Workspace, Path], object]) -> Callable[[Place], None]:
    def step(place: Place) -> None:
        with Workspace(place.folder) as workspace:
            act(workspace, Path(place.images))

    return step


STEPS: dict[str, Callable[[Place], None]] = {
    "init": _init,
    "recognize": _opened(lambda workspace, images: [*workspace.recognize([images / "stream"])]),
    "discover": _opened(lambda workspace, _: workspace.discover(6)),
    "name": _opened(lambda workspace, _: _name(workspace)),
    "learn": _opened(lambda workspace, _: workspace.learn()),
    "keep": _opened(lambda workspace, images: _keep(workspace, images / "upload")),
    "rollback": _opened(lambda workspace, _: workspace.rollback(1)),
    "undo": _opened(lambda workspace, _: workspace.undo()),
}
"""A session; each step may be run again when it was interrupted."""
ONCE = {"init", "discover", "learn", "rollback", "undo"}
"""Steps that are one edit: one that is in the history is done and is not run again."""


class Facts(NamedTuple):
    """What a workspace says, as JSON has it."""

    history: list[list[Any]]
    """Number, verb and who, the oldest first."""
    labels: dict[str, str]
    """Of each file, by its name."""
    version: int | None


def facts_of(workspace: Workspace) -> Facts:
    """Return what a workspace says now."""
    entries = [[entry.id, entry.verb, entry.who] for entry in reversed(workspace.history())]
    labels = {os.path.basename(path): one.label for one in workspace.views.labels() for path in one.paths}
    version = workspace.status().version
    return Facts(entries, labels, version and version.id)


def contradictions(workspace: Workspace) -> list[str]:
    """Return what is wrong inside a workspace; files that nobody names are left by a crash and are not."""
    found = [f"{one.what}: {one.problem}" for one in workspace.check() if "no image uses" not in one.problem]
    if workspace.status().version is not None:
        workspace.recognizers.follow()  # the recogniser in use can be loaded
    return found


class Library:
    """The preloaded library that records and kills."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "recorder.so"
        source = Path(__file__).with_name("recorder.c")
        command = ["cc", "-shared", "-fPIC", "-O1", "-o", self.file, source, "-ldl", "-lpthread"]
        subprocess.run(command, check=True)


class Steps:
    """Runs steps in processes of their own."""

    def __init__(self, library: Library, root: Path, **environment: str) -> None:
        settings = {"LD_PRELOAD": str(library.file), "RECORDER_ROOT": str(root), "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.torture.session"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | settings | environment,
        )

    def run(
        self, step: str, place: Place, *, kill_at: int = 0, kill_after: float | None = None
    ) -> tuple[int, float, int]:
        """Run a step, killed before an operation or after some seconds; return status, seconds and operations."""
        command = {"step": step, "place": place, "kill_at": kill_at, "kill_after": kill_after}
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        status, seconds, operations = self.process.stdout.readline().split()
        if int(status) not in (0, -signal.SIGKILL):
            raise RuntimeError(f"the step {step} failed with status {status}")
        return int(status), float(seconds), int(operations)

    def close(self) -> None:
        """End the process."""
        self.process.communicate()


@contextmanager
def steps(library: Library, root: Path, **environment: str) -> Iterator[Steps]:
    """Start the process that runs steps."""
    started = Steps(library, root, **environment)
    try:
        yield started
    finally:
        started.close()


def _execute(step: str, place: Place, kill_at: int, operations: str) -> None:
    recorder = ctypes.CDLL(None)
    recorder.recorder_kill_at(ctypes.c_long(kill_at))
    STEPS[step](place)
    Path(operations).write_text(str(recorder.recorder_count()))
    if marks := os.environ.get("RECORDER_MARKS"):
        with Workspace(place.folder) as workspace:
            said = json.dumps({"step": step, "facts": facts_of(workspace)}).encode()
        descriptor = os.open(marks, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(descriptor, said)
        os.close(descriptor)


def main() -> None:
    import opengcd.recognizer  # noqa: F401  # before the fork: it takes seconds
    from opengcd.embed import pixels as pixels_module
    from opengcd.workspace import intake

    pixels_module.BATCH, intake.SURVEY = 5, 17  # many small steps, so that a kill hits one of many places
    operations = tempfile.mktemp(prefix="opengcd-operations-")
    for line in sys.stdin:
        command = json.loads(line)
        began = time.perf_counter()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                _execute(command["step"], Place(*command["place"]), command["kill_at"], operations)
                status = 0
            finally:
                os._exit(status)
        if command["kill_after"] is not None:
            time.sleep(command["kill_after"])
            os.kill(child, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        counted = Path(operations).read_text() if status == 0 else "0"
        print(status, time.perf_counter() - began, counted, flush=True)
    Path(operations).unlink(missing_ok=True)


if __name__ == "__main__":
    main()
