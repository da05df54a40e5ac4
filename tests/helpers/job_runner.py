"""Runs the jobs of a workspace in forked processes that kill themselves on demand: ``python job_runner.py``.

A line of JSON on standard input names the folder and where to die, as ``["report", 3]`` for the third report of
progress; null lets all jobs finish. The answer is the exit status. Everything is imported once, so a process starts at
once.
"""

import json
import os
import signal
import sys
import time

import opengcd.recognizer  # noqa: F401
from opengcd import Workspace
from opengcd.service import job_reports
from opengcd.service import job_runner as job_runner_module
from opengcd.service.recognition_routes import Recognition
from opengcd.service.supervision import Health
from opengcd.workspace.job_queue import Jobs


def die_at(name, number):
    """Let a process die when a method of the queue has been called so many times."""
    method, left = getattr(Jobs, name), [number]

    def dying(self, *args, **more):
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        return method(self, *args, **more)

    setattr(Jobs, name, dying)


def work(folder, die):
    job_reports.REPORT = 0.0  # every step is reported
    if die is not None:
        die_at(*die)
    with Workspace(folder) as workspace:
        health = Health()
        runner = job_runner_module.Runner(
            workspace, Recognition(workspace, health.task("recognition")), health.task("jobs")
        )
        runner.start()
        while workspace.jobs.latest(unfinished=True):
            time.sleep(0.01)
        runner.stop()


def main():
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                work(**json.loads(line))
                status = 0
            finally:
                os._exit(status)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
