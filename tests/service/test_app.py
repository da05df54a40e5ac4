"""The HTTP service, request by request."""

import errno
import io
import json
import os
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from prometheus_client.parser import text_string_to_metric_families

from opengcd import Workspace
from opengcd.embed import EmbedderError, Pixels
from opengcd.service import create_app
from opengcd.service import vector_bodies as vectors_module
from opengcd.service.app import LARGEST
from opengcd.service.concurrency import ConcurrencyLimit
from opengcd.service.request_limits import LARGEST_BODY
from opengcd.service.telemetry import BOUNDS
from opengcd.service.wire import MOST_ITEMS
from opengcd.workspace import UnavailableError, features
from opengcd.workspace import uploads as uploads_module
from opengcd.workspace.database import Database
from opengcd.workspace.recognition import Recognition
from tests.helpers.pictures import KNOWN, picture, truth
from tests.helpers.serving import API, connect, edit, finish, get, groups, png, send

# Looking.


def test_status(client):
    status = get(client, "status")
    assert (status["name"], status["embedder"], status["edit"]) == ("workspace", "pixels", 3)
    assert (status["groups"], status["to_review"], status["to_learn"]) == (2, 16, 0)
    assert status["version"]["classes"] == sorted(KNOWN)
    assert status["memory"] == {"size": 20_000, "used": 32}
    assert status["can_undo"] == {"id": 3, "verb": "discover"}
    assert status["can_redo"] is None
    (phase,) = get(client, "phases")
    assert (phase["learnt"], phase["asked"], phase["rejected"]) == (32, 48, 16)
    assert phase["unknown_rate"] == pytest.approx(1 / 3)
    assert phase["accuracy"] == {"memory": 1.0, "confirmed": None}
    known = get(client, "classes")
    assert [(one["label"], one["learnt"], len(one["exemplars"])) for one in known] == [
        (colour, 8, 8) for colour in sorted(KNOWN)
    ]
    assert {truth(get(client, f"items/{id}")["name"]) for id in known[0]["exemplars"]} == {"black"}
    number = get(client, "k")
    assert (number["k"], number["known"], number["curve"], number["confirmed"]) == (6, 4, [], 0)


def test_metrics_for_prometheus(app, client, workspace):
    """Each service counts for itself; the names are those that dashboards use."""
    for method, path in (("GET", "status"), ("GET", "status"), ("GET", "groups/999/items"), ("BREW", "status")):
        client.request(method, f"{API}/{path}")
    answer = client.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    found = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }
    assert found["opengcd_requests_total", "/status", "200", "GET"] == 2
    assert found["opengcd_requests_total", "/groups/{id}/items", "404", "GET"] == 1
    assert found["opengcd_requests_total", "/status", "405", "other"] == 1
    assert found["opengcd_request_seconds_count", "/status"] == 3
    for bound in (*BOUNDS, "+Inf"):
        assert ("opengcd_request_seconds_bucket", *sorted(["/status", str(bound)])) in found
    assert found["opengcd_items", "grouped"] == 16
    for name, value in (("groups", 2), ("unfinished_jobs", 0), ("last_edit", 3), ("recognized_vectors_total", 0)):
        assert found[f"opengcd_{name}",] == value
    assert found["opengcd_start_time_seconds",] <= time.time()
    assert ("process_resident_memory_bytes",) in found or sys.platform != "linux"
    with connect(create_app(workspace), workspace.access.make("bob")) as other:
        assert "opengcd_requests_total{" not in other.get("/metrics").text


def test_groups_and_their_images(client):
    on, found = groups(client)
    assert on == 3
    assert set(found) == {"blue", "yellow"}
    blue = found["blue"]
    assert (blue["size"], blue["kind"], blue["named"], blue["suggestion"]) == (8, "novel", False, None)
    page = get(client, f"groups/{blue['id']}/items", limit=3)
    assert page["total"] == 8
    assert [item["id"] for item in page["items"]] == blue["typical"][:3]
    rest = get(client, f"groups/{blue['id']}/items", offset=3)
    odd = get(client, f"groups/{blue['id']}/items", order="odd")
    assert [i["id"] for i in odd["items"]] == [i["id"] for i in page["items"] + rest["items"]][::-1]
    assert all(
        item["label"] is None and item["unknown"] > item["top"][0][1] and len(item["top"]) == 3 for item in odd["items"]
    )
    near = get(client, f"items/{blue['typical'][0]}/neighbours", limit=7)
    assert {one["group"] for one in near} == {blue["id"]}
    assert [one["distance"] for one in near] == sorted(one["distance"] for one in near)
    details = get(client, f"items/{blue['typical'][0]}")
    assert (details["group"], details["width"], details["source"]) == (blue["id"], 12, "grouped")
    assert details["paths"] == [details["name"]]  # no folder of the server is told


