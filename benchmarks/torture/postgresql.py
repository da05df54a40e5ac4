"""A PostgreSQL server of one's own, on a socket in a temporary folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class NoServerError(RuntimeError):
    """There is no PostgreSQL to start on this machine; the text says why."""


class Server:
    """A server that can be stopped and started again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = f"postgresql+psycopg://tester@/postgres?host={folder}"
        self._user = _user()
        folder.chmod(0o755)
        (folder / "data").mkdir()
        for path in (folder, folder / "data"):
            shutil.chown(path, self._user or os.geteuid())
        self._run("initdb", "-A", "trust", "-U", "tester", "-E", "UTF8", "--no-sync")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        # Without fsync it survives whatever happens to processes, its own too; here no power fails.
        settings = f"-c listen_addresses='' -c unix_socket_directories={self.folder} -c fsync=off"
        settings += " -c max_connections=200"
        self._run("pg_ctl", "-w", "-o", settings, "-l", str(self.folder / "log"), "start")

    def stop(self, mode: str = "immediate") -> None:
        """Stop it as after a crash, or as ``mode`` says."""
        self._run("pg_ctl", "-m", mode, "stop")

    def _run(self, name: str, *arguments: str) -> None:
        command = [_program(name), "-D", str(self.folder / "data"), *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=self.folder, user=self._user, timeout=60)


@contextmanager
def running() -> Iterator[Server]:
    """Start a server, and stop it at the end."""
    with tempfile.TemporaryDirectory(prefix="opengcd-pg-") as folder:  # the path of a socket must be short
        server = Server(Path(folder))
        server.start()
        try:
            yield server
        finally:
            server.stop()


def _program(name: str) -> str:
    found = shutil.which(name) or next(iter(sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))), None)
    if found is None:
        raise NoServerError(f"PostgreSQL's {name} is not installed")
    return str(found)


def _user() -> str | None:
    """Return who is to run the server, which refuses to run as root."""
    if os.name != "posix" or os.geteuid() != 0:
        return None
    import pwd  # not on Windows, where helpers of the tests import this module, too

    try:
        return pwd.getpwnam("postgres").pw_name
    except KeyError:
        raise NoServerError("there is no user postgres") from None
