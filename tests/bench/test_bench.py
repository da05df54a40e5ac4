import dataclasses
import json
import os
import queue
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from typer.testing import CliRunner

from opengcd._internal.storage import replace_file
from opengcd.bench import (
    PLANS,
    Cell,
    Dataset,
    FeatureFileError,
    ResultsError,
    class_groups,
    load_dataset,
    make_cells,
    make_method,
    method_names,
    parse_numbers,
    plan_for,
    read_results,
    run_cells,
    run_protocol,
)
from opengcd.bench import cells as cells_module
from opengcd.cli import app

PATIENCE = 240
"""Seconds that a process is given on a machine with much else to do."""


@pytest.fixture
def arrays():
    X, y = make_blobs(120, n_features=5, centers=6, random_state=0)
    return {
        "x_train": X[:60].astype(np.float16),
        "y_train": y[:60],
        "x_test": X[60:].astype(np.float16),
        "y_test": y[60:],
        "class_names": np.array([f"c{c}" for c in range(6)]),
    }


def saved(folder, arrays, name="toy"):
    np.savez(folder / f"{name}.npz", **arrays)
    return folder


def test_features_are_scaled_to_unit_length(tmp_path, arrays):
    data = load_dataset(saved(tmp_path, arrays), "toy")
    np.testing.assert_allclose(np.linalg.norm(data.x_train, axis=1), 1, rtol=1e-6)
    assert (data.name, data.x_test.dtype, len(data.class_names)) == ("toy", np.float32, 6)


def without(key):
    return lambda arrays: arrays.pop(key)


def put(key, value):
    return lambda arrays: arrays.update({key: value(arrays[key])})


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (without("y_test"), "lacks y_test"),
        (put("x_test", lambda a: a[:, :-1]), "x_test has 4 features, but 5"),
        (put("x_train", lambda a: a * np.float16(np.nan)), "NaN or infinite"),
        (put("y_train", lambda a: a + 1), "class_names has 6"),
        (put("y_train", lambda a: a[:-1]), "one class number for each of the 60 rows"),
        (put("y_test", lambda a: np.zeros_like(a)), "no row of 5 classes, 'c1' first"),
        (put("y_test", lambda a: a.astype(float)), "one class number"),
    ],
    ids=range(7),
)
def test_bad_feature_files_are_refused(tmp_path, arrays, damage, message):
    damage(arrays)
    with pytest.raises(FeatureFileError, match=message):
        load_dataset(saved(tmp_path, arrays), "toy")


def test_missing_foreign_and_pickled_files(tmp_path, arrays):
    with pytest.raises(FeatureFileError, match=r"no dataset 'cub'.*found: none"):
        load_dataset(tmp_path, "cub")
    (tmp_path / "text.npz").write_text("no archive")
    with pytest.raises(FeatureFileError, match="cannot be read"):
        load_dataset(tmp_path, "text")
    arrays["class_names"] = arrays["class_names"].astype(object)
    with pytest.raises(FeatureFileError, match="cannot be read"):
        load_dataset(saved(tmp_path, arrays), "toy")
    np.save(tmp_path / "bare.npy", np.zeros(3))
    (tmp_path / "bare.npy").rename(tmp_path / "bare.npz")
    with pytest.raises(FeatureFileError, match="cannot be read"):
        load_dataset(tmp_path, "bare")


@pytest.mark.parametrize("key", ["class_names", "x_train", "y_test"])
def test_parts_of_a_feature_file_that_are_no_arrays(tmp_path, arrays, key):
    arrays["class_names"] = arrays["class_names"].astype(str)
    del arrays[key]
    with zipfile.ZipFile(saved(tmp_path, arrays) / "toy.npz", "a") as archive:
        archive.writestr(key, b"not in numpy's format")
    with pytest.raises(FeatureFileError, match=r"toy\.npz"):
        load_dataset(tmp_path, "toy")


def test_a_class_order_may_be_given(tmp_path, arrays):
    assert load_dataset(saved(tmp_path, arrays), "toy").class_order is None
    arrays["class_order"] = np.array([5, 3, 1, 0, 2, 4])
    assert load_dataset(saved(tmp_path, arrays), "toy").class_order.tolist() == [5, 3, 1, 0, 2, 4]
    for wrong in ([5, 3, 1, 0, 2, 2], [0, 1], [0.0, 1, 2, 3, 4, 5], 0, [[0, 1, 2, 3, 4, 5]]):
        arrays["class_order"] = np.array(wrong)
        with pytest.raises(FeatureFileError, match="each of the numbers 0 to 5 once"):
            load_dataset(saved(tmp_path, arrays), "toy")


