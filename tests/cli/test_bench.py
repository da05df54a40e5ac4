"""The commands of the benchmark."""

from typer.testing import CliRunner

from opengcd.cli import app
from tests.helpers.bench import save_features


def test_the_command_line(tmp_path):
    features = save_features(tmp_path / "features")
    runner, out = CliRunner(), str(tmp_path / "out")
    command = ["bench", "run", "--features", str(features), "--out", out, "--datasets", "blobs", "--methods"]
    done = runner.invoke(app, [*command, "csr-svm"])
    assert done.exit_code == 0, done.output
    assert "blobs csr-svm seed 0: done" in done.output
    for style, expected in [
        ("terminal", "blobs: ablation (1 seed)"),
        ("markdown", "| phase | method | Ts1 |"),
        ("latex", r"\begin{tabular}"),
        ("csv", "paper,discovered,,usual,blobs,1,csr-svm,Ts1,"),
    ]:
        assert expected in runner.invoke(app, ["bench", "table", out, "--format", style]).output
    assert "report.html" in runner.invoke(app, ["bench", "figures", out, "--out", str(tmp_path / "figures")]).output
    assert (tmp_path / "figures" / "phases-paper-discovered.svg").exists()
    some = ["bench", "figures", out, "--out", str(tmp_path / "some"), "--format", "png", "--only"]
    assert runner.invoke(app, [*some, "acc-paper-discovered,phases-paper-discovered"]).exit_code == 0
    names = sorted(file.name for file in (tmp_path / "some").iterdir())
    assert names == ["acc-paper-discovered.png", "phases-paper-discovered.png"]
    listed = runner.invoke(app, ["bench", "list", "--features", str(features)]).output
    assert "opengcd-xgb" in listed
    assert "dataset blobs" in listed
    for arguments, message in [
        ([*command, "nope"], "Unknown method 'nope'"),
        ([*command, "csr-svm", "--datasets", "nope"], "There is no dataset 'nope'"),
        ([*command, "csr-svm", "--seeds", "x"], "is not a list of seeds"),
        ([*command, "csr-svm", "--memory", "many"], "is not a list of memory sizes"),
        ([*command, "csr-svm", "--protocol", "authors", "--learn", "all"], "has its own rule"),
        ([*command, "csr-svm", "--out", f"{features}/blobs.npz/out"], "blobs.npz"),
        (["bench", "list", "--features", str(tmp_path / "none")], "There is no folder"),
        (["bench", "table", str(features)], "is not a folder of results"),
        (["bench", "figures", str(features)], "is not a folder of results"),
        (["bench", "figures", out, "--methods", "evm,nno"], "no finished cell of evm,nno"),
        (["bench", "figures", out, "--only", "acc-paper-discovered,nope"], "no picture called nope"),
        (["bench", "table", out, "--into", str(tmp_path / "none.md")], "none.md"),
        (["bench", "table", out, "--into", str(features)], "no Markdown file"),
    ]:
        failed = runner.invoke(app, arguments)
        assert failed.exit_code == 1
        assert message in failed.output


def test_all_documents_of_a_folder_are_filled_or_none(tmp_path):
    features = save_features(tmp_path / "features")
    runner, out, pages = CliRunner(), tmp_path / "out", tmp_path / "pages"
    command = ["bench", "run", "--features", str(features), "--out", str(out), "--datasets", "blobs"]
    assert runner.invoke(app, [*command, "--methods", "csr-svm"]).exit_code == 0
    pages.mkdir()
    names = ("tables of blobs: protocol paper", "cells: protocol paper")
    for i, name in enumerate(names):
        (pages / f"{i}.md").write_text(f"<!-- begin {name} -->\n<!-- end {name} -->\n")
    (pages / "2.md").write_text("Nothing to fill.\n")
    fill = ["bench", "table", str(out), "--into", str(pages)]
    assert runner.invoke(app, fill).exit_code == 0
    assert "| 1 | csr-svm |" in (pages / "0.md").read_text()
    assert "[0](../out/blobs--csr-svm--paper--discovered--full--0.json)" in (pages / "1.md").read_text()
    assert (pages / "2.md").read_text() == "Nothing to fill.\n"
    (pages / "0.md").write_text(f"<!-- begin {names[0]} -->\nold\n<!-- end {names[0]} -->\n")
    (pages / "2.md").write_text("<!-- begin nope -->")
    assert runner.invoke(app, fill).exit_code == 1
    assert "old" in (pages / "0.md").read_text()
