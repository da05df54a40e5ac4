import dataclasses
import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from typer.testing import CliRunner

from opengcd._internal.durable_files import replace_file
from opengcd.bench import (
    PLANS,
    Cell,
    CellResult,
    CodeVersion,
    Dataset,
    Environment,
    FeatureFileError,
    OpenWorldMethod,
    PhaseResult,
    ResultsError,
    class_groups,
    code_version,
    load_dataset,
    make_cells,
    make_method,
    method_names,
    note_other_code,
    parse_numbers,
    plan_for,
    read_results,
    run_cells,
    run_protocol,
)
from opengcd.bench import cells as cells_module
from opengcd.bench.code_version import commit_of
from opengcd.bench.results import write_result
from opengcd.cli import app
from tests.helpers.places import ROOT

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
    assert make_method("opengcd-svm", random_state=3).recognizer.random_state == 3
    assert make_method("opengcd.bench.baselines:NNO", random_state=3).random_state == 3
    for name, message in [
        ("opengcd-nope", "Unknown method"),
        ("nope:Nope", "cannot be imported"),
        ("opengcd.metrics:Parts", "a subclass of opengcd.bench.OpenWorldMethod .* discover, fit, learn, recognize;"),
        ("opengcd.metrics:hna", "must be a subclass"),
        ("opengcd.recognizer:OpenWorldRecognizer", "pass it to opengcd.bench.RecognizerMethod"),
        ("opengcd.bench.open_world_method:OpenWorldMethod", "does not implement discover, fit, learn, recognize"),
        (".metrics:Parts", "cannot be imported: TypeError"),
    ]:
        with pytest.raises(ValueError, match=message):
            make_method(name)


def test_methods_follow_the_authors_code_where_they_are_asked_to():
    method = make_method("opengcd-xgb", dataset="cifar100", protocol="authors", random_state=0).recognizer
    assert (method.alpha, method.max_classes, method.selector) == (1e5, 110, "authors")
    assert (method.preset.discovery.n_init, method.preset.discovery.objective) == (14, "fmi+db")
    assert make_method("csr-xgb", dataset="cifar100", protocol="authors").recognizer.alpha == 0
    assert make_method("opengcd-xgb", dataset="mine", protocol="authors").recognizer.preset == "authors"
    assert make_method("opengcd-xgb", dataset="cifar100").recognizer.preset == "paper"


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


class Failing(OpenWorldMethod):
    """A method of a user's own, with a fault."""

    def __init__(self, **settings):
        pass

    def fit(self, X, y, *, progress=None):
        raise ZeroDivisionError("a fault in the method")

    learn = recognize = discover = fit


def test_a_cell_that_fails_leaves_no_file_and_stops_no_other(tmp_path, features, monkeypatch):
    out, here = tmp_path / "out", str(Path(__file__).parent)
    monkeypatch.syspath_prepend(here)
    cells = make_cells(["blobs"], ["test_bench:Failing", "csr-svm", "test_bench:Awkward"], [0])
    outcomes = {outcome.cell: outcome[1:] for outcome in run_cells(cells, features, out)}
    assert outcomes[cells[0]][0] == "ZeroDivisionError: a fault in the method"
    assert "in fit" in outcomes[cells[0]][1]
    assert outcomes[cells[1]] == ("", "")
    assert outcomes[cells[2]][0] == "AwkwardError: no pickle brings me back"
    assert [result.cell.method for result in read_results(out)] == ["csr-svm"]
    runner = CliRunner()
    command = ["bench", "run", "--features", str(features), "--out", str(out), "--datasets", "blobs", "--methods"]
    failed = runner.invoke(app, [*command, "test_bench:Failing,csr-svm"])
    assert failed.exit_code == 1
    assert "1 of 2 cells failed" in failed.output