def test_class_names_that_are_no_list(tmp_path, arrays):
    for wrong in ("a", [["a", "b"]]):
        arrays["class_names"] = np.array(wrong)
        with pytest.raises(FeatureFileError, match="one name for each class"):
            load_dataset(saved(tmp_path, arrays), "toy")


def test_plans():
    assert [sum(plan.sizes) for plan in PLANS.values()] == [10, 100, 200]
    toy = Dataset("toy", *[np.zeros((1, 1))] * 4, [str(c) for c in range(12)])
    assert plan_for(toy) == ((6, 2, 2, 2), None)
    with pytest.raises(FeatureFileError, match="at least 5"):
        plan_for(Dataset("toy", *[np.zeros((1, 1))] * 4, ["a", "b"]))


def test_methods_by_name():
    assert set(method_names()) >= {"opengcd-svm", "opengcd-mlp", "opengcd-xgb", "csr-xgb", "il-e-svm", "owr-ue-mlp"}
    assert make_method("opengcd-svm", random_state=3).random_state == 3
    assert type(make_method("opengcd.recognizer:OpenWorldRecognizer")).__name__ == "OpenWorldRecognizer"
    for name, message in [
        ("opengcd-nope", "Unknown method"),
        ("nope:Nope", "cannot be imported"),
        ("opengcd.metrics:Parts", "lacks fit"),
        (".metrics:Parts", "cannot be imported: TypeError"),
    ]:
        with pytest.raises(ValueError, match=message):
            make_method(name)


def test_methods_follow_the_authors_code_where_they_are_asked_to():
    method = make_method("opengcd-xgb", dataset="cifar100", protocol="authors", random_state=0)
    assert (method.alpha, method.max_classes, method.selector) == (1e5, 110, "authors")
    assert (method.preset.discovery.n_init, method.preset.discovery.objective) == (14, "fmi+db")
    assert make_method("csr-xgb", dataset="cifar100", protocol="authors").alpha == 0
    assert make_method("opengcd-xgb", dataset="mine", protocol="authors").preset == "authors"
    assert make_method("opengcd-xgb", dataset="cifar100").preset == "paper"


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(8, 6)) * 6
    y = np.repeat(np.arange(8), 30)
    train, test = (centers[y] + rng.normal(size=(240, 6)) for _ in range(2))
    return Dataset("blobs", train, y, test, y, [str(c) for c in range(8)]), class_groups(8, (4, 2, 2), 1)


def run(name, blobs, **settings):
    method = make_method(name, random_state=0, max_classes=20, selector="random")
    return [result for result, _ in run_protocol(method, *blobs, random_state=0, **settings)]


def test_csr_neither_learns_nor_rejects(blobs):
    results = run("csr-svm", blobs)
    assert all(r.hna == r.hca == 0 and r.rejected == r.actions == 0 for r in results[:2])
    assert results[2].accuracy[1:] == [0, 0]
    assert results[0].accuracy == [results[2].accuracy[0]]


def test_il_e_learns_all_but_never_rejects(blobs):
    results = run("il-e-svm", blobs)
    assert all(r.hna == r.hca == 0 and r.learnt_share == 1 for r in results[:2])
    assert results[2].accuracy_all > 0.9


def test_owr_ue_puts_all_rejected_items_in_one_heap(blobs):
    first = run("owr-ue-svm", blobs)[0]
    full = run("opengcd-svm", blobs)[0]
    assert first.hna == full.hna
    assert first.actions == first.rejected > full.actions
    # Two balanced novel classes in one group.
    assert first.gcd_parts.ans == pytest.approx(first.osr_parts.aus / 2, abs=0.05)


def test_learning_all_is_not_limited_by_discovery(blobs):
    results = run("opengcd-svm", blobs, learn="all")
    assert all(r.learnt_share == 1 and r.missing_classes == 0 for r in results[:2])
    with pytest.raises(ValueError, match="learn must be"):
        run("opengcd-svm", blobs, learn="some")


# Cells and tables.


@pytest.fixture
def features(tmp_path, blobs):
    data = blobs[0]
    folder = tmp_path / "features"
    folder.mkdir()
    np.savez(
        folder / "blobs.npz",
        x_train=data.x_train,
        y_train=data.y_train,
        x_test=data.x_test,
        y_test=data.y_test,
        class_names=np.array(data.class_names),
    )
    return folder


