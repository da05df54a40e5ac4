"""What the list shows of each project; one that is broken or busy does not keep the others waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from opengcd.service.home import wire as api
from opengcd.service.home.folder import ProjectFolder
from opengcd.workspace import Workspace, WorkspaceError, readable

PATIENCE = 4.0
"""Seconds until a project that does not answer is listed without its numbers."""
THREADS = 4
BUSY = "This project does not answer yet: another program may be using it, or its disk is slow."


class Cards:
    """Reads the projects of a folder; what was read is kept until the files of a project change."""

    def __init__(self, folder: ProjectFolder, opened: Callable[[str], Workspace | None]) -> None:
        self._folder = folder
        self._opened = opened
        """Returns the workspace of a project if it is open here."""
        self._threads = ThreadPoolExecutor(THREADS, "cards")
        self._under_way: dict[str, asyncio.Future[api.Project]] = {}
        self._read: dict[str, tuple[object, api.Project]] = {}

    async def all(self) -> list[api.Project]:
        """Return the card of every project, sorted by name."""
        projects = self._folder.projects()
        return list(await asyncio.gather(*(self._card(key, path) for key, path in projects.items())))

    def close(self) -> None:
        """Start nothing more."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _card(self, key: str, path: Path) -> api.Project:
        if key not in self._under_way:  # one that hangs takes one thread, however often it is asked for
            future = asyncio.get_running_loop().run_in_executor(self._threads, self._make, key, path)
            self._under_way[key] = future
            future.add_done_callback(lambda _: self._under_way.pop(key, None))
        done, _ = await asyncio.wait([self._under_way[key]], timeout=PATIENCE)
        if not done:
            return self._plain(key, path, BUSY)
        return done.pop().result()

    def _make(self, key: str, path: Path) -> api.Project:
        plain = self._plain(key, path)
        try:
            if (workspace := self._opened(key)) is not None:
                return describe(plain, workspace)
            state = _state(path)
            known = self._read.get(key)
            if known is not None and known[0] == state:
                return known[1]
            with Workspace(path) as workspace:
                card = describe(plain, workspace)
                kept = workspace.settings.database is None  # the files tell nothing of a database elsewhere
            if kept:
                self._read[key] = _state(path), card
            return card
        except (WorkspaceError, OSError) as error:
            return plain.model_copy(update={"problem": str(error)})
        except Exception as error:  # whatever is wrong with one project, the others are shown
            return plain.model_copy(update={"problem": f"{type(error).__name__}: {error}"})

    def _plain(self, key: str, path: Path, problem: str | None = None) -> api.Project:
        elsewhere = self._folder.is_elsewhere(key)
        numbers: dict[str, Any] = dict.fromkeys(("images", "classes", "groups", "to_review", "to_learn", "rejected"), 0)
        place: dict[str, Any] = {
            "key": key,
            "name": path.name,
            "path": readable(path),
            "elsewhere": elsewhere,
            "problem": problem,
        }
        return api.Project(**place, **numbers, next="wait")


def describe(plain: api.Project, workspace: Workspace) -> api.Project:
    """Return the card of a project with what its workspace says."""
    status = workspace.status()
    todo = workspace.views.next_step()
    history = workspace.history(limit=1)
    jobs = workspace.jobs.latest(1, unfinished=True)
    known: dict[str, Any] = {
        "images": sum(status.counts.values()),
        "classes": 0 if status.version is None else len(status.version.classes),
        "groups": todo.groups,
        "to_review": todo.images if todo.step == "review" else 0,
        "to_learn": todo.learnable,
        "rejected": todo.images if todo.step == "discover" else 0,
        "job": jobs[0].verb if jobs else None,
        "changed_at": history[0].at if history else None,
        "changed_by": history[0].who if history else None,
        "changed_verb": history[0].verb if history else None,
        "next": "wait" if jobs else todo.step,
    }
    return plain.model_copy(update=known)


def _state(path: Path) -> object:
    """Return what changes whenever the workspace does."""
    found: list[object] = []
    for name in ("workspace.json", "workspace.db", "workspace.db-wal"):
        try:
            state = (path / name).stat()
        except OSError:
            found.append(None)
        else:
            found.append((state.st_ino, state.st_size, state.st_mtime_ns))
    return found
