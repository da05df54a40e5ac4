"""Adapts networks in forked processes and kills them on demand: ``python -m tests.helpers.adapting_server``.

Everything is imported once, so a command starts at once. A line of JSON on standard input names a workspace, and before
which operation on files to kill the command; the answer is its exit status, the operations and the epochs of training.
"""

import json
import os
import signal
import sys
from pathlib import Path

import opengcd.recognizer  # noqa: F401
from opengcd import Workspace
from opengcd.workspace import adaptation
from tests.helpers.adapting import Trainer

OPERATIONS = ("fsync", "rename", "replace", "unlink", "rmdir")


def adapt(folder, kill_at, report):
    """Run the command, and kill it before one of its operations."""
    done = 0

    def counted(operation):
        def call(*args, **options):
            nonlocal done
            done += 1
            if done == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
            return operation(*args, **options)

        return call

    adaptation.adapt_network = trainer = Trainer()
    with Workspace(folder) as workspace:
        for name in OPERATIONS:
            setattr(os, name, counted(getattr(os, name)))
        workspace.adapt()
        Path(report).write_text(f"{done} {trainer.epochs}")


def main():
    """Serve commands until the input ends."""
    for line in sys.stdin:
        command = json.loads(line)
        Path(command["report"]).write_text("0 0")
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                adapt(**command)
                status = 0
            finally:
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        print(status, *Path(command["report"]).read_text().split(), flush=True)


if __name__ == "__main__":
    main()
