"""Adapting the network by the service: the plan, the job with its curves, cancelling, and who may do what."""

import threading

import numpy as np
import pytest

from opengcd import Client
from opengcd.adapt import AdaptError, AdaptSettings, EpochPoint, TimeEstimate, estimate
from opengcd.service import create_app
from opengcd.service.client import ServiceError
from opengcd.service.job_reports import TimeLeft
from opengcd.workspace import adaptation
from tests.helpers.held_training import ALWAYS, NEVER, HeldTraining
from tests.helpers.serving import API, Pause, connect, eventually, finish, get, listen, png, send, server

ADAPT = {"verb": "adapt", "epochs": 2}


@pytest.fixture
def client(trainable):
    with connect(create_app(trainable), trainable.access.make("ann")) as opened:
        yield opened


def state(workspace):
    """The version in use, the features of some items and the groups."""
    return workspace.status().version.id, workspace.vectors.of_items([1, 50]).tobytes(), workspace.groups()


# The job.


def test_a_dry_run_an_adaptation_and_the_way_back(trainable, client, least_gain, monkeypatch):
    least_gain(ALWAYS)

    def export(folder, file, *, pooling):
        file.write_text(str(folder))

    def refuse(folder, file, *, pooling):
        raise AdaptError("It computes other vectors.")

    monkeypatch.setattr("opengcd.adapt.export_onnx", export)
    before = state(trainable)
    tried = finish(client, send(client, "POST", "jobs", ADAPT | {"dry_run": True}, 202))
    assert (tried["state"], tried["error"], tried["arguments"]["dry_run"]) == ("done", None, True)
    result = tried["result"]
    assert (result["switched"], result["version"], result["reason"]) == (False, None, "it was a dry run")
    assert (result["images"], result["rehearsed"]["hidden"], result["rehearsed"]["helps"]) == (42, 2, True)
    assert [point["epoch"] for point in tried["curves"]["rehearsing"]] == [1, 2]
    assert tried["curves"]["training"] == []
    assert state(trainable) == before
    assert "adapt it first" in get(client, "adaptation/onnx", 409)["detail"]

    done = finish(client, send(client, "POST", "jobs", ADAPT, 202))
    assert (done["state"], done["result"]["switched"], done["result"]["version"]) == ("done", True, 2)
    written = client.get(f"{API}/adaptation/onnx")
    assert written.text == str(trainable.path / "networks" / "0002")
    assert written.headers["content-disposition"].endswith('.onnx"')
    monkeypatch.setattr("opengcd.adapt.export_onnx", refuse)
    assert get(client, "adaptation/onnx", 409)["detail"] == "It computes other vectors."
    assert done["result"]["seconds"].keys() == {"reading", "rehearsing", "training"}
    # The rehearsal was made before: its curve is part of this job all the same.
    assert done["curves"]["rehearsing"] == tried["curves"]["rehearsing"]
    assert [point["epoch"] for point in done["curves"]["training"]] == [1, 2]
    assert all(0 < point["loss"] < 20 and 0 <= point["accuracy"] <= 1 for point in done["curves"]["training"])
    assert state(trainable)[0] == 2
    assert state(trainable)[1] != before[1]
    assert get(client, "adaptation")["last"]["version"] == 2

    send(client, "POST", "undo", {"on": get(client, "status")["edit"]})
    assert state(trainable) == before
    assert get(client, "adaptation")["last"]["undone"]


def test_it_changes_nothing_if_it_does_not_help_unless_it_is_forced(trainable, client, least_gain):
    least_gain(NEVER)
    done = finish(client, send(client, "POST", "jobs", ADAPT, 202))["result"]
    assert (done["switched"], done["rehearsed"]["helps"]) == (False, False)
    assert "not better" in done["reason"]
    assert trainable.status().version.id == 1
    assert finish(client, send(client, "POST", "jobs", ADAPT | {"force": True}, 202))["result"]["version"] == 2
    assert trainable.status().version.id == 2


def test_options_reach_the_training(trainable, client, monkeypatch):
    seen = []

    def train(*_, settings, force, dry_run, **__):
        numbers = settings.blocks, settings.epochs, settings.batch_size
        seen.append((settings.method, numbers, settings.unlabelled, force, dry_run))
        raise ValueError("no training today")

    monkeypatch.setattr(adaptation, "adapt_network", train)
    options = {"method": "blocks", "blocks": 1, "epochs": 7, "batch_size": 8}
    options |= {"unlabelled": True, "force": True, "dry_run": True}
    job = finish(client, send(client, "POST", "jobs", {"verb": "adapt"} | options, 202))
    assert (job["state"], job["error"], job["arguments"]) == ("failed", "no training today", options)
    finish(client, send(client, "POST", "jobs", {"verb": "adapt"}, 202))
    usual = AdaptSettings()
    assert seen == [
        ("blocks", (1, 7, 8), True, True, True),
        ("lora", (usual.blocks, usual.epochs, usual.batch_size), False, False, False),
    ]
    for wrong in ({"method": "magic"}, {"blocks": 0}, {"epochs": 0}, {"blocks": True}, {"force": 1}, {"epoch": 3}):
        send(client, "POST", "jobs", {"verb": "adapt"} | wrong, 422)


