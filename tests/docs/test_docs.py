import re

import numpy as np
from sklearn.datasets import make_blobs

from opengcd._internal.terminal import print_table
from opengcd.bench import blocks, fill, read_results
from opengcd.bench.demo import table_rows
from tests.helpers.places import ROOT


def test_the_ten_lines_of_the_readme_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = make_blobs(400, n_features=8, centers=6, random_state=0)
    names = np.array(list("abcdef"))[y]
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL).group(1)
    assert len([line for line in code.splitlines() if line]) <= 10
    scope = {"X_known": X[y < 4], "y_known": names[y < 4], "X_stream": X}
    exec(code, scope)
    assert scope["recognizer"].classes_.tolist() == ["a", "b", "c", "d", "heron"]
    assert (tmp_path / "model" / "model.json").is_file()


def test_the_readme_shows_what_the_demo_prints(demo, capsys):
    """All of the table, to the letter.

    The numbers were the same with one thread and with two, and with the kernels for AVX-512, AVX2 and SSE4 (torch's
    ATEN_CPU_CAPABILITY and OpenBLAS's OPENBLAS_CORETYPE); processors of another kind were not tried.
    """
    print_table("OpenGCD on handwritten digits", *table_rows(demo[1]))
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```\n( +OpenGCD on handwritten digits\n.*?)```", text, re.DOTALL)
    assert printed == shown.splitlines()


def test_the_repository_names_no_machine():
    for file in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/**/*.py"), ROOT / "constraints.txt"]:
        assert not re.search(r"/work/|/root/|/tmp/|find-links|index-url", file.read_text(encoding="utf-8")), file


def test_the_published_tables_are_those_of_the_published_cells():
    text = (ROOT / "docs" / "results" / "index.md").read_text(encoding="utf-8")
    assert fill(text, blocks(read_results(ROOT / "docs" / "results" / "cells"))) == text
