"""kill -9 at any moment: the workspace opens, nothing that was reported is lost, and the same command goes on."""

import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter

import numpy as np
import pytest
from sqlalchemy import select

from opengcd import Workspace
from opengcd.embed import Pixels, read_image
from opengcd.workspace import WorkspaceError
from opengcd.workspace.schema import features, items, models
from opengcd.workspace.versions import folder_of
from tests.helpers.pictures import RECOGNIZER, paint, paint_world, truth
from tests.helpers.places import HELPERS

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="commands are forked and killed as on POSIX systems")


ENTRIES = {"init": "init", "discover": "discover", "import": "review", "learn": "learn", "undo": "undo"}
"""Commands that do their work in one piece, and what the history calls them."""


class Server:
    """Commands in processes of their own."""

    def __init__(self, folder):
        environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        script = HELPERS / "crash_server.py"
        self.report = folder / "report"
        self.process = subprocess.Popen(
            [sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def run(self, folder, verb, kill_after=None, **arguments):
        """Run a command, and kill it after some time; return how long it ran and what it reported."""
        self.report.unlink(missing_ok=True)
        command = {"folder": str(folder), "verb": verb, "arguments": arguments, "report": str(self.report)}
        command["kill_after"] = kill_after
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        status, seconds = self.process.stdout.readline().split()
        assert int(status) in ((0,) if kill_after is None else (0, -signal.SIGKILL)), verb
        lines = self.report.read_text().splitlines() if self.report.exists() else []
        return float(seconds), [json.loads(line) for line in lines if line.endswith(("]", '"'))]


@pytest.fixture
def server(tmp_path):
    started = Server(tmp_path)
    yield started
    started.process.communicate()


def rename_folders(out):
    """What a person does: name each group by its colour."""
    for folder in [f for f in out.iterdir() if f.is_dir() and not f.name.startswith("_")]:
        files = sorted(folder.glob("*.png"))
        if files and folder.name != truth(files[0]):
            folder.rename(out / truth(files[0]))


def check(workspace):
    """Nothing in a workspace contradicts anything else."""
    with workspace.store.database.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
        assert connection.exec_driver_sql("PRAGMA foreign_key_check").first() is None
        ids = list(connection.scalars(select(features.c.item_id).order_by(features.c.item_id)))
        assert ids == list(connection.scalars(select(items.c.id).order_by(items.c.id)))
        rows = workspace.vectors.read(connection, ids) if ids else np.empty((0, 192))
        for version in connection.scalars(select(models.c.id)):
            assert (folder_of(workspace.path / "models", version) / "model.json").exists()
    files = [workspace.views.paths(id)[0] for id in ids]
    expected = Pixels()(map(read_image, files)) if files else rows
    np.testing.assert_array_equal(rows, expected)


def summary(workspace):
    found = {path: (one.label, one.source) for one in workspace.views.labels() for path in one.paths}
    return found, Counter(entry.verb for entry in workspace.history())


def commands(world, out):
    """The loop, command by command."""
    known, stream = world
    return {
        "init": {"recognizer": RECOGNIZER, "known": str(known)},
        "recognize": {"sources": [str(stream)]},
        "discover": {"k": 6},
        "export": {"out": str(out)},
        "import": {"out": str(out)},
        "learn": {},
        "undo": {},
    }


def is_made(folder):
    """Whether init came so far that there is a workspace; if not, opening it says that init goes on."""
    if not (folder / "workspace.json").exists():
        return False
    with contextlib.closing(sqlite3.connect(f"file:{folder}/workspace.db?mode=rwc", uri=True)) as connection:
        if connection.execute("SELECT count(*) FROM sqlite_master").fetchone() != (0,):
            return True
    with pytest.raises(WorkspaceError, match="init was interrupted"):
        Workspace(folder)
    return False


def kill_at_random(server, tmp_path, kills, seed):
    """Run the loop, and kill each command so many times at random moments; whatever was killed goes on."""
    rng = random.Random(seed)
    world = paint_world(tmp_path / "world", n=12)
    plain, here, snapshot = tmp_path / "plain", tmp_path / "here", tmp_path / "snapshot"
    durations = {}
    for verb, given in commands(world, plain / "review").items():
        durations[verb] = server.run(plain / "workspace", verb, **given)[0]
        if verb == "export":
            rename_folders(plain / "review")
    with Workspace(plain / "workspace") as workspace:
        expected, verbs_expected = summary(workspace)

    here.mkdir()
    for verb, given in commands(world, here / "review").items():
        shutil.copytree(here, snapshot, symlinks=True)
        killed, finished, told = 0, False, {}
        while killed < kills or not finished:
            if finished:  # too early: once more from the start
                shutil.rmtree(here)
                shutil.copytree(snapshot, here, symlinks=True)
                told = {}
            if verb == "export":
                shutil.rmtree(here / "review", ignore_errors=True)
            wait = rng.uniform(0, 1.1) * durations[verb] if killed < kills else None
            reported = server.run(here / "workspace", verb, kill_after=wait, **given)[1]
            finished = "done" in reported
            killed += not finished
            told |= dict(line for line in reported if line != "done")
            if not is_made(here / "workspace"):
                continue
            with Workspace(here / "workspace") as workspace:
                check(workspace)
                found, verbs = summary(workspace)
            assert {path: found[path][0] for path in told} == told
            if verb in ENTRIES:
                # It may have been done though it could not say so any more; then it must not be done again.
                assert verbs[ENTRIES[verb]] == 1 if finished else verbs[ENTRIES[verb]] <= 1
                finished = verbs[ENTRIES[verb]] == 1
        shutil.rmtree(snapshot)
        if verb == "export":
            rename_folders(here / "review")
    assert found == expected
    assert set(verbs) == set(verbs_expected)


def test_killed_at_28_random_moments(server, tmp_path):
    kill_at_random(server, tmp_path, kills=4, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_killed_at_many_random_moments(server, tmp_path, seed):
    kill_at_random(server, tmp_path, kills=50, seed=seed)


def test_two_writers_wait_for_each_other(workspace, tmp_path):
    """Two processes recognise the same and other images at once: each image is one item with one vector."""
    for start, name in ((0, "one"), (40, "two")):
        paint(tmp_path / name, "red", range(8000 + start, 8080 + start))
    command = [sys.executable, "-m", "opengcd", "recognize", workspace.path]
    running = [subprocess.Popen([*command, tmp_path / name], stdout=subprocess.PIPE) for name in ("one", "two")]
    for process in running:  # a line for each image, the heading, and what to do next
        lines = process.communicate()[0].splitlines()
        assert len([line for line in lines if b".png" in line]) == 80
    assert all(process.returncode == 0 for process in running)
    check(workspace)
    assert len(workspace.views.labels()) == 80 + 120


def test_a_reader_reads_and_a_person_edits_while_a_command_writes(workspace, tmp_path):
    paint(tmp_path / "new", "red", range(9000, 9300))
    command = workspace.recognize([tmp_path / "new"])
    next(command)  # holds the lock of long commands from here on
    with Workspace(workspace.path) as other:
        assert len(other.views.labels()) > 80
        other.name(other.groups()[0].id, "sky")
    with workspace.store.database.writing() as connection:  # a transaction that has written and is not finished
        connection.execute(items.insert().values(hash="x", width=1, height=1))
        with Workspace(workspace.path) as reader:
            assert len(reader.groups()) == 2
        connection.rollback()
    waited = []

    def discover():
        with Workspace(workspace.path) as other:
            other.discover(5, progress=lambda stage, *_: waited.append(stage))

    second = threading.Thread(target=discover)
    second.start()
    while not waited:
        time.sleep(0.01)
    assert len(list(command)) == 299
    second.join()
    assert waited[0] == "waiting for another command"
    assert workspace.history()[0].verb == "discover"


def test_two_people_edit_at_once(workspace):
    """Each edit reads before it writes; none may fail or be lost because of the other's."""
    first, second = (group.id for group in workspace.groups())
    errors = []

    def edit(group, label):
        with Workspace(workspace.path, who=label) as opened:
            try:
                for number in range(60):
                    opened.name(group, f"{label} {number}")
            except Exception as error:
                errors.append(error)

    people = [threading.Thread(target=edit, args=args) for args in ((first, "ann"), (second, "bob"))]
    for person in people:
        person.start()
    for person in people:
        person.join()
    assert errors == []
    assert {group.label for group in workspace.groups()} == {"ann 59", "bob 59"}
    assert Counter(entry.who for entry in workspace.history() if entry.verb == "name") == {"ann": 60, "bob": 60}