def test_images_are_recognised_by_the_network_in_use_right_after_the_switch(trainable, client, least_gain):
    """The same image gets the probabilities that the workspace itself would give it, before and after."""
    least_gain(ALWAYS)

    def asked():
        sent = client.post("/api/v1/recognize", files={"files": ("red.png", png("red", 4321))}, params={"top": 7})
        return dict(sent.json()[0]["top"])

    def expected():
        X, _ = trainable.recognition.embed([png("red", 4321)])
        recognizer = trainable.recognizers.in_use()[1]
        return dict(zip(recognizer.classes_, recognizer.recognize(X).probabilities[0, 1:], strict=True))

    def agree():
        said, wanted = asked(), expected()
        return said.keys() == wanted.keys() and all(abs(said[name] - wanted[name]) < 1e-4 for name in said)

    assert agree()
    old = asked()
    assert finish(client, send(client, "POST", "jobs", ADAPT, 202))["result"]["switched"]
    assert agree()
    assert asked() != old
    send(client, "POST", "rollback", {"on": get(client, "status")["edit"], "version": 1})
    assert asked() == old


def test_curves_and_the_time_left_are_there_while_it_runs(trainable, least_gain, monkeypatch):
    """Also for who comes later: by the job itself, and by the first event about it."""
    least_gain(ALWAYS)
    held = HeldTraining(monkeypatch, "training", 1)
    app = create_app(trainable)
    with connect(app, trainable.access.make("ann")) as client:
        job = send(client, "POST", "jobs", ADAPT, 202)
        assert held.reached.wait(60)
        running = get(client, f"jobs/{job['id']}")
        assert [len(running["curves"][name]) for name in ("rehearsing", "training")] == [2, 1]
        assert running["seconds_left"] >= 0
        assert get(client, "status")["jobs"] == [running]
        heard = client.portal.call(listen, app.state.service.events, 2)
        assert heard == [("ping", {}), ("job", running)]
        held.go_on.set()
        assert finish(client, running)["state"] == "done"


def test_an_accuracy_that_is_not_known_is_null(trainable, client, monkeypatch):
    def train(*_, on_epoch, **__):
        on_epoch("rehearsing", EpochPoint(1, 2.5, float("nan")))
        raise ValueError("stop here")

    monkeypatch.setattr(adaptation, "adapt_network", train)
    job = finish(client, send(client, "POST", "jobs", ADAPT, 202))
    assert job["curves"] == {"rehearsing": [{"epoch": 1, "loss": 2.5, "accuracy": None}], "training": []}


STAGES = [
    "measuring how long it will take",
    "reading images",
    "training the network",
    "rehearsing with the adapted network",
    "embedding images by the adapted network",
    "storing the version",
]


@pytest.mark.parametrize("stage", STAGES)
def test_cancelling_at_any_stage_leaves_the_old_state(trainable, least_gain, monkeypatch, stage):
    least_gain(ALWAYS)
    before = state(trainable), trainable.history()
    pause = Pause(monkeypatch, stage)
    with connect(create_app(trainable), trainable.access.make("ann")) as client:
        job = send(client, "POST", "jobs", ADAPT, 202)
        assert pause.reached.wait(60)
        assert send(client, "POST", f"jobs/{job['id']}/cancel")["state"] == "running"
        pause.go_on.set()
        job = finish(client, job)
        assert (job["state"], job["error"], job["result"]) == (
            "cancelled",
            "The job was cancelled, and nothing was changed.",
            None,
        )
        assert (state(trainable), trainable.history()) == before
        # The next one goes on from there.
        assert finish(client, send(client, "POST", "jobs", ADAPT, 202))["result"]["version"] == 2


def test_cancelling_between_two_epochs(trainable, client, monkeypatch):
    train = adaptation.adapt_network

    def cancelling(*args, on_epoch, **options):
        def cancel(curve, point):
            trainable.jobs.cancel(1)
            on_epoch(curve, point)

        return train(*args, on_epoch=cancel, **options)

    monkeypatch.setattr(adaptation, "adapt_network", cancelling)
    job = finish(client, send(client, "POST", "jobs", ADAPT, 202))
    assert (job["state"], job["curves"]) == ("cancelled", None)
    assert trainable.status().version.id == 1