def test_the_method_in_the_documentation_runs(tmp_path, features, monkeypatch):
    document = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(# nearest\.py.*?)```", document, re.DOTALL)
    (tmp_path / "nearest.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    result = cells_module.run_cell(Cell("blobs", "nearest:NearestMean", 0), features)
    assert result.phases[0].accuracy_all > 0.9
    assert result.phases[0].rejected > 0
    assert result.phases[0].k == 6


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
    done = CellResult(cell, "0" * 16, Environment(), 1.0, 0.5, [])
    write_result(out, done)
    for asked in (cell, Cell("blobs", "csr-svm", 1)):  # another seed would stand in the same table
        with pytest.raises(ResultsError, match="made from other features; nothing was changed"):
            list(run_cells([asked], features, out))
    for file, content in [(cell.file, "{}"), (cell.file.replace(".json", " (copy).json"), json.dumps(done.to_json()))]:
        (out / cell.file).unlink(missing_ok=True)
        (out / file).write_text(content)
        with pytest.raises(ResultsError, match="no result of a cell"):
            read_results(out)
    assert len(list(out.iterdir())) == 2


def test_a_result_is_read_back_as_it_was_written(tmp_path, features):
    out = tmp_path / "out"
    cells_module.open_results(out, create=True)
    written = [
        cells_module.run_cell(Cell("blobs", name, 0, memory=50), features) for name in ("opengcd-mlp", "csr-svm")
    ]
    for result in written:
        write_result(out, result)
    read = {result.cell.method: result for result in read_results(out)}
    for result in written:
        assert read[result.cell.method] == result
        for phase in read[result.cell.method].phases:
            assert all(map(same_type, vars(phase).items(), vars(result.phases[phase.phase - 1]).items()))
    first = read["opengcd-mlp"].phases[0]
    assert first.alpha_curve[0].alpha < first.alpha_curve[-1].alpha
    assert first.k_curve[0].k > 0
    assert 0 <= first.osr_parts.aks <= 1
    assert read["csr-svm"].code == code_version()


def same_type(read, written):
    """A value that is read has the type of the one written, as have the first of its members."""
    (name, a), (_, b) = read, written
    first_a, first_b = ((x[0],) if isinstance(x, list) and x else () for x in (a, b))
    assert type(a) is type(b), name
    assert list(map(type, first_a)) == list(map(type, first_b)), name
    return True


def test_results_of_earlier_and_later_versions_are_read(tmp_path):
    out = tmp_path / "out"
    cells_module.open_results(out, create=True)
    result = CellResult(
        Cell("d", "m", 0), "0", Environment({"torch": "2"}, threads=1), 1.0, 0.5, [PhaseResult(1, 2, [0.5], 0.5)]
    )
    values = result.to_json()
    # Earlier ones have no code and no settings; later ones may have more.
    del values["code"], values["phases"][0]["settings"]
    values["more"] = values["phases"][0]["more"] = 1
    (out / result.cell.file).write_text(json.dumps(values))
    assert read_results(out) == [result]
    for wrong in (
        {"phases": 3},
        {"phases": [3]},
        {"cell": None},
        {"environment": 1},
        {"seconds": "long"},
        {"code": {}},
    ):
        (out / result.cell.file).write_text(json.dumps(values | wrong))
        with pytest.raises(ResultsError, match="no result of a cell"):
            read_results(out)


def git(folder, *arguments):
    identity = {f"GIT_{role}_{what}": "t@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    variables = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    nothing = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=variables | identity | nothing, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path):
    """A repository with a package in it, and its commit."""
    package = tmp_path / "checkout" / "src" / "package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (tmp_path / "checkout" / "README").write_text("")
    git(tmp_path / "checkout", "init")
    git(tmp_path / "checkout", "add", ".")
    git(package, "commit", "-m", "first")
    return package, git(package, "rev-parse", "HEAD")


def test_the_commit_of_a_checkout_and_changes_to_it(checkout, monkeypatch):
    package, commit = checkout
    assert commit_of(package) == commit
    # A hook has these in its environment; they name another repository.
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    assert commit_of(package) == commit
    (package.parent.parent / "README").write_text("changes elsewhere")
    assert commit_of(package) == commit
    (package / "new.py").write_text("")
    assert commit_of(package) == f"{commit}+changes"
    (package / "new.py").unlink()
    (package / "__init__.py").write_text("changed = True")
    assert commit_of(package) == f"{commit}+changes"


def test_a_package_that_is_not_tracked_has_no_commit(checkout, tmp_path, monkeypatch):
    # Site-packages inside somebody's repository.
    installed = checkout[0].parent / "site-packages" / "opengcd"
    installed.mkdir(parents=True)
    (installed / "__init__.py").write_text("")
    assert commit_of(installed) is None
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "__init__.py").write_text("")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    assert commit_of(outside) is None
    assert commit_of(tmp_path / "missing") is None
    monkeypatch.setenv("PATH", "")  # no git
    assert commit_of(checkout[0]) is None


def test_a_repository_without_a_commit(tmp_path):
    git(tmp_path, "init")
    (tmp_path / "__init__.py").write_text("")
    git(tmp_path, "add", "__init__.py")
    assert commit_of(tmp_path) is None


def test_the_code_in_words():
    assert str(CodeVersion("0.1.0")) == "opengcd 0.1.0"
    assert str(CodeVersion("0.1.0", "0123456789abcdef+changes")) == "opengcd 0.1.0 at commit 0123456789ab+changes"


def test_a_resumed_run_says_if_cells_are_of_other_code(tmp_path, features):
    out = tmp_path / "out"
    now = code_version()
    assert note_other_code(out, now) == ""
    (outcome,) = run_cells([Cell("blobs", "csr-svm", 0)], features, out)
    assert not outcome.error
    (done,) = read_results(out)
    assert done.code.version == now.version
    assert note_other_code(out, done.code) == ""
    write_result(out, dataclasses.replace(done, code=CodeVersion("0.0.9", "f" * 40)))
    command = ["bench", "run", "--features", str(features), "--out", str(out), "--datasets", "blobs"]
    resumed = CliRunner().invoke(app, [*command, "--methods", "csr-svm"])
    assert resumed.exit_code == 0
    assert resumed.output.strip().splitlines() == [
        f"1 finished cell was computed by other code (opengcd 0.0.9 at commit {'f' * 12}); this run is of {now}."
    ]
    write_result(out, dataclasses.replace(done, cell=Cell("blobs", "csr-svm", 1), code=None))
    assert note_other_code(out, now).startswith("2 finished cells were computed by other code (code that was not rec")


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
