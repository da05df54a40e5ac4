"""Child processes for work on files that may crash, hang or exhaust the process that does it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

PIPE = 2**20
"""Size of a pipe in bytes, on systems where it can be set; a large one saves context switches."""


def start_child(module: str, *numbers: float, file: BinaryIO | None = None) -> subprocess.Popen[bytes]:
    """Run a module of this package in a child process, connected by its standard input and output.

    ``numbers`` are its arguments; its standard input is ``file`` if there is one. It does not receive Ctrl-C from the
    terminal, which its parent handles, and imports nothing from the current folder, which may be where untrusted files
    are.
    """
    root = str(Path(__file__).parents[2])
    paths = [root, *(part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part)]
    return subprocess.Popen(  # noqa: S603 - a module of this package, with nothing but numbers from outside
        [sys.executable, "-P", "-m", module, *(repr(float(number)) for number in numbers)],
        stdin=subprocess.PIPE if file is None else file,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OPENBLAS_NUM_THREADS": "1"},
        start_new_session=True,
        pipesize=PIPE,
    )


def confine(memory: int) -> None:
    """Limit the address space of this process, in bytes, and disable core dumps.

    Windows has no such limits, and macOS does not enforce the first.
    """
    try:
        import resource
    except ImportError:
        return
    for limit, most in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_AS, memory)):
        with suppress(ValueError, OSError):  # the system has a lower limit already, or no such limit
            resource.setrlimit(limit, (most, most))


def end_after(seconds: float) -> None:
    """End this process after some time, in case its parent is gone and cannot enforce its limit; 0 for never.

    Windows has no such timer.
    """
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def quiet_output() -> BinaryIO:
    """Return the standard output of this process, for replies alone: what libraries print is discarded from now on."""
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    return replies
