import re

import numpy as np
import pytest
from sklearn.datasets import load_digits

from opengcd._internal.terminal import print_table
from opengcd.bench.demo import table_rows
from tests.helpers.places import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
INSTALL = (ROOT / "docs" / "how-to" / "install.md").read_text(encoding="utf-8")


def test_the_ten_lines_of_the_readme_run_as_they_stand(capsys):
    code, printed = re.search(r"```python\n(.*?)```.*?```text\n(.*?)```", README, re.DOTALL).groups()
    assert len([line for line in code.splitlines() if line]) <= 10
    scope = {}
    exec(code, scope)
    assert capsys.readouterr().out == printed
    labels, truth = scope["labels"], load_digits().target[1::2]
    new = np.isin(truth, [6, 7])
    assert (labels[new] == -1).mean() > 0.9
    assert (labels[~new] == truth[~new]).mean() > 0.8
    assert (truth[scope["rows"]] == 7).mean() > 0.9, "the person says that these are sevens"
    assert (scope["recognizer"].predict(scope["X_stream"])[truth == 7] == 7).mean() > 0.9


def test_the_readme_shows_what_the_demo_prints(demo, capsys):
    """All of the table, to the letter.

    These were tried on x86, each with the same table: 1, 2 and 4 threads; torch's kernels (ATEN_CPU_CAPABILITY=default,
    avx2, avx512); OpenBLAS's (OPENBLAS_CORETYPE=Prescott, Nehalem, Sandybridge, Haswell, Zen, SkylakeX); MKL's
    (MKL_CBWR=COMPATIBLE, AVX, AVX2, MKL_ENABLE_INSTRUCTIONS=SSE4_2, AVX512); all of the oldest at once, with numpy's
    (NPY_DISABLE_CPU_FEATURES); numpy 1.26.4 with SciPy 1.11.4 and scikit-learn 1.6.0. Other versions of torch and
    processors of another kind were not tried.
    """
    print_table("OpenGCD on handwritten digits", *table_rows(demo[1]))
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    (shown,) = re.findall(r"```text\n( +OpenGCD on handwritten digits\n.*?)```", README, re.DOTALL)
    assert printed == shown.splitlines()


@pytest.mark.parametrize("text", [README, INSTALL], ids=["README", "install"])
def test_all_extras_for_users_are_listed(text):
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    extras = re.search(r"^\[project.optional-dependencies\]\n(.*?)^\[", project, re.DOTALL | re.MULTILINE).group(1)
    for extra in {*re.findall(r"^([a-z-]+) = ", extras, re.MULTILINE)} - {"dev", "docs"}:
        assert f"`{extra}`" in text, extra
