"""Which code computed a result."""

import os
import subprocess

import pytest

import opengcd
from opengcd.bench.code_version import code_version, commit_of
from opengcd.bench.records import CodeVersion


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


def test_a_commit_is_recorded_once(checkout, tmp_path, monkeypatch):
    """In an editable installation the version ends with the commit at which it was installed."""
    monkeypatch.setattr(opengcd, "__version__", "0.2.1.dev3+gold", raising=False)
    monkeypatch.setattr(opengcd, "__file__", str(checkout[0] / "__init__.py"))
    code_version.cache_clear()
    assert code_version() == CodeVersion("0.2.1.dev3", checkout[1])
    monkeypatch.setattr(opengcd, "__file__", str(tmp_path / "missing" / "__init__.py"))
    code_version.cache_clear()
    assert code_version() == CodeVersion("0.2.1.dev3+gold", None)
    code_version.cache_clear()
