"""A power failure loses nothing of a project that the page calls done: the server is recorded on a simulated disk."""

import shutil
import sys

import pytest

from benchmarks.torture.power import Disk, read_log
from benchmarks.torture.session import Library
from opengcd import Workspace
from opengcd.service.home.folder import ProjectFolder
from tests.helpers.homing import home_process, signed_in
from tests.helpers.needed import missing
from tests.helpers.pictures import KNOWN, paint
from tests.helpers.serving import finish, get, send
from tests.service.home.test_creation import ended, upload

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="operations are recorded by a library for Linux")


def pictures(folder, colours, numbers):
    return {f"{colour}/{file.name}": file.read_bytes() for colour in colours for file in paint(folder, colour, numbers)}


def after_a_power_failure(root, log, target):
    """Return the files of the one project on a disk that has nothing but what was synced, and what is wrong with it."""
    disk = Disk(root)
    for operation in read_log(log):
        disk.apply(operation)
    disk.write(target, None)
    folder = ProjectFolder(target / "projects")
    folder.clean()
    (path,) = folder.projects().values()
    with Workspace(path) as workspace:
        wrong = [f"{one.what}: {one.problem}" for one in workspace.check()]
    return {file.read_bytes() for file in (path / "images").rglob("*.png")}, wrong


def test_what_the_page_calls_done_survives(tmp_path, monkeypatch):
    if shutil.which("cc") is None:
        missing("no C compiler to build the recorder with")
    root, log = tmp_path / "root", tmp_path / "log"
    root.mkdir()
    known = pictures(tmp_path / "known", KNOWN[:2], range(6))
    stream = pictures(tmp_path / "stream", KNOWN[:2], range(100, 103))
    for name, value in (
        ("LD_PRELOAD", Library(tmp_path).file), ("RECORDER_ROOT", root), ("RECORDER_LOG", log),
    ):  # fmt: skip
        monkeypatch.setenv(name, str(value))
    with home_process(root / "projects") as (_, link), signed_in(link) as client:
        asked = {"name": "birds", "known": {"upload": upload(client, known)}, "backbone": "pixels"}
        send(client, "POST", "creation", asked, 202)
        assert ended(client)["state"] == "done"
        shutil.copy(log, tmp_path / "created")
        client.base_url = client.base_url.join("projects/birds/")
        client.headers["X-CSRF-Token"] = get(client, "session")["csrf"]
        job = send(client, "POST", "images", {"upload": upload(client, stream)}, 202)
        assert finish(client, job)["result"]["images"] == len(stream)
        shutil.copy(log, tmp_path / "added")
    found, wrong = after_a_power_failure(root, tmp_path / "created", tmp_path / "after")
    assert (found, wrong) == (set(known.values()), [])
    found, wrong = after_a_power_failure(root, tmp_path / "added", tmp_path / "after")
    assert (found, wrong) == ({*known.values(), *stream.values()}, [])
