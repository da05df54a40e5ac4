"""A power failure loses nothing that was acknowledged: a recorded session on a simulated disk."""

import json
import shutil
import sys

import pytest

from benchmarks.torture.power import Disk, Operation, broken_promises, read_log, record
from benchmarks.torture.session import STEPS, Facts
from tests.helpers.needed import missing

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="sessions are recorded by a library that Linux preloads"
)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A session, step by step, and the folder that it took place in."""
    if shutil.which("cc") is None:
        missing("no C compiler to build the recorder with")
    root, log = record(tmp_path_factory.mktemp("recorded"))
    return root, list(read_log(log))


def after_each_step(root, operations, folder):
    """Cut the power after each step, on a disk that has only what was synced; yield what is broken then."""
    disk = Disk(root)
    for operation in operations:
        if operation.kind != "mark":
            disk.apply(operation)
            continue
        said = json.loads(operation.data)
        disk.write(folder, None)
        yield said["step"], broken_promises(folder / "w", Facts(*said["facts"]))


def test_what_was_acknowledged_survives(recorded, tmp_path):
    assert dict(after_each_step(*recorded, tmp_path / "after")) == {step: [] for step in STEPS}


@pytest.mark.parametrize(
    ("lost", "step", "message"),
    [("models", "learn", "Version 2"), ("features", "init", "features/pixels8"), ("uploads", "keep", "uploads")],
)
def test_a_folder_that_is_not_synced_is_noticed(recorded, tmp_path, lost, step, message):
    """Without the sync of its folder a file is lost, and this test would see it."""
    root, operations = recorded
    kept = [one for one in operations if one.kind != "sync" or f"/{lost}" not in one.path or "." in one.path[-40:]]
    assert len(kept) < len(operations)
    found = dict(after_each_step(root, kept, tmp_path / "after"))
    assert any(message in problem for problem in found[step]), found


def test_the_disk_by_hand(tmp_path):
    """A file is on disk with what was synced, under the names that its folder was synced with."""
    tmp_path.joinpath("root").mkdir()
    disk = Disk(tmp_path / "root")
    inode = (tmp_path / "root").stat().st_ino
    path = str(tmp_path / "root" / "a")

    def on_disk(**how):
        disk.write(tmp_path / "after", how.pop("chance", None), **how)
        return {file.name: file.read_bytes() for file in (tmp_path / "after").iterdir()}

    disk.apply(Operation("create", 1, 0, path, b""))
    disk.apply(Operation("write", 1, 0, "", b"one"))
    assert on_disk() == {}
    assert on_disk(everything=True) == {"a": b"one"}
    disk.apply(Operation("sync", inode, 0, "", b""))
    assert on_disk() == {"a": b""}
    disk.apply(Operation("sync", 1, 0, "", b""))
    assert on_disk() == {"a": b"one"}
    disk.apply(Operation("write", 1, 5, "", b"two"))
    disk.apply(Operation("rename", 0, 0, path, str(tmp_path / "root" / "b").encode()))
    assert on_disk() == {"a": b"one"}
    assert on_disk(everything=True) == {"b": b"one\0\0two"}
    disk.apply(Operation("sync", 1, 0, "", b""))
    disk.apply(Operation("truncate", 1, 2, "", b""))
    assert on_disk() == {"a": b"one\0\0two"}
    disk.apply(Operation("sync", inode, 0, "", b""))
    disk.apply(Operation("sync", 1, 0, "", b""))
    assert on_disk() == {"b": b"on"}
    disk.apply(Operation("unlink", 0, 0, str(tmp_path / "root" / "b"), b""))
    assert on_disk() == {"b": b"on"}
