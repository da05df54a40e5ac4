"""Power failures: a session is recorded, and cut at every operation on a simulated disk.

On the disk, what was written to a file may or may not be there until the file is synced, and a name may or may not be
there until its folder is. At every cut three disks are tried: one that has nothing but what was synced, one that has
everything, and one that has a random part of the rest, down to single sectors. Each must open as a workspace in which
everything acknowledged before the cut is there and nothing is damaged.
"""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.torture.report import Outcome, Setting
from benchmarks.torture.session import STEPS, Facts, Library, Place, contradictions, facts_of, paint, steps
from opengcd import Workspace
from opengcd.workspace import WorkspaceError

SECTOR = 512


class Operation(NamedTuple):
    """A line of the recording."""

    kind: str
    inode: int
    offset: int
    path: str
    data: bytes


@dataclass
class File:
    """A file: what was written to it, and what was written before it was last synced."""

    content: bytearray = field(default_factory=bytearray)
    synced: bytes = b""
    since: list[tuple[str, int, bytes]] = field(default_factory=list)
    """Writes and truncations since then."""


@dataclass
class Folder:
    """A folder: its names, and those it had when it was last synced."""

    names: dict[str, File | Folder] = field(default_factory=dict)
    synced: dict[str, File | Folder] = field(default_factory=dict)
    since: list[dict[str, File | Folder]] = field(default_factory=list)
    """What the names were after each change since then."""

    def change(self, name: str, target: File | Folder | None) -> None:
        """Give a name another meaning, or none."""
        if target is None:
            self.names.pop(name, None)
        else:
            self.names[name] = target
        self.since.append(dict(self.names))


