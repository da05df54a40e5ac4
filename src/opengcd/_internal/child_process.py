"""Child processes for work on files that may crash, hang or exhaust the process that does it."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

PIPE = 2**20
"""Bytes that a pipe holds, where that can be chosen: few switches between the processes."""


def start_child(module: str) -> subprocess.Popen[bytes]:
    """Run a module of this package in a process of its own, which talks over its standard input and output.

    It does not get the terminal's Ctrl-C, which is for the process that it works for, and imports nothing from the
    current folder, which may be the one that the files came in.
    """
    root = str(Path(__file__).parents[2])
    paths = [root, *(part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part)]
    return subprocess.Popen(  # noqa: S603 - a module of ours, and no argument of anybody else
        [sys.executable, "-P", "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OPENBLAS_NUM_THREADS": "1"},
        start_new_session=True,
        pipesize=PIPE,
    )


def confine(memory: int) -> None:
    """Limit the address space of this process, in bytes, and let it leave no core file.

    Windows has no such limits, and macOS does not keep to the first.
    """
    try:
        import resource
    except ImportError:
        return
    for limit, most in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_AS, memory)):
        with suppress(ValueError, OSError):  # the system has a lower limit already, or none of that kind
            resource.setrlimit(limit, (most, most))
