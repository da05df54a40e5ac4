"""One source of the version: the last tag of the repository."""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib

import pytest

import opengcd
from tests.helpers.places import ROOT

NEEDED = ("pyproject.toml", ".gitattributes", ".git_archival.txt", "README.md", "LICENSE")
ISOLATED = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CEILING_DIRECTORIES": ""}
PERSON = {f"GIT_{role}_{what}": "t@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def run(folder, *command):
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "SETUPTOOLS_SCM"))}
    variables = inherited | ISOLATED | PERSON | {"GIT_CEILING_DIRECTORIES": str(folder.parent)}
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def version_of(folder):
    """The version that a build of a folder would get."""
    return run(folder, sys.executable, "-m", "hatchling", "version").splitlines()[-1]


@pytest.fixture
def checkout(tmp_path):
    """A small repository that is built as this one, with one commit and no tag."""
    folder = tmp_path / "checkout"
    (folder / "src" / "opengcd").mkdir(parents=True)
    (folder / "src" / "opengcd" / "__init__.py").touch()
    for name in NEEDED:
        shutil.copy(ROOT / name, folder / name)
    run(folder, "git", "init", "--quiet")
    commit(folder)
    return folder


def commit(folder):
    run(folder, "git", "add", "--all")
    run(folder, "git", "commit", "--quiet", "--allow-empty", "--message", "change")


def archive(folder, into):
    """What a host of repositories offers for download."""
    into.mkdir()
    run(folder, "git", "archive", "--output", str(into.with_suffix(".tar")), "HEAD")
    with tarfile.open(into.with_suffix(".tar")) as packed:
        packed.extractall(into, filter="data")
    return into


def test_the_package_tells_the_version_that_is_installed():
    assert opengcd.__version__ == importlib.metadata.version("opengcd")
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "version" in settings["dynamic"]
    assert "version" not in settings


def test_a_folder_that_was_never_installed_has_no_version(tmp_path):
    shutil.copytree(ROOT / "src" / "opengcd", tmp_path / "opengcd", ignore=shutil.ignore_patterns("__pycache__"))
    # -I -S: neither site-packages nor the folder of the checkout is on the path.
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import opengcd; print(opengcd.__version__)"
    assert run(tmp_path, sys.executable, "-I", "-S", "-c", code) == "0.0"


def test_a_tag_is_the_version(checkout, tmp_path):
    run(checkout, "git", "tag", "v0.2.0")
    assert version_of(checkout) == "0.2.0"
    assert version_of(archive(checkout, tmp_path / "archive")) == "0.2.0"
    (checkout / "new").touch()
    commit(checkout)
    assert re.fullmatch(r"0\.2\.1\.dev1\+g[0-9a-f]+", version_of(checkout))
    run(checkout, "git", "tag", "v0.3.0rc1")
    assert version_of(checkout) == "0.3.0rc1"


def test_other_tags_are_not_versions(checkout):
    run(checkout, "git", "tag", "v0.2.0")
    commit(checkout)
    run(checkout, "git", "tag", "data-2024")
    run(checkout, "git", "tag", "0.9.0")
    assert version_of(checkout).startswith("0.2.1.dev1+g")


def test_a_checkout_without_tags_can_be_built(checkout, tmp_path):
    assert re.fullmatch(r"0\.1\.dev1\+g[0-9a-f]+", version_of(checkout))
    assert version_of(archive(checkout, tmp_path / "archive")) == "0.0"


def test_an_sdist_keeps_the_version_and_a_bare_folder_has_none(checkout, tmp_path):
    run(checkout, "git", "tag", "v0.2.0")
    run(checkout, sys.executable, "-m", "hatchling", "build", "--target", "sdist")
    with tarfile.open(checkout / "dist" / "opengcd-0.2.0.tar.gz") as packed:
        packed.extractall(tmp_path, filter="data")
    assert version_of(tmp_path / "opengcd-0.2.0") == "0.2.0"
    shutil.rmtree(checkout / ".git")
    assert version_of(checkout) == "0.0"