class Disk:
    """A disk that loses what was not synced."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.top = Folder()
        self.inodes: dict[int, File | Folder] = {root.stat().st_ino: self.top}

    def apply(self, operation: Operation) -> None:
        """Let an operation happen."""
        match operation.kind:
            case "create" | "mkdir":
                made: File | Folder = File() if operation.kind == "create" else Folder()
                self.inodes[operation.inode] = made
                home, name = self._at(operation.path)
                home.change(name, made)
            case "unlink":
                home, name = self._at(operation.path)
                home.change(name, None)
            case "rename":
                home, name = self._at(operation.path)
                target, new = self._at(operation.data.decode())
                moved = home.names[name]
                home.change(name, None)
                target.change(new, moved)
                if home is target:
                    del home.since[-2]  # one step
            case "link":
                home, name = self._at(operation.path)
                target, new = self._at(operation.data.decode())
                target.change(new, home.names[name])
            case "write" | "truncate":
                file = self.inodes[operation.inode]
                assert isinstance(file, File)
                step = operation.kind, operation.offset, operation.data
                file.since.append(step)
                _do(file.content, *step)
            case "sync":
                synced = self.inodes[operation.inode]
                if isinstance(synced, File):
                    synced.synced, synced.since = bytes(synced.content), []
                else:
                    synced.synced, synced.since = dict(synced.names), []

    def write(self, folder: Path, chance: random.Random | None, everything: bool = False) -> str:
        """Write what is on the disk after the cut to a folder; return a checksum of it."""
        digest = hashlib.sha256()

        def files(here: Folder, path: str) -> Iterator[tuple[str, bytes | None]]:
            names = here.synced
            if everything:
                names = here.names
            elif chance is not None and here.since:
                names = [here.synced, *here.since][chance.randint(0, len(here.since))]
            for name, target in sorted(names.items()):
                if isinstance(target, Folder):
                    yield f"{path}/{name}", None
                    yield from files(target, f"{path}/{name}")
                else:
                    yield f"{path}/{name}", bytes(target.content) if everything else _on_disk(target, chance)

        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for path, content in files(self.top, ""):
            digest.update(f"{path} {None if content is None else len(content)}\n".encode())
            if content is None:
                (folder / path[1:]).mkdir()
            else:
                digest.update(content)
                (folder / path[1:]).write_bytes(content)
        return digest.hexdigest()

    def _at(self, path: str) -> tuple[Folder, str]:
        *above, name = Path(path).relative_to(self.root).parts
        here = self.top
        for part in above:
            found = here.names[part]
            assert isinstance(found, Folder)
            here = found
        return here, name


def _do(content: bytearray, kind: str, offset: int, data: bytes) -> None:
    if kind == "truncate":
        del content[offset:]
        content.extend(bytes(offset - len(content)))
    else:
        content.extend(bytes(max(0, offset - len(content))))
        content[offset : offset + len(data)] = data


def _on_disk(file: File, chance: random.Random | None) -> bytes:
    content = bytearray(file.synced)
    for kind, offset, data in file.since if chance is not None else ():
        assert chance is not None
        fate = chance.random()
        if fate < 0.4:
            _do(content, kind, offset, data)
        elif fate < 0.6 and kind == "write":  # torn: some of its sectors
            for start in range(0, len(data), SECTOR):
                if chance.random() < 0.5:
                    _do(content, kind, offset + start, data[start : start + SECTOR])
    return bytes(content)


def read_log(file: Path) -> Iterator[Operation]:
    """Yield the operations of a recording."""
    with open(file, "rb") as log:
        while line := log.readline():
            kind, inode, offset, length, path = line.rstrip(b"\n").decode().split("\t")
            yield Operation(kind, int(inode), int(offset), path, log.read(int(length)))


def record(folder: Path) -> tuple[Path, Path]:
    """Run a session and record it; return the folder that it took place in and the recording."""
    root, log = folder / "root", folder / "log"
    root.mkdir()
    place = Place(str(root / "w"), str(paint(folder / "images")), None)
    with steps(Library(folder), root, RECORDER_LOG=str(log), RECORDER_MARKS=str(folder / "marks")) as session:
        for step in STEPS:
            session.run(step, place)
    return root, log


def broken_promises(folder: Path, acknowledged: Facts | None) -> list[str]:
    """Return what is wrong with a workspace after a power failure, given what was acknowledged before."""
    if acknowledged is None and not (folder / "workspace.json").exists():
        return []
    try:
        with Workspace(folder) as workspace:
            found = contradictions(workspace)
            now = facts_of(workspace)
    except WorkspaceError as error:
        if acknowledged is None and "init was interrupted" in str(error):
            return []
        return [f"{type(error).__name__}: {error}"]
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]
    if acknowledged is not None:
        past = now.history[: len(acknowledged.history)]
        if past != acknowledged.history:
            found.append(f"the history was {acknowledged.history} and is {now.history}")
        elif len(now.history) == len(past) and not acknowledged.labels.items() <= now.labels.items():
            found.append("labels that were acknowledged are lost")
    return found


def attack(setting: Setting) -> Iterator[Outcome]:
    """Cut the power at every operation of a session."""
    root, log = record(setting.folder)
    operations = list(read_log(log))
    chance = random.Random(setting.seed)
    disk, acknowledged = Disk(root), None
    seen: set[tuple[str, str]] = set()
    tries, failures = 0, list[str]()
    variants: list[tuple[str, dict[str, Any]]] = [("synced", {"chance": None})]
    variants += [("all", {"chance": None, "everything": True})]
    variants += [("random", {"chance": chance})] * setting.tries(1)
    for number, operation in enumerate(operations):
        if operation.kind == "mark":
            acknowledged = Facts(*json.loads(operation.data)["facts"])
            continue
        disk.apply(operation)
        for name, how in variants:
            state = disk.write(setting.folder / "after", **how)
            tries += 1
            if (state, repr(acknowledged)) in seen:  # nothing has changed since the last cut
                continue
            seen.add((state, repr(acknowledged)))
            for problem in broken_promises(setting.folder / "after" / "w", acknowledged):
                failures.append(f"operation {number} ({operation.kind} {operation.path}), disk {name}: {problem}")
        if number % 100 == 0:
            setting.tell(f"power: {number} of {len(operations)} operations")
    figures = {"operations": f"{len(operations):,}", "different disks": f"{len(seen):,}", "lost": str(len(failures))}
    yield Outcome("power failure at every write, sync and rename of a session, SQLite", tries, figures, failures)