def test_pictures_are_cached_by_their_content(client, workspace):
    id = workspace.groups()[0].items[0]
    for kind in ("thumbnail", "image"):
        first = client.get(f"{API}/items/{id}/{kind}")
        assert first.status_code == 200
        assert Image.open(io.BytesIO(first.content)).size == (12, 12)
        assert "immutable" in first.headers["cache-control"]
        again = client.get(f"{API}/items/{id}/{kind}", headers={"If-None-Match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        get(client, f"items/{10**6}/{kind}", 404)


def test_an_image_that_was_changed_or_lost_is_not_shown(client, workspace, tmp_path):
    file = tmp_path / "odd.tiff"
    picture("red", 1).save(file)
    (result,) = workspace.recognize([file])
    shown = client.get(f"{API}/items/{result.item}/image")
    assert shown.headers["content-type"] == "image/jpeg"  # browsers do not show TIFF
    picture("green", 1).save(file)
    assert "moved or deleted" in get(client, f"items/{result.item}/image", 404)["detail"]


def test_the_map_gets_better(client, workspace):
    first = get(client, "map")
    assert sorted(first["items"]) == sorted(item for group in workspace.groups() for item in group.items)
    assert not first["drawn"]
    while not get(client, "map")["drawn"]:
        time.sleep(0.05)
    found = get(client, "map")
    homes = {item: group.id for group in workspace.groups() for item in group.items}
    assert found["group"] == [homes[item] for item in found["items"]]
    places = np.array([found["x"], found["y"]]).T
    assert places.min() >= 0
    assert places.max() <= 1
    for id in set(found["group"]):  # two colours are two heaps
        here = np.array(found["group"]) == id
        centre = places[here].mean(0)
        assert (
            np.linalg.norm(places[here] - centre, axis=1).max() < np.linalg.norm(places[~here] - centre, axis=1).min()
        )


# Editing.


def test_every_act_and_its_undoing_and_redoing(client, workspace):
    on, found = groups(client)
    blue, yellow = found["blue"], found["yellow"]
    some = blue["typical"]
    acts = [
        ("name", {"group": blue["id"], "label": "sky"}),
        ("confirm", {"group": blue["id"]}),
        ("unconfirm", {"group": blue["id"]}),
        ("move", {"items": some[:2], "group": yellow["id"]}),
        ("move", {"items": some[2:3], "label": "red"}),
        ("move", {"items": some[3:4], "label": "sea"}),
        ("separate", {"items": some[4:5]}),
        ("separate", {"items": some[5:6], "label": "ice"}),
        ("remove", {"items": some[6:7]}),
        ("split", {"group": yellow["id"], "n": 3}),
        ("merge", {"group": blue["id"], "into": yellow["id"]}),
        ("name", {"group": yellow["id"], "label": "sun", "confirm": True}),
    ]
    states, answers = [workspace.groups()], []
    for act, what in acts:
        answers.append(edit(client, on, act, **what))
        on = answers[-1]["edit"]
        states.append(workspace.groups())
        assert states[-1] != states[-2], act
        changed = {g.id for g in states[-1]} ^ {g.id for g in states[-2]}
        changed |= {a.id for a in states[-1] for b in states[-2] if a.id == b.id and a != b}
        assert changed <= set(answers[-1]["groups"]), act
    last = {group.label: group for group in states[-1]}
    assert last["red"].kind == "known"
    assert last["sea"].named
    assert not last["new group 1"].named
    assert last["sun"].confirmed
    assert last["removed"].items == some[6:7]
    assert answers[6]["made"] == last["new group 1"].id
    for (act, _), expected in zip(reversed(acts), reversed(states[:-1]), strict=True):
        done = send(client, "POST", "undo", {"on": on})
        on = done["edit"]
        assert done["undone"]["verb"] == act
        assert workspace.groups() == expected
    for (act, _), expected in zip(acts, states[1:], strict=True):
        assert get(client, "status")["can_redo"]["verb"] == act
        done = send(client, "POST", "redo", {"on": on})
        on = done["edit"]
        assert done["redone"]["verb"] == act
        assert workspace.groups() == expected
    assert "nothing to redo" in send(client, "POST", "redo", {"on": on}, 409)["detail"]
    entries = get(client, "history", limit=5)
    assert [entry["verb"] for entry in entries] == ["redo"] * 5
    assert get(client, "history", limit=1, before=entries[-1]["id"])[0]["id"] == entries[-1]["id"] - 1


def test_a_new_edit_ends_what_could_be_redone(client):
    on, found = groups(client)
    on = edit(client, on, "name", group=found["blue"]["id"], label="sky")["edit"]
    on = send(client, "POST", "undo", {"on": on})["edit"]
    on = edit(client, on, "name", group=found["yellow"]["id"], label="sun")["edit"]
    assert get(client, "status")["can_redo"] is None
    assert "nothing to redo" in send(client, "POST", "redo", {"on": on}, 409)["detail"]
    # Undo and redo take turns for as long as one likes.
    for _ in range(3):
        on = send(client, "POST", "undo", {"on": on})["edit"]
        assert get(client, "status")["can_redo"]["verb"] == "name"
        on = send(client, "POST", "redo", {"on": on})["edit"]
    assert groups(client)[1]["yellow"]["label"] == "sun"


def test_wrong_edits_are_refused_in_words(client, workspace):
    on, found = groups(client)
    blue = found["blue"]
    for what, code, told in (
        ({"act": "name", "group": 999, "label": "sky"}, 404, "no group 999"),
        ({"act": "name", "group": blue["id"], "label": "unknown"}, 422, "cannot be named"),
        ({"act": "name", "group": blue["id"]}, 422, "label"),
        ({"act": "confirm", "group": blue["id"]}, 409, "has no name"),
        ({"act": "move", "items": blue["typical"]}, 422, "either group or label"),
        ({"act": "move", "items": [], "label": "sky"}, 422, "items"),
        ({"act": "move", "items": [1], "group": blue["id"]}, 409, "has no name"),
        ({"act": "separate", "items": [1]}, 409, "already learnt item 1 as 'black'"),
        ({"act": "split", "group": blue["id"], "n": 9}, 409, "cannot be split in 9"),
        ({"act": "merge", "group": blue["id"], "into": blue["id"]}, 409, "into itself"),
        ({"act": "dance"}, 422, "dance"),
        ({"act": "confirm", "group": blue["id"], "sure": True}, 422, "sure"),
    ):
        assert told in send(client, "POST", "edits", {"on": on} | what, code)["detail"]
    assert workspace.review.last_edit() == on


def test_conflicting_edits_of_two_people(app, client, workspace):
    """What the other has changed is not overwritten; what they changed elsewhere does not matter."""
    bob = connect(app, workspace.access.make("bob"))
    on, found = groups(client)
    blue, yellow = found["blue"], found["yellow"]
    edit(bob, on, "name", group=yellow["id"], label="sun")
    mine = edit(client, on, "move", items=blue["typical"][:2], label="sea")["edit"]  # on an older state, elsewhere
    refused = edit(client, on, "name", 409, group=yellow["id"], label="moon")
    assert refused["conflict"] == {"edit": on + 1, "who": "bob", "verb": "name"}
    assert "bob has changed this meanwhile (name)" in refused["detail"]
    # The same images; the group that lost them; a group that was named since, as a target.
    assert edit(bob, on, "remove", 409, items=blue["typical"][1:3])["conflict"]["who"] == "ann"
    assert edit(bob, on, "name", 409, group=blue["id"], label="sky")["conflict"]["verb"] == "move"
    assert edit(client, on, "move", 409, items=blue["typical"][4:5], group=yellow["id"])["conflict"]["who"] == "bob"
    # Others of the same group; the same target, where both only add to it.
    edit(bob, on, "move", items=blue["typical"][3:4], label="sea")
    refused = send(client, "POST", "undo", {"on": mine}, 409)
    assert refused["conflict"]["who"] == "bob"
    assert {g.label: len(g) for g in workspace.groups()} == {"sun": 8, "sea": 3, blue["label"]: 5}
    assert Counter(entry["who"] for entry in get(client, "history") if entry["verb"] in ("name", "move")) == {
        "bob": 2,
        "ann": 1,
    }


def test_a_group_that_was_emptied_or_learnt_takes_nothing(app, client, workspace):
    bob = connect(app, workspace.access.make("bob"))
    on, found = groups(client)
    blue, yellow = found["blue"], found["yellow"]
    three = edit(client, on, "separate", items=blue["typical"][:3])
    edit(client, three["edit"], "merge", group=blue["id"], into=yellow["id"])
    refused = edit(bob, three["edit"], "move", 409, items=blue["typical"][:1], group=blue["id"])
    assert refused["conflict"]["verb"] == "merge"
    on = workspace.review.last_edit()
    workspace.name(yellow["id"], "sun", confirm=True)
    workspace.learn()
    assert edit(bob, on, "remove", 409, items=blue["typical"][:1])["conflict"]["verb"] == "learn"


# Jobs.


def test_learning_shows_what_it_did(client):
    on, found = groups(client)
    edit(client, on, "name", group=found["blue"]["id"], label="sky", confirm=True)
    assert get(client, "learnable") == {
        "new": [{"label": "sky", "count": 8}], "known": [], "total": 8, "corrected": 0, "forgotten": 0,
    }  # fmt: skip
    job = finish(client, send(client, "POST", "jobs", {"verb": "learn"}, 202))
    assert (job["state"], job["error"], job["who"]) == ("done", None, "ann")
    assert job["result"] == {
        "version": 2,
        "classes": [*sorted(KNOWN), "sky"],
        "before": {"memory": 1.0, "confirmed": 0.0},
        "after": {"memory": 1.0, "confirmed": 1.0},
    }
    assert [phase["accuracy"] for phase in get(client, "phases")] == [
        {"memory": 1.0, "confirmed": None},
        {"memory": 1.0, "confirmed": 1.0},
    ]

    def said():
        blue = [("files", ("x.png", png("blue", 900)))]
        return client.post(f"{API}/recognize", files=blue).json()[0]["label"]

    assert said() == "sky"  # at once, by the new version
    on = send(client, "POST", "undo", {"on": get(client, "status")["edit"]})["edit"]
    assert said() == "unknown"
    send(client, "POST", "redo", {"on": on})
    assert said() == "sky"
    undone_and_redone = on
    on = get(client, "status")["edit"]
    assert send(client, "POST", "rollback", {"version": 1, "on": undone_and_redone}, 409)["conflict"]["verb"] == "redo"
    assert send(client, "POST", "rollback", {"version": 1, "on": on})["edit"] > on
    assert said() == "unknown"
    assert [version["in_use"] for version in get(client, "versions")] == [True, False]
    on = get(client, "status")["edit"]
    send(client, "POST", "rollback", {"version": 9, "on": on}, 404)
    assert "on" in send(client, "POST", "rollback", {"version": 2}, 422)["detail"]
    assert "on" in send(client, "PUT", "rejection", {"max_known_rejected": 0.1}, 422)["detail"]


def test_jobs_wait_for_each_other_and_failures_are_told(client):
    jobs = [send(client, "POST", "jobs", {"verb": verb}, 202) for verb in ("learn", "discover")]
    jobs.append(send(client, "POST", "jobs", {"verb": "discover", "k": 5}, 202))
    learn, _, again = (finish(client, job) for job in jobs)
    assert learn["state"] == "failed"
    assert "nothing to learn" in learn["error"]
    assert again["state"] == "done"
    assert again["result"]["k"] == 5
    assert get(client, "k")["k"] == 5
    assert [job["id"] for job in get(client, "jobs")] == [3, 2, 1]
    send(client, "POST", "jobs", {"verb": "dance"}, 422)


def test_a_restart_knows_what_happened(workspace):
    """Jobs that waited are done by the next server; one that ran is said to have ended."""
    ran = workspace.jobs.add("discover", {}, "ann")
    waits = workspace.jobs.add("discover", {"k": 5}, "ann")
    assert workspace.jobs.take().id == ran.id  # a server that was killed now
    with connect(create_app(workspace), workspace.access.make("ann")) as client:
        assert finish(client, get(client, f"jobs/{waits.id}"))["result"]["k"] == 5
        left = get(client, f"jobs/{ran.id}")
        assert left["state"] == "failed"
        assert "server was stopped" in left["error"]
    with connect(create_app(workspace), workspace.access.make("ann")) as client:
        assert get(client, f"jobs/{waits.id}")["state"] == "done"


def test_concurrent_requests_while_a_job_runs(client, workspace):
    """Looking, editing, recognising and keeping go on while a job runs, by many threads on one workspace."""
    on, found = groups(client)
    edit(client, on, "name", group=found["blue"]["id"], label="sky", confirm=True)
    items = found["yellow"]["typical"]
    with workspace.store.database.reading() as connection:
        vectors = {"vectors": workspace.vectors.read(connection, [1, 2]).tolist()}
    errors = []

    def repeat(act):
        for number in range(6):
            try:
                act(number)
            except Exception as error:
                errors.append(error)

    acts = [
        lambda _: [get(client, path) for path in ("status", "groups", "map", "classes", "phases", "rejection")],
        lambda n: get(client, f"items/{items[n]}/neighbours"),
        lambda n: edit(client, 2**31 - 1, "separate", items=[items[n]]),
        lambda _: send(client, "POST", "recognize", vectors),
        lambda n: client.post(f"{API}/recognize?keep=true", files=[("files", ("x", png("red", 7000 + n // 2)))]).json(),
        lambda n: client.get(f"{API}/items/{items[n % 2]}/thumbnail").raise_for_status(),
    ]
    jobs = [send(client, "POST", "jobs", {"verb": verb}, 202) for verb in ("discover", "learn")]
    threads = [threading.Thread(target=repeat, args=[act]) for act in acts * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert [finish(client, job)["state"] for job in jobs] == ["done", "done"]
    assert len(workspace.views.labels()) == 83


# Recognition.


def test_vectors_as_json_and_as_numpy(client, workspace):
    ids = [workspace.groups()[0].items[0], 1]
    with workspace.store.database.reading() as connection:
        X = workspace.vectors.read(connection, ids)
    before = workspace.status()
    said = send(client, "POST", "recognize", {"vectors": X.tolist()})
    assert [one["label"] for one in said] == ["unknown", "black"]
    assert said[0]["unknown"] > said[0]["top"][0][1]
    assert [len(one["top"]) for one in said] == [3, 3]
    raw = io.BytesIO()
    np.save(raw, X)
    again = client.post(
        f"{API}/recognize", params={"top": 4}, content=raw.getvalue(), headers={"Content-Type": "application/x-npy"}
    ).json()
    assert [one["top"][:3] for one in again] == [one["top"] for one in said]
    assert sum(p for _, p in again[0]["top"]) + again[0]["unknown"] == pytest.approx(1, abs=1e-4)
    assert workspace.status() == before


def test_bad_vectors(client):
    def refused(content, kind="application/json"):
        answer = client.post(f"{API}/recognize", content=content, headers={"Content-Type": kind})
        assert answer.status_code == 422, answer.text
        return answer.json()["detail"]

    assert "has 192 numbers; those sent have 2" in refused(b'{"vectors": [[1, 2]]}')
    assert "same length" in refused(b'{"vectors": [[1, 2], [1]]}')
    assert "valid number" in refused(b'{"vectors": [["1"]]}')
    assert "vectors.0.0" in refused(b'{"vectors": [[NaN]]}')
    assert "less than or equal" in refused(json.dumps({"vectors": [[1e300] * 192]}))
    assert "Extra" in refused(b'{"vectors": [[1]], "more": 1}')
    assert "not an array" in refused(b"nonsense", "application/x-npy")
    for shape in ("(-1, -1)", "(True, True)", "(1,", "(1, 1", "(" * 3000, "9" * 5000):
        header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".encode()
        body = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(4)
        assert "array" in refused(body, "application/x-npy")
    raw = io.BytesIO()
    np.save(raw, np.zeros((1, 192), np.float32))
    for number in (1e300, 3e38, -1e18, np.nan, np.inf):
        doubles = io.BytesIO()
        np.save(doubles, np.full((1, 192), number))
        assert "too large" in refused(doubles.getvalue(), "application/x-npy")
    huge = raw.getvalue().replace(b"(1, 192)", b"(9, 192)")  # claims more than it has
    assert "must be complete" in refused(huge, "application/x-npy")
    raw = io.BytesIO()
    np.save(raw, np.array([[{}]]), allow_pickle=True)
    assert "must be complete" in refused(raw.getvalue(), "application/x-npy")
    assert client.post(f"{API}/recognize", content=b"x", headers={"Content-Type": "text/plain"}).status_code == 415


def test_images_are_looked_at_or_kept(client, workspace):
    files = [("files", (f"../{colour}.png", png(colour, 900))) for colour in ("red", "blue")]
    files.append(("files", ("broken.png", png("red", 1)[:60])))
    before = workspace.status()
    said = client.post(f"{API}/recognize", files=files).json()
    assert [one["label"] for one in said] == ["red", "unknown", ""]
    assert [one["name"] for one in said] == ["red.png", "blue.png", "broken.png"]
    assert "damaged" in said[2]["reason"]
    assert {truth(get(client, f"items/{id}")["name"]) for id in said[0]["exemplars"]} == {"red"}
    assert workspace.status() == before
    kept = client.post(f"{API}/recognize", params={"keep": True}, files=files).json()
    assert [one["label"] for one in kept] == ["red", "unknown", ""]
    assert kept[2]["id"] is None
    details = get(client, f"items/{kept[1]['id']}")
    assert details["source"] == "rejected"
    assert workspace.views.paths(kept[1]["id"])[0].startswith(str(workspace.path / "uploads"))
    again = client.post(f"{API}/recognize", params={"keep": True}, files=files).json()
    assert [one["id"] for one in again] == [one["id"] for one in kept]
    assert len(list((workspace.path / "uploads").rglob("*.*"))) == 2
    assert workspace.discover(k=6).items == 17


def test_what_was_kept_before_an_outage_stays_and_the_same_again_gives_the_same_item(client, workspace, monkeypatch):
    """The database fails at each transaction of the request in turn, until none is left to fail at."""
    left = 0

    def failing(method):
        def transaction(database):
            nonlocal left
            if not threading.current_thread().name.startswith(("jobs", "asyncio", "recognition")):  # not of the request
                left -= 1
                if left == 0:
                    raise UnavailableError("The database cannot be used (it is down).")
            return method(database)

        return transaction

    monkeypatch.setattr(Database, "reading", failing(Database.reading))
    monkeypatch.setattr(Database, "writing", failing(Database.writing))
    after_storing = 0
    for step in range(1, 100):
        files = [("files", (f"{colour}.png", png(colour, 4000 + step))) for colour in ("red", "blue")]
        items, counts = len(workspace.views.labels()), workspace.status().counts
        left = step
        answer = client.post(f"{API}/recognize", params={"keep": True}, files=files)
        left = 0
        failed = answer.status_code == 503
        assert failed or answer.status_code == 200
        if failed:
            assert answer.headers["retry-after"] == "5"
            stored = {label.hash: label.item for label in workspace.views.labels()[items:]}
            after_storing += bool(stored)
            answer = client.post(f"{API}/recognize", params={"keep": True}, files=files)
            assert set(stored.values()) <= {one["id"] for one in answer.json()}
        assert [one["label"] for one in answer.json()] == ["red", "unknown"]
        assert len(workspace.views.labels()) == items + 2
        for one in answer.json():
            label = workspace.views.item(one["id"]).labelled
            assert (label.label, len(label.paths)) == (one["label"], 1)
        now = workspace.status().counts
        grown = {name: now[name] - counts[name] for name in now if now[name] != counts[name]}
        assert grown == {"recognized": 1, "rejected": 1}
        if not failed:
            break
    assert not failed
    assert after_storing >= 2
    assert workspace.check() == []


@pytest.mark.parametrize("code", [errno.EMFILE, errno.EIO, errno.EACCES])
def test_files_that_cannot_be_read_for_now_are_an_outage(workspace, monkeypatch, code):
    """Neither vectors nor models are called damaged, and nothing is changed."""

    def fail(*_, **__):
        raise OSError(code, os.strerror(code))

    workspace.name(workspace.groups()[0].id, "sky", confirm=True)
    workspace.learn()
    on, (item, *_) = workspace.review.last_edit(), workspace.groups()[0].items
    asks = [
        lambda: client.get(f"{API}/items/{item}/neighbours"),
        lambda: client.post(f"{API}/rollback", json={"version": 1, "on": on}),
        lambda: client.post(f"{API}/undo", json={"on": on}),
        lambda: client.post(f"{API}/recognize", json={"vectors": [[0.0] * 192]}),
    ]
    monkeypatch.setattr(features, "verified", {})
    token = workspace.access.make("ann")
    with Workspace(workspace.path) as fresh, monkeypatch.context() as outage:  # a fresh one has read no recogniser yet
        outage.setattr(features, "open", fail, raising=False)
        outage.setattr(Path, "open", fail)
        with connect(create_app(fresh), token) as client:
            for ask in asks:
                answer = ask()
                assert (answer.status_code, answer.headers.get("retry-after")) == (503, "5"), answer.text
                assert os.strerror(code) in answer.json()["detail"]
                assert "damaged" not in answer.text
            outage.undo()
            assert workspace.review.last_edit() == on
            assert [ask().status_code for ask in asks] == [200, 200, 409, 200]  # the undo comes after the rollback


def test_a_kept_image_is_embedded_once_and_the_answer_is_what_was_stored(client, workspace, monkeypatch):
    rows, stream = [], Pixels.stream
    monkeypatch.setattr(Pixels, "stream", lambda self, images: stream(self, (rows.append(i) or i for i in images)))
    files = [("files", (f"{colour}.png", png(colour, 901))) for colour in ("red", "blue", "red")]
    kept = client.post(f"{API}/recognize", params={"keep": True, "top": 2}, files=files).json()
    assert len(rows) == 2  # the third is a copy
    assert kept[2]["id"] == kept[0]["id"]
    for one in kept:
        stored = workspace.views.item(one["id"]).labelled
        assert (one["label"], one["unknown"]) == (stored.label, round(stored.unknown, 6))
        assert one["top"] == [list(pair) for pair in stored.top[:2]]
    assert {truth(get(client, f"items/{id}")["name"]) for id in kept[0]["exemplars"]} == {"red"}
    rows.clear()
    client.post(f"{API}/recognize", files=files)
    assert len(rows) == 3


def test_an_image_without_a_finite_vector(client, monkeypatch):
    def rows(self, images):
        for image in images:
            yield np.full((1, 192), np.nan if image.width == 9 else 0.5, "f4")

    monkeypatch.setattr(Pixels, "stream", rows)
    raw = io.BytesIO()
    picture("red", 1, side=9).save(raw, "PNG")
    files = [("files", ("x.png", content)) for content in (b"", raw.getvalue(), png("red", 1))]
    said = client.post(f"{API}/recognize", files=files).json()
    assert [one["reason"] for one in said] == ["the file is empty", "the embedder returns no finite vector", None]


@pytest.mark.parametrize("keep", [False, True])
def test_an_image_that_the_embedder_cannot_use(client, monkeypatch, keep):
    error = EmbedderError("An image of 9 × 9 cannot be prepared.")
    monkeypatch.setattr(Pixels, "stream", Mock(side_effect=error))
    said = client.post(f"{API}/recognize", params={"keep": keep}, files=[("files", ("x.png", png("red", 4711)))])
    assert (said.status_code, "cannot be prepared" in said.json()["detail"]) == (422, True)


def test_few_requests_with_images_work_at_a_time(app, client, workspace, monkeypatch):
    """One works, one waits, and the next is told to come back."""
    app.state.service.recognition.image_requests = ConcurrencyLimit(1, 1)
    begun, go_on = threading.Semaphore(0), threading.Event()
    embed = Recognition.embed

    def slow(self, contents):
        begun.release()
        assert go_on.wait(30)
        return embed(self, contents)

    monkeypatch.setattr(Recognition, "embed", slow)
    answers = []

    def ask():
        answers.append(client.post(f"{API}/recognize", files=[("files", ("x.png", png("red", 1)))]))

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert begun.acquire(timeout=30)
    deadline = time.monotonic() + 30
    while app.state.service.recognition.image_requests.present < 2:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    ask()
    assert (answers[0].status_code, answers[0].headers["retry-after"]) == (503, "5")
    assert "again later" in answers[0].json()["detail"]
    assert not begun.acquire(blocking=False)  # the second one waits
    go_on.set()
    for thread in threads:
        thread.join()
    assert [answer.status_code for answer in answers] == [503, 200, 200]


@pytest.mark.parametrize("keep", [False, True])
def test_images_with_too_many_pixels_together_are_refused(client, workspace, monkeypatch, keep):
    monkeypatch.setattr(uploads_module, "MOST_PIXELS", 12 * 12 * 2)
    files = [("files", ("x.png", content)) for content in (png("red", 1), png("red", 2), b"no image")]
    asked = {"keep": keep}
    assert client.post(f"{API}/recognize", params=asked, files=files).status_code == 200
    before = workspace.status()
    files.append(("files", ("x.png", png("red", 3))))
    answer = client.post(f"{API}/recognize", params=asked, files=files)
    assert answer.status_code == 413
    assert answer.json()["detail"] == "The images have 432 pixels together; send images of at most 288 at a time."
    assert workspace.status() == before


def test_many_ask_at_once(client, workspace):
    """Requests that share a pass get each their own answer."""
    with workspace.store.database.reading() as connection:
        X = workspace.vectors.read(connection, list(range(1, 81)))
    expected = workspace.recognizers.in_use()[1].predict(X).tolist()
    answers = {}

    def ask(row):
        answers[row] = send(client, "POST", "recognize", {"vectors": [X[row].tolist()]})[0]["label"]

    threads = [threading.Thread(target=ask, args=[row]) for row in range(80)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [answers[row] for row in range(80)] == expected


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_uploads_of_any_bytes(client, workspace, data):
    """Whatever is sent gets an answer, and what is no image changes nothing."""
    good = png("red", 5)
    place = data.draw(st.integers(0, len(good)))
    content = data.draw(st.one_of(st.binary(max_size=300), st.just(good[:place]), st.binary(max_size=9).map(
        lambda b: good[:place] + b + good[place + len(b):])))  # fmt: skip
    name = data.draw(st.one_of(st.just("../../etc/passwd"), st.text(st.characters(codec="utf-8"), max_size=30)))
    before = len(workspace.views.labels())
    answer = client.post(f"{API}/recognize", params={"keep": True}, files=[("files", (name or "x", content))])
    assert answer.status_code == 200, answer.text
    (one,) = answer.json()
    assert (one["id"] is None) == bool(one["reason"])
    assert len(workspace.views.labels()) <= before + (one["id"] is not None)
    assert {file.parent.parent.name for file in workspace.path.rglob("*.png")} <= {"uploads"}


def test_too_much_is_refused(client, monkeypatch):
    many = [("files", ("x.png", b"x"))] * 101
    assert client.post(f"{API}/recognize", files=many).status_code == 400
    as_json = {"Content-Type": "application/json"}
    too_much = b" " * (vectors_module.LARGEST_JSON + 1)
    assert "application/x-npy" in client.post(f"{API}/recognize", content=too_much, headers=as_json).json()["detail"]

    def pieces(size):
        for _ in range(size // 2**14 + 1):
            yield b" " * 2**14

    for path in ("recognize", "edits", "undo", "jobs", "session"):  # as it says, and as it comes
        largest = LARGEST.get(f"{API}/{path}", LARGEST_BODY)
        for body in (b" " * (largest + 1), pieces(largest)):
            answer = client.post(f"{API}/{path}", content=body, headers=as_json)
            assert answer.status_code == 413, path
            assert "send less at a time" in answer.json()["detail"]
    raw = io.BytesIO()
    Image.new("1", (10_000, 8_500)).save(raw, "PNG")  # 85 million pixels in a few kilobytes
    (one,) = client.post(f"{API}/recognize", files=[("files", ("bomb.png", raw.getvalue()))]).json()
    assert "make it smaller" in one["reason"]


def test_an_edit_of_the_most_items_fits(client):
    most = {"on": 3, "act": "remove", "items": [2**31 - 1] * MOST_ITEMS}
    assert "no item" in send(client, "POST", "edits", most, 404)["detail"]
    more = {"on": 3, "act": "remove", "items": [1] * (MOST_ITEMS + 1)}
    assert "at most 200000" in send(client, "POST", "edits", more, 422)["detail"]


@pytest.mark.parametrize("path", ["edits", "recognize"])
@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"[" + b"[]," * 500_000 + b"[]]",
        b"{" + b'"a":1,' * 200_000 + b'"b":1}',
        b'{"vectors":[[' + b"1," * 1_000_000 + b"1]]}",
        b'{"on":3,"act":"remove","items":[' + b"1," * 1_000_000 + b"1]}",
    ],
    ids=["deep lists", "deep objects", "many lists", "many fields", "many numbers", "many items"],
)
def test_what_takes_long_to_parse_is_refused_before_it_is_parsed(client, path, body):
    answer = client.post(f"{API}/{path}", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert "too many values or is nested too deeply" in answer.json()["detail"]


@pytest.mark.parametrize("body", [b'"\\ud800"', b"\xff", b'{"on": NaN}', "{}".encode("utf-16"), b"[" * 900, b""])
def test_what_is_no_json_is_refused(client, body):
    for path in ("edits", "jobs"):
        answer = client.post(f"{API}/{path}", content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code == 422


def test_long_answers_are_whole(client, workspace):
    X = np.random.default_rng(0).random((2500, 192), np.float32)
    raw = io.BytesIO()
    np.save(raw, X)
    npy = {"Content-Type": "application/x-npy"}
    answers = client.post(f"{API}/recognize", content=raw.getvalue(), headers=npy).json()
    assert len(answers) == 2500
    assert answers[1024:1026] == send(client, "POST", "recognize", {"vectors": X[1024:1026].astype(float).tolist()})
    raw = io.BytesIO()
    np.save(raw, np.zeros((100_001, 1), np.float32))
    refused = client.post(f"{API}/recognize", content=raw.getvalue(), headers=npy)
    assert "100000 rows" in refused.json()["detail"]