def test_what_is_left_follows_the_expectation_or_the_pace_of_the_stage():
    now = [0.0]
    left = TimeLeft(100.0, lambda: now[0])
    assert left.after("reading", 0, 10) == 100
    now[0] = 20.0
    assert left.after("reading", 10, 10) == 80
    assert left.after("training", 0, 100) == 80
    now[0] = 40.0
    assert left.after("training", 10, 100) == 180  # two seconds each
    now[0] = 300.0
    assert left.after("training", 100, 100) == 0
    assert left.after("storing", 0, 0) == 0
    unexpected = TimeLeft(0.0, lambda: now[0])
    assert unexpected.after("reading", 0, 10) is None
    now[0] = 310.0
    assert unexpected.after("reading", 5, 10) == 10


# The plan.


def test_the_time_is_measured_in_the_background(trainable, monkeypatch):
    """The first answer comes at once; an event tells when the time is known."""
    go_on, asked = threading.Event(), []

    def measure(network, labelled, others, settings, *, pooling, device):
        asked.append((labelled, others))
        assert go_on.wait(30)
        return TimeEstimate(1.0, 20.0, 30.0, 9.0)

    monkeypatch.setattr(estimate, "estimate_time", measure)
    app = create_app(trainable)
    with connect(app, trainable.access.make("ann")) as client:
        begun = threading.Event()
        hearing = client.portal.start_task_soon(listen, app.state.service.events, 2, begun)
        assert begun.wait(30)
        for _ in range(2):  # however often one asks, it is measured once
            plan = get(client, "adaptation")
            assert (plan["possible"], plan["seconds"], plan["measuring"]) == (True, None, True)
        assert (plan["images"], plan["unlabelled"], plan["last"]) == (42, 18, None)
        go_on.set()
        assert hearing.result(30) == [("ping", {}), ("adaptation", {})]
        plan = get(client, "adaptation")
        assert (plan["seconds"], plan["rehearsal_seconds"], plan["measuring"]) == (60.0, 21.0, False)
        trainable.name(trainable.groups()[0].id, "sky", confirm=True)
        assert get(client, "adaptation")["images"] > 42
    assert asked[0] == (42, 18)


def test_nothing_is_measured_while_a_job_runs(trainable, monkeypatch):
    pause = Pause(monkeypatch, 1)
    with connect(create_app(trainable), trainable.access.make("ann")) as client:
        job = send(client, "POST", "jobs", {"verb": "discover", "k": 9}, 202)
        assert pause.reached.wait(30)
        plan = get(client, "adaptation")
        assert (plan["possible"], plan["seconds"], plan["measuring"]) == (True, None, False)
        pause.go_on.set()
        finish(client, job)
        assert get(client, "adaptation")["measuring"]
        eventually(lambda: get(client, "adaptation")["seconds"])


@pytest.mark.parametrize(
    ("error", "possible"), [(ValueError("not a network"), False), (RuntimeError("out of memory"), True)]
)
def test_a_measurement_that_fails_is_not_repeated_at_once(trainable, client, monkeypatch, recwarn, error, possible):
    asked = []

    def measure(*_, **__):
        asked.append(1)
        raise error

    monkeypatch.setattr(estimate, "estimate_time", measure)
    assert get(client, "adaptation")["measuring"]
    eventually(lambda: not get(client, "adaptation")["measuring"])
    plan = get(client, "adaptation")
    assert (plan["possible"], plan["reason"]) == (possible, "" if possible else "not a network")
    assert (plan["seconds"], asked) == (None, [1])
    assert client.get("/healthz").status_code == 200


def test_pixels_cannot_be_adapted(workspace):
    with connect(create_app(workspace), workspace.access.make("ann")) as client:
        plan = get(client, "adaptation")
        assert (plan["possible"], plan["measuring"], plan["seconds"]) == (False, False, None)
        assert "pixels has no network" in plan["reason"]
        job = finish(client, send(client, "POST", "jobs", {"verb": "adapt"}, 202))
        assert (job["state"], job["error"], job["curves"]) == ("failed", plan["reason"], None)


# Who may.


def test_whoever_may_read_sees_everything_and_starts_nothing(trainable):
    app = create_app(trainable)
    with connect(app, trainable.access.make("bob", "read")) as reader:
        assert get(reader, "adaptation")["possible"]
        send(reader, "POST", "jobs", ADAPT, 403)
        assert get(reader, "jobs") == []
        assert connect(app).get("/api/v1/adaptation").status_code == 401


def test_the_client(trainable):
    token = trainable.access.make("ann")
    with server(trainable.path) as (_, address), Client(address, token) as client:
        assert client.adaptation()["images"] == 42
        tried = client.adapt(dry_run=True, epochs=1)
        assert (tried["switched"], tried["reason"]) == (False, "it was a dry run")
        assert client.adapt(epochs=1, force=True)["version"] == 2
        assert client.adaptation()["last"]["switched"]
        X = np.zeros((1, 16), np.float32) + 1
        assert client.recognize(X)[0]["label"]
        with pytest.raises(ServiceError, match="method: Input should be"):
            client.adapt(method="magic")
