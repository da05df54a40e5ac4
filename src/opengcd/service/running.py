"""Where a workspace is served: the first server holds a lock file and writes its address beside it."""

from __future__ import annotations

import errno
import os
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from opengcd._internal.durable_files import replace_file
from opengcd._internal.limited_reading import read_limited

LOCK, ADDRESS = ".serving.lock", ".serving"
"""Files in the folder of the workspace."""
VALID = re.compile(r"https?://[\w.:\[\]-]{1,300}/")


@contextmanager
def announcing(folder: Path) -> Iterator[Callable[[str], None]]:
    """Hold the lock of a workspace, if it is free and can be written to; yield what stores the address of the server.

    The lock ends with the process, however that ends, so an address without a lock is out of date.
    """
    lock = FileLock(folder / LOCK, timeout=0)
    try:
        lock.acquire()
    except (Timeout, OSError):  # another server, or a folder that is read-only
        yield lambda _: None
        return
    try:
        yield lambda address: replace_file(folder / ADDRESS, address.encode(), mode=0o600)
    finally:
        (folder / ADDRESS).unlink(missing_ok=True)
        lock.release()


def running_at(folder: Path) -> str | None:
    """Return the address at which a workspace is served; None if it is not, as far as is known."""
    if not (folder / ADDRESS).exists():
        return None
    with suppress(OSError, ValueError):
        try:
            with FileLock(folder / LOCK, timeout=0):
                return None
        except Timeout:
            address = (read_limited(folder / ADDRESS, 1000) or b"").decode("ascii")
            return address if VALID.fullmatch(address) else None
    return None


def is_taken(host: str, port: int) -> bool:
    """Return whether another program listens on a port; an OSError says why a server cannot listen there at all."""
    if port == 0:
        return False
    try:
        for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            with socket.socket(family, kind, protocol) as probe:
                if os.name == "posix":  # elsewhere it would share the port with another program
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(address)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return True
        hint = "; ports below 1024 are for administrators" if isinstance(error, PermissionError) else ""
        raise OSError(f"Nothing can listen on {host}, port {port}: {error.strerror}{hint}.") from None
    return False
