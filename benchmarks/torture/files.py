"""Files of every kind, damaged at random and made to do harm: each is loaded, or refused with a reason.

Each kind is loaded by a process of its own (``python -m benchmarks.torture.files``), which says before each input which
one it is, so that a crash or a hang is seen and has a number; it is then started again after that input.
"""

from __future__ import annotations

import json
import os
import resource
import select
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.torture.file_kinds import KINDS
from benchmarks.torture.report import Outcome, Setting

SECONDS = 100
"""In which an input is loaded or refused."""
MEMORY = 2_200
"""Megabytes that a process may grow by, over all inputs, with the largest of its children, which may have 2 GiB."""
ROOT = Path(__file__).resolve().parents[2]


def attack(setting: Setting) -> Iterator[Outcome]:
    """Load files of all kinds."""
    for number, kind in enumerate(KINDS):
        folder = setting.folder / str(number)
        folder.mkdir()
        yield _attack(kind, folder, setting)


def _attack(kind: str, folder: Path, setting: Setting) -> Outcome:
    tries = setting.tries(KINDS[kind].share)
    counts: Counter[str] = Counter()
    failures: list[str] = []
    began, number, grown = time.monotonic(), 0, 0.0
    while number < tries:
        work = folder / f"from{number}"
        work.mkdir()
        for report in _reports(kind, work, setting.seed, number, tries):
            number = report["number"] + 1
            counts[report["result"]] += 1
            grown = max(grown, report.get("grown", 0.0))
            if report["result"] == "broken":
                failures.append(f"{kind}, input {report['number']}, seed {setting.seed}: {report['why']}")
        setting.tell(f"{kind}: {number:,} of {tries:,} inputs, {len(failures)} broken")
    if grown > MEMORY:
        failures.append(f"{kind}: the process grew by {grown:.0f} MB, more than {MEMORY} MB")
    figures = {
        "loaded": f"{counts['loaded']:,}",
        "refused": f"{counts['refused']:,}",
        "grew by at most": f"{grown:.0f} MB",
        "took": f"{time.monotonic() - began:.0f} s",
    }
    return Outcome(f"files: {kind}", number, figures, failures)


def _reports(kind: str, folder: Path, seed: int, start: int, end: int) -> Iterator[dict[str, Any]]:
    """What a process says of inputs from one number on, until it is done, crashes or hangs."""
    command = [sys.executable, "-m", "benchmarks.torture.files", kind, str(folder), str(seed), str(start), str(end)]
    paths = [str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "OMP_NUM_THREADS": "1"}
    log = folder / "stderr"
    with log.open("wb") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=environment, cwd=folder)
    assert process.stdout is not None
    begun: int | None = None
    rest = b""
    with process:
        while (hung := not select.select([process.stdout], [], [], SECONDS)[0]) is False:
            read = os.read(process.stdout.fileno(), 2**16)
            if not read:
                break
            *lines, rest = (rest + read).split(b"\n")
            for line in lines:
                report = json.loads(line)
                begun = None if "result" in report else report["number"]
                if begun is None:
                    yield report
        if hung:
            process.kill()
    if begun is not None:
        how = f"no answer within {SECONDS} seconds" if hung else f"crashed with exit status {process.returncode}"
        yield {"number": begun, "result": "broken", "why": how}
    elif process.returncode:
        raise RuntimeError(f"The process for {kind} does not start: {log.read_text()[-2000:]}")


def _serve(kind: str, folder: Path, seed: int, start: int, end: int) -> None:
    """Load inputs and say of each how it went."""
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    mark = folder / "mark"
    programs = folder / "bin"
    programs.mkdir()
    for name in ("gs", "gswin32c", "gswin64c"):
        (programs / name).write_text(f"#!/bin/sh\ntouch '{mark}'\n")
        (programs / name).chmod(0o755)
    os.environ["PATH"] = f"{programs}{os.pathsep}{os.environ['PATH']}"
    ready = KINDS[kind](folder, mark)
    foreign: list[str] = []
    sys.addaudithook(
        lambda event, args: foreign.append(f"{event} {args!r}"[:300]) if _is_foreign(event, args) else None
    )
    ready.load(ready.good[0])
    before = _peak()
    for number in range(start, end):
        one = ready.input(number, seed)
        print(json.dumps({"number": number}), file=replies)
        report: dict[str, Any] = {"number": number, "result": "loaded"}
        foreign.clear()
        try:
            ready.load(one)
        except ready.refusals as error:
            report["result"] = "refused"
            if getattr(error, "status_code", 400) >= 500 or not str(error):
                report |= {"result": "broken", "why": f"{error!r}"[:500]}
        except BaseException as error:
            report |= {"result": "broken", "why": f"{error!r}"[:500]}
        if number < len(ready.good) and report["result"] != "loaded":
            report |= {"result": "broken", "why": f"a good file was refused: {report}"}
        if foreign or mark.exists():
            report |= {"result": "broken", "why": f"foreign code ran: {foreign}"}
            mark.unlink(missing_ok=True)
        print(json.dumps(report | {"grown": _peak() - before}), file=replies)


def _is_foreign(event: str, args: tuple[Any, ...]) -> bool:
    if event == "subprocess.Popen":
        return not any(str(part).startswith("opengcd.") for part in args[1])
    return event in ("os.system", "os.exec", "os.posix_spawn", "os.spawn", "pickle.find_class", "ctypes.dlopen")


def _peak() -> float:
    """Megabytes that this process and the largest of its children have had at most."""
    return sum(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1000


if __name__ == "__main__":
    _serve(sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:]))
