"""Which code is running: the version of the package, and the commit of its checkout."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path

import opengcd
from opengcd.bench.records import CodeVersion

CHANGED = "+changes"
PATIENCE = 20
"""Seconds that git may take."""
REPOSITORY_VARIABLES = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY")
"""With these, which hooks have in their environment, git would read another repository."""


@cache
def code_version() -> CodeVersion:
    """Return the version of the package and the commit it was imported from.

    It is determined once in a process: what was imported does not change when the checkout does.

    Returns
    -------
    CodeVersion

    """
    version, commit = opengcd.__version__, commit_of(Path(opengcd.__file__).parent)
    if commit is not None:
        # After the + is the commit at which a checkout was installed, which may be an older one.
        version = version.partition("+")[0]
    return CodeVersion(version, commit)


def commit_of(package: Path) -> str | None:
    """Return the commit that the files of a package belong to.

    Parameters
    ----------
    package : Path
        The folder of a package.

    Returns
    -------
    str or None
        The commit's full name, with ``+changes`` if files of the package were changed, added or deleted since; None if
        git does not track the package's ``__init__.py``, as in an environment inside somebody's repository, or
        cannot be asked.

    """
    try:
        _git(package, "ls-files", "--error-unmatch", "--", "__init__.py")
        commit = _git(package, "rev-parse", "--verify", "HEAD")
        changes = _git(package, "status", "--porcelain", "--untracked-files=all", "--", ".")
    except (OSError, subprocess.SubprocessError):
        return None
    return commit + CHANGED * bool(changes)


def _git(folder: Path, *arguments: str) -> str:
    """Return the output of git for the repository that a folder lies in."""
    variables = {name: value for name, value in os.environ.items() if name not in REPOSITORY_VARIABLES}
    # Neither locks nor programs that a repository's configuration names: this only reads.
    command = ["git", "--no-optional-locks", "-c", "core.fsmonitor=false", *arguments]
    done = subprocess.run(  # noqa: S603  fixed arguments, no shell
        command,
        cwd=folder,
        env=variables | {"LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=PATIENCE,
        check=True,
    )
    return done.stdout.strip()
