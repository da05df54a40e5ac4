"""How tests use the home page: a folder of projects, served in this process or in one of its own."""

import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import httpx

from opengcd.service.connections import BoundedServer, bounded_config
from opengcd.service.home.app import create_home
from opengcd.service.home.folder import ProjectFolder
from opengcd.workspace.tokens import open_access
from tests.helpers.serving import API, connect


@contextmanager
def home_app(path, *, local=True):
    """Yield the application, and who may use it."""
    folder = ProjectFolder(path)
    access = open_access(folder.state / "access.db")
    try:
        with folder.serving() as free:
            assert free
            yield create_home(folder, access, local=local), access
    finally:
        access.close()


@contextmanager
def home_client(path, *, local=True):
    """A program that may write, on the home page of a folder."""
    with home_app(path, local=local) as (app, access), connect(app, access.make("ann")) as client:
        yield client


@contextmanager
def home_serving(path, *, local=True):
    """Serve a folder in a thread; give the address, and who may use it."""
    with home_app(path, local=local) as (app, access):
        server = BoundedServer(bounded_config(app, "127.0.0.1", 0, proxy_headers=False, timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/", access
        finally:
            app.state.service.projects.stop()
            server.should_exit = True
            thread.join()


@contextmanager
def home_process(path, *options, **environment):
    """Run `opengcd app` in a process of its own; yield it and the address that signs in once."""
    command = [sys.executable, "-u", "-m", "opengcd", "app", path, "--port", "0", "--no-open", *options]
    environment = os.environ | {"OMP_NUM_THREADS": "1"} | environment
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        lines = iter(process.stdout.readline, "")
        yield process, next(line for line in lines if line.startswith("http")).strip()
    finally:
        process.kill()
        process.communicate()


@contextmanager
def signed_in(link):
    """A browser, as far as HTTP is concerned."""
    address, _, secret = link.partition("#token=")
    with httpx.Client(base_url=address, timeout=60) as client:
        session = client.post(f"{API}/session", json={"token": secret}).json()
        client.headers["X-CSRF-Token"] = session["csrf"]
        yield client
