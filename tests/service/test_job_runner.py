"""What a job says is what happened, whenever it is cancelled or its process is killed, and through outages."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from itertools import count

import pytest
from sqlalchemy.exc import OperationalError

from opengcd import Workspace
from opengcd.service import create_app, job_reports, job_runner
from opengcd.workspace import UnavailableError
from opengcd.workspace.database import Database
from opengcd.workspace.job_queue import Jobs
from opengcd.workspace.recognizers import Recognizers
from opengcd.workspace.review import Review
from opengcd.workspace.similarity import Similarity
from opengcd.workspace.store import Store
from tests.helpers.pictures import truth
from tests.helpers.places import HELPERS
from tests.helpers.serving import Pause, connect, eventually, finish, get, groups, listen, send

STEPS = {"discover": 3, "learn": 8}
"""Reports of progress by each verb."""
BEFORE_COMMIT = {"discover": 3, "learn": 6}
EVERY_STEP = [(verb, step) for verb, steps in STEPS.items() for step in range(1, steps + 1)]


def prepare(workspace, verb):
    """Give a verb something to do."""
    if verb == "learn":
        group = next(group for group in workspace.groups() if truth(workspace.views.paths(group.items[0])[0]) == "blue")
        workspace.name(group.id, "sky", confirm=True)


def changed(workspace, verb):
    """Whether the database has what the verb does."""
    return workspace.status().versions == 2 if verb == "learn" else workspace.review.last_edit() > 3


def says_the_truth(workspace, verb, job):
    """Compare what is said of a finished job with what is in the database."""
    if changed(workspace, verb):
        assert (job.state, job.error) == ("done", None)
        assert job.result.get("version", 2) == 2
    else:
        assert job.state in ("failed", "cancelled")
        assert job.result is None
        assert "nothing was changed" in job.error


@pytest.mark.parametrize(("verb", "step"), EVERY_STEP)
def test_cancelled_at_every_step(workspace, monkeypatch, verb, step):
    prepare(workspace, verb)
    pause = Pause(monkeypatch, step)
    with connect(create_app(workspace), workspace.access.make("ann")) as client:
        job = send(client, "POST", "jobs", {"verb": verb}, 202)
        assert pause.reached.wait(30)
        before = step <= BEFORE_COMMIT[verb]
        assert changed(workspace, verb) != before
        assert send(client, "POST", f"jobs/{job['id']}/cancel")["state"] == ("running" if before else "done")
        pause.go_on.set()
        assert finish(client, job)["state"] == ("cancelled" if before else "done")
        says_the_truth(workspace, verb, workspace.jobs.get(job["id"]))
        assert changed(workspace, verb) != before
        # The next one is done as if nothing had been.
        again = finish(client, send(client, "POST", "jobs", {"verb": "discover", "k": 6}, 202))
        assert again["state"] == "done"
        assert workspace.status().counts["waiting"] == 0


def test_cancelled_in_the_transaction_of_the_change(workspace, monkeypatch):
    """Whoever comes while the change is being stored learns how that ended."""
    prepare(workspace, "learn")
    record, answers = Jobs.record, []
    threads = []

    def slow(jobs, connection, id, *result):
        record(jobs, connection, id, *result)
        threads.append(threading.Thread(target=lambda: answers.append(workspace.jobs.cancel(id).state)))
        threads[0].start()
        time.sleep(0.2)
        assert answers == []

    monkeypatch.setattr(Jobs, "record", slow)
    with connect(create_app(workspace), workspace.access.make("ann")) as client:
        job = finish(client, send(client, "POST", "jobs", {"verb": "learn"}, 202))
    threads[0].join()
    assert (answers, job["state"]) == (["done"], "done")
    says_the_truth(workspace, "learn", workspace.jobs.get(job["id"]))


@pytest.mark.parametrize("verb", STEPS)
def test_cancelled_between_the_last_step_and_the_transaction_of_the_change(workspace, monkeypatch, verb):
    prepare(workspace, verb)
    editing, answers = Store.editing, []

    def late(self, *args):
        if not answers:
            answers.append(workspace.jobs.cancel(workspace.jobs.latest()[0].id).state)
        return editing(self, *args)

    with connect(create_app(workspace), workspace.access.make("ann")) as client, monkeypatch.context() as now:
        before = workspace.history()
        now.setattr(Store, "editing", late)
        job = finish(client, send(client, "POST", "jobs", {"verb": verb}, 202))
        assert (answers, job["state"]) == (["running"], "cancelled")
        assert not changed(workspace, verb)
        assert workspace.history() == before
        says_the_truth(workspace, verb, workspace.jobs.get(job["id"]))
        assert finish(client, send(client, "POST", "jobs", {"verb": verb}, 202))["state"] == "done"


def test_a_job_that_waits_is_cancelled_at_once(workspace, monkeypatch):
    pause = Pause(monkeypatch, 1)
    with connect(create_app(workspace), workspace.access.make("ann")) as client:
        running = send(client, "POST", "jobs", {"verb": "discover"}, 202)
        waiting = send(client, "POST", "jobs", {"verb": "discover"}, 202)
        assert pause.reached.wait(30)
        assert send(client, "POST", f"jobs/{waiting['id']}/cancel")["state"] == "cancelled"
        assert [(job["id"], job["state"]) for job in get(client, "status")["jobs"]] == [(running["id"], "running")]
        pause.go_on.set()
        assert finish(client, running)["state"] == "done"
        assert get(client, f"jobs/{waiting['id']}")["state"] == "cancelled"
        send(client, "POST", "jobs/99/cancel", code=404)


def test_a_server_that_stops_says_what_its_job_did(workspace, monkeypatch):
    """One that stops after the change leaves the rest to the next server."""
    prepare(workspace, "learn")
    pause = Pause(monkeypatch, 6)
    app = create_app(workspace)
    runner = app.state.service.runner
    wake, woken = runner.wake, count()

    def wake_and_go_on():
        wake()
        if next(woken):  # for the job first, then because the server stops
            pause.go_on.set()

    monkeypatch.setattr(runner, "wake", wake_and_go_on)
    with connect(app, workspace.access.make("ann")) as client:
        job = send(client, "POST", "jobs", {"verb": "learn"}, 202)
        assert pause.reached.wait(30)
    assert workspace.jobs.get(job["id"]).state == "running"
    assert workspace.status().counts["waiting"] == 32
    with connect(create_app(workspace), workspace.access.make("ann")) as client:
        assert finish(client, get(client, f"jobs/{job['id']}"))["state"] == "done"
    assert workspace.status().counts["waiting"] == 0


# Killed.


@pytest.fixture(scope="module")
def processes():
    """Run jobs in a process that may die; return its exit status."""
    if not hasattr(os, "fork"):
        pytest.skip("processes are forked and killed as on POSIX systems")
    script = HELPERS / "job_runner.py"
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )

    def run(folder, die=None):
        process.stdin.write(json.dumps({"folder": str(folder), "die": die}) + "\n")
        process.stdin.flush()
        return int(process.stdout.readline())

    yield run
    process.communicate()


@pytest.mark.parametrize(
    ("verb", "point"),
    [(verb, ("report", step)) for verb, step in EVERY_STEP]
    + [(verb, (method, 1)) for verb in STEPS for method in ("record", "end")],
)
def test_killed_at_every_step(workspace, processes, verb, point):
    prepare(workspace, verb)
    before = workspace.groups()
    job = workspace.jobs.add(verb, {}, "ann")
    assert processes(workspace.path, point) == -signal.SIGKILL
    left = workspace.jobs.get(job.id)
    assert left.state == "running"
    method, step = point
    assert changed(workspace, verb) == (method == "end" or (method == "report" and step > BEFORE_COMMIT[verb]))
    assert (left.result is not None) == changed(workspace, verb)
    assert processes(workspace.path) == 0  # the next server
    says_the_truth(workspace, verb, workspace.jobs.get(job.id))
    assert workspace.status().counts["waiting"] == 0
    if changed(workspace, verb):
        workspace.undo()
    if verb == "learn":
        assert workspace.groups() == before


# Outages.


class Outage:
    """Lets every transaction of a database fail, as when its server is down."""

    def __init__(self, monkeypatch):
        self.on = False
        self.errors = 0
        for name in ("reading", "writing"):
            monkeypatch.setattr(Database, name, self._broken(getattr(Database, name)))

    def _broken(self, method):
        def transaction(database):
            if self.on:
                self.errors += 1
                raise UnavailableError("The database cannot be used (it is down).")
            return method(database)

        return transaction


def test_a_job_during_an_outage_ends_when_the_database_is_back(workspace, monkeypatch):
    pause, outage = Pause(monkeypatch, 2), Outage(monkeypatch)
    with connect(create_app(workspace), workspace.access.make("ann")) as client:
        job = send(client, "POST", "jobs", {"verb": "discover"}, 202)
        assert pause.reached.wait(30)
        outage.on = True
        pause.go_on.set()
        down = client.get("/healthz")
        while "jobs" not in down.json()["detail"]:  # the result could not be stored, nor that the job has failed
            assert down.status_code == 503
            time.sleep(0.02)
            down = client.get("/healthz")
        assert down.json()["detail"].startswith("Down: database, jobs")
        assert down.headers["retry-after"] == "5"
        outage.on = False
        done = finish(client, get(client, f"jobs/{job['id']}"))
        assert (done["state"], workspace.review.last_edit()) == ("failed", 3)
        assert "database cannot be used" in done["error"]
        assert finish(client, send(client, "POST", "jobs", {"verb": "discover"}, 202))["state"] == "done"
        eventually(lambda: client.get("/healthz").status_code == 200)


def test_jobs_are_taken_over_though_the_database_is_down(workspace, monkeypatch):
    ran = workspace.jobs.add("discover", {}, "ann")
    waits = workspace.jobs.add("discover", {"k": 5}, "ann")
    token = workspace.access.make("ann")
    assert workspace.jobs.take().id == ran.id  # a server that was killed now
    outage = Outage(monkeypatch)
    outage.on = True
    with connect(create_app(workspace), token) as client:
        eventually(lambda: "jobs" in client.get("/healthz").json().get("detail", ""))
        outage.on = False
        assert finish(client, get(client, f"jobs/{waits.id}"))["result"]["k"] == 5
        assert get(client, f"jobs/{ran.id}")["state"] == "failed"


def test_background_tasks_continue_after_any_error(workspace, monkeypatch):
    """Also what nobody thought of: the watchers of events and versions, and the map."""
    monkeypatch.setattr("opengcd.service.supervision.FIRST_PAUSE", 0.05)
    failing = {"on": True}

    def unless_mended(cls, name):
        method = getattr(cls, name)

        def call(self, *args, **more):
            if failing["on"]:
                raise RuntimeError("unforeseen")
            return method(self, *args, **more)

        monkeypatch.setattr(cls, name, call)

    unless_mended(Review, "edits_since")
    unless_mended(Recognizers, "follow")
    unless_mended(Similarity, "draw_map")
    unless_mended(Jobs, "take")
    token = workspace.access.make("ann")
    app = create_app(workspace)
    with connect(app, token) as client:
        events = app.state.service.events
        listening = client.portal.start_task_soon(listen, events, 2)
        get(client, "map")
        eventually(
            lambda: client.get("/healthz").json().get("detail", "")[:40] == "Down: events, jobs, map, recognition. Th"
        )
        failing["on"] = False
        group = workspace.groups()[0].id
        workspace.name(group, "sky")
        assert [name for name, _ in listening.result(30)] == ["ping", "edit"]
        eventually(lambda: get(client, "map")["drawn"])
        eventually(lambda: client.get("/healthz").status_code == 200)


def test_many_who_wait_for_a_lock_do_not_keep_readers_waiting(workspace, monkeypatch):
    """Forty people edit while another program holds the database; who cannot wait is told when to come again."""
    token = workspace.access.make("ann")
    monkeypatch.setattr("opengcd.workspace.database.WAIT_SECONDS", 1)
    with connect(create_app(workspace), token) as client, Workspace(workspace.path) as other:
        on, found = groups(client)
        what = {"on": on, "act": "name", "group": found["blue"]["id"], "label": "sky"}
        codes = []

        def edit():
            answer = client.post("/api/v1/edits", json=what)
            codes.append(answer.status_code)
            assert answer.status_code != 503 or answer.headers["retry-after"] == "5"

        with other.store.database.writing():
            people = [threading.Thread(target=edit) for _ in range(40)]
            for person in people:
                person.start()
            for _ in range(20):
                get(client, "groups")
            assert client.get("/healthz").json().get("detail", "Down: jobs").startswith("Down: jobs")
        for person in people:
            person.join()
        assert set(codes) <= {200, 409, 503}
        assert codes.count(503) >= 20
        again = client.post("/api/v1/edits", json=what).status_code
        assert (again == 200) == (200 not in codes)


def test_a_database_that_is_asked_something_wrong_is_not_called_unavailable(workspace):
    with pytest.raises(ValueError, match="no such table") as wrong, workspace.store.database.reading() as connection:
        connection.exec_driver_sql("SELECT * FROM nonsense")
    assert not isinstance(wrong.value, UnavailableError)
    assert isinstance(wrong.value.__cause__, OperationalError)


def test_a_full_disk_is_an_outage(workspace):
    def fill():
        with workspace.store.database.writing() as connection:
            connection.exec_driver_sql("PRAGMA max_page_count = 1")
            for number in range(10_000):
                connection.exec_driver_sql("INSERT INTO meta VALUES (?, ?)", (str(number), "x" * 1000))

    with pytest.raises(UnavailableError, match="full"):
        fill()


def test_every_job_tells_how_long_it_will_still_take(workspace, monkeypatch):
    monkeypatch.setattr(job_reports, "REPORT", 0.0)
    halfway, go_on = threading.Event(), threading.Event()

    def learn(_, report):
        report.progress("reading", 0, 10)
        report.progress("reading", 5, 10)
        halfway.set()
        assert go_on.wait(60)

    monkeypatch.setitem(job_runner.VERBS, "learn", learn)
    with connect(create_app(workspace), workspace.access.make("ann")) as client:
        job = send(client, "POST", "jobs", {"verb": "learn"}, 202)
        assert job["seconds_left"] is None
        assert halfway.wait(60)
        assert get(client, f"jobs/{job['id']}")["seconds_left"] is not None
        go_on.set()
        finish(client, job)
