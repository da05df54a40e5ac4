"""Folders of results: read back as written, and those of other features or versions left alone."""

import dataclasses
import json

import pytest
from typer.testing import CliRunner

from opengcd.bench import (
    Cell,
    CellResult,
    CodeVersion,
    Environment,
    PhaseResult,
    ResultsError,
    code_version,
    note_other_code,
    read_results,
    run_cells,
)
from opengcd.bench import cells as cells_module
from opengcd.bench.results import write_result
from opengcd.cli import app


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
        with pytest.raises(ResultsError, match="is not the result of a cell"):
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
    # Earlier ones have no code, no images and no settings; later ones may have more.
    del values["code"], values["images"], values["phases"][0]["settings"], values["phases"][0]["best_hna"]
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
        with pytest.raises(ResultsError, match="is not the result of a cell"):
            read_results(out)


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
    assert note_other_code(out, now).startswith(
        "2 finished cells were computed by other code (a commit that was not rec"
    )


def test_results_of_another_version_are_left_alone(tmp_path, features):
    out = tmp_path / "out"
    out.mkdir()
    (out / "results.json").write_text(json.dumps({"format": "opengcd-results", "format_version": 99}))
    with pytest.raises(ResultsError, match="another version; nothing was changed"):
        list(run_cells([Cell("blobs", "csr-svm", 0)], features, out))
    assert [file.name for file in out.iterdir()] == ["results.json"]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("mine")
    with pytest.raises(ResultsError, match="is not a folder of results"):
        list(run_cells([Cell("blobs", "csr-svm", 0)], features, tmp_path / "other"))
