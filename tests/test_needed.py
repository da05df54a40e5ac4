"""What is missing fails in CI, and is said elsewhere: a run without a browser or a database must not look complete."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import browsing
from tests.helpers.needed import missing, needed_module, postgresql
from tests.helpers.places import ROOT

MAKE = shutil.which("make")


@pytest.fixture(params=[True, False], ids=["in CI", "elsewhere"])
def outcome(request, monkeypatch):
    """What becomes of a test that misses something."""
    if not request.param:
        monkeypatch.delenv("CI", raising=False)
        return pytest.skip.Exception
    monkeypatch.setenv("CI", "true")
    return pytest.fail.Exception


def test_no_browser(outcome, monkeypatch):
    monkeypatch.setattr(browsing, "CHROMIUM", None)
    with pytest.raises(outcome, match="no Chromium"), browsing.launched():
        pass


def test_no_postgresql(outcome, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(Path, "glob", lambda *_: iter(()))
    with pytest.raises(outcome, match=r"PostgreSQL's \w+ is not installed|no user postgres"), postgresql():
        pass


def test_no_module(outcome, monkeypatch):
    monkeypatch.setitem(sys.modules, "xgboost", None)
    with pytest.raises(outcome, match="xgboost is not installed"):
        needed_module("xgboost")


@pytest.mark.parametrize(("ci", "status", "said"), [("true", 2, "Node is missing"), ("", 0, "SKIPPED")])
def test_no_node(tmp_path, ci, status, said):
    if MAKE is None:
        missing("there is no make")
    environment = {"PATH": str(tmp_path), "CI": ci}
    done = subprocess.run([MAKE, "lint-page"], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert (done.returncode, said in done.stderr) == (status, True), done.stderr
