"""The service as people run it: in processes of its own, which may be killed."""

import io
import os
import re
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from itertools import count, islice
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from opengcd import Client, Workspace
from opengcd.service.client import ServiceError
from tests.embed.test_onnx_file import mean_colour
from tests.helpers.pictures import RECOGNIZER
from tests.helpers.serving import keep_on, png, server

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="servers are killed as on POSIX systems")


@pytest.mark.parametrize("edits", [20, 50, 100])
def test_killed_under_load_no_acknowledged_edit_is_lost(workspace, edits):
    """Four people edit, others recognise, and the server is killed after so many edits."""
    token = workspace.access.make("ann")
    before = workspace.groups()
    acknowledged = {}
    with server(workspace.path) as (process, address):
        client = Client(address, token, timeout=10)

        def edit(person, numbers):
            what = {"act": "name", "group": before[person % 2].id, "label": f"{person} {next(numbers)}"}
            # Whatever the others do: as one who has seen it all.
            acknowledged[client.send("POST", "edits", {"on": 2**31 - 1} | what)["edit"]] = what["label"]

        asks = [partial(edit, person, count()) for person in range(4)]
        asks += [partial(client.recognize, np.zeros((1, 192)))] * 2
        people = [threading.Thread(target=keep_on, args=[ask]) for ask in asks]
        for person in people:
            person.start()
        deadline = time.monotonic() + 60
        while len(acknowledged) < edits:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)
        for person in people:
            person.join()
    with Workspace(workspace.path) as after:
        told = {entry.id: entry.details["label"] for entry in after.history() if entry.verb == "name"}
        assert {id: told.get(id) for id in acknowledged} == acknowledged
        with after.store.database.reading() as connection:
            assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
        for _ in told:
            after.undo()
        assert after.groups() == before


def test_a_job_that_is_killed_is_told_of_and_others_go_on(workspace):
    token = workspace.access.make("ann")
    slow = "import time; from opengcd import Workspace, cli\n"
    slow += "Workspace.learn = lambda self, progress, record: (progress('learning', 1, 9), time.sleep(60))\ncli.main()"
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", slow, "serve", workspace.path, "--port", "0"], stdout=subprocess.PIPE, text=True
    )
    address = re.search(r"http://[^/]+", process.stdout.readline())[0]
    client = Client(address, token)
    job = client.send("POST", "jobs", {"verb": "learn"})
    waiting = client.send("POST", "jobs", {"verb": "discover", "k": 5})
    with server(workspace.path) as (_, other):  # a second server sees the job, and does not do it
        while client.get(f"jobs/{job['id']}")["stage"] != "learning":
            time.sleep(0.05)
        events = Client(other, token).events()
        assert next(events) == ("ping", {})
        told = [content["id"] for name, content in islice(events, 2) if name == "job"]
        assert sorted(told) == [job["id"], waiting["id"]]
        process.kill()
        process.communicate()
        second = Client(other, token)
        while second.get(f"jobs/{waiting['id']}")["state"] != "done":
            time.sleep(0.05)
        left = second.get(f"jobs/{job['id']}")
        assert (left["state"], left["stage"]) == ("failed", "learning")
        assert "server was stopped" in left["error"]


def test_one_interrupt_is_enough_though_pages_listen(workspace):
    token = workspace.access.make("ann")
    with server(workspace.path) as (process, address):
        events = Client(address, token).events()
        assert next(events)[0] == "ping"
        process.send_signal(signal.SIGINT)
        assert list(events) == []
        assert process.wait(60) in (0, -signal.SIGINT, 130)


def test_the_token_is_shown_at_the_first_start_only(workspace):
    command = [sys.executable, "-u", "-m", "opengcd", "serve", workspace.path, "--port", "0"]
    told = []
    for lines in (2, 1):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            told.append([process.stdout.readline() for _ in range(lines)])
            process.send_signal(signal.SIGINT)
            try:
                assert process.communicate(timeout=60)[0] == ""
            finally:
                process.kill()
    secret = told[0][0].split()[-1]
    assert told[0][1].strip().endswith(f"/#token={secret}")
    assert workspace.access.by_token(secret).scopes == ("read", "write")
    assert "token=" not in told[1][0]
    assert "opengcd token" in told[1][0]


MEMORY = 3_000_000
"""Kilobytes that the server and its decoders may take together, at their peaks."""


def peak(process):
    """Kilobytes that a process and its children have had at most."""
    ids = [process, *Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    found = [re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{id}/status").read_text()) for id in ids]
    return sum(int(one[1]) for one in found)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_images_that_swell_do_not_exhaust_the_server(workspace):
    """Small files of 80 million pixels: many in one request, and as many as a request may have, at the same time."""
    raw = io.BytesIO()
    Image.new("1", (10_000, 8_000)).save(raw, "PNG")
    bomb = raw.getvalue()
    assert len(bomb) < 20_000
    token = workspace.access.make("ann", "read")
    with server(workspace.path) as (process, address):
        client = Client(address, token)
        client.recognize_images(png("red", 1))
        before = peak(process.pid)
        with pytest.raises(ServiceError, match=r"413: .* 8,000,000,000 pixels together") as refused:
            client.recognize_images(*[bomb] * 100)
        assert refused.value.status == 413
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(client.recognize_images(*[bomb] * 3))) for _ in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [len([one for one in said if one["label"]]) for said in answers] == [3, 3]
        assert process.poll() is None
        assert peak(process.pid) < before + MEMORY


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_long_images_do_not_exhaust_the_server(world, tmp_path):
    """A file of 2 KB whose image would have 800 million pixels when its shorter side is resized for the network."""
    raw = io.BytesIO()
    Image.new("1", (1, 600_000)).save(raw, "PNG")
    with Workspace.create(tmp_path / "w", mean_colour(tmp_path / "m.onnx", side=32), recognizer=RECOGNIZER) as made:
        made.fit(world[0])
        token = made.access.make("ann", "read")
    with server(tmp_path / "w") as (process, address):
        client = Client(address, token)
        client.recognize_images(png("red", 1))
        before = peak(process.pid)
        assert [one["label"] for one in client.recognize_images(raw.getvalue(), png("red", 1))] == ["black", "red"]
        assert peak(process.pid) < before + 500_000
