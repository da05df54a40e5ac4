"""Runs commands on a workspace in forked processes and kills them on demand: ``python crash_server.py``.

Everything is imported once, so a command starts at once. A line of JSON on standard input is a command, and after how
many seconds to kill it; the answer is its exit status and how long it ran.
"""

import json
import os
import signal
import sys
import time

import opengcd.recognizer  # noqa: F401
from opengcd import Workspace
from opengcd.embed import pixels as pixels_module
from opengcd.workspace import intake


def execute(folder, verb, arguments, report):
    """Run one command; whatever it has done is reported line by line."""
    with open(report, "a", buffering=1) as lines:
        if verb == "init":
            with Workspace.create(folder, "pixels", recognizer=arguments["recognizer"]) as workspace:
                workspace.fit(arguments["known"])
        else:
            with Workspace(folder) as workspace:
                if verb == "recognize":
                    for result in workspace.recognize(arguments["sources"]):
                        lines.write(json.dumps([result.path, result.label]) + "\n")
                elif verb == "learn":
                    workspace.learn()
                elif verb == "discover":
                    workspace.discover(arguments["k"])
                elif verb == "export":
                    workspace.formats.export_groups(arguments["out"])
                elif verb == "import":
                    workspace.formats.import_groups(arguments["out"])
                elif verb == "undo":
                    workspace.undo()
        lines.write(json.dumps("done") + "\n")


def main():
    # Many small steps, so that a kill hits one of many places.
    pixels_module.BATCH, intake.SURVEY = 5, 17
    for line in sys.stdin:
        command = json.loads(line)
        kill_after = command.pop("kill_after")
        start = time.perf_counter()
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                execute(**command)
                status = 0
            finally:
                os._exit(status)
        if kill_after is not None:
            time.sleep(kill_after)
            os.kill(pid, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        print(status, time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    main()
