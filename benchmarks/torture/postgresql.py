"""A PostgreSQL server for an attack: a real one, on a socket in a temporary folder."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Server:
    """A server that can be stopped and started again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = f"postgresql+psycopg://tester@/postgres?host={folder}"
        # The server refuses to run as root.
        self._options = {"user": pwd.getpwnam("postgres").pw_name} if os.geteuid() == 0 else {}
        folder.chmod(0o755)
        (folder / "data").mkdir()
        for path in (folder, folder / "data") if self._options else ():
            shutil.chown(path, "postgres")
        self._run("initdb", "-A", "trust", "-U", "tester", "-E", "UTF8", "--no-sync")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = f"-c listen_addresses='' -c unix_socket_directories={self.folder} -c max_connections=200"
        self._run("pg_ctl", "-w", "-o", settings, "-l", str(self.folder / "log"), "start")

    def stop(self, mode: str = "immediate") -> None:
        """Stop it as after a crash, or as ``mode`` says."""
        self._run("pg_ctl", "-m", mode, "stop")

    def _run(self, program: str, *arguments: str) -> None:
        found = shutil.which(program) or next(iter(sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{program}"))))
        command = [str(found), "-D", str(self.folder / "data"), *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=self.folder, **self._options)


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


@contextmanager
def postgresql() -> Iterator[str]:
    """Give the URL of a running server."""
    with running() as server:
        yield server.url
