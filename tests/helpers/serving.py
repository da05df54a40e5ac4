"""How tests talk to the service."""

import io
import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

from fastapi.testclient import TestClient

from opengcd.service import create_app, job_reports
from opengcd.service.client import ServiceError
from opengcd.service.connections import BoundedServer, bounded_config
from opengcd.workspace.job_queue import Jobs
from tests.helpers.pictures import picture, truth

API = "/api/v1"


def connect(app, token=None):
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return TestClient(app, base_url="http://localhost", headers=headers)


def get(client, path, code=200, **query):
    answer = client.get(f"{API}/{path}", params=query)
    assert answer.status_code == code, answer.text
    return answer.json()


def send(client, method, path, content=None, code=200, **options):
    answer = client.request(method, f"{API}/{path}", json=content, **options)
    assert answer.status_code == code, answer.text
    return answer.json() if answer.content else None


def upload(client, files, at=API):
    """Send files, by their names with folders; return the upload."""
    one = client.post(f"{at}/uploads").json()["id"]
    for path, content in files.items():
        asked = {"path": path, "size": len(content)}
        assert client.put(f"{at}/uploads/{one}/file", params=asked, content=content).status_code == 200
    assert client.post(f"{at}/uploads/{one}/finish").status_code == 200
    return one


def edit(client, on, act, code=200, **what):
    return send(client, "POST", "edits", {"on": on, "act": act, **what}, code)


def groups(client):
    """The groups by the colour of their first image, and the last edit."""
    found = get(client, "groups")
    by_colour = {}
    for group in found["groups"]:
        by_colour[truth(get(client, f"items/{group['typical'][0]}")["name"])] = group
    return found["edit"], by_colour


def finish(client, job):
    """Wait for a job."""
    deadline = time.monotonic() + 60
    while job["state"] in ("waiting", "running"):
        assert time.monotonic() < deadline
        time.sleep(0.02)
        job = get(client, f"jobs/{job['id']}")
    return job


def eventually(condition, seconds=60):
    """Wait until something holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it does not happen"
        time.sleep(0.02)


async def listen(events, number, begun=None):
    """Return the first events of a service, and tell when there is one."""

    async def allowed():
        return True

    heard = []
    async for event in events.listen(allowed):
        heard.append(event)
        if begun is not None:
            begun.set()
        if len(heard) == number:
            break
    return heard


def png(colour, seed):
    raw = io.BytesIO()
    picture(colour, seed).save(raw, "PNG")
    return raw.getvalue()


@contextmanager
def server(folder, *options):
    """Run `opengcd serve` in a process of its own; yield the process and its address."""
    command = [sys.executable, "-u", "-m", "opengcd", "serve", folder, "--port", "0", *options]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        lines = iter(process.stdout.readline, "")
        address = next(line for line in lines if line.startswith("http")).partition("#")[0].split()[0].rstrip("/")
        yield process, address
    finally:
        process.kill()
        process.communicate()


@contextmanager
def serving(workspace):
    """Serve a workspace in a thread; give the page's address."""
    config = bounded_config(create_app(workspace), "127.0.0.1", 0, proxy_headers=False, timeout_graceful_shutdown=1)
    server = BoundedServer(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"
    finally:
        server.should_exit = True
        thread.join()


class Pause:
    """Holds a job at one of its reports: at a number, or at the first of a stage."""

    def __init__(self, monkeypatch, step):
        self.reached, self.go_on = threading.Event(), threading.Event()
        self.left = step if isinstance(step, int) else 1
        report = Jobs.report
        monkeypatch.setattr(job_reports, "REPORT", 0.0)

        def pausing(jobs, *args):
            self.left -= isinstance(step, int) or args[1] == step
            if self.left == 0:
                self.reached.set()
                assert self.go_on.wait(30)
            return report(jobs, *args)

        monkeypatch.setattr(Jobs, "report", pausing)


def keep_on(ask):
    """Ask until the server is gone."""
    try:
        while True:
            ask()
    except (OSError, ServiceError):
        return