def timeless(results):
    for result in results:
        result["seconds"] = 0
        for phase in result["phases"]:
            phase["seconds"] = phase["peak_mb"] = {}
    return results


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


class Failing:
    """A method of a user's own, with a fault."""

    def __init__(self, **settings):
        pass

    def fit(self, X, y, *, progress=None):
        raise ZeroDivisionError("a fault in the method")

    learn = predict = predict_closed = unknown_score = discover = fit


def test_a_cell_that_fails_leaves_no_file_and_stops_no_other(tmp_path, features, monkeypatch):
    out, here = tmp_path / "out", str(Path(__file__).parent)
    monkeypatch.syspath_prepend(here)
    cells = make_cells(["blobs"], ["test_bench:Failing", "csr-svm", "test_bench:Awkward"], [0])
    outcomes = {outcome.cell: outcome[1:] for outcome in run_cells(cells, features, out)}
    assert outcomes[cells[0]][0] == "ZeroDivisionError: a fault in the method"
    assert "in fit" in outcomes[cells[0]][1]
    assert outcomes[cells[1]] == ("", "")
    assert outcomes[cells[2]][0] == "AwkwardError: no pickle brings me back"
    assert [result["cell"]["method"] for result in read_results(out)] == ["csr-svm"]
    runner = CliRunner()
    command = ["bench", "run", "--features", str(features), "--out", str(out), "--datasets", "blobs", "--methods"]
    failed = runner.invoke(app, [*command, "test_bench:Failing,csr-svm"])
    assert failed.exit_code == 1
    assert "1 of 2 cells failed" in failed.output


class AwkwardError(Exception):
    def __init__(self, first, second):
        super().__init__(f"{first} {second}")


class Awkward(Failing):
    """A method whose fault cannot be unpickled."""

    def fit(self, X, y, *, progress=None):
        raise AwkwardError("no pickle", "brings me back")


class Slow(Failing):
    """A method that says when it is at work, and never ends."""

    def fit(self, X, y, *, progress=None):
        started = Path(os.environ["SLOW_STARTED"])
        replace_file(started, str(os.getpid()).encode())  # whoever sees the file must find the number in it
        time.sleep(600)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads the state of a process from /proc (Linux)")
