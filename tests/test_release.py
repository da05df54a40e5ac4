"""What `tools/release.py` lets through."""

import subprocess
import sys

import pytest

from tests.helpers.places import ROOT
from tools.release import problems

BUILT = ["opengcd-0.2.0.tar.gz", "opengcd-0.2.0-py3-none-any.whl"]
DESCRIBED = "# Changes\n\n## 0.2.0 (2027-01-01)\n"


def test_a_release_in_order():
    assert problems("v0.2.0", BUILT, DESCRIBED) == []


@pytest.mark.parametrize(
    ("tag", "files", "changelog", "told"),
    [
        ("v0.2.1", BUILT, "## 0.2.1\n", "needs opengcd-0.2.1-py3-none-any.whl, opengcd-0.2.1.tar.gz"),
        ("v0.2.0", BUILT[:1], DESCRIBED, "needs"),
        ("v0.2.0", [*BUILT, "opengcd-0.2.0.dev3.tar.gz"], DESCRIBED, "but there is"),
        ("v0.2.0", BUILT, "## Unreleased\n\n0.2.0\n", "no section '## 0.2.0'"),
        ("v0.2.0", BUILT, "## 0.2.0rc1\n", "no section"),
        ("v0.2", BUILT, DESCRIBED, "not a tag of a release"),
        ("0.2.0", BUILT, DESCRIBED, "not a tag of a release"),
        ("v0.2.0.dev1", BUILT, DESCRIBED, "not a tag of a release"),
    ],
)
def test_a_release_that_is_refused(tag, files, changelog, told):
    assert any(told in problem for problem in problems(tag, files, changelog))


def test_the_command_fails_on_an_empty_folder(tmp_path):
    done = subprocess.run(
        [sys.executable, "tools/release.py", "--tag", "v9.9.9", tmp_path], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "v9.9.9 needs" in done.stderr
