"""Cells are run in processes: resumed, repeatable, and apart from each other."""

import dataclasses
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from opengcd.bench import Cell, make_cells, parse_numbers, read_results, run_cells, run_protocol
from opengcd.bench import cells as cells_module
from opengcd.cli import app
from tests.helpers.places import ROOT

PATIENCE = 240
"""Seconds that a process is given on a machine with much else to do."""


def timeless(results):
    """Without what may change from run to run: seconds and memory, and the commit while someone works."""
    for result in results:
        for phase in result.phases:
            phase.seconds = phase.peak_mb = {}
    return [dataclasses.replace(result, seconds=0, code=None) for result in results]


def test_cells_are_written_resumed_and_repeatable(tmp_path, features):
    cells = make_cells(["blobs"], ["csr-svm", "opengcd-mlp"], [0, 1])
    first, second = tmp_path / "a", tmp_path / "b"
    steps = run_cells(cells, features, first)
    assert next(steps).cell == cells[0]
    steps.close()  # interrupted
    done = len(read_results(first))
    assert 1 <= done <= 2  # the next cell may have been finished meanwhile
    assert {outcome.cell for outcome in run_cells(cells, features, first)} == set(cells[done:])
    assert list(run_cells(cells, features, first)) == []
    assert {outcome.cell for outcome in run_cells(cells, features, second, jobs=2)} == set(cells)
    assert timeless(read_results(first)) == timeless(read_results(second))
    assert not list(first.glob(".*"))


def run_and_listen(cell, features, monkeypatch):
    """The class groups that a cell's method meets."""
    met = []

    def spy(method, data, groups, **settings):
        met.append([group.tolist() for group in groups])
        return run_protocol(method, data, groups, **settings)

    monkeypatch.setattr(cells_module, "run_protocol", spy)
    cells_module.run_cell(cell, features)
    return met[0]


def test_the_class_order_depends_on_the_seed_alone_or_is_fixed(features, monkeypatch):
    csr, il_e = (run_and_listen(Cell("blobs", name, 3), features, monkeypatch) for name in ("csr-svm", "il-e-svm"))
    assert csr == il_e
    assert csr != run_and_listen(Cell("blobs", "csr-svm", 4), features, monkeypatch)
    authors = Cell("blobs", "csr-svm", 3, "authors")
    assert run_and_listen(authors, features, monkeypatch) == [[0, 1, 2, 3, 4], [5], [6], [7]]
    order = np.arange(8)[::-1]
    np.savez(features / "blobs.npz", class_order=order, **np.load(features / "blobs.npz"))
    assert run_and_listen(authors, features, monkeypatch) == [[7, 6, 5, 4, 3], [2], [1], [0]]


def test_a_cell_that_fails_leaves_no_file_and_stops_no_other(tmp_path, features):
    out = tmp_path / "out"
    cells = make_cells(["blobs"], ["tests.helpers.bench:Failing", "csr-svm", "tests.helpers.bench:Awkward"], [0])
    outcomes = {outcome.cell: outcome[1:] for outcome in run_cells(cells, features, out)}
    assert outcomes[cells[0]][0] == "ZeroDivisionError: a fault in the method"
    assert "in fit" in outcomes[cells[0]][1]
    assert outcomes[cells[1]] == ("", "")
    assert outcomes[cells[2]][0] == "AwkwardError: no pickle brings me back"
    assert [result.cell.method for result in read_results(out)] == ["csr-svm"]
    runner = CliRunner()
    command = ["bench", "run", "--features", str(features), "--out", str(out), "--datasets", "blobs", "--methods"]
    failed = runner.invoke(app, [*command, "tests.helpers.bench:Failing,csr-svm"])
    assert failed.exit_code == 1
    assert "1 of 2 cells failed" in failed.output


def test_the_method_in_the_documentation_runs(tmp_path, features, monkeypatch):
    document = (ROOT / "docs" / "reference" / "benchmark.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(# nearest\.py.*?)```", document, re.DOTALL)
    (tmp_path / "nearest.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    result = cells_module.run_cell(Cell("blobs", "nearest:NearestMean", 0), features)
    assert result.phases[0].accuracy_all > 0.9
    assert result.phases[0].rejected > 0
    assert result.phases[0].k == 6


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads the state of a process from /proc (Linux)")
@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_workers_end_with_a_parent_that_is_killed(tmp_path, features, by):
    started = tmp_path / "started"
    command = [sys.executable, "-m", "opengcd", "bench", "run", "--methods", "tests.helpers.bench:Slow"]
    command += ["--datasets", "blobs", "--features", str(features), "--out", str(tmp_path / "out")]
    environment = os.environ | {"SLOW_STARTED": str(started)}
    output = tmp_path / "output"
    with output.open("wb") as written:
        parent = subprocess.Popen(
            command,
            env=environment,
            cwd=ROOT,
            stdout=written,
            stderr=subprocess.STDOUT,
            # A shell starts what it runs in the background deaf to this signal, and the tests may be such a program.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
    try:
        wait_until(lambda: started.exists() or parent.poll() is not None)
        assert parent.poll() is None, output.read_text()
    finally:
        parent.send_signal(by)
        parent.wait(PATIENCE)
    worker = int(started.read_text())
    wait_until(lambda: not is_running(worker))
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["results.json"]


def wait_until(condition):
    for _ in range(10 * PATIENCE):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("waited in vain")


def is_running(process):
    try:
        os.kill(process, 0)
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"  # an ended process stays in the list until somebody asks for its result


def test_a_run_that_is_stopped_never_waits_for_the_processes_reports():
    class Blocked:
        """A queue that a killed process left half-written."""

        def __init__(self):
            self.free, self.read = threading.Event(), False

        def get(self, timeout):
            self.read = self.free.wait(300) or True
            raise queue.Empty

    reports = Blocked()
    listener = cells_module.Listener(reports, lambda *_: None)
    listener.stop()
    assert not reports.read
    reports.free.set()


def test_bars_of_a_cell_that_ended_are_closed():
    shown = []
    reports = queue.Queue()
    listener = cells_module.Listener(reports, lambda *report: shown.append(report))
    cell = Cell("d", "m", 0)
    reports.put((cell, "phases", 3, 4))
    wait_until(lambda: shown)
    listener.close_bars(cell)
    listener.stop()
    assert shown == [("d m seed 0: phases", 3, 4), ("d m seed 0: phases", 1, 1)]


def test_the_environment_of_a_run_is_as_before_afterwards(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    with cells_module.environment({"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}):
        assert os.environ["OMP_NUM_THREADS"] == os.environ["MKL_NUM_THREADS"] == "1"
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "MKL_NUM_THREADS" not in os.environ


def test_seeds():
    assert parse_numbers("0-2, 7", "seeds") == [0, 1, 2, 7]
    for text in ("", "a", "1-", "-1", "4-0"):
        with pytest.raises(ValueError, match="is not a list of seeds"):
            parse_numbers(text, "seeds")