@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_workers_end_with_a_parent_that_is_killed(tmp_path, features, by):
    started = tmp_path / "started"
    command = [sys.executable, "-m", "opengcd", "bench", "run", "--datasets", "blobs", "--methods", "test_bench:Slow"]
    command += ["--features", str(features), "--out", str(tmp_path / "out")]
    environment = os.environ | {"SLOW_STARTED": str(started)}
    parent = subprocess.Popen(
        command,
        env=environment,
        cwd=Path(__file__).parent,
        stderr=subprocess.DEVNULL,
        # A shell starts what it runs in the background deaf to this signal, and the tests may be such a program.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        wait_until(started.exists)
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


def test_results_of_other_features_are_left_alone(tmp_path, features):
    out = tmp_path / "out"
    cell = Cell("blobs", "csr-svm", 0)
    out.mkdir()
    (out / "results.json").write_text(json.dumps({"format": "opengcd-results", "format_version": 2}))
    done = {"cell": dataclasses.asdict(cell), "features": "0" * 16, "environment": {}, "phases": []}
    (out / cell.file).write_text(json.dumps(done))
    for asked in (cell, Cell("blobs", "csr-svm", 1)):  # another seed would stand in the same table
        with pytest.raises(ResultsError, match="made from other features; nothing was changed"):
            list(run_cells([asked], features, out))
    for file, content in [(cell.file, "{}"), (cell.file.replace(".json", " (copy).json"), json.dumps(done))]:
        (out / cell.file).unlink(missing_ok=True)
        (out / file).write_text(content)
        with pytest.raises(ResultsError, match="no result of a cell"):
            read_results(out)
    assert len(list(out.iterdir())) == 2


def test_cells_have_files_of_their_own():
    cells = [
        *make_cells(["d"], ["opengcd-svm"], [0, 1], memories=[None, 10]),
        *make_cells(["d"], ["opengcd-svm"], [0], learn="all"),
        *make_cells(["vögel", "vägel"], ["csr-svm"], [0]),
        *make_cells(["d", "e"], ["csr-svm"], [0, 0], protocol="authors"),
    ]
    assert len({cell.file for cell in cells}) == len({str(cell) for cell in cells}) == len(cells)
    assert str(cells[-1]) == "e csr-svm authors seed 0"
    with pytest.raises(ValueError, match="at least one exemplar"):
        make_cells(["d"], ["csr-svm"], [0], memories=[0])


def test_a_run_that_is_stopped_never_waits_for_the_processes_reports():
    class Blocked:
        """A queue that a killed process left half-written."""

        def get(self, timeout):
            time.sleep(3600)

    listener = cells_module._Listener(Blocked(), lambda *_: None)
    start = time.monotonic()
    listener.stop()
    assert time.monotonic() - start < 60


def test_bars_of_a_cell_that_ended_are_closed():
    shown = []
    reports = queue.Queue()
    listener = cells_module._Listener(reports, lambda *report: shown.append(report))
    cell = Cell("d", "m", 0)
    reports.put((cell, "phases", 3, 4))
    wait_until(lambda: shown)
    listener.close_bars(cell)
    listener.stop()
    assert shown == [("d m seed 0: phases", 3, 4), ("d m seed 0: phases", 1, 1)]


def test_the_environment_of_a_run_is_as_before_afterwards(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    with cells_module._environment({"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}):
        assert os.environ["OMP_NUM_THREADS"] == os.environ["MKL_NUM_THREADS"] == "1"
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "MKL_NUM_THREADS" not in os.environ


def test_results_of_another_version_are_left_alone(tmp_path, features):
    out = tmp_path / "out"
    out.mkdir()
    (out / "results.json").write_text(json.dumps({"format": "opengcd-results", "format_version": 99}))
    with pytest.raises(ResultsError, match="another version; nothing was changed"):
        list(run_cells([Cell("blobs", "csr-svm", 0)], features, out))
    assert [file.name for file in out.iterdir()] == ["results.json"]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("mine")
    with pytest.raises(ResultsError, match="no folder of results"):
        list(run_cells([Cell("blobs", "csr-svm", 0)], features, tmp_path / "other"))


def test_seeds():
    assert parse_numbers("0-2, 7", "seeds") == [0, 1, 2, 7]
    for text in ("", "a", "1-", "-1", "4-0"):
        with pytest.raises(ValueError, match="names no seeds"):
            parse_numbers(text, "seeds")


def test_the_command_line(tmp_path, features):
    runner, out = CliRunner(), str(tmp_path / "out")
    command = ["bench", "run", "--features", str(features), "--out", out, "--datasets", "blobs", "--methods"]
    done = runner.invoke(app, [*command, "csr-svm"])
    assert done.exit_code == 0, done.output
    assert "blobs csr-svm seed 0: done" in done.output
    for style, expected in [
        ("terminal", "blobs: ablation (1 seed)"),
        ("markdown", "| phase | method | Ts1 |"),
        ("latex", r"\begin{tabular}"),
        ("csv", "paper,discovered,,blobs,1,csr-svm,Ts1,"),
    ]:
        assert expected in runner.invoke(app, ["bench", "table", out, "--format", style]).output
    assert "report.html" in runner.invoke(app, ["bench", "figures", out, "--out", str(tmp_path / "figures")]).output
    assert (tmp_path / "figures" / "phases-paper-discovered.svg").exists()
    listed = runner.invoke(app, ["bench", "list", "--features", str(features)]).output
    assert "opengcd-xgb" in listed
    assert "dataset blobs" in listed
    for arguments, message in [
        ([*command, "nope"], "Unknown method 'nope'"),
        ([*command, "csr-svm", "--datasets", "nope"], "There is no dataset 'nope'"),
        ([*command, "csr-svm", "--seeds", "x"], "names no seeds"),
        ([*command, "csr-svm", "--memory", "many"], "names no memory"),
        ([*command, "csr-svm", "--protocol", "authors", "--learn", "all"], "has its own rule"),
        ([*command, "csr-svm", "--out", f"{features}/blobs.npz/out"], "blobs.npz"),
        (["bench", "list", "--features", str(tmp_path / "none")], "There is no folder"),
        (["bench", "table", str(features)], "no folder of results"),
        (["bench", "figures", str(features)], "no folder of results"),
        (["bench", "figures", out, "--methods", "evm,nno"], "no finished cell of evm,nno"),
        (["bench", "table", out, "--into", str(tmp_path / "none.md")], "none.md"),
    ]:
        failed = runner.invoke(app, arguments)
        assert failed.exit_code == 1
        assert message in failed.output
