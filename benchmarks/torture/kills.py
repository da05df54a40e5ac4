"""kill -9 before every operation on files and at random times, on SQLite and on PostgreSQL; then the session goes on.

After each kill the workspace must open, hold nothing contradictory, and have everything that was there before the step.
The step is then run again (unless it was done, and only could not say so any more), and at the end of the session the
workspace must say what it says after a session that nobody disturbed.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from sqlalchemy import create_engine, text

from benchmarks.torture.postgresql import running
from benchmarks.torture.report import Outcome, Setting
from benchmarks.torture.session import ONCE, STEPS, Facts, Library, Place, Steps, contradictions, facts_of, paint, steps
from opengcd import Workspace
from opengcd.workspace import WorkspaceError

RANDOM = 15
"""Kills at random times of each step, at scale 1."""
EVERY = 4
"""At scale 1, every fourth operation is killed before; at scale 4 and above, each."""


class Tables(Protocol):
    """How the database of a workspace is kept and brought back."""

    url: str | None

    def keep(self) -> None:
        """Remember the database as it is."""

    def restore(self) -> None:
        """Bring it back."""


class InTheFolder:
    """SQLite: the database is one of the files."""

    url = None

    def keep(self) -> None:
        """Leave it to the copy of the folder."""

    def restore(self) -> None:
        """Leave it to the copy of the folder."""


class OnServer:
    """PostgreSQL: a copy is another database."""

    def __init__(self, server: str) -> None:
        self.server = server
        self.url: str | None = server.replace("/postgres?", "/torture?")
        self._run("CREATE DATABASE torture")

    def keep(self) -> None:
        """Copy the database."""
        self._run("DROP DATABASE IF EXISTS kept WITH (FORCE)", "CREATE DATABASE kept TEMPLATE torture")

    def restore(self) -> None:
        """Replace it by the copy."""
        self._run("DROP DATABASE IF EXISTS torture WITH (FORCE)", "CREATE DATABASE torture TEMPLATE kept")

    def _run(self, *statements: str) -> None:
        engine = create_engine(self.server, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            for statement in statements:
                connection.execute(text(statement))
        engine.dispose()


class Session:
    """One session whose steps are killed again and again."""

    def __init__(self, folder: Path, tables: Tables, processes: Steps, tell: Callable[[str], None]) -> None:
        self.tell = tell
        self.here, self.kept = folder / "here", folder / "kept"
        self.here.mkdir()
        self.tables = tables
        self.processes = processes
        self.place = Place(str(self.here / "w"), str(folder / "images"), tables.url)
        self.failures: list[str] = []

    def keep(self) -> None:
        """Remember everything as it is."""
        shutil.rmtree(self.kept, ignore_errors=True)
        shutil.copytree(self.here, self.kept)
        self.tables.keep()

    def restore(self) -> None:
        """Bring it back."""
        shutil.rmtree(self.here)
        shutil.copytree(self.kept, self.here)
        self.tables.restore()

    def facts(self) -> Facts | None:
        """Return what the workspace says; None before there is one."""
        if not os.path.exists(self.place.folder):
            return None
        with Workspace(self.place.folder) as workspace:
            return facts_of(workspace)

    def kill(self, step: str, before: Facts | None, kill_at: int, kill_after: float | None) -> bool:
        """Kill a step, look at what is left, and bring everything back; return whether the kill came in time."""
        status, _, _ = self.processes.run(step, self.place, kill_at=kill_at, kill_after=kill_after)
        known = len(self.failures)
        how = f"{step}, killed " + (f"at operation {kill_at}" if kill_at else f"after {kill_after:.4f} s")
        try:
            self._look(step, before, how)
        except Exception as error:
            self.failures.append(f"{how}: {type(error).__name__}: {error}")
        for failure in self.failures[known:]:
            self.tell(failure)
        self.restore()
        return status != 0

    def _look(self, step: str, before: Facts | None, how: str) -> None:
        try:
            with Workspace(self.place.folder) as workspace:
                self.failures += [f"{how}: {problem}" for problem in contradictions(workspace)]
                now = facts_of(workspace)
        except WorkspaceError as error:
            if before is None and ("init was interrupted" in str(error) or "no workspace" in str(error)):
                return
            raise
        if before is not None and now.history[: len(before.history)] != before.history:
            self.failures.append(f"{how}: the history was {before.history} and is {now.history}")
        done = len(now.history) > len(before.history if before else ())
        if step not in ONCE or not done:
            self.processes.run(step, self.place)
        elif step == "learn":  # a kill after its commit may have left images that the new version was not asked about
            self.processes.run("recognize", self.place)
        after = self.facts()
        if after is None or after.labels != self.expected[step].labels or after.version != self.expected[step].version:
            self.failures.append(f"{how}: run again, it does not come to the same labels")

    expected: dict[str, Facts]
    """What a session that nobody disturbs says after each step."""


def _undisturbed(session: Session) -> tuple[dict[str, Facts], dict[str, tuple[float, int]]]:
    """Run a session; return what it says after each step, and the seconds and operations of each."""
    said, costs = {}, {}
    session.keep()
    for step in STEPS:
        _, seconds, operations = session.processes.run(step, session.place)
        found = session.facts()
        assert found is not None
        said[step], costs[step] = found, (seconds, operations)
    session.restore()
    return said, costs


def attack_on(setting: Setting, name: str, tables: Tables, processes: Steps) -> Iterator[Outcome]:
    """Kill the steps of a session on one kind of database."""
    chance = random.Random(setting.seed)
    session = Session(setting.folder / name, tables, processes, setting.tell)
    session.expected, costs = _undisturbed(session)
    kills = {"operation": 0, "time": 0}
    every = max(1, round(EVERY / setting.scale))
    for step, (seconds, operations) in costs.items():
        before = session.facts()
        session.keep()
        for number in range(1 + chance.randrange(every), operations + 1, every):
            kills["operation"] += session.kill(step, before, number, None)
        for _ in range(setting.tries(RANDOM)):
            kills["time"] += session.kill(step, before, 0, chance.uniform(0, 1.1) * seconds)
        setting.tell(f"kills, {name}: {step} done, {sum(kills.values())} kills")
        processes.run(step, session.place)
    operations = sum(number for _, number in costs.values())
    figures = {"of operations": f"{operations:,}", "before an operation": f"{kills['operation']:,}"}
    figures |= {"at a random time": f"{kills['time']:,}", "lost or contradictory": str(len(session.failures))}
    yield Outcome(f"kill -9 during a session, {name}", sum(kills.values()), figures, session.failures)


def attack(setting: Setting) -> Iterator[Outcome]:
    """Kill on both databases."""
    library = Library(setting.folder)
    for name in ("SQLite", "PostgreSQL"):
        home = setting.folder / name
        home.mkdir()
        paint(home / "images")
        with steps(library, home / "here") as processes:
            if name == "SQLite":
                yield from attack_on(setting, name, InTheFolder(), processes)
            else:
                with running() as server:
                    yield from attack_on(setting, name, OnServer(server.url), processes)
